"""`export LOG… -o FILE`: logs with all that stands over them, in one file that `load` takes on any database.

`--format` names another form (a recording, Markdown, HTML, CSV, OTLP JSON) of one log, or of a range of its events.
Guarantees: says of every kind how many of how many rows were written; the file appears when it is complete, readable
by its owner alone. Refuses: a log that does not exist, no log, `--json` beside `-o -` (exit 2); what no file can
hold, and a place that cannot be written (exit 1).
"""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser, OutputWrapper

from chronicle import carry, exports
from chronicle.errors import CarryRefused, InvalidFilter, LogNotFound
from chronicle.management.answering import REFUSED, WRONG_USE, AnsweringCommand
from chronicle.management.terminal import plain
from chronicle.models import Log

FORMATS = ("carry", "anagrapheus", *(form.name for form in exports.FORMS))
SHOWN = 20


class Command(AnsweringCommand):
    help = "Exports logs: every event, edition, section, pin and receipt, into one file."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("log", nargs="*", metavar="LOG", help="ids of logs")
        parser.add_argument("--all", action="store_true", help="every log")
        parser.add_argument("-o", "--output", required=True, type=Path, metavar="FILE", help="- is standard output")
        parser.add_argument("--format", choices=FORMATS, default="carry", help="carry holds everything; others one log")
        parser.add_argument("--from", type=int, metavar="SEQ", dest="from_seq", help="first event (not for carry)")
        parser.add_argument("--to", type=int, metavar="SEQ", dest="to_seq", help="last event (not for carry)")

    def handle(self, *_: Any, output: Path, **options: Any) -> None:
        if options["json"] and str(output) == "-":
            raise CommandError("--json and -o - both want standard output; name a file.", returncode=WRONG_USE)
        logs = self._logs(options["log"], everything=options["all"])
        whole = options["format"] in ("carry", carry.RECORDING)
        if whole and (options["from_seq"] or options["to_seq"]):
            raise CommandError(f"{options['format']} holds whole logs; --from and --to are for the other forms.",
                               returncode=WRONG_USE)  # fmt: skip
        writes = {"carry": self._carry, carry.RECORDING: self._record}.get(options["format"], self._form)
        try:
            writes(logs, output, options)
        except (CarryRefused, InvalidFilter) as error:
            raise CommandError(plain(error), returncode=REFUSED) from error
        except OSError as error:
            raise CommandError(f"{plain(output)} cannot be written: {error.strerror}", returncode=REFUSED) from error

    def _carry(self, logs: list[Log], output: Path, options: dict[str, Any]) -> None:
        done = carry.export(logs, output)
        if options["json"]:
            kinds = {kind: {"written": written, "of": there} for kind, (written, there) in done.kinds.items()}
            self.answer(
                {"logs": list(done.logs), "file": str(output), "size": done.size, "sha256": done.sha256, "kinds": kinds}
            )
            return
        out = self._words(output)
        out.write(f"{plain(output)}: {done.size} bytes, sha256 {done.sha256}")
        for kind, (written, there) in done.kinds.items():
            out.write(f"  {kind.replace('_', ' ')}: {written} of {there}")

    def _record(self, logs: list[Log], output: Path, options: dict[str, Any]) -> None:
        if len(logs) != 1:
            raise CommandError(f"A recording holds one log, not {len(logs)}.", returncode=WRONG_USE)
        done = carry.record(logs[0], output)
        if options["json"]:
            self.answer({**done.as_json(), "file": str(output)})
            return
        out = self._words(output)
        out.write(f"{plain(output)}: a recording of {done.events} of {done.there} events")
        out.write(f"  {done.foreign} as application events of our namespace, {done.renumbered} under another seq")
        for seq, reason in done.refused[:SHOWN]:
            out.write(f"  not written: event {seq}, {plain(reason)}")
        if len(done.refused) > SHOWN:
            out.write(f"  {SHOWN} of {len(done.refused)} that were not written shown; --json gives all")

    def _form(self, logs: list[Log], output: Path, options: dict[str, Any]) -> None:
        form = exports.named(options["format"])
        if len(logs) != 1:
            raise CommandError(f"{form.name} holds one log, not {len(logs)}.", returncode=WRONG_USE)
        taken = exports.take(logs[0], options["from_seq"], options["to_seq"])
        files = [str(path) for path in exports.export(form, taken, output)]
        kinds = taken.tally.as_json()
        if options["json"]:
            said = {"logs": [logs[0].public_id], "file": files[0], "files": files, "kinds": kinds, "lossy": form.lossy}
            self.answer(said)
            return
        out = self._words(output)
        out.write(f"{', '.join(map(plain, files))}: {form.lossy}")
        for kind, count in kinds.items():
            out.write(f"  {kind}: {count['written']} of {count['of']}")

    def _words(self, output: Path) -> OutputWrapper:
        """Where words go: beside the file, which may be standard output itself."""
        return self.stderr if str(output) == "-" else self.stdout

    def _logs(self, ids: list[str], *, everything: bool) -> list[Log]:
        if everything == bool(ids):
            raise CommandError("Name logs, or --all.", returncode=WRONG_USE)
        logs = list(Log.objects.all() if everything else Log.objects.filter(public_id__in=ids))
        unknown = set(ids) - {log.public_id for log in logs}
        if unknown:
            said = f"There is no log {plain(', '.join(sorted(unknown)))}."
            raise CommandError(said, returncode=WRONG_USE) from LogNotFound()
        return logs
