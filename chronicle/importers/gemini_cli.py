"""Gemini CLI sessions: one JSON document that is rewritten as it grows, or a JSON line for each message and change.

Guarantees: thoughts, words and each call and result of a message have ids of their own under the
message's, so a message that grew gives what is new and nothing twice, in the file or in the next one. In
the lines a message stands again whole whenever it changed; a step back is a mark, and what it took back
stays; a history that was replaced is a compaction, its summary a section up to the first message kept.
Left to the locator: how results are shown, project hash, directories.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from chronicle.envelope import ActorKind, Kind
from chronicle.importers import gemini_messages, lines, parts, text
from chronicle.importers.gemini_messages import CLIENT, Message
from chronicle.importers.making import SUMMARY, Maker, Place
from chronicle.importers.protocol import Ignored, Item, Noted, Opened, Read, ReadSection, Refused, Session, Survey
from chronicle.importers.usage import with_usage

REWIND = "rewind"
KINDS = ("user", "gemini", "info", "error", "warning")
_CHECKPOINT = re.compile(rb'"\$set"\s*:\s*\{')


class Record(NamedTuple):
    """One record: its number, place and bytes, and the object it is."""

    number: int
    place: str
    data: bytes
    value: dict[str, Any]

    def at(self, time: Any = None) -> Place:
        return Place(self.number, self.place, time)


@dataclass(slots=True)
class Reading:
    """One file being read. `live` are the messages of the history as it stands, with the event before each."""

    opened: Opened
    maker: Maker | None = None
    aside: bool = False
    titled: bool = False
    said: dict[str, int] = field(default_factory=dict)
    live: dict[str, str] = field(default_factory=dict)
    usage: dict[str, Any] | None = None  # of lines: the tokens of each message that no event has yet
    compactions: int = 0


class GeminiCli:
    """The importer."""

    name: ClassVar[str] = "gemini-cli"

    def sniff(self, opened: Opened) -> bool:
        """True for a document with a session's id and messages, or lines of which one is of this client alone."""
        head = parts.head(opened)
        if not isinstance(head, dict):
            return False
        return _is_session(head) or any(_is_record(record) for record in lines.first_documents(opened))

    def survey(self, opened: Opened) -> Survey:
        """Count the records and find the last history that was replaced."""
        return parts.survey(opened, "messages") if _is_document(opened) else lines.survey(opened, _CHECKPOINT)

    def read(self, opened: Opened) -> Iterator[Item]:
        """Yield the items of a session. Raises BrokenFile only for what is not a regular file."""
        reading = Reading(opened)
        yield from _document(reading) if _is_document(opened) else _lines(reading)
        if reading.maker is not None:
            yield from text.timeless(reading.maker.timeless)


def _is_document(opened: Opened) -> bool:
    head = parts.head(opened)
    return isinstance(head, dict) and "messages" in head


def _is_session(head: dict[str, Any]) -> bool:
    if not isinstance(head.get("sessionId"), str) or not isinstance(head.get("messages"), list):
        return False
    return "projectHash" in head or any(isinstance(m, dict) and m.get("type") == "gemini" for m in head["messages"])


def _is_record(record: dict[str, Any]) -> bool:
    if isinstance(record.get("sessionId"), str) and isinstance(record.get("projectHash"), str):
        return "type" not in record and "messages" not in record
    return record.get("type") == "gemini" and {"id", "timestamp"} <= record.keys() and "sessionId" not in record


def _document(reading: Reading) -> Iterator[Item]:
    for part in parts.parts(reading.opened, "messages"):
        yield from parts.said_of(part)
        if part.reason:
            continue
        if part.is_header:
            reading.maker = None
            yield from _header(reading, part.value)
        elif not isinstance(part.value, dict):
            yield Refused(part.record, f"{part.place}: not a JSON object")
        else:
            yield from _message(reading, Record(part.record, part.place, part.data, part.value))


def _lines(reading: Reading) -> Iterator[Item]:
    reading.usage = _usage(reading.opened)
    for document in lines.documents(reading.opened, lenient=True):
        if document.value is None or document.invalid is not None:
            yield from lines.said_of(document)
        if isinstance(document.value, dict):
            yield from _line(reading, Record(document.line, document.place, document.data, document.value))
        elif document.value is not None:
            yield Refused(document.line, "not a JSON object")


def _usage(opened: Opened) -> dict[str, Any]:
    """Return for each message the tokens that its last record states: they come when the message stands already."""
    found: dict[str, Any] = {}
    for document in lines.documents(opened, lenient=True):
        value = document.value
        if isinstance(value, dict) and isinstance(value.get("tokens"), dict) and isinstance(value.get("id"), str):
            found[value["id"]] = value["tokens"]
    return found


def _line(reading: Reading, record: Record) -> Iterator[Item]:
    value = record.value
    if "$set" in value:
        yield from _changed(reading, record)
    elif "$rewindTo" in value:
        yield from _rewound(reading, record)
    elif isinstance(value.get("type"), str):
        yield from _message(reading, record)
    elif "sessionId" in value:
        yield from _header(reading, value)
        yield Ignored("header", record.number)
    else:
        yield Refused(record.number, "a record without a type")


def _header(reading: Reading, value: Any) -> Iterator[Item]:
    """A session begins; a header that comes again with the same id changes nothing."""
    value = value if isinstance(value, dict) else {}
    named = text.name(value.get("sessionId"), "")
    if reading.maker is None or (named and named != reading.maker.session):
        reading.maker = Maker(named or _stem(reading.opened))
        reading.aside = value.get("kind") == "subagent"
        reading.titled, reading.compactions = False, 0
        reading.said, reading.live = {}, {}
        yield Session(reading.maker.session, _title(reading, value.get("summary")))


def _stem(opened: Opened) -> str:
    return text.name(opened.name.rsplit("/", 1)[-1].rsplit(".", 1)[0], "session")


def _title(reading: Reading, words: Any) -> str:
    title = text.storable(text.first_line(words))[0] if isinstance(words, str) else ""
    reading.titled = reading.titled or bool(title)
    return title


def _known(reading: Reading) -> Iterator[Item]:
    if reading.maker is None:
        yield from _header(reading, {})


def _message(reading: Reading, record: Record, *, synthetic: int = 0) -> Iterator[Item]:
    """What of a message was not said before. One put into the history by the client says at which block it begins."""
    yield from _known(reading)
    found: list[Read] = list(_events(reading, record, synthetic))
    asks = next((read.event.content for read in found if _asks(reading, read)), "")
    if not reading.titled and (title := _title(reading, asks)) and reading.maker is not None:
        yield Session(reading.maker.session, title)
    yield from found
    if not found and not synthetic:
        yield Ignored(f"{text.name(record.value.get('type'), 'unknown')[:100]}/nothing new", record.number)


def _asks(reading: Reading, read: Read) -> bool:
    by = ActorKind.AGENT if reading.aside else ActorKind.HUMAN
    return read.event.kind == Kind.MESSAGE and read.event.actor_kind == by


def _events(reading: Reading, record: Record, synthetic: int) -> Iterator[Read]:
    maker, value = reading.maker, record.value
    if maker is None:
        return
    native = text.name(value.get("id"), "") or maker.counted(record.data)
    before = maker.last
    message = Message(maker, native, record.number, record.place, value, reading.aside, synthetic > 0)
    message.block += synthetic
    found = [read for read in gemini_messages.events(message) if _is_new(reading, read)]
    reading.live.setdefault(native, before)
    usage = value.get("tokens") if reading.usage is None else reading.usage.get(native) if found else None
    if found and isinstance(usage, dict):
        found[-1] = with_usage(found[-1], usage)
        (reading.usage or {}).pop(native, None)
    yield from found


def _is_new(reading: Reading, read: Read) -> bool:
    """True for what this file has not said under this id."""
    key = hash((read.event.content, text.readable(read.event.payload, ordered=True)))
    if reading.said.get(read.native_id) == key:
        return False
    reading.said[read.native_id] = key
    return True


def _rewound(reading: Reading, record: Record) -> Iterator[Item]:
    """The history went back to before a message; what was taken back stays in the log, before this mark."""
    yield from _known(reading)
    if reading.maker is None:
        return
    target, listed = text.name(record.value.get("$rewindTo"), ""), list(reading.live)
    gone = listed[listed.index(target) :] if target in reading.live else listed
    for name in gone:
        del reading.live[name]
    native = f"{reading.maker.counted(record.data)}:0"
    yield reading.maker.marker(
        native, record.at(), CLIENT, f"$rewindTo {target}", type=REWIND, payload={"taken_back": len(gone)}
    )
    yield Noted(record.number, f"{len(gone)} messages were taken back by a step back; they stay in the log before it")


def _changed(reading: Reading, record: Record) -> Iterator[Item]:
    changed = record.value["$set"]
    changed = changed if isinstance(changed, dict) else {}
    yield from _known(reading)
    if (title := _title(reading, changed.get("summary"))) and reading.maker is not None:
        yield Session(reading.maker.session, title)
    if isinstance(changed.get("messages"), list):
        yield from _replaced(reading, record, [m for m in changed["messages"] if isinstance(m, dict)])
    else:
        yield Ignored(f"$set/{text.name(next(iter(changed), None), 'nothing')}"[:200], record.number)


def _replaced(reading: Reading, record: Record, listed: list[dict[str, Any]]) -> Iterator[Item]:
    """The history was replaced as a whole: where messages are gone from it, it was compacted."""
    maker = reading.maker
    if maker is None:
        return
    names = [text.name(message.get("id"), "") for message in listed]
    new = [message for message, name in zip(listed, names, strict=True) if name not in reading.live]
    gone = [name for name in reading.live if name not in set(names)]
    end = next((reading.live[name] for name in reading.live if name in set(names)), maker.last) if gone else ""
    if gone:
        payload = {"gone": len(gone), "new": len(new)}
        native = f"{maker.counted(record.data)}:0"
        yield maker.marker(native, record.at(), CLIENT, "$set messages", payload=payload)
    found: list[Read] = []
    for message in new:
        yield from (each := list(_message(reading, record._replace(value=message), synthetic=1 + len(found))))
        found += [item for item in each if isinstance(item, Read)]
    for name in gone:
        del reading.live[name]
    if not gone and not found:
        yield Ignored("$set/messages", record.number)
    prose = next((read.event.content for read in found if read.event.type == SUMMARY), "")
    if gone and end and prose:
        reading.compactions += 1
        words, rolling = text.storable(prose)[0], reading.compactions > 1
        yield ReadSection(maker.session, end, words, record.number, rolling=rolling)


IMPORTERS = (GeminiCli(),)
