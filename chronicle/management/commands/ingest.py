"""`ingest PATH… --owner NAME`: files and folders into logs, with a report line by line.

Guarantees: exit 0 when all went in, 1 when something was refused, 2 for wrong use; one broken file does
not stop the rest; nothing of a source reaches the terminal unescaped.
"""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from chronicle.errors import ChronicleError
from chronicle.fold import Consolidated, consolidate
from chronicle.importers import registry
from chronicle.importers.protocol import Refused
from chronicle.ingest import FileReport, Found, found, ingest_file
from chronicle.ingest.run import Progress as Told
from chronicle.management.terminal import plain
from chronicle.models import Log

SHOWN_REFUSALS = 20


class Command(BaseCommand):
    help = "Ingest transcripts: files, or folders with all files under them. Twice the same file adds nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--owner", required=True, metavar="NAME", help="whose logs these are")
        parser.add_argument("--format", choices=registry.names(), help="take every file for this format")
        parser.add_argument("--log", metavar="ID", help="append to this log of the owner, not to one per session")
        parser.add_argument("--consolidate", action="store_true", help="then draw sections and rollups")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            reports = list(self._ingest(options))
            consolidated = [consolidate(log) for log in _touched(reports)] if options["consolidate"] else []
        except ChronicleError as error:
            raise CommandError(plain(error), returncode=2) from error
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(reports, consolidated, asked=options["consolidate"])))
        else:
            for report in reports:
                self._say(report)
            for done in consolidated:
                self._say_consolidated(done)
        if any(report.refused for report in reports) or any(done.failed for done in consolidated):
            sys.exit(1)

    def _ingest(self, options: dict[str, Any]) -> Iterator[FileReport]:
        given = {"owner": options["owner"], "format": options["format"], "log_id": options["log"]}
        with _progress() as told:
            for file in found(options["paths"]):
                yield _refused(file) if file.reason else ingest_file(file.path, progress=told, **given)

    def _say(self, report: FileReport) -> None:
        records = report.records
        self.stdout.write(f"{plain(report.path)}: {report.format or 'not read'}")
        if records["read"]:
            self.stdout.write(
                f"  {records['read']} records: {records['events']} with events, "
                f"{records['ignored']} ignored, {records['refused']} refused"
            )
        for log in report.logs:
            self.stdout.write(
                f"  log {plain(log.log)}: {log.added} added, {log.replayed} there already, {log.refused} refused, "
                f"{log.sections} sections imported; it ends at seq {log.last_seq}"
            )
        for kind, count in sorted(report.ignored.items()):
            self.stdout.write(f"  ignored {count} × {plain(kind)}")
        for noted in report.notes[:SHOWN_REFUSALS]:
            self.stdout.write(f"  line {noted.line}: {plain(noted.words)}")
        for refused in report.refused[:SHOWN_REFUSALS]:
            self.stdout.write(f"  refused line {refused.line}: {plain(refused.reason)}")
        for kind, items in (("notes", report.notes), ("refusals", report.refused)):
            if len(items) > SHOWN_REFUSALS:
                self.stdout.write(f"  {SHOWN_REFUSALS} of {len(items)} {kind} shown; --json gives all")

    def _say_consolidated(self, done: Consolidated) -> None:
        self.stdout.write(
            f"log {plain(done.log)}: {done.sections} sections and {done.rollups} rollups drawn, "
            f"{done.failed} failed, through seq {done.through}"
        )


def _refused(file: Found) -> FileReport:
    return FileReport(path=str(file.path), refused=[Refused(0, file.reason)])


def _touched(reports: list[FileReport]) -> list[Log]:
    ids = dict.fromkeys(log.log for report in reports for log in report.logs)
    logs = {log.public_id: log for log in Log.objects.filter(public_id__in=ids)}
    return [logs[public_id] for public_id in ids]


def _as_json(reports: list[FileReport], consolidated: list[Consolidated], *, asked: bool) -> dict[str, Any]:
    made: dict[str, Any] = {"files": [report.as_json() for report in reports]}
    if asked:
        made["logs"] = [done._asdict() for done in consolidated]
    return made


@contextmanager
def _progress() -> Iterator[Told | None]:
    """A bar on stderr where that is a terminal, one file at a time."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def told(done: int, of: int | None, what: str) -> None:
            bar.update(task, completed=done, total=of, description=plain(what)[-60:])

        yield told
