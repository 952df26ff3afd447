"""A section."""

from django.http import Http404, HttpRequest, HttpResponse

from chronicle.models import Section
from chronicle.web.converters import SectionId
from chronicle.web.gate import log_for
from chronicle.web.respond import respond


def section(request: HttpRequest, log_id: str, section_id: SectionId, number: int | None = None) -> HttpResponse:
    log = log_for(request.user, log_id)
    level, from_seq, to_seq = section_id
    found = Section.objects.filter(
        anchor__edition__log=log, anchor__level=level, anchor__from_seq=from_seq, anchor__to_seq=to_seq
    )
    if not (found.filter(generation=number) if number else found).exists():
        raise Http404
    return respond(request, "web/stub.html", {"log": log})
