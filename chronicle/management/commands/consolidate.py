"""`consolidate`: draw the closed units of logs and roll up, now.

Guarantees: works under the same job as the scheduled task, so no unit is drawn by both; a job that waits or
is parked is tried now, because a person asked; `--dry-run` draws nothing and says what a run would cost.
Refuses: a log that does not exist (exit 2). Exit 1 when something could not be drawn.
"""

import time
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from chronicle import fold, jobs
from chronicle.errors import LogNotFound
from chronicle.management.answering import REFUSED, WRONG_USE, AnsweringCommand
from chronicle.management.terminal import plain
from chronicle.models import Job, JobState, Log

ASK_EVERY = 0.5
DONE_BY = "command"


class Command(AnsweringCommand):
    help = "Consolidates logs now: closes units, draws sections, rolls up."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("logs", nargs="*", metavar="LOG", help="the ids of logs")
        parser.add_argument("--all", action="store_true", help="every log")
        parser.add_argument("--dry-run", action="store_true", help="say units, calls and tokens; draw nothing")

    def handle(self, *_: Any, logs: list[str], **options: Any) -> None:
        act = _forecast if options["dry_run"] else consolidate_now
        answers = []
        for log in logs_named(logs, every=options["all"]):
            answers.append(act(log))
            if not options["json"]:
                self.stdout.write(_words(answers[-1]))
        if options["json"]:
            self.answer({"logs": answers})
        if any(answer.get("failed") for answer in answers):
            raise CommandError("Some units could not be drawn; they stay in the tail.", returncode=REFUSED)


def logs_named(ids: list[str], *, every: bool) -> list[Log]:
    """The logs a command line names, in its order. Raises CommandError with exit 2."""
    if every == bool(ids):
        raise CommandError("Name the logs, or say --all.", returncode=WRONG_USE)
    found = {log.public_id: log for log in Log.objects.filter(**{} if every else {"public_id__in": ids}).order_by("pk")}
    for missing in (name for name in ids if name not in found):
        raise CommandError(f"There is no log {plain(missing)}.", returncode=WRONG_USE) from LogNotFound()
    return list(found.values()) if every else [found[name] for name in dict.fromkeys(ids)]


def _forecast(log: Log) -> dict[str, Any]:
    coming = fold.forecast(log)
    counts = {"units": coming.sections, "calls": coming.calls, "tokens": coming.tokens, "rollups": coming.rollups}
    return {"log": log.public_id, "dry_run": True, **counts, "through": coming.through}


def consolidate_now(log: Log) -> dict[str, Any]:
    """Run the log's job here, or wait for the worker that has it and then see what is left."""
    while True:
        job = jobs.consolidation(log, made_by=DONE_BY)
        jobs.retry(job.pk, by=DONE_BY)
        done = jobs.run(job.pk)
        if done is not None:
            return _answer(log, done)
        time.sleep(ASK_EVERY)
        jobs.sweep(timezone.now())


def finished(job: Job) -> Job:
    """Run a job here, or wait for the worker that has it; one that failed here and waits is not waited for."""
    while job.state in (JobState.QUEUED, JobState.RUNNING):
        if jobs.run(job.pk) is None:
            time.sleep(ASK_EVERY)
            jobs.sweep(timezone.now())
        job = Job.objects.get(pk=job.pk)
        if job.state == JobState.QUEUED and job.next_try > timezone.now():
            break
    return job


def _answer(log: Log, job: Job) -> dict[str, Any]:
    if job.state == JobState.DONE and job.result is not None:
        return {"log": log.public_id, **job.result}
    return {"log": log.public_id, "sections": 0, "rollups": 0, "failed": 1, "through": 0, "error": job.last_error}


def _words(answer: dict[str, Any]) -> str:
    if answer.get("dry_run"):
        return (
            f"{answer['log']}: {answer['units']} units after {answer['through']}, {answer['rollups']} rollups at least;"
            f" {answer['calls']} calls, about {answer['tokens']} tokens (an estimate)"
        )
    words = f"{answer['log']}: {answer['sections']} sections, {answer['rollups']} rollups, through {answer['through']}"
    return words + (f", {answer['failed']} failed {answer.get('error', '')}".rstrip() if answer["failed"] else "")
