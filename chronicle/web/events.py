"""The events of a log."""

from django.http import Http404, HttpRequest, HttpResponse

from chronicle.web.gate import log_for
from chronicle.web.respond import respond


def events(request: HttpRequest, log_id: str) -> HttpResponse:
    return respond(request, "web/stub.html", {"log": log_for(request.user, log_id)})


def event(request: HttpRequest, log_id: str, seq: int) -> HttpResponse:
    log = log_for(request.user, log_id)
    if not log.events.filter(seq=seq).exists():
        raise Http404
    return respond(request, "web/stub.html", {"log": log})
