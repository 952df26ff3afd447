"""`chronicle`: what the agent's tool shows of a log: `list`, `open ID`, `expand ID`.

Guarantees: the same as `chronicle.tool`, which does the work; every character of what was recorded is seen on
the terminal and none is obeyed; with `--json` one object. With `--reader NAME` it is an agent that reads: what
NAME may see is printed exactly as it is given, and leaves a receipt. Without it the operator looks: no receipt.
Refuses: a log, an edition, a section or an action that is not there (exit 2).
"""

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandParser

from chronicle import receipts, tool
from chronicle.envelope import StoredEvent
from chronicle.management.answering import AnsweringCommand
from chronicle.management.commands.consolidate import logs_named
from chronicle.management.terminal import plain
from chronicle.models import Edition
from chronicle.reading import edition_of
from chronicle.tool import Entry, Expanded, Listed, Opened


class Command(AnsweringCommand):
    help = "Shows a log's chronicle as an agent browses it: list, open ID, expand ID."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("log", metavar="LOG", help="the id of a log")
        parser.add_argument("action", nargs="?", default="list", help="list, open or expand (list)")
        parser.add_argument("id", nargs="?", default="", metavar="ID", help="a section: 12-31, L1:1-320, 12-31#2")
        parser.add_argument("--after", type=int, metavar="SEQ", help="expand: the events after this one")
        parser.add_argument("--limit", type=int, metavar="N", help="list: 1 to 50 (20); expand: 1 to 100 (100)")
        parser.add_argument("--edition", type=int, metavar="N", help="an older edition (the one in force)")
        parser.add_argument(
            "--reader",
            metavar="NAME",
            help="read as this agent, and leave a receipt (without it you look, and none is)",
        )

    def handle(self, *_: Any, action: str, **options: Any) -> None:
        tool.check_action(action)
        [found] = logs_named([options["log"]], every=False)
        edition = edition_of(found, options["edition"])
        if options["reader"] is not None:
            self._read(action, edition, options)
            return
        shown = _asked(action, edition, options)
        if options["json"]:
            self.answer({"log": options["log"], **shown.as_json()})
            return
        for line in _lines(shown):
            self.stdout.write(line)

    def _read(self, action: str, edition: Edition, options: dict[str, Any]) -> None:
        told = _given(action, edition, options)
        if options["json"]:
            receipt = {"receipt": told.receipt.number, "digest": told.receipt.text_digest}
            self.answer({"log": options["log"], **told.shown.as_json(), **receipt, "text": told.text})
        elif self.stdout.isatty():
            self.stdout.write("\n".join(map(plain, told.text.split("\n"))), ending="")
        else:
            self.stdout.write(told.text, ending="")


def _asked(action: str, edition: Edition, options: dict[str, Any]) -> Listed | Opened | Expanded:
    limit = {} if options["limit"] is None else {"limit": options["limit"]}
    if action == "list":
        return tool.listed(edition, **limit)
    if action == "open":
        return tool.opened(edition, options["id"])
    return tool.expanded(edition, options["id"], after=options["after"], **limit)


def _given(action: str, edition: Edition, options: dict[str, Any]) -> receipts.Browsed[Any]:
    limit = {} if options["limit"] is None else {"limit": options["limit"]}
    who = {
        "by": options["reader"],
        "reader": options["reader"],
        "capability": "expand" if action == "expand" else "read",
    }
    if action == "list":
        return receipts.read_list(edition, **who, **limit)
    if action == "open":
        return receipts.read_open(edition, options["id"], **who)
    return receipts.read_expand(edition, options["id"], after=options["after"], **who, **limit)


def _lines(shown: Listed | Opened | Expanded) -> Iterator[str]:
    yield shown.header
    if isinstance(shown, Listed):
        yield from map(_entry, shown.entries)
    elif isinstance(shown, Opened):
        yield f"{shown.entry.mark}{plain(shown.entry.title)}"
        yield from map(plain, shown.prose.split("\n"))
        if shown.children:
            yield f"It stands for {len(shown.children)} sections:"
        for child in shown.children:
            yield _entry(child.entry) + (f" (it read {child.read})" if child.read != child.entry.id else "")
    else:
        yield from map(_event, shown.events)


def _entry(entry: Entry) -> str:
    return f"{entry.id}  {entry.events} events  {entry.mark}{plain(entry.title)}"


def _event(event: StoredEvent) -> str:
    said = plain(event.content or event.payload)
    return f"{event.seq}  {event.kind}  {plain(event.actor)}  {said}"
