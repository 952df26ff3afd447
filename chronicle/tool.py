"""The agent's tool over one edition: list what stands for the log, open a section, expand it into its events.

Guarantees: a list holds the cover alone, each span once, filtered before it is cut; an opened section says
which generation it is and what stands in its place; pages of an expanded section reach every event it covers;
bookkeeping is not shown. A `reader` sees public events and those whose audience names the reader, and counts
go by that; None sees all. The log is that of the edition, never an argument of the agent's.
Refuses: an action, a section or a generation that is not there, by its name.
"""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from chronicle.envelope import CONTENT_KINDS, Kind, StoredEvent, is_bookkeeping
from chronicle.errors import UnknownAction, UnknownSection
from chronicle.log import read
from chronicle.models import Anchor, Edition, Event, Log, Section
from chronicle.reading import find, parse_ref
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


@dataclass(frozen=True, slots=True)
class Listed:
    """The newest entries of the cover. `of` counts the whole cover; events after `through` are in no section."""

    edition: int
    entries: tuple[Entry, ...]
    shown: int
    of: int
    through: int
    last_seq: int

    @property
    def header(self) -> str:
        """What is shown, of how many, and where the raw context begins."""
        if not self.of:
            return f"No sections yet: everything (events 1 to {self.last_seq}) is still in raw context."
        raw = self.last_seq - self.through
        rest = f"the last {raw} events are still in raw context" if raw else "no event is after them"
        return f"{self.shown} of {self.of} entries, newest first; they stand for events 1 to {self.through}, {rest}."

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"entries": [asdict(entry) for entry in self.entries]}


@dataclass(frozen=True, slots=True)
class Child:
    """A section that a rollup stands for, and the id of the generation that the rollup read."""

    entry: Entry
    read: str


@dataclass(frozen=True, slots=True)
class Opened:
    """One generation of a section; `current` is the id of the one that stands now, which may be another."""

    edition: int
    entry: Entry
    current: str
    origin: str
    prose: str
    children: tuple[Child, ...]

    @property
    def is_current(self) -> bool:
        return self.entry.id == self.current

    @property
    def header(self) -> str:
        entry = self.entry
        state = "current" if self.is_current else f"superseded, {self.current} is current"
        return f"{entry.id} ({state}): events {entry.from_seq} to {entry.to_seq}, {entry.events} with content."

    def as_json(self) -> dict[str, Any]:
        children = [asdict(child.entry) | {"read": child.read} for child in self.children]
        words = {"current": self.current, "origin": self.origin, "prose": self.prose, "children": children}
        return asdict(self.entry) | words | {"edition": self.edition}


@dataclass(frozen=True, slots=True)
class Expanded:
    """A page of a section's events. `next_after` is the seq to go on after, None on the last page."""

    edition: int
    id: str
    from_seq: int
    to_seq: int
    events: tuple[StoredEvent, ...]
    of: int
    next_after: int | None

    @property
    def header(self) -> str:
        ends = f", {self.events[0].seq} to {self.events[-1].seq}" if self.events else ""
        words = f"{len(self.events)} of the {self.of} events of {self.id}{ends}"
        return words + (f"; partial: go on after {self.next_after}." if self.next_after else ".")

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


def check_action(action: str) -> str:
    """Return the action. Raises UnknownAction, which names those there are."""
    if action not in ACTIONS:
        raise UnknownAction(f"{action!r} is no action; there are {', '.join(ACTIONS)}.")
    return action


def listed(edition: Edition, *, limit: int = LISTED, reader: str | None = None) -> Listed:
    """Return the newest `limit` entries of the cover, 1 to 50 of them, newest first."""
    cover = current_sections(edition).filter(anchor__rolled_up_into__isnull=True).defer("prose")
    newest = list(cover.order_by("-anchor__from_seq")[: min(max(limit, 1), MOST_LISTED)])
    entries = tuple(_entries(edition, newest, reader))
    through, last = consolidated_through(edition), Log.objects.values_list("last_seq", flat=True).get(pk=edition.log_id)
    return Listed(edition.number, entries, len(entries), cover.count(), through, last)


def opened(edition: Edition, ref: str, *, reader: str | None = None) -> Opened:
    """Return one generation of a section, by its exact id: `12-31` is generation 1. Raises UnknownSection."""
    section = _named(edition, ref, "open")
    current = section.anchor.sections.get(superseded_by__isnull=True)
    [entry] = _entries(edition, [section], reader)
    children = tuple(_children(edition, section, reader)) if section.anchor.level else ()
    return Opened(edition.number, entry, current.ref, section.origin, section.prose, children)


def expanded(
    edition: Edition, ref: str, *, after: int | None = None, limit: int = MOST_EXPANDED, reader: str | None = None
) -> Expanded:
    """Return the events of a section that come after `after`, 1 to 100 of them, in order. Raises UnknownSection."""
    section = _named(edition, ref, "expand")
    anchor, most = section.anchor, min(max(limit, 1), MOST_EXPANDED)
    page: list[StoredEvent] = []
    more = False
    for event in _visible(edition, max(after or 0, anchor.from_seq - 1), anchor.to_seq, reader):
        if more := len(page) == most:
            break
        page.append(event)
    of = _count(edition, anchor, reader)
    cursor = page[-1].seq if more else None
    return Expanded(edition.number, section.ref, anchor.from_seq, anchor.to_seq, tuple(page), of, cursor)


def _named(edition: Edition, ref: str, action: str) -> Section:
    if not ref:
        raise UnknownSection(HOW_TO_FIND.format(action=action))
    return find(edition, ref, generation=parse_ref(ref).generation or 1)


def _entries(edition: Edition, sections: Sequence[Section], reader: str | None) -> Iterator[Entry]:
    stale = stale_rollups(edition)
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


def _children(edition: Edition, section: Section, reader: str | None) -> Iterator[Child]:
    """What this generation covers, as it stands now, each with the generation that was read."""
    read_ones = list(section.sources.select_related("source__anchor").defer("source__prose").order_by("position"))
    now = current_sections(edition).filter(anchor__in=[row.source.anchor_id for row in read_ones]).defer("prose")
    current = {row.anchor_id: row for row in now}
    entries = _entries(edition, [current[row.source.anchor_id] for row in read_ones], reader)
    for entry, row in zip(entries, read_ones, strict=True):
        yield Child(entry, row.source.ref)


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
