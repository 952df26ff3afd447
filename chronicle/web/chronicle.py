"""The chronicle of one log."""

from django.http import HttpRequest, HttpResponse

from chronicle.web.gate import log_for
from chronicle.web.respond import respond


def chronicle(request: HttpRequest, log_id: str) -> HttpResponse:
    return respond(request, "web/stub.html", {"log": log_for(request.user, log_id)})
