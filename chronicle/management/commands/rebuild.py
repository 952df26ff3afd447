"""`rebuild`: draw a log's whole chronicle again into a new edition, once its bill is accepted.

Guarantees: without `--discard-generated` nothing is drawn or reset: the bill is printed, exit 1; with it the work
is done under the same job as the page's button, and one that was cut off is gone on with. With `--replay` no
model is asked: what the log has pinned is given again, and the first request that is not pinned stops it (exit 1);
with `--draw-missing` beside it that one is drawn.
Refuses: a log that is not here, a reason that cannot be kept (exit 2).
"""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from chronicle import asking, editions
from chronicle.errors import GenerativeRebuild, PinMiss
from chronicle.management.answering import REFUSED, WRONG_USE, AnsweringCommand
from chronicle.management.commands.consolidate import DONE_BY, finished, logs_named
from chronicle.management.terminal import plain
from chronicle.models import Job, JobState

OTHER_WAY = "With --draw-missing what is pinned is given, and the rest is drawn."


class Command(AnsweringCommand):
    help = "Draws a log's chronicle again into a new edition; says first what would be lost and what it costs."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("log", metavar="LOG", help="the id of a log")
        parser.add_argument("--discard-generated", action="store_true", help="accept what the bill says, and rebuild")
        parser.add_argument("--replay", action="store_true", help="give what is pinned, and stop at what is not")
        parser.add_argument("--draw-missing", action="store_true", help="with --replay: draw what is not pinned")
        parser.add_argument("--reason", default="", help="why, kept with the edition and in the audit trail")

    def handle(self, *_: Any, log: str, reason: str, **options: Any) -> None:
        [found] = logs_named([log], every=False)
        if options["draw_missing"] and not options["replay"]:
            raise CommandError("--draw-missing goes with --replay.", returncode=WRONG_USE)
        replay = ("record" if options["draw_missing"] else "strict") if options["replay"] else None
        try:
            asked = asking.rebuilding(
                found, accepted=options["discard_generated"], by=DONE_BY, reason=reason, replay=replay
            )
        except GenerativeRebuild as refusal:
            self._bill(editions.bill(found, replay=replay), refusal, options)
            raise CommandError(
                "Nothing was rebuilt. Say --discard-generated to accept this.", returncode=REFUSED
            ) from refusal
        except PinMiss as missing:
            raise CommandError(f"{plain(missing)} {OTHER_WAY}", returncode=REFUSED) from missing
        if asked.payload_differs:
            self.stderr.write("It was asked for before with another reason; what was said now was not used.")
        self._done(finished(asked.job), options)

    def _bill(self, bill: editions.RebuildBill, refusal: GenerativeRebuild, options: dict[str, Any]) -> None:
        if options["json"]:
            self.answer({"error": refusal.name, "message": str(refusal), "bill": bill.as_json()})
            return
        for sentence in bill.words().values():
            self.stdout.write(plain(sentence))

    def _done(self, job: Job, options: dict[str, Any]) -> None:
        report = job.result
        if job.state != JobState.DONE or report is None:
            way = f" {OTHER_WAY}" if job.last_error.startswith("PinMiss") else ""
            raise CommandError(f"{job.target} was not rebuilt: {plain(job.last_error)}{way}", returncode=REFUSED)
        if options["json"]:
            self.answer(dict(report))
            return
        self.stdout.write(f"Edition {report['edition']} is in force; edition {report['replaced']} stays readable.")
        self.stdout.write(f"{report['words']} {report['calls']} calls of a model.")
