"""`token`: make a bearer token for the HTTP API, or revoke one.

Guarantees: the token is printed once, here, and never again: what is kept cannot give it back.
Refuses: a capability that does not exist, an owner's name that cannot be shown, a prefix that is not here (exit 2).
"""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from chronicle import credentials
from chronicle.management.answering import WRONG_USE, AnsweringCommand
from chronicle.management.commands.consolidate import DONE_BY
from chronicle.management.terminal import plain
from chronicle.models import Token


class Command(AnsweringCommand):
    help = "Makes a bearer token, printed this once, or revokes one."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", nargs="?", metavar="NAME", help="whose it is: the name its holder reads by")
        parser.add_argument("--owner", metavar="OWNER", help="the owner whose logs it is for")
        parser.add_argument("--can", metavar="LIST", help=f"what it may do: {', '.join(credentials.Capability)}")
        parser.add_argument("--days", type=int, metavar="N", help="how long it holds (without it, until it is revoked)")
        parser.add_argument("--revoke", metavar="PREFIX", help="revoke the token that begins like this")

    def handle(self, *_: Any, **options: Any) -> None:
        if options["revoke"] is not None:
            self._revoke(options)
            return
        if not (options["name"] and options["owner"] and options["can"]):
            raise CommandError("Give NAME, --owner and --can, or --revoke PREFIX.", returncode=WRONG_USE)
        made = credentials.make(
            options["name"],
            owner=options["owner"],
            can=options["can"].split(","),
            days=options["days"],
            by=DONE_BY,
        )
        if options["json"]:
            self.answer({"token": made.token, **_facts(made.row)})
        else:
            self.stdout.write(made.token)

    def _revoke(self, options: dict[str, Any]) -> None:
        if any(options[name] is not None for name in ("name", "owner", "can", "days")):
            raise CommandError("--revoke takes a prefix and nothing else.", returncode=WRONG_USE)
        row = credentials.revoke(options["revoke"], by=DONE_BY)
        if options["json"]:
            self.answer({"revoked": row.prefix, **_facts(row)})
        else:
            self.stdout.write(f"{row.prefix}, {plain(row.name)} of {plain(row.owner)}: revoked.")


def _facts(row: Token) -> dict[str, Any]:
    return {
        "name": row.name,
        "owner": row.owner,
        "prefix": row.prefix,
        "can": row.capabilities,
        "expires_at": row.expires_at and row.expires_at.isoformat(),
    }
