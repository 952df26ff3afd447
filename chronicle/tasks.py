"""The task cluster's side of jobs, and the only module that imports django_q.

Guarantees: a task takes an id and returns None; whatever it loses (a kick, a run, itself) the next tick
finds again in our own rows; running one twice does the work once.
"""

from datetime import timedelta
from functools import partial

from django.db import connections, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django_q.brokers import get_broker
from django_q.conf import Conf
from django_q.models import OrmQ, Schedule
from django_q.tasks import async_task

from chronicle import fold, health, jobs, uploads
from chronicle.models import Job, JobState, Log

TICK = "chronicle.tasks.tick"
WORK = "chronicle.tasks.work"
# Seconds a job of this kind may take; the lease is renewed meanwhile, so a dead worker is noticed long before.
LIMITS = {"ingest": 6 * 3600, "ingest_path": 6 * 3600, "preview": 6 * 3600, "consolidate": 3600, "reconsolidate": 3600}
LIMIT = 600
BRINGS_EVENTS = {"ingest", "ingest_path"}
KICKED_AT_MOST = 50
LOGS_A_TICK = 500
ANSWERED_WITHIN = timedelta(minutes=10)


def kick(job: Job) -> None:
    """Have the cluster start this job once the caller's transaction has committed.

    A broker that is down loses the kick, never the job: the next tick kicks what is due.
    """
    transaction.on_commit(partial(_send, job.pk, job.kind), robust=True)


def work(job_id: int) -> None:
    """Do one job, if it can be taken; what an ingest has brought is consolidated right after."""
    done = jobs.run(job_id, alive=health.beat_worker)
    if done is not None and done.kind in BRINGS_EVENTS:
        ended = fold.due_logs(quiet=timedelta()).filter(public_id__in=_brought(done))
        for job in _consolidations(ended):
            _send(job.pk, job.kind)


def tick() -> None:
    """Each minute: sing, free the jobs of lost workers, queue the logs that are due, kick what waits."""
    health.beat(health.CANARY)
    jobs.sweep(timezone.now())
    uploads.sweep(timezone.now())
    _consolidations(fold.due_logs())
    health.warn_of_missing_triggers()
    _forget_unanswered()
    room = KICKED_AT_MOST - get_broker().queue_size()
    for job in jobs.due(timezone.now())[: max(room, 0)]:
        _send(job.pk, job.kind)


def kick_tick() -> None:
    """Have the cluster tick now, not only at the next full minute."""
    transaction.on_commit(partial(async_task, TICK, group="tick"), robust=True)


def schedule(using: str) -> None:
    """Put our one schedule in place, after any migration that leaves its table there.

    A schedule's name is not unique in that table, so it is found by its function and doubles are removed.
    """
    if Schedule._meta.db_table not in connections[using].introspection.table_names():
        return
    schedules = Schedule.objects.using(using)
    extra = list(schedules.filter(func=TICK).order_by("pk").values_list("pk", flat=True)[1:])
    schedules.filter(pk__in=extra).delete()
    schedules.update_or_create(
        func=TICK, defaults={"name": "tick", "schedule_type": Schedule.MINUTES, "minutes": 1, "repeats": -1}
    )


def _brought(ingest: Job) -> set[str]:
    """The logs that an ingest names in its report; what a long report leaves out is the next ticks' work."""
    files = (ingest.result or {}).get("files", [])
    return {log["log"] for file in files for log in file.get("logs", [])}


def _consolidations(due: QuerySet[Log]) -> list[Job]:
    """Queue what is due to be consolidated; return the jobs that wait to be kicked."""
    queued = [jobs.consolidation(log, made_by="schedule") for log in due[:LOGS_A_TICK]]
    return [job for job in queued if job.state == JobState.QUEUED and job.next_try <= timezone.now()]


def _forget_unanswered() -> None:
    """Drop what was handed to a worker long ago and never answered for.

    A cluster whose process for results was killed at its lock answers for nothing any more; what it was handed
    would pile up and be handed out again and again. Our own rows know what is still to be done.
    """
    if Conf.ORM:
        handed_out = timezone.now() + timedelta(seconds=Conf.RETRY) - ANSWERED_WITHIN
        OrmQ.objects.using(Conf.ORM).filter(lock__gt=timezone.now(), lock__lt=handed_out).delete()


def _send(job_id: int, kind: str) -> None:
    async_task(WORK, job_id, group=kind, timeout=LIMITS.get(kind, LIMIT))
