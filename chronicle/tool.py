"""The agent's tool over one edition: list what stands for the log, open a section, expand it into its events.

Guarantees: a list holds the cover alone, each span once, filtered before it is cut; an opened section says
which generation it is and what stands in its place; pages of an expanded section reach every event it covers;
bookkeeping is not shown. A `reader` sees public events and those whose audience names the reader, and counts
go by that; None sees all. The log is that of the edition, never an argument of the agent's.
`text` is what an agent reads, version 1 of how it is written (rendering.VERSION): recorded words are indented
or stand at a line's end; what is made `_again` from the sections given has the same bytes.
Refuses: an action, a section or a generation that is not there, by its name.
"""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from chronicle import rendering
from chronicle.access import events_for
from chronicle.envelope import CONTENT_KINDS, Kind, StoredEvent, is_bookkeeping
from chronicle.errors import UnknownAction, UnknownSection
from chronicle.log import read
from chronicle.models import Anchor, Edition, Event, Log, RollupSource, Section
from chronicle.reading import find, parse_ref
from chronicle.rendering import Piece
from chronicle.rollups import stale_rollups
from chronicle.sections import consolidated_through, current_sections

ACTIONS = ("list", "open", "expand")
LISTED, MOST_LISTED, MOST_EXPANDED = 20, 50, 100
CHUNK = 200
HOW_TO_FIND = "Say which section to {action}, by an id such as 12-31 or L1:1-320; list shows the ids."


@dataclass(frozen=True, slots=True)
class Entry:
    """One line for a section: its current generation, its range (both ends inclusive), its content events."""

    id: str
    level: int
    title: str
    from_seq: int
    to_seq: int
    events: int
    stale: bool

    @property
    def mark(self) -> str:
        """What a line says before its title: whether it stands for sections, and whether those are others by now."""
        return ("[rollup] " if self.level else "") + ("[stale] " if self.stale else "")

    def line(self, read: str = "") -> str:
        """Return the entry as a line of a text; `read` is the generation that the rollup over it read."""
        marks = [self.id, *["rollup"] * bool(self.level), *["stale"] * self.stale]
        marks += [f"read as {read}"] if read not in ("", self.id) else []
        return f"[{', '.join(marks)}] {self.events} events: {rendering.one_line(self.title)}\n"


@dataclass(frozen=True, slots=True)
class Listed:
    """The newest entries of the cover. `of` counts the whole cover; events after `through` are in no section.

    `cited` are the sections of the entries, in their order.
    """

    edition: int
    entries: tuple[Entry, ...]
    shown: int
    of: int
    through: int
    last_seq: int
    cited: tuple[Section, ...] = field(default=(), compare=False, repr=False)

    @property
    def header(self) -> str:
        """What is shown, of how many, and where the raw context begins."""
        if not self.of:
            return f"No sections yet: everything (events 1 to {self.last_seq}) is still in raw context."
        raw = self.last_seq - self.through
        rest = f"the last {raw} events are still in raw context" if raw else "no event is after them"
        return f"{self.shown} of {self.of} entries, newest first; they stand for events 1 to {self.through}, {rest}."

    @property
    def pieces(self) -> list[Piece]:
        entries = (Piece("entry", entry.line(), place) for place, entry in enumerate(self.entries))
        return [Piece("header", f"# {self.header}\n"), *entries]

    @property
    def text(self) -> str:
        return rendering.joined(self.pieces)

    def as_json(self) -> dict[str, Any]:
        return {
            "edition": self.edition,
            "entries": [asdict(entry) for entry in self.entries],
            "shown": self.shown,
            "of": self.of,
            "through": self.through,
            "last_seq": self.last_seq,
        }


@dataclass(frozen=True, slots=True)
class Child:
    """A section that a rollup stands for, and the id of the generation that the rollup read."""

    entry: Entry
    read: str


@dataclass(frozen=True, slots=True)
class Opened:
    """One generation of a section; `current` is the id of the one that stands now, which may be another.

    `cited` are the section and what stands for its children.
    """

    edition: int
    entry: Entry
    current: str
    origin: str
    prose: str
    children: tuple[Child, ...]
    cited: tuple[Section, ...] = field(default=(), compare=False, repr=False)

    @property
    def is_current(self) -> bool:
        return self.entry.id == self.current

    @property
    def header(self) -> str:
        entry = self.entry
        state = "current" if self.is_current else f"superseded, {self.current} is current"
        return f"{entry.id} ({state}): events {entry.from_seq} to {entry.to_seq}, {entry.events} with content."

    @property
    def pieces(self) -> list[Piece]:
        head = f"# {self.header}\n# Its words are generated; origin: {self.origin}\n"
        words = f"{self.entry.line()}{rendering.indented(self.prose)}\n"
        below = f"# It stands for {len(self.children)} sections:\n" if self.children else ""
        children = (Piece("entry", one.entry.line(one.read), place) for place, one in enumerate(self.children, start=1))
        return [Piece("header", head), Piece("entry", words, 0), Piece("label", below), *children]

    @property
    def text(self) -> str:
        return rendering.joined(self.pieces)

    def as_json(self) -> dict[str, Any]:
        children = [asdict(child.entry) | {"read": child.read} for child in self.children]
        words = {"current": self.current, "origin": self.origin, "prose": self.prose, "children": children}
        return asdict(self.entry) | words | {"edition": self.edition}


@dataclass(frozen=True, slots=True)
class Expanded:
    """A page of a section's events. `next_after` is the seq to go on after, None on the last page.

    `requests` are the seqs of what the page's responses answer, by event id, as far as the reader may see them.
    """

    edition: int
    id: str
    from_seq: int
    to_seq: int
    events: tuple[StoredEvent, ...]
    of: int
    next_after: int | None
    requests: tuple[tuple[UUID, int], ...] = ()
    cited: tuple[Section, ...] = field(default=(), compare=False, repr=False)

    @property
    def header(self) -> str:
        ends = f", {self.events[0].seq} to {self.events[-1].seq}" if self.events else ""
        words = f"{len(self.events)} of the {self.of} events of {self.id}{ends}"
        return words + (f"; partial: go on after {self.next_after}." if self.next_after else ".")

    @property
    def pieces(self) -> list[Piece]:
        seqs = dict(self.requests)
        events = "".join(rendering.event(event, seqs) for event in self.events)
        return [Piece("header", f"# {self.header}\n"), Piece("events", events, 0)]

    @property
    def text(self) -> str:
        return rendering.joined(self.pieces)

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "edition": self.edition,
            "from_seq": self.from_seq,
            "to_seq": self.to_seq,
            "events": [_event(event) for event in self.events],
            "shown": len(self.events),
            "of": self.of,
            "next_after": self.next_after,
        }


def check_action(action: str, *, among: Collection[str] = ACTIONS) -> str:
    """Return the action. Raises UnknownAction, which names those there are (of them those that are offered)."""
    if action not in among:
        raise UnknownAction(f"{action!r} is no action; there are {', '.join(among)}.")
    return action


def listed(edition: Edition, *, limit: int = LISTED, reader: str | None = None) -> Listed:
    """Return the newest `limit` entries of the cover, 1 to 50 of them, newest first."""
    cover = current_sections(edition).filter(anchor__rolled_up_into__isnull=True).defer("prose")
    newest = list(cover.order_by("-anchor__from_seq")[: min(max(limit, 1), MOST_LISTED)])
    through, last = consolidated_through(edition), last_seq(edition)
    stale = stale_rollups(edition)
    return listed_again(edition, newest, stale, of=cover.count(), through=through, last=last, reader=reader)


def listed_again(
    edition: Edition,
    sections: Sequence[Section],
    stale: Collection[int],
    *,
    of: int,
    through: int,
    last: int,
    reader: str | None,
) -> Listed:
    """Return the list of these sections; `stale` are the ids of those that are marked so."""
    entries = tuple(_entries(edition, sections, stale, reader))
    return Listed(edition.number, entries, len(entries), of, through, last, tuple(sections))


def opened(edition: Edition, ref: str, *, reader: str | None = None) -> Opened:
    """Return one generation of a section, by its exact id: `12-31` is generation 1. Raises UnknownSection."""
    section = _named(edition, ref, "open")
    current = section.anchor.sections.get(superseded_by__isnull=True)
    children = _children(edition, section) if section.anchor.level else []
    return opened_again(edition, section, children, stale_rollups(edition), current=current.ref, reader=reader)


def opened_again(
    edition: Edition,
    section: Section,
    children: Sequence[Section],
    stale: Collection[int],
    *,
    current: str,
    reader: str | None,
) -> Opened:
    """Return a section that was opened; `children` is what stood for each section that it read."""
    [entry] = _entries(edition, [section], stale, reader)
    read = [row.source.ref for row in _sources(section)] if children else []
    entries = _entries(edition, children, stale, reader)
    told = tuple(Child(*one) for one in zip(entries, read, strict=True))
    return Opened(edition.number, entry, current, section.origin, section.prose, told, (section, *children))


def expanded(
    edition: Edition, ref: str, *, after: int | None = None, limit: int = MOST_EXPANDED, reader: str | None = None
) -> Expanded:
    """Return the events of a section that come after `after`, 1 to 100 of them, in order. Raises UnknownSection."""
    return expanded_again(edition, _named(edition, ref, "expand"), after=after, limit=limit, reader=reader)


def expanded_again(
    edition: Edition, section: Section, *, after: int | None, limit: int, reader: str | None
) -> Expanded:
    """Return a page of a section's events; all of it follows from the log up to the section's end."""
    anchor, most = section.anchor, min(max(limit, 1), MOST_EXPANDED)
    page: list[StoredEvent] = []
    more = False
    for event in _visible(edition, max(after or 0, anchor.from_seq - 1), anchor.to_seq, reader):
        if more := len(page) == most:
            break
        page.append(event)
    of = _count(edition, anchor, reader)
    cursor = page[-1].seq if more else None
    asked = _requests(edition, anchor, page, reader)
    ends = (anchor.from_seq, anchor.to_seq)
    return Expanded(edition.number, section.ref, *ends, tuple(page), of, cursor, asked, (section,))


def last_seq(edition: Edition) -> int:
    """Return the last seq of an edition's log, as it is now."""
    return Log.objects.values_list("last_seq", flat=True).get(pk=edition.log_id)


def _named(edition: Edition, ref: str, action: str) -> Section:
    if not ref:
        raise UnknownSection(HOW_TO_FIND.format(action=action))
    return find(edition, ref, generation=parse_ref(ref).generation or 1)


def _entries(
    edition: Edition, sections: Sequence[Section], stale: Collection[int], reader: str | None
) -> Iterator[Entry]:
    hidden = _hidden(edition, [section.anchor for section in sections], reader)
    for section in sections:
        anchor = section.anchor
        unseen = bisect_right(hidden, anchor.to_seq) - bisect_left(hidden, anchor.from_seq)
        yield Entry(
            section.ref,
            anchor.level,
            section.title,
            anchor.from_seq,
            anchor.to_seq,
            anchor.event_count - unseen,
            section.pk in stale,
        )


def _children(edition: Edition, section: Section) -> list[Section]:
    """What this generation covers, as it stands now, in the order that it read them."""
    read = [row.source.anchor_id for row in _sources(section)]
    now = current_sections(edition).filter(anchor__in=read).defer("prose")
    current = {row.anchor_id: row for row in now}
    return [current[anchor] for anchor in read]


def _sources(section: Section) -> QuerySet[RollupSource]:
    return section.sources.select_related("source__anchor").defer("source__prose").order_by("position")


def _requests(
    edition: Edition, anchor: Anchor, page: Sequence[StoredEvent], reader: str | None
) -> tuple[tuple[UUID, int], ...]:
    asked = {event.causation for event in page if event.kind == Kind.TOOL_RESPONSE and event.causation}
    if not asked:
        return ()
    requests = Event.objects.filter(log=edition.log_id, event_id__in=asked, seq__lte=anchor.to_seq)
    found = events_for(requests.filter(kind=Kind.TOOL_REQUEST), reader)
    return tuple(found.order_by("seq").values_list("event_id", "seq"))


def _hidden(edition: Edition, anchors: Sequence[Anchor], reader: str | None) -> list[int]:
    """The seqs of content events that the reader may not see, in order, over the whole span of `anchors`."""
    if reader is None or not anchors:
        return []
    first, last = min(anchor.from_seq for anchor in anchors), max(anchor.to_seq for anchor in anchors)
    return _withheld(edition, first, last, reader, {str(kind) for kind in CONTENT_KINDS})


def _count(edition: Edition, anchor: Anchor, reader: str | None) -> int:
    """How many events of the range the reader may see, bookkeeping aside."""
    kinds = {str(kind) for kind in Kind if not is_bookkeeping(kind)}
    held = Event.objects.filter(log=edition.log_id, seq__gte=anchor.from_seq, seq__lte=anchor.to_seq, kind__in=kinds)
    if reader is None:
        return held.count()
    return held.count() - len(_withheld(edition, anchor.from_seq, anchor.to_seq, reader, kinds))


def _withheld(edition: Edition, first: int, last: int, reader: str, kinds: set[str]) -> list[int]:
    private = Event.objects.filter(log=edition.log_id, seq__gte=first, seq__lte=last, kind__in=kinds)
    found = private.exclude(audience="").order_by("seq").values_list("seq", "audience")
    return [seq for seq, audience in found if reader not in json.loads(audience)]


def _visible(edition: Edition, after: int, upto: int, reader: str | None) -> Iterator[StoredEvent]:
    """The events of a range that are shown to the reader, read in chunks of a page's size."""
    while after < upto:
        chunk = list(read(edition.log, since_seq=after, upto_seq=upto, limit=CHUNK))
        if not chunk:
            return
        for event in chunk:
            if not is_bookkeeping(event.kind) and (event.public or reader is None or reader in event.audience):
                yield event
        after = chunk[-1].seq


def _event(event: StoredEvent) -> dict[str, Any]:
    return {
        "seq": event.seq,
        "event_id": str(event.event_id),
        "kind": event.kind,
        "actor_kind": event.actor_kind,
        "actor": event.actor,
        "type": event.type,
        "content": event.content,
        "payload": event.data(),
        "at": event.at.isoformat(),
        "claimed_at": event.claimed_at and event.claimed_at.isoformat(),
        "audience": list(event.audience),
    }
