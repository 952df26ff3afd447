"""The page of logs."""

from django.http import HttpRequest, HttpResponse

from chronicle.web.gate import visible_logs
from chronicle.web.respond import respond


def logs(request: HttpRequest) -> HttpResponse:
    found = visible_logs(request.user).order_by("-last_activity_at", "-id")[:50]
    return respond(request, "web/logs.html", {"logs": found})
