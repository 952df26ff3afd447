"""What all commands that take `--json` share: the option, and one JSON object on stdout whatever happens.

Guarantees: with `--json` stdout is exactly one object, what was asked for (`answer`) or, where nothing was
answered, `{"error": name, "message": sentence}`; the exit code stays that of the refusal. A refusal of the
domain that a command does not handle is wrong use (exit 2). What argparse refuses stays plain.
"""

import contextlib
import json
import os
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chronicle.errors import ChronicleError
from chronicle.management.terminal import plain

REFUSED, WRONG_USE = 1, 2
BROKEN_PIPE = 141  # as a shell says of a program that SIGPIPE ended
NAMES = {REFUSED: "refused", WRONG_USE: "wrong_use"}


class AnsweringCommand(BaseCommand):
    """A command that people and scripts use: words, or one JSON object."""

    answered = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def answer(self, answer: dict[str, Any]) -> None:
        """Print the object that `--json` asks for; once."""
        self.stdout.write(json.dumps(answer))
        self.answered = True

    def execute(self, *args: Any, **options: Any) -> str | None:
        self.answered = False
        try:
            done = self._handled(*args, **options)
            self.stdout.flush()
            return done
        except BrokenPipeError:  # who reads has seen enough, as `| head` does: no traceback, as of any filter
            with contextlib.suppress(OSError, ValueError):  # else the interpreter complains when it flushes at its end
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(BROKEN_PIPE) from None
        except CommandError as error:
            if options.get("json") and not self.answered:
                self.answer({"error": _name(error), "message": str(error)})
            raise

    def _handled(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except ChronicleError as error:
            raise CommandError(plain(error), returncode=WRONG_USE) from error


def _name(error: CommandError) -> str:
    """The refusal's own word where the domain refused, else what kind of refusal it is."""
    cause = error.__cause__
    return cause.name if isinstance(cause, ChronicleError) else NAMES.get(error.returncode, "refused")
