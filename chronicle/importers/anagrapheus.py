"""Logs of the library anagrapheus: its recording (JSON lines) and its SQLite file, told apart by content.

Guarantees: events keep their event ids, namespaces, types, versions, causes and payloads, and ask for
their own seqs (the locator keeps them where a log cannot); the session is the id of the first event,
so a recording and a SQLite file of one run are one log. Bookkeeping of the pin ledger stays bookkeeping;
an application's event is a message of its speaker, where the payload names one, else of the system.
Refuses: a recording without its header of version 1 (`true` and `1.0` are not 1), a SQLite file of
another schema version, and a chronicle with an inverted range, a hole, a fork or an end past the log's.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar
from uuid import UUID

from chronicle import canonical
from chronicle.envelope import RESERVED_NAMESPACE, ActorKind, Kind, PendingEvent, is_pin_event
from chronicle.errors import BrokenFile, ChronicleError, InvalidEvent
from chronicle.importers import anagrapheus_sqlite, lines, sqlite_files, text
from chronicle.importers.protocol import Ignored, Item, Noted, Opened, Read, Refused, Session, Survey

MARK = "anagrapheus.recording"
VERSION = 1
SPEAKERS = ("speaker", "actor", "author", "sender")
_NO_SUMMARY = re.compile(rb"(?!)")
WORDS = ("text", "content", "message", "words", "body")


class Anagrapheus:
    """The importer."""

    name: ClassVar[str] = "anagrapheus"

    def sniff(self, opened: Opened) -> bool:
        """True for a recording (or stored events without their header) and for a SQLite file of the library."""
        if sqlite_files.is_sqlite(opened):
            return anagrapheus_sqlite.sniff(opened)
        first = next(lines.first_documents(opened), {})
        return MARK in first or {"seq", "envelope", "payload"} <= first.keys()

    def survey(self, opened: Opened) -> Survey:
        """Count the events; a recording holds no sections."""
        if sqlite_files.is_sqlite(opened):
            source = anagrapheus_sqlite.open_source(opened)
            return Survey(source.last_seq, max(source.sections, default=0))
        return lines.survey(opened, _NO_SUMMARY)

    def read(self, opened: Opened) -> Iterator[Item]:
        """Yield the items of a log. Raises BrokenFile for a file that must be refused whole."""
        if sqlite_files.is_sqlite(opened):
            yield from _sqlite(opened)
        else:
            yield from _recording(opened)


def _recording(opened: Opened) -> Iterator[Item]:
    documents = lines.documents(opened)
    header = next(documents, None)
    _check_header(header)
    yield Ignored("header", 1)
    session = ""
    for document in documents:
        yield from lines.said_of(document)
        if document.value is not None:
            for item in _recorded(session, document):
                session = item.session if isinstance(item, Read) else session
                yield item


def _check_header(header: lines.Document | None) -> None:
    if header is None or header.blank:
        raise BrokenFile("empty; a recording begins with its header", line=1)
    if not isinstance(header.value, dict) or MARK not in header.value:
        raise BrokenFile(f'no header; a recording begins with {{"{MARK}":{VERSION}}}', line=1)
    if type(header.value[MARK]) is not int or header.value[MARK] != VERSION:
        raise BrokenFile(f"version {header.value[MARK]!r} of a recording is not known; {VERSION} is", line=1)


def _recorded(session: str, document: lines.Document) -> Iterator[Item]:
    value = document.value
    try:
        if not isinstance(value, dict) or not isinstance(value.get("envelope"), dict):
            raise InvalidEvent("not a stored event: seq, envelope and payload are needed")
        seq = value.get("seq")
        if type(seq) is not int or seq < 1:
            raise InvalidEvent("seq must be a whole number from 1", field="seq")
        event = pending(value["envelope"], value.get("payload"), f"{document.place}:seq={seq}")
    except ChronicleError as error:
        yield Refused(document.line, str(error))
        return
    if not session:
        session = str(event.event_id)
        yield Session(session)
    yield Read(session, str(event.event_id), event, document.line, seq=seq)


def _sqlite(opened: Opened) -> Iterator[Item]:
    source = anagrapheus_sqlite.open_source(opened)
    markers = source.marker_types()
    session = ""
    yield from (Noted(0, words) for words in source.notes())
    for row in source.events():
        if isinstance(row, Refused):
            yield row
            continue
        try:
            event = pending(row.envelope, canonical.parse(row.payload), f"events:seq={row.seq}", markers)
        except ChronicleError as error:
            yield Refused(row.seq, str(error))
            continue
        if not session:
            session = str(event.event_id)
            yield Session(session)
        yield Read(session, str(event.event_id), event, row.seq, seq=row.seq)
        yield from source.sections_ending_at(session, row.seq)


def pending(
    envelope: Mapping[str, Any], payload: Any, locator: str, markers: frozenset[tuple[str, str]] = frozenset()
) -> PendingEvent:
    """Return an event of the library as ours. Raises InvalidEvent naming what is wrong with the envelope."""
    if not isinstance(payload, dict):
        raise InvalidEvent("payload must be a JSON object", field="payload")
    namespace, type_name = _name(envelope, "namespace"), _name(envelope, "type")
    kind, actor_kind, actor, words = _meaning(namespace, type_name, payload, markers)
    content, text_form = text.storable(words)
    return PendingEvent(
        kind=kind,
        actor_kind=actor_kind,
        actor=actor,
        content=content,
        payload=payload,
        event_id=_uuid(envelope, "event_id"),
        namespace=namespace,
        type=type_name,
        schema_version=_version(envelope),
        causation=_uuid(envelope, "causation_id") if envelope.get("causation_id") is not None else None,
        correlation=text.name(envelope.get("correlation_id"), ""),
        claimed_at=_time(envelope),
        locator=locator,
        text_form=text_form,
    )


def _meaning(
    namespace: str, type_name: str, payload: dict[str, Any], markers: frozenset[tuple[str, str]]
) -> tuple[Kind, ActorKind, str, str]:
    """Kind, actor kind, actor and content: what the library leaves to the application, said as far as it shows.

    An application's type that ends every section and nothing else is a marker; the recording holds no
    sections, so there it is a message with the same content and payload.
    """
    if is_pin_event(namespace, type_name):
        return Kind.BOOKKEEPING, ActorKind.SYSTEM, RESERVED_NAMESPACE, ""
    words = _first(payload, WORDS) or text.readable(payload, ordered=True)
    if (namespace, type_name) in markers:
        return Kind.MARKER, ActorKind.SYSTEM, namespace, words
    speaker = _first(payload, SPEAKERS)
    if speaker:
        return Kind.MESSAGE, ActorKind.AGENT, text.name(speaker, namespace), words
    return Kind.MESSAGE, ActorKind.SYSTEM, namespace, words


def _first(payload: dict[str, Any], keys: tuple[str, ...]) -> str:
    return next((str(payload[key]) for key in keys if isinstance(payload.get(key), str) and payload[key].strip()), "")


def _name(envelope: Mapping[str, Any], key: str) -> str:
    if not (given := text.name(envelope.get(key), "")):
        raise InvalidEvent(f"{key} must be given", field=key)
    return given


def _uuid(envelope: Mapping[str, Any], key: str) -> UUID:
    try:
        return UUID(str(envelope.get(key)))
    except ValueError:
        raise InvalidEvent(f"{key} is not a UUID", field=key) from None


def _version(envelope: Mapping[str, Any]) -> int:
    given = envelope.get("schema_version")
    if type(given) is not int or given < 1:
        raise InvalidEvent("schema_version must be a whole number from 1", field="schema_version")
    return given


def _time(envelope: Mapping[str, Any]) -> Any:
    moment = text.when(envelope.get("created_at"))
    if moment is None:
        raise InvalidEvent("created_at must be an ISO time with a zone", field="created_at")
    return moment


IMPORTERS = (Anagrapheus(),)
