"""The project's own plain form: a header line, then one event a line, in the shape the HTTP API takes.

    {"anagrapheus.events": 1, "session": "dinner", "title": "A dinner"}
    {"id": "e1", "kind": "message", "actor_kind": "human", "actor": "Dina", "content": "Eight of us."}
    {"kind": "marker", "type": "compaction", …} then {"summary": "…", "title": "…"}

A summary stands for everything since the summary before it, up to the last compaction marker.
Guarantees: an id is the event's native id; without one it is the digest of the line and its count.
Refuses: a file without its header, a line with a key or a kind that is not known, a time without a zone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from chronicle import canonical
from chronicle.envelope import COMPACTION, NAMESPACE, RESERVED_NAMESPACE, ActorKind, Kind, PendingEvent, validate
from chronicle.errors import BrokenFile, InvalidEvent
from chronicle.importers import lines, text
from chronicle.importers.protocol import Ignored, Item, Opened, Read, ReadSection, Refused, Session, Survey

MARK = "anagrapheus.events"
VERSION = 1
KEYS = {
    "session", "id", "kind", "actor_kind", "actor", "content", "payload", "correlation", "answers", "at",
    "audience", "type", "namespace", "schema_version",
}  # fmt: skip
_SUMMARY = re.compile(rb'^\s*\{\s*"(summary|title|session)"')
SUMMARY_KEYS = {"session", "summary", "title"}


@dataclass(slots=True)
class Since:
    """What a session's next summary stands for: its first event, the last compaction marker, the last event."""

    first: str = ""
    boundary: str = ""
    last: str = ""


@dataclass(slots=True)
class Reading:
    session: str
    since: dict[str, Since] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


class PlainEvents:
    """The importer."""

    name: ClassVar[str] = "events"

    def sniff(self, opened: Opened) -> bool:
        """True where the first document carries the mark."""
        return MARK in next(lines.first_documents(opened), {})

    def survey(self, opened: Opened) -> Survey:
        """Count the lines and find the last summary."""
        return lines.survey(opened, _SUMMARY)

    def read(self, opened: Opened) -> Iterator[Item]:
        """Yield the items of a file. Raises BrokenFile without a header of version 1 that names its session."""
        found = lines.documents(opened)
        header = _header(next(found, None))
        reading = Reading(text.name(header["session"], ""))
        yield Ignored("header", 1)
        yield Session(reading.session, text.storable(text.first_line(str(header.get("title") or "")))[0])
        for document in found:
            yield from lines.said_of(document)
            if document.value is not None:
                yield from _items(reading, document)


def _header(document: lines.Document | None) -> dict[str, Any]:
    value = document.value if document else None
    if not isinstance(value, dict) or MARK not in value:
        raise BrokenFile(f'no header; the first line must be {{"{MARK}": {VERSION}, "session": …}}', line=1)
    if type(value[MARK]) is not int or value[MARK] != VERSION:
        raise BrokenFile(f"version {value[MARK]!r} of the form is not known; {VERSION} is", line=1)
    if not isinstance(value.get("session"), str) or not value["session"].strip():
        raise BrokenFile("the header names no session", line=1)
    return value


def _items(reading: Reading, document: lines.Document) -> Iterator[Item]:
    value = document.value
    try:
        if isinstance(value, dict) and "summary" in value:
            yield _summary(reading, value, document.line)
        else:
            yield from _event(reading, value, document)
    except InvalidEvent as error:
        yield Refused(document.line, str(error))


def _event(reading: Reading, value: Any, document: lines.Document) -> Iterator[Item]:
    if not isinstance(value, dict):
        raise InvalidEvent("not a JSON object")
    _only(value, KEYS)
    session = _text(value, "session") or reading.session
    native_id = _text(value, "id") or _counted(reading, document.data)
    event = _pending(value, document.place)
    validate(event)
    if session not in reading.since:
        reading.since[session] = Since()
        if session != reading.session:
            yield Session(session)
    since = reading.since[session]
    since.first, since.last = since.first or native_id, native_id
    if event.kind == Kind.MARKER and event.type == COMPACTION:
        since.boundary = native_id
    yield Read(session, native_id, event, document.line, answers=_text(value, "answers") or None)


def _pending(value: dict[str, Any], place: str) -> PendingEvent:
    marker = value.get("kind") == Kind.MARKER
    content, text_form = text.storable(_text(value, "content"))
    return PendingEvent(
        kind=_text(value, "kind"),
        actor_kind=_text(value, "actor_kind") or (ActorKind.SYSTEM if marker else ""),
        actor=_text(value, "actor") or ("system" if marker else ""),
        content=content,
        payload=_payload(value),
        namespace=_namespace(value),
        type=_text(value, "type"),
        schema_version=_version(value),
        correlation=_text(value, "correlation"),
        claimed_at=_time(value),
        audience=_audience(value),
        locator=place,
        text_form=text_form,
    )


def _only(value: dict[str, Any], keys: set[str]) -> None:
    if other := sorted(set(value) - keys):
        raise InvalidEvent(f"unknown key {other[0]!r}; known are {', '.join(sorted(keys))}")


def _text(value: dict[str, Any], key: str) -> str:
    given = value.get(key)
    if given is None:
        return ""
    if not isinstance(given, str):
        raise InvalidEvent(f"{key} must be text", field=key)
    return given


def _payload(value: dict[str, Any]) -> dict[str, Any] | None:
    given = value.get("payload")
    if given is not None and not isinstance(given, dict):
        raise InvalidEvent("payload must be a JSON object", field="payload")
    return given


def _namespace(value: dict[str, Any]) -> str:
    given = _text(value, "namespace") or NAMESPACE
    if given == RESERVED_NAMESPACE:
        raise InvalidEvent(f"namespace {given!r} is reserved", field="namespace")
    return given


def _version(value: dict[str, Any]) -> int:
    given = value.get("schema_version", 1)
    if type(given) is not int:
        raise InvalidEvent("schema_version must be a whole number", field="schema_version")
    return given


def _time(value: dict[str, Any]) -> Any:
    given = value.get("at")
    moment = text.when(given)
    if given is not None and moment is None:
        raise InvalidEvent("at must be an ISO time with a zone, as 2026-12-04T19:30:00+07:00", field="at")
    return moment


def _audience(value: dict[str, Any]) -> tuple[str, ...]:
    given = value.get("audience", [])
    if not isinstance(given, list) or not all(isinstance(actor, str) for actor in given):
        raise InvalidEvent("audience must be a list of actors", field="audience")
    return tuple(given)


def _counted(reading: Reading, line: bytes) -> str:
    digest = canonical.sha256(line)[:32]
    reading.counts[digest] = reading.counts.get(digest, 0) + 1
    return f"#{digest}.{reading.counts[digest]}"


def _summary(reading: Reading, value: dict[str, Any], line: int) -> Item:
    _only(value, SUMMARY_KEYS)
    session, prose = _text(value, "session") or reading.session, _text(value, "summary")
    since = reading.since.get(session, Since())
    if not prose.strip():
        raise InvalidEvent("a summary needs words", field="summary")
    if not since.last:
        raise InvalidEvent("a summary of no events: nothing stands before it, or since the summary before it")
    end = since.boundary or since.last
    reading.since[session] = Since()
    title = text.storable(_text(value, "title"))[0]
    return ReadSection(session, end, text.storable(prose)[0], line, title=title, from_id=since.first)


IMPORTERS = (PlainEvents(),)
