"""Pi sessions (badlogic/pi-mono): a tree of entries, one JSON record a line; in its first version a list without ids.

Guarantees: order is line order, all branches are in; where an entry does not go on from the one before it,
a mark says so. A native id is the entry's with the block, in the first version the digest of the line and
which of its equals it is. A compaction is a marker, its summary an event and a section up to the last event
before the first entry that was kept (named by its id, or by its index in the first version). A command
that the person ran is the person's request. Usage stands on the last event of a message.
Left to the locator: working directory, labels, levels of thinking, extensions' own state.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from chronicle.importers import lines, pi_messages, text
from chronicle.importers.making import SUMMARY, Maker, Place
from chronicle.importers.pi_messages import CLIENT, ROLES
from chronicle.importers.protocol import Ignored, Item, Noted, Opened, Read, ReadSection, Refused, Session, Survey

BRANCH = "branch"
BRANCH_SUMMARY = "branch.summary"
_COMPACTION = re.compile(rb'"type"\s*:\s*"compaction"')
_ENTRY = re.compile(rb'"type"\s*:\s*"(message|custom_message)"')


@dataclass(slots=True)
class Known:
    """What is known of one session so far: for each entry, the event before it."""

    maker: Maker
    titled: bool = False
    compactions: int = 0
    last: str = ""  # the id of the entry before
    branches: int = 0
    back: str = ""  # the earlier entry that the next event goes on from
    before: dict[str, str] = field(default_factory=dict)
    entries: list[str] = field(default_factory=list)  # the same by index, where entries have no ids


@dataclass(slots=True)
class Reading:
    """One file being read."""

    opened: Opened
    current: str = ""
    sessions: dict[str, Known] = field(default_factory=dict)

    @property
    def known(self) -> Known:
        return self.sessions[self.current]


class Pi:
    """The importer."""

    name: ClassVar[str] = "pi"

    def sniff(self, opened: Opened) -> bool:
        """True where the head has a session's record or a message in an entry of this form."""
        return any(_is_record(record) for record in lines.first_documents(opened))

    def survey(self, opened: Opened) -> Survey:
        """Count the lines and find the last compaction."""
        return lines.survey(opened, _COMPACTION)

    def read(self, opened: Opened) -> Iterator[Item]:
        """Yield the items of a session. Raises BrokenFile only for what is not a regular file."""
        reading = Reading(opened)
        for document in lines.documents(opened, lenient=True):
            if document.edges:
                yield from _stub(reading, document)
            elif document.value is None or document.invalid is not None:
                yield from lines.said_of(document)
            if isinstance(document.value, dict) and isinstance(document.value.get("type"), str):
                yield from _record(reading, document)
            elif document.value is not None:
                what = "a record without a type" if isinstance(document.value, dict) else "not a JSON object"
                yield Refused(document.line, what)
        for known in reading.sessions.values():
            yield from _notes(known)


def _is_record(record: dict[str, Any]) -> bool:
    if record.get("type") == "session":
        return isinstance(record.get("id"), str) and isinstance(record.get("cwd"), str) and "timestamp" in record
    message = record.get("message")
    if record.get("type") != "message" or not isinstance(message, dict) or "sessionId" in record:
        return False
    ours = "parentId" in record or isinstance(message.get("timestamp"), int)
    return ours and isinstance(message.get("role"), str) and message["role"] in ROLES


def _notes(known: Known) -> Iterator[Item]:
    if known.branches:
        yield Noted(
            0, f"the session went back to an earlier entry (times: {known.branches}); every branch is in the log"
        )
    yield from text.timeless(known.maker.timeless)


def _record(reading: Reading, document: lines.Document) -> Iterator[Item]:
    value, kind = document.value, text.name(document.value["type"], "unknown")
    if kind == "session":
        yield from _begin(reading, text.name(value.get("id"), ""))
        reading.known.entries.append("")
        yield Ignored("session", document.line)
        return
    if not reading.current:
        stem = reading.opened.name.rsplit("/", 1)[-1].removesuffix(".jsonl")
        yield from _begin(reading, text.name(stem.rpartition("_")[2] or stem, "session"))
    known = reading.known
    name, parent, came = text.name(value.get("id"), ""), value.get("parentId"), known.maker.last
    found = list(_entry(known, document, kind, name or known.maker.counted(document.data)))
    if name and "parentId" in value and known.last and parent != known.last:
        known.back = text.name(parent, "null")
    if found and known.back:
        yield _branch(known, document, name)
    _learn(known, name, came)
    yield from _titled(known, found)
    yield from found
    if kind == "session_info" and (title := text.name(value.get("name"), "")):
        known.titled = True
        yield Session(known.maker.session, text.storable(text.first_line(title))[0])
    if not found:
        yield Ignored(_kind(value, kind), document.line)


def _kind(value: dict[str, Any], kind: str) -> str:
    message = value.get("message")
    inner = message.get("role") if isinstance(message, dict) else value.get("customType")
    return f"{kind[:100]}/{text.name(inner, 'without words')[:90]}" if kind in ("message", "custom") else kind[:200]


def _begin(reading: Reading, session: str) -> Iterator[Item]:
    reading.current = session or reading.current or "session"
    if reading.current not in reading.sessions:
        reading.sessions[reading.current] = Known(Maker(reading.current))
        yield Session(reading.current)


def _learn(known: Known, name: str, came: str) -> None:
    if name:
        known.before.setdefault(name, came)
        known.last = name
    known.entries.append(came)


def _branch(known: Known, document: lines.Document, name: str) -> Read:
    """A mark: what follows goes on from an earlier entry."""
    known.branches += 1
    last, words = known.maker.last, f"parentId {known.back}"
    mark = known.maker.marker(f"{name}:branch", _at(document), CLIENT, words, type=BRANCH, block=pi_messages.LAST)
    known.maker.last, known.back = last, ""
    return mark


def _at(document: lines.Document) -> Place:
    value = document.value
    message = value.get("message")
    time = value.get("timestamp")
    if time is None and isinstance(message, dict):
        time = message.get("timestamp")
    return Place(document.line, document.place, time)


def _titled(known: Known, found: list[Item]) -> Iterator[Session]:
    reads = (item.event for item in found if isinstance(item, Read))
    words = next((event.content for event in reads if event.actor_kind == "human" and event.kind == "message"), "")
    if not known.titled and (title := text.first_line(words)):
        known.titled = True
        yield Session(known.maker.session, text.storable(title)[0])


def _entry(known: Known, document: lines.Document, kind: str, native: str) -> Iterator[Item]:
    value = document.value
    if kind == "message" and isinstance(value.get("message"), dict):
        yield from pi_messages.events(known.maker, _at(document), native, value["message"])
    elif kind == "custom_message":
        yield from pi_messages.events(known.maker, _at(document), native, value | {"role": "custom"})
    elif kind == "compaction":
        yield from _compaction(known, document, native)
    elif kind == "branch_summary":
        message = {"role": "branchSummary", "summary": value.get("summary")}
        yield from pi_messages.events(known.maker, _at(document), native, message)


def _compaction(known: Known, document: lines.Document, native: str) -> Iterator[Item]:
    value, maker, at = document.value, known.maker, _at(document)
    end = _end(known, value)
    told = {key: value[key] for key in ("tokensBefore", "firstKeptEntryId", "firstKeptEntryIndex") if key in value}
    yield maker.marker(f"{native}:0", at, CLIENT, "compaction", payload=told)
    prose = value.get("summary")
    if not isinstance(prose, str) or not prose.strip():
        yield Noted(document.line, "a compaction without a summary; it is a mark in the log only")
        return
    yield maker.message(f"{native}:1", at, pi_messages.SYSTEM, CLIENT, prose, type=SUMMARY, block=1)
    if not end:
        yield Noted(document.line, "a summary of events that this file does not hold; it stays an event")
        return
    known.compactions += 1
    rolling, words = known.compactions > 1, text.storable(prose)[0]
    yield ReadSection(maker.session, end, words, document.line, title=_gist(prose), rolling=rolling)


def _gist(prose: str) -> str:
    """A title out of a summary: its first line that is no heading."""
    found = next((line for line in prose.splitlines() if line.strip() and not line.lstrip().startswith("#")), prose)
    return text.storable(text.first_line(found.lstrip("-*[] ")))[0]


def _end(known: Known, value: dict[str, Any]) -> str:
    """Return the last event before the first entry that was kept; all there is where none is named."""
    index, name = value.get("firstKeptEntryIndex"), value.get("firstKeptEntryId")
    if type(index) is int:
        return known.entries[index] if 0 <= index < len(known.entries) else known.maker.last
    return known.before.get(name, known.maker.last) if isinstance(name, str) else known.maker.last


def _stub(reading: Reading, document: lines.Document) -> Iterator[Item]:
    """Mark the place of a line that is too long to be read, where its edges name an entry of a session."""
    marked = bool(reading.current) and _ENTRY.search(document.edges) is not None
    yield Refused(document.line, document.reason, marked=marked)
    if marked:
        maker = reading.known.maker
        at = Place(document.line, document.place)
        yield maker.stub(f"{maker.counted(document.edges)}:0", at, document.reason, CLIENT)


IMPORTERS = (Pi(),)
