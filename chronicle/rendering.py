"""The text of a brief, from values: version 1 of how it is written. A receipt names the version it was made with.

Guarantees: the same values give the same bytes; only what this module writes begins a line in the first column,
so no recorded text can pass for a header, an entry or an event: every further line of recorded text is indented.
Nothing of a text is left out. The header is at most 480 bytes (120 tokens by the estimate).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from chronicle.envelope import Kind, StoredEvent

VERSION = 1
FORMS = 4
MOST_HEADER_BYTES = 480
READER = 24
OLDER, RECENT = "# Older\n", "# Recent\n"

_BREAK = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_SIGNS: dict[str, str] = {Kind.TOOL_REQUEST: " →", Kind.TOOL_RESPONSE: " ←", Kind.THOUGHT: " (thought):"}
_ESCAPED = {"\n": "\\n", "\r": "\\r", "\v": "\\v", "\f": "\\f"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the cover as it is given. `ref` carries its generation from the second on.

    `summary` is False for a stretch that was closed without one: its words are no account of it.
    """

    ref: str
    from_seq: int
    to_seq: int
    title: str
    prose: str
    recent: bool = False
    stale: bool = False
    summary: bool = True


class Facts(NamedTuple):
    """What the header counts: content events and level-0 sections up to `upto_seq`, and the time they span.

    `through` is where the sections end: the tail begins after it.
    """

    upto_seq: int
    through: int
    reader: str
    messages: int
    sections: int
    entries: int
    after: int
    age: timedelta


def header(
    facts: Facts, entries: Sequence[Entry], dropped: int, lines: int, *, form: int = 0, alone: bool = False
) -> str:
    """Return the header in one of its FORMS: whole, a sentence, a mark, nothing. Without entries there is no whole one.

    `alone` says that nothing stands below a shorter one, no tail either.
    """
    last = facts.upto_seq if alone else facts.through
    if form == 0:
        return _header(facts, entries, dropped, lines) if entries else ""
    if not last or form == FORMS - 1:
        return ""
    return f"# Nothing of 1-{last} is shown: the budget is too small.\n" if form == 1 else "…\n"


def _header(facts: Facts, entries: Sequence[Entry], dropped: int, lines: int) -> str:
    count = len(entries) - dropped
    gone = f"; {entries[0].from_seq}-{entries[dropped - 1].to_seq} not shown" if dropped else ""
    words = [
        f"# Chronicle up to seq {facts.upto_seq}{_for(facts.reader)}",
        f"# {facts.age.days} days, {facts.messages} messages, {facts.sections} sections; {facts.after} messages after"
        " the last section",
        f"# {count} of {facts.entries} entries shown, {min(lines, count)} of them by title{gone}",
        f"# Summaries are generated; events after {facts.through} are as logged",
    ]
    return "\n".join(words) + "\n"


def _for(reader: str) -> str:
    if not reader:
        return ""
    name = one_line(reader)
    return f", for {name if len(name) <= READER else name[: READER - 1] + '…'}"


def line(entry: Entry) -> str:
    """Return an entry as one line: its id, its marks, its title."""
    marks = [entry.ref, *["stale"] * entry.stale, *["no summary"] * (not entry.summary)]
    return f"[{', '.join(marks)}] {one_line(entry.title)}\n"


def full(entry: Entry) -> str:
    """Return an entry with its words."""
    return f"{line(entry)}{indented(entry.prose)}\n"


def labels(entries: Sequence[Entry]) -> list[str]:
    """Return the labels that stand over these entries: older comes before recent, each once."""
    return [OLDER] * any(not entry.recent for entry in entries) + [RECENT] * any(entry.recent for entry in entries)


class Piece(NamedTuple):
    """A part of a text and what it is; of an entry also its place among the sections given."""

    what: str
    text: str
    place: int = -1


def view(entries: Sequence[Entry], dropped: int, lines: int) -> list[Piece]:
    """Return the entries that are shown, oldest first, each group under its label."""
    parts, label = [], ""
    for place, entry in enumerate(entries[dropped:], start=dropped):
        before, label = label, RECENT if entry.recent else OLDER
        if label != before:
            parts.append(Piece("label", label))
        parts.append(Piece("entry", line(entry) if place < dropped + lines else full(entry), place))
    return parts


def joined(pieces: Iterable[Piece]) -> str:
    """Return the text of which these are the parts."""
    return "".join(piece.text for piece in pieces)


class TailFacts(NamedTuple):
    """What a heading says of a tail: its range, and what of it is withheld from the reader or keeps the books."""

    from_seq: int
    to_seq: int
    shown: int
    of: int
    withheld: int
    bookkeeping: int
    cut_upto: int | None = None


def heading(facts: TailFacts) -> str:
    """Return the line over the events; "" for an empty range."""
    if facts.to_seq < facts.from_seq:
        return ""
    words = [f"# Events {facts.from_seq}-{facts.to_seq} as logged: {facts.shown} of {facts.of} shown"]
    if facts.withheld:
        words.append(f"{facts.withheld} withheld from this reader")
    if facts.bookkeeping:
        words.append(f"{facts.bookkeeping} of bookkeeping hidden")
    if facts.cut_upto is not None:
        words.append(f"{facts.from_seq}-{facts.cut_upto} not shown, over the budget")
    return "; ".join(words) + "\n"


def event(stored: StoredEvent, seqs: Mapping[UUID, int], *, context: bool = False) -> str:
    """Return an event as it is given: seq, time, who, and its words. `seqs` maps requests to their seqs.

    `context` marks a request that a section tells of already, given again for its answer's sake.
    """
    parts = [f"{stored.seq} {moment(stored.claimed_at or stored.at)} {stored.actor_kind} {one_line(stored.actor)}"]
    parts.append(_SIGNS.get(stored.kind, ":"))
    if stored.kind == Kind.TOOL_RESPONSE and stored.causation is not None and stored.causation in seqs:
        parts.append(f" to {seqs[stored.causation]}:")
    if stored.kind == Kind.MARKER:
        parts.append(f" {one_line(stored.type)}")
    if context:
        parts.append(" (told in a section already)")
    words = stored.content or stored.payload
    if stored.kind == Kind.TOOL_REQUEST and stored.payload and len(stored.content.split()) == 1:
        words = f"{stored.content} {stored.payload}"  # a bare name of a tool says nothing of what it was given
    return "".join(parts) + (f" {_continued(words)}\n" if words else "\n")


def moment(at: datetime) -> str:
    """Return a time as `2026-11-30T02:51:10Z`."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def one_line(text: str) -> str:
    """Return a text with its line breaks escaped."""
    return _BREAK.sub(lambda found: "".join(_ESCAPED.get(one, f"\\u{ord(one):04x}") for one in found.group()), text)


def indented(text: str) -> str:
    """Return a text with two blanks before each of its lines; its own line breaks stay as they are."""
    return "  " + _continued(text)


def _continued(text: str) -> str:
    return _BREAK.sub(lambda found: found.group() + "  ", text)
