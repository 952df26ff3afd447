"""Events as the rows of a table: what every list of events shows, and what it leaves to a link.

Guarantees: a row's text is the beginning of what was recorded and says its whole length when it is
cut; one query a list, however many rows; no content or payload is loaded beyond what is shown.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.functions import Length, Substr

from chronicle import canonical
from chronicle.envelope import SPOKEN_KINDS, Kind
from chronicle.models import Event

EXCERPT = 600  # characters of what was said; of what tools said less, since it is read in the event itself
TOOL_EXCERPT = 240
EXCERPT_LINES = 8
PAGE = 100

SIGNS = {
    Kind.MESSAGE: ("“", "message"),
    Kind.THOUGHT: ("~", "thought"),
    Kind.TOOL_REQUEST: ("→", "request"),
    Kind.TOOL_RESPONSE: ("←", "response"),
    Kind.MARKER: ("■", "marker"),
    Kind.BOOKKEEPING: ("·", "books"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One event in a list. `length` is the whole text's, in characters; `size` the payload's, in bytes.

    `joined` says that the text is a request's content with its arguments after it.
    """

    seq: int
    kind: str
    actor_kind: str
    actor: str
    text: str
    length: int
    size: int
    answers: int | None
    audience: tuple[str, ...]
    time: datetime
    claimed: bool
    new_day: bool = True
    back: bool = False
    sought: bool = False
    joined: bool = False

    @property
    def sign(self) -> str:
        return SIGNS[Kind(self.kind)][0]

    @property
    def word(self) -> str:
        return SIGNS[Kind(self.kind)][1]

    @property
    def cut(self) -> bool:
        return len(self.text) < self.length


def rows_of(events: QuerySet[Event], *, sought: range = range(0)) -> list[Row]:
    """Return a row for each of `events`, in their order; those whose seq is in `sought` are marked."""
    request = Event.objects.filter(log=OuterRef("log"), event_id=OuterRef("causation")).values("seq")[:1]
    found = events.annotate(
        head=Substr("content", 1, EXCERPT + 1),
        length=Length("content"),
        payload_head=Substr("payload", 1, EXCERPT + 1),
        payload_size=Length("payload"),
        answers=Subquery(request),
    ).values(*_COLUMNS)
    return [_row(values, sought) for values in found]


_COLUMNS = (
    "seq", "kind", "actor_kind", "actor", "type", "at", "claimed_at", "audience",
    "head", "length", "payload_head", "payload_size", "answers",
)  # fmt: skip


def _is_name(head: str) -> bool:
    """True for a tool's bare name, whose arguments are in the payload; what importers write names them already."""
    return len(head.split()) == 1


def _row(values: dict[str, Any], sought: range) -> Row:
    head, length = values["head"], values["length"]
    if not head:
        lead = "" if values["type"] == values["kind"] else f"{values['type']} "
        head, length = lead + values["payload_head"], len(lead) + values["payload_size"]
    joined = values["kind"] == Kind.TOOL_REQUEST and _is_name(values["head"]) and bool(values["payload_size"])
    if joined:
        head, length = f"{head} {values['payload_head']}", length + 1 + values["payload_size"]
    spoken = values["kind"] in SPOKEN_KINDS
    return Row(
        seq=values["seq"],
        kind=values["kind"],
        actor_kind=values["actor_kind"],
        actor=values["actor"],
        text=excerpt(head, characters=EXCERPT if spoken else TOOL_EXCERPT),
        length=length,
        size=values["payload_size"],
        answers=values["answers"] if values["kind"] == Kind.TOOL_RESPONSE else None,
        audience=tuple(canonical.parse(values["audience"])) if values["audience"] else (),
        time=values["claimed_at"] or values["at"],
        claimed=values["claimed_at"] is not None,
        sought=values["seq"] in sought,
        joined=joined,
    )


def excerpt(text: str, *, characters: int) -> str:
    """Return the beginning of `text`: at most so many characters, and EXCERPT_LINES lines."""
    return "\n".join(text[:characters].split("\n", EXCERPT_LINES)[:EXCERPT_LINES])


def in_time(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield rows that stand in seq order, marked where a new day begins and where a source's own clock goes back."""
    before: Row | None = None
    for row in rows:
        new_day = before is None or row.time.date() != before.time.date()
        back = before is not None and before.claimed and row.claimed and row.time < before.time
        yield replace(row, new_day=new_day, back=back)
        before = row
