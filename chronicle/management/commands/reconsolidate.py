"""`reconsolidate`: draw another generation of one section, once its bill is accepted.

Guarantees: without `--accept-divergence` nothing is drawn: the bill is printed, exit 1; with it the work is done
under the same job as the page's button, so both together cost one draw. A generation that is superseded by
another is not superseded twice (exit 1).
Refuses: a log or section that is not here, a name of no summariser or prompt (exit 2).
"""

import time
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from chronicle import asking, divergence, jobs
from chronicle.asking import Asked
from chronicle.errors import ChronicleFork, DivergenceNotAccepted
from chronicle.management.answering import REFUSED, AnsweringCommand
from chronicle.management.commands.consolidate import ASK_EVERY, DONE_BY, logs_named
from chronicle.management.terminal import plain
from chronicle.models import Job, JobState, Log
from chronicle.reading import find

OPEN = (JobState.QUEUED, JobState.RUNNING)


class Command(AnsweringCommand):
    help = "Draws another generation of a section; says first what would diverge and what it costs."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("log", metavar="LOG", help="the id of a log")
        parser.add_argument("section", metavar="SECTION", help="12-31, L1:1-320, or 12-31#2 for the one you have seen")
        parser.add_argument("--accept-divergence", action="store_true", help="accept what the bill says, and draw")
        parser.add_argument("--reason", default="", help="why, kept in the audit trail")
        parser.add_argument("--summariser", default="", help="another than the policy's, by its name")
        parser.add_argument("--prompt", default="", help="another than the policy's, as name/version")

    def handle(self, *_: Any, log: str, section: str, **options: Any) -> None:
        [found] = logs_named([log], every=False)
        given = {name: options[name] for name in ("reason", "summariser", "prompt")}
        try:
            asked = asking.reconsolidation(found, section, accepted=options["accept_divergence"], by=DONE_BY, **given)
        except DivergenceNotAccepted as refusal:
            self._bill(found, section, refusal, options)
            raise CommandError(
                "Nothing was drawn. Say --accept-divergence to accept this.", returncode=REFUSED
            ) from refusal
        except ChronicleFork as fork:
            if options["json"]:
                self.answer({"error": fork.name, "message": str(fork), "current": fork.details["current"]})
            raise CommandError(plain(fork), returncode=REFUSED) from fork
        self._done(_finished(asked), options)

    def _bill(self, log: Log, section: str, refusal: DivergenceNotAccepted, options: dict[str, Any]) -> None:
        if options["json"]:
            self.answer({"error": refusal.name, "message": str(refusal), "bill": refusal.details["bill"]})
            return
        found = divergence.bill(log, section, summariser=options["summariser"], prompt=options["prompt"])
        for sentence in divergence.words(found).values():
            self.stdout.write(plain(sentence))

    def _done(self, asked: Asked, options: dict[str, Any]) -> None:
        job = asked.job
        if job.state != JobState.DONE:
            raise CommandError(
                f"{plain(asked.supersedes)} was not drawn again: {plain(job.last_error)}", returncode=REFUSED
            )
        answer = {
            "log": job.target,
            "section": asked.section,
            "supersedes": asked.supersedes,
            "replayed": asked.replayed,
            "payload_differs": asked.payload_differs,
            "cost": job.cost,
        }
        if options["json"]:
            self.answer(answer)
            return
        if not asked.replayed:
            self.stdout.write(f"{asked.section} is current; {asked.supersedes} stays readable.")
            return
        edition = divergence.edition_of(Log.objects.get(public_id=job.target))
        current = find(edition, str(asked.section).partition("#")[0]).ref
        self.stdout.write(f"It was asked for before and gave {asked.section}; {current} is current.")
        if asked.payload_differs:
            self.stdout.write(
                "The reason, the summariser or the prompt was another then; what was said now was not used."
            )


def _finished(asked: Asked) -> Asked:
    """Run the job here, or wait for the worker that has it."""
    job = asked.job
    while job.state in OPEN:
        if jobs.run(job.pk) is None:
            time.sleep(ASK_EVERY)
            jobs.sweep(timezone.now())
        job = Job.objects.get(pk=job.pk)
        if job.state == JobState.QUEUED and job.next_try > timezone.now():
            break  # it failed here and waits for its next try
    return Asked(job, asked.replayed, asked.payload_differs)
