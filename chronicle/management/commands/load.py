"""`load FILE`: what `export` wrote, into this database.

Guarantees: the file is proven, then compared, before a row is written; says per kind what landed, what was there, and
what was there with other words, which stays as it is. Refuses (exit 1): a file that does not fit itself or what is
here, with the line and the place; nothing is written then.
"""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from chronicle import carry
from chronicle.carry import Loaded
from chronicle.errors import CarryRefused
from chronicle.management.answering import REFUSED, AnsweringCommand
from chronicle.management.terminal import plain

SHOWN = 20


class Command(AnsweringCommand):
    help = "Loads an exported file. What is here already is left as it is; twice the same file adds nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--by", default="operator", metavar="NAME", help="who loads it, for the audit trail")

    def handle(self, *_: Any, file: Path, **options: Any) -> None:
        try:
            loaded = carry.load(file, made_by=options["by"][:200])
        except CarryRefused as error:
            raise CommandError(_refused(error), returncode=REFUSED) from error
        if options["json"]:
            self.answer(loaded.as_json())
        else:
            self._say(loaded)

    def _say(self, loaded: Loaded) -> None:
        self.stdout.write(f"{plain(loaded.path)}: proven, sha256 {loaded.sha256}")
        for log, tally in loaded.logs.items():
            self.stdout.write(f"log {plain(log)}")
            for kind, row in tally.as_json().items():
                words = f"{row['landed']} landed, {row['there']} there already"
                if row["other"]:
                    words += f", {row['other']} there with other words (kept): {_named(row)}"
                self.stdout.write(f"  {kind.replace('_', ' ')}: {words}")
        self.stdout.write(
            f"{loaded.total('landed')} rows landed, {loaded.total('there')} were there, "
            f"{loaded.total('other')} were there with other words."
        )


def _named(row: dict[str, Any]) -> str:
    ids = ", ".join(map(plain, row["other_ids"][:SHOWN]))
    return ids if row["other"] <= SHOWN else f"{ids} and {row['other'] - SHOWN} more (--json names them)"


def _refused(error: CarryRefused) -> str:
    before = error.details.get("landed")
    said = f"Refused: {plain(error)}"
    return f"{said}. Landed before it: {plain(', '.join(before))}." if before else f"{said}. Nothing was written."
