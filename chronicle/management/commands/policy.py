"""`policy`: show how a log is consolidated, or set values from the first event on that no section covers.

Guarantees: what is not named stays as it is; without a log it is the site's default, for logs not consolidated yet.
Refuses: a value that does not exist or is outside its range, which is named (exit 2).
"""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from chronicle import audit, canonical, policies
from chronicle.api.policy import as_json
from chronicle.errors import InvalidPayload
from chronicle.management.answering import WRONG_USE, AnsweringCommand
from chronicle.management.commands.consolidate import DONE_BY, logs_named
from chronicle.management.terminal import plain
from chronicle.models import Log, Policy

WORDS = ("summariser", "model", "prompt")


class Command(AnsweringCommand):
    help = "Shows a log's policy, or sets values of it."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("log", nargs="?", metavar="LOG", help="the id of a log (without it, the site's default)")
        parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a value; may be repeated")

    def handle(self, *_: Any, log: str | None, **options: Any) -> None:
        found = logs_named([log], every=False)[0] if log else None
        if given := options["set"]:
            _set(found, dict(map(_value, given)))
        rows = policies.rows(found) if found else [policies.default()]
        if options["json"]:
            told = [as_json(row) for row in rows]
            self.answer({"log": log, "rows": told, "ranges": policies.RANGES})
            return
        for name, value in as_json(rows[-1]).items():
            low_high = policies.RANGES.get(name)
            self.stdout.write(f"{name}: {plain(value)}" + (f" ({low_high[0]} to {low_high[1]})" if low_high else ""))


def _set(log: Log | None, values: dict[str, Any]) -> Policy:
    with transaction.atomic():
        if log:
            made = policies.set_for(log, made_by=DONE_BY, **values)
        else:
            made = policies.set_default(made_by=DONE_BY, **values)
        target = log.public_id if log else "default"
        audit.record(DONE_BY, "policy.made", target, policy=made.pk, from_seq=made.from_seq)
    return made


def _value(given: str) -> tuple[str, Any]:
    name, equals, text = given.partition("=")
    if not equals:
        raise CommandError(f"{plain(given)} is no NAME=VALUE.", returncode=WRONG_USE)
    if name in WORDS:
        return name, text
    try:
        return name, canonical.parse(text)
    except InvalidPayload as error:
        raise CommandError(f"{plain(name)} takes a number or a JSON list.", returncode=WRONG_USE) from error
