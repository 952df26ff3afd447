"""`bench`: what appending, ingesting, consolidating, looking up and every page cost, on a database of its own."""

import json
import subprocess
import sys
import tempfile
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from chronicle.management.answering import AnsweringCommand


class Command(AnsweringCommand):
    help = "Measures the site against plain SQLite and plain JSON, in a database of its own. Takes a few minutes."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--quick", action="store_true", help="a trial with little data; its figures mean nothing")

    def handle(self, *_: Any, **options: Any) -> None:
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            command = [
                sys.executable,
                "-W",
                "ignore",
                "-m",
                "chronicle.bench",
                folder,
                *(["--quick"] if options["quick"] else []),
            ]
            done = subprocess.run(  # noqa: S603 (our own module, arguments of our own)
                command, cwd=settings.BASE_DIR, stdout=subprocess.PIPE, text=True, check=False
            )
        if done.returncode:
            raise CommandError("The benchmark failed; what went wrong stands above.")
        answer = json.loads(done.stdout)
        if options["json"]:
            self.answer(answer)
        else:
            self.stdout.write(table(answer["figures"]))


def table(figures: list[dict[str, Any]]) -> str:
    """The figures as lines: name, value and unit, and how many times its yardstick that is."""
    width = max(len(figure["name"]) for figure in figures)
    return "\n".join(
        f"{figure['name']:<{width}}  {figure['value']:>10,.10g} {figure['unit']:<8}"
        + (f"{figure['ratio']:>9,.10g} × {figure['against']}" if figure["ratio"] is not None else "")
        for figure in figures
    )
