"""`ingest PATH… --owner NAME`: files and folders into logs, with a report line by line.

Guarantees: exit 0 when all went in, 1 when something was refused, 2 for wrong use; one broken file does
not stop the rest; nothing of a source reaches the terminal unescaped.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from chronicle.importers import registry
from chronicle.importers.protocol import Refused
from chronicle.ingest import FileReport, Found, LogReport, Tally, found, ingest_file, is_dsn, preview_file
from chronicle.ingest.run import Progress as Told
from chronicle.management.answering import REFUSED, WRONG_USE, AnsweringCommand
from chronicle.management.commands.consolidate import consolidate_now
from chronicle.management.foretold import foretold
from chronicle.management.terminal import plain
from chronicle.models import Log

SHOWN_REFUSALS = 20


class Command(AnsweringCommand):
    help = "Ingest transcripts: files, or folders with all files under them. Twice the same file adds nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("paths", nargs="+", metavar="PATH", help="a file, a folder, or postgres://…/database")
        parser.add_argument("--owner", required=True, metavar="NAME", help="whose logs these are")
        parser.add_argument("--format", choices=registry.names(), help="take every file for this format")
        parser.add_argument("--log", metavar="ID", help="append to this log of the owner, not to one per session")
        parser.add_argument("--consolidate", action="store_true", help="then draw sections and rollups")
        parser.add_argument(
            "--dry-run", action="store_true", help="say what each file holds and would add; write nothing"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["dry_run"]:
            self._preview(options)
        else:
            self._ingest(options)

    def _ingest(self, options: dict[str, Any]) -> None:
        reports = list(self._each(options, ingest_file, _refused))
        drawn = [consolidate_now(log) for log in _touched(reports)] if options["consolidate"] else None
        if options["json"]:
            self.answer(_as_json(reports, drawn))
        else:
            for report in reports:
                self._say(report)
            for answer in drawn or ():
                self._say_drawn(answer)
        if any(report.refused for report in reports) or any(answer["failed"] for answer in drawn or ()):
            raise CommandError("Something was refused; the report names file, line and reason.", returncode=REFUSED)

    def _preview(self, options: dict[str, Any]) -> None:
        if options["consolidate"]:
            raise CommandError("--dry-run writes nothing, so there is nothing to consolidate.", returncode=WRONG_USE)
        looks = list(self._each(options, preview_file, lambda file: Tally(_refused(file))))
        if options["json"]:
            self.answer({"dry_run": True, "files": [look.as_json() for look in looks]})
        else:
            for line in (line for look in looks for line in foretold(look)):
                self.stdout.write(line)
            self.stdout.write("Nothing was written.")
        if any(look.report.refused for look in looks):
            raise CommandError("Something would be refused; it stands above.", returncode=REFUSED)

    def _each[T](self, options: dict[str, Any], take: Callable[..., T], refused: Callable[[Found], T]) -> Iterator[T]:
        """Take each file that the paths name or hold; one that cannot be opened gives what `refused` makes of it."""
        given = {"owner": options["owner"], "format": options["format"], "log_id": options["log"]}
        with _progress() as told_of:
            for path in options["paths"]:
                if is_dsn(path):
                    yield take(path, progress=told_of("database"), **given)
                    continue
                for file in found([Path(path)]):
                    told = told_of(file.path.name)
                    yield refused(file) if file.reason else take(file.path, inside=file.inside, progress=told, **given)

    def _say(self, report: FileReport) -> None:
        records = report.records
        passed_by = f"passed by, {plain(report.skipped)}" if report.skipped else "not read"
        self.stdout.write(f"{plain(report.path)}: {report.format or passed_by}")
        if records["read"]:
            self.stdout.write(
                f"  {records['read']} records: {records['events']} with events, "
                f"{records['ignored']} ignored, {records['refused']} refused"
            )
        for log in report.logs:
            self.stdout.write(
                f"  log {plain(log.log)}: {_added(log)}, {log.replayed} there already, {log.refused} refused, "
                f"{log.sections} sections imported; it ends at seq {log.last_seq}"
            )
        for kind, count in sorted(report.ignored.items()):
            self.stdout.write(f"  ignored {count} × {plain(kind)}")
        for noted in report.notes[:SHOWN_REFUSALS]:
            self.stdout.write(f"  line {noted.line}: {plain(noted.words)}")
        for refused in report.refused[:SHOWN_REFUSALS]:
            self.stdout.write(f"  refused line {refused.line}: {plain(refused.reason)}")
        for kind, count in (("notes", len(report.notes)), ("refusals", report.refusals)):
            if count > SHOWN_REFUSALS:
                self.stdout.write(f"  {SHOWN_REFUSALS} of {count} {kind} shown; --json gives more")

    def _say_drawn(self, answer: dict[str, Any]) -> None:
        self.stdout.write(
            f"log {plain(answer['log'])}: {answer['sections']} sections and {answer['rollups']} rollups drawn, "
            f"{answer['failed']} failed, through seq {answer['through']}"
        )


def _added(log: LogReport) -> str:
    known = [f"{log.grown} of them grew" if log.grown else ""]
    known.append(f"{log.conflicts} of them say otherwise under a known id" if log.conflicts else "")
    within = ", ".join(filter(None, known))
    return f"{log.added} added ({within})" if within else f"{log.added} added"


def _refused(file: Found) -> FileReport:
    return FileReport(path=str(file.path), refused=[Refused(0, file.reason)])


def _touched(reports: list[FileReport]) -> list[Log]:
    ids = dict.fromkeys(log.log for report in reports for log in report.logs)
    logs = {log.public_id: log for log in Log.objects.filter(public_id__in=ids)}
    return [logs[public_id] for public_id in ids]


def _as_json(reports: list[FileReport], drawn: list[dict[str, Any]] | None) -> dict[str, Any]:
    made: dict[str, Any] = {"files": [report.as_json() for report in reports]}
    return made if drawn is None else made | {"logs": drawn}


@contextmanager
def _progress() -> Iterator[Callable[[str], Told | None]]:
    """A bar on stderr where that is a terminal, one file at a time."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda name: None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def told_of(name: str) -> Told:
            bar.reset(task, description=plain(name)[-60:], total=None)
            return lambda done, of, what: bar.update(task, completed=done, total=of)

        yield told_of
