"""Sessions of OpenHands: the events of version 0 (one document) and of version 1 (a list, lines, or a file each).

Guarantees: a user's message is a human's; an action is a request, with the thought that came with it
before it, an observation its response, joined by the call's id, else by the action's; a condensation is
a marker, and a section over the events it forgot where it has a summary; times have no zone, so they
stay words. A session is known by the folder that its event files lie in, else by its first event.
Refuses: an element that is no event, by its place. What the platform notes for itself is ignored by kind.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, ClassVar

from chronicle import canonical
from chronicle.importers import lines, openhands_v0, openhands_v1, parts, text
from chronicle.importers.making import Maker, Place
from chronicle.importers.openhands_events import Known
from chronicle.importers.protocol import Ignored, Item, Opened, Refused, Session, Survey

ARRAYS = ("history", "trajectory", "events")
FOLDER = "events"


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a file, whatever its shape: a line, an element, or the whole document."""

    number: int
    place: str
    value: Any
    data: bytes
    said: tuple[Item, ...] = ()


class OpenHands:
    """The importer."""

    name: ClassVar[str] = "openhands"

    def sniff(self, opened: Opened) -> bool:
        """True where the first event has the marks of a version."""
        head = parts.head(opened)
        if isinstance(head, dict) and _is_base_state(head):
            return True
        return _is_event(_first(head))

    def survey(self, opened: Opened) -> Survey:
        """Count the records and find the last condensation."""
        number = last = 0
        for record in _records(opened):
            number = max(number, record.number)
            last = number if b"ondensation" in record.data else last
        return Survey(number, last)

    def read(self, opened: Opened) -> Iterator[Item]:
        """Yield the items of a session."""
        known: Known | None = None
        for record in _records(opened):
            yield from record.said
            if record.said or record.value is None:
                continue
            if not _is_event(record.value):
                yield _no_event(record)
                continue
            if known is None:
                known = Known(Maker(_session(opened, record)))
                yield Session(known.maker.session)
            yield from _event(known, record)
        if known is not None:
            yield from text.timeless(known.maker.timeless)


def _first(head: Any) -> Any:
    if isinstance(head, list):
        return head[0] if head else None
    if isinstance(head, dict):
        nested = next((head[key] for key in ARRAYS if isinstance(head.get(key), list) and head[key]), None)
        return nested[0] if nested else head
    return None


def _is_event(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if openhands_v1.is_event(value):
        return True
    return (
        "source" in value and ("action" in value or "observation" in value) and ("id" in value or "timestamp" in value)
    )


def _is_base_state(value: dict[str, Any]) -> bool:
    """True for what a folder of version 1 says of its agent: no event of the session."""
    return {"agent", "workspace"} <= value.keys() and (
        "execution_status" in value or "agent_status" in value or "max_iterations" in value
    )


def _no_event(record: Record) -> Item:
    if isinstance(record.value, dict) and _is_base_state(record.value):
        return Ignored("base state", record.number)
    if record.place.endswith("#"):
        return Ignored("header", record.number)
    return Refused(record.number, f"{record.place}: not an event of OpenHands")


def _records(opened: Opened) -> Iterator[Record]:
    """Yield the records: lines where each is a document of its own, else the elements of one document."""
    if _is_lines(opened):
        for document in lines.documents(opened, lenient=True):
            said = tuple(lines.said_of(document)) if document.value is None else ()
            yield Record(document.line, document.place, document.value, document.data, said)
        return
    for part in parts.parts(opened, *ARRAYS):
        said = tuple(parts.said_of(part)) if part.reason else ()
        data = canonical.dump(part.value).encode() if part.is_header and not said else part.data
        yield Record(part.record, part.place, part.value, data, said)


def _is_lines(opened: Opened) -> bool:
    """True where the first line is an event by itself."""
    return _is_event(next(lines.first_documents(opened, 1), None))


def _session(opened: Opened, record: Record) -> str:
    """The folder's name for files in `<session>/events/`; else the digest of the first event."""
    *folders, _ = PurePosixPath(opened.name).parts or ("",)
    if len(folders) > 1 and folders[-1] == FOLDER:
        return text.name(folders[-2], "session")
    return canonical.sha256(record.data)[:32]


def _event(known: Known, record: Record) -> Iterator[Item]:
    value = record.value
    at = Place(record.number, record.place, value.get("timestamp"))
    native = (
        text.name(str(value["id"]), "") if isinstance(value.get("id"), int | str) else known.maker.counted(record.data)
    )
    version = openhands_v1 if openhands_v1.is_event(value) else openhands_v0
    made = list(version.items(known, value, native, at))
    known.met(value.get("id"), made)
    yield from known.title(made)
    yield from made
    if not made:
        yield Ignored(version.kind_of(value), record.number)


IMPORTERS = (OpenHands(),)
