"""`close`: end the open unit of a log here, by a `unit.closed` marker.

Guarantees: the marker is an event like any other, appended at the end; nothing else changes.
Refuses: a log that does not exist, a reason no database takes (exit 2).
"""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from chronicle.envelope import UNIT_CLOSED, ActorKind, Kind, PendingEvent
from chronicle.errors import InvalidEvent
from chronicle.log import append
from chronicle.management.answering import WRONG_USE, AnsweringCommand
from chronicle.management.commands.consolidate import logs_named


class Command(AnsweringCommand):
    help = "Closes the open unit of a log, so that it can be consolidated."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("log", metavar="LOG", help="the id of a log")
        parser.add_argument("--reason", default="manual", help="why, in a word or two (manual)")

    def handle(self, *_: Any, log: str, reason: str, **options: Any) -> None:
        [found] = logs_named([log], every=False)
        marker = PendingEvent(
            kind=Kind.MARKER,
            actor_kind=ActorKind.SYSTEM,
            actor="close",
            type=UNIT_CLOSED,
            payload={"reason": reason},
        )
        try:
            appended = append(found, [marker])
        except InvalidEvent as error:
            raise CommandError(str(error), returncode=WRONG_USE) from error
        if options["json"]:
            self.answer({"log": log, "seq": appended.last_seq, "reason": reason})
        else:
            self.stdout.write(f"{log}: the unit is closed at {appended.last_seq}.")
