"""`verify [LOG]… [--all] [--bundle FILE]`: proves logs, here or in a file, and names what does not fit."""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from chronicle import carry
from chronicle.errors import LogNotFound
from chronicle.management.answering import REFUSED, WRONG_USE, AnsweringCommand
from chronicle.management.terminal import plain
from chronicle.models import Log
from chronicle.verifier import Status, Verdict
from chronicle.verify import verify_log


class Command(AnsweringCommand):
    help = "Prove logs: chain, gaplessness, coverage, counts, digests, receipts. Exit 1 when one does not hold."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("log", nargs="*", help="ids of logs")
        parser.add_argument("--all", action="store_true", help="every log")
        parser.add_argument(
            "--bundle", type=Path, metavar="FILE", help="the logs of an exported file, no database asked"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        if options["bundle"] is not None:
            self._bundle(options)
            return
        logs = self._logs(options["log"], everything=options["all"])
        found = [(log, verify_log(log)) for log in logs]
        if options["json"]:
            self.answer({"logs": [_as_json(log, verdict) for log, verdict in found]})
        else:
            for log, verdict in found:
                self.stdout.write(_as_line(log, verdict))
            sound = sum(verdict.status is Status.OK for _, verdict in found)
            self.stdout.write(f"{sound} of {len(found)} logs checked are OK, of {Log.objects.count()} logs here.")
        if any(verdict.status is not Status.OK for _, verdict in found):
            sys.exit(REFUSED)

    def _bundle(self, options: dict[str, Any]) -> None:
        if options["log"] or options["all"]:
            raise CommandError("Name logs, or --all, or --bundle.", returncode=WRONG_USE)
        report = carry.check(options["bundle"])
        why = str(report.refused or "")
        if options["json"]:
            file = {"file": report.path, "status": str(report.status), "sha256": report.sha256, "why": why}
            self.answer({"logs": [log.as_json() for log in report.logs], "bundle": file})
        else:
            for log in report.logs:
                line = f"{plain(log.log)}: {log.status} to seq {log.seq}, against {carry.AGAINST}"
                self.stdout.write(f"{line}; {plain(log.why)}" if log.why else line)
            said = f"{plain(report.path)}: {report.status}"
            self.stdout.write(f"{said}; {plain(why)}" if why else f"{said}, {len(report.logs)} logs, {report.sha256}")
        if report.refused is not None:
            sys.exit(REFUSED)

    def _logs(self, ids: list[str], *, everything: bool) -> list[Log]:
        if everything == bool(ids):
            raise CommandError("Name logs, or --all.", returncode=WRONG_USE)
        logs = list(Log.objects.order_by("pk") if everything else Log.objects.filter(public_id__in=ids))
        unknown = set(ids) - {log.public_id for log in logs}
        if unknown:
            raise CommandError(
                f"There is no log {plain(', '.join(sorted(unknown)))}.", returncode=WRONG_USE
            ) from LogNotFound()
        return logs


def _as_json(log: Log, verdict: Verdict) -> dict[str, Any]:
    return {"log": log.public_id, **verdict._asdict(), "status": str(verdict.status)}


def _as_line(log: Log, verdict: Verdict) -> str:
    line = f"{log.public_id}: {verdict.status} to seq {verdict.seq} of {log.last_seq}, against {verdict.against}"
    if verdict.unproven:
        line += f"; {verdict.unproven} of {verdict.receipts} receipts are of another version and were not made again"
    return f"{line}; {verdict.why}" if verdict.why else line
