"""Jobs and signs of life in the admin: to look at, and jobs to retry after a question."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from chronicle import jobs, tasks
from chronicle.admin.looking import LookOnly, superuser, text
from chronicle.models import Heartbeat, Job, JobState

RETRIED = (JobState.FAILED, JobState.PARKED, JobState.QUEUED)


@admin.register(Job)
class JobAdmin(LookOnly):
    list_display = ("pk", "kind", text("target"), "state", "attempts", text("last_error"), text("made_by"), "made_at")
    list_filter = ("state", "kind")
    search_fields = ("target",)
    ordering = ("-pk",)
    actions: Any = ("retry",)

    @admin.action(description="Retry the selected jobs", permissions=["retry"])
    def retry(self, request: HttpRequest, chosen: QuerySet[Job]) -> HttpResponse | None:
        waiting = chosen.filter(state__in=RETRIED)
        if "confirmed" not in request.POST:
            found = {"title": "Retry jobs?", "chosen": chosen, "waiting": waiting, "opts": self.opts}
            context = self.admin_site.each_context(request) | found
            return TemplateResponse(request, "admin/retry_jobs.html", context)
        for job in waiting:
            tasks.kick(jobs.retry(job.pk, by=request.user.get_username()))
        self.message_user(request, f"{len(waiting)} of {chosen.count()} jobs are queued again.", messages.SUCCESS)
        return None

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return superuser(request.user)


@admin.register(Heartbeat)
class HeartbeatAdmin(LookOnly):
    list_display = ("name", "at")
