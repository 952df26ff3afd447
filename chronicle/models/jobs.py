"""Jobs: our own rows decide who works; the task cluster only kicks."""

from django.db import models
from django.db.models import Q


class JobState(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    PARKED = "parked"


class Job(models.Model):
    """One piece of work. `key` is set while the work must not be queued twice; a finished job frees it."""

    kind = models.CharField(max_length=40)
    target = models.CharField(max_length=300)
    key = models.CharField(max_length=300)
    state = models.CharField(max_length=10, choices=JobState, default=JobState.QUEUED)
    attempts = models.PositiveIntegerField(default=0)  # counted before the work
    lease_until = models.DateTimeField(null=True)
    lease_token = models.UUIDField(null=True)
    args = models.JSONField(default=dict)
    progress = models.JSONField(default=dict)  # {"done": n, "of": m, "what": words}
    result = models.JSONField(null=True)
    last_error = models.TextField(blank=True)
    next_try = models.DateTimeField()
    cost = models.JSONField(default=dict)  # {"calls", "tokens_in", "tokens_out", "wasted_tokens"}
    made_by = models.CharField(max_length=200, blank=True)
    made_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="job_key_once_while_open", fields=["key"], condition=Q(state__in=["queued", "running", "parked"])
            ),
        ]
        indexes = [
            # What is due, what has outlived its lease.
            models.Index(name="job_due", fields=["state", "next_try"]),
            # The page of jobs, newest first.
            models.Index(name="job_newest", fields=["-id", "state"]),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.target}"


class Heartbeat(models.Model):
    """When a named part of the system last gave a sign of life (the canary)."""

    name = models.CharField(max_length=60, unique=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
