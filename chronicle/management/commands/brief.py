"""`brief`: print exactly what a reader is given at a seq, and leave a receipt of it.

Guarantees: stdout is the text and nothing else, byte for byte what the receipt's digest is of; with `--json` the
text stands in the object. Content that could steer a terminal is shown escaped only where stdout is one.
Refuses: a seq the log does not have, a budget below 1 (exit 2).
"""

from typing import Any

from django.core.management.base import CommandParser

from chronicle import receipts
from chronicle.api.reading import brief_as_json
from chronicle.management.answering import AnsweringCommand
from chronicle.management.commands.consolidate import logs_named
from chronicle.management.terminal import plain


class Command(AnsweringCommand):
    help = "Prints the brief of a log, exactly as an agent is given it, and leaves a receipt."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("log", metavar="LOG", help="the id of a log")
        parser.add_argument("--upto", type=int, metavar="SEQ", help="as of this event (the last)")
        parser.add_argument(
            "--budget", type=int, metavar="N", help="at most N tokens in all (without it, the policy bounds the view)"
        )
        parser.add_argument("--reader", metavar="NAME", help="what this actor may see (everything)")

    def handle(self, *_: Any, log: str, **options: Any) -> None:
        [found] = logs_named([log], every=False)
        reading = receipts.read_brief(
            found,
            by=options["reader"] or "command",
            capability="read",
            upto_seq=options["upto"],
            budget=options["budget"],
            reader=options["reader"],
        )
        if options["json"]:
            self.answer(brief_as_json(reading))
        elif self.stdout.isatty():
            self.stdout.write("\n".join(map(plain, reading.text.split("\n"))), ending="")
        else:
            self.stdout.write(reading.text, ending="")
