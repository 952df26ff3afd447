"""Health for machines: `/healthz/` for the web process, `/healthz/worker` for the task cluster.

Guarantees: 200 when well, 503 when not; no sign-in, no session, no data of any log.
"""

from dataclasses import asdict

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from chronicle.health import database_answers, worker_health

NO_DATABASE = "The database does not answer."


@login_not_required
@require_safe
@never_cache
def web(request: HttpRequest) -> HttpResponse:
    """Does this process answer, and its database?"""
    if database_answers():
        return JsonResponse({"ok": True, "words": "The site and its database answer."})
    return JsonResponse({"ok": False, "words": NO_DATABASE}, status=503)


@login_not_required
@require_safe
@never_cache
def worker(request: HttpRequest) -> HttpResponse:
    """Does the task cluster do its work?"""
    try:
        health = worker_health()
    except DatabaseError:
        return JsonResponse({"ok": False, "words": NO_DATABASE}, status=503)
    return JsonResponse({"ok": health.ok, **asdict(health)}, status=200 if health.ok else 503)
