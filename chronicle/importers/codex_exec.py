"""The stream of `codex exec --json`: threads, turns and items, or in older versions numbered `msg` events.

Guarantees: a request stands where its item began, its response where it completed; an item that only
completed gives both, one that never did a request alone. Ids of items begin again with each run of a
thread, so an event is known by what it says besides. A turn's usage stands on its last event. A stream
names no time. Progress (updates, deltas, approvals) is ignored by kind.
Refuses nothing but records that are none.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from chronicle import canonical
from chronicle.envelope import ActorKind, Kind
from chronicle.importers import blocks, codex_messages, lines, text
from chronicle.importers.codex_items import AGENT, CLIENT, said_of_plain
from chronicle.importers.making import Maker, Place, Said
from chronicle.importers.protocol import Ignored, Item, Noted, Opened, Read, Refused, Session, Survey
from chronicle.importers.usage import Trailing

STARTS = {"thread.started": "thread_id", "session.created": "session_id"}
ITEMS = ("item.started", "item.updated", "item.completed")
SPOKEN = ("agent_message", "assistant_message", "plan")
CALLS = {
    "command_execution": ("command",),
    "file_change": ("changes",),
    "mcp_tool_call": ("arguments",),
    "collab_tool_call": ("prompt", "receiver_thread_ids"),
    "web_search": ("query", "action"),
}
_NEVER = re.compile(rb"(?!)")
_ITEM = re.compile(rb'"type"\s*:\s*"item\.')
_RESULTS = ("aggregated_output", "result", "error", "agents_states", "output")


class Record(NamedTuple):
    """One record, and the kind that its item is of."""

    document: lines.Document
    type: str
    item: dict[str, Any]

    @property
    def at(self) -> Place:
        return Place(self.document.line, self.document.place)

    @property
    def kind(self) -> str:
        return text.name(self.item.get("type"), "") or text.name(self.item.get("item_type"), "unknown")


@dataclass(slots=True)
class Reading:
    """One stream being read. `open` are the items that began and are not completed: the ids of their requests."""

    opened: Opened
    makers: dict[str, Maker] = field(default_factory=dict)
    current: str = ""
    titled: bool = False
    open: dict[str, str] = field(default_factory=dict)
    flow: Trailing = field(default_factory=lambda: Trailing(before=False))

    @property
    def maker(self) -> Maker:
        return self.makers[self.current]


class CodexExec:
    """The importer."""

    name: ClassVar[str] = "codex-exec"

    def sniff(self, opened: Opened) -> bool:
        """True where a record of the head begins a thread, is an item of one, or is a numbered message."""
        return any(_is_record(record) for record in lines.first_documents(opened))

    def survey(self, opened: Opened) -> Survey:
        """Count the lines; a stream has no summaries."""
        return lines.survey(opened, _NEVER)

    def read(self, opened: Opened) -> Iterator[Item]:
        """Yield the items of a stream. Raises BrokenFile only for what is not a regular file."""
        reading = Reading(opened)
        for item in _lines(reading):
            yield from reading.flow.passing(item)
        yield from reading.flow.rest()
        if reading.open:
            yield Noted(0, f"{len(reading.open)} items began and did not complete in this stream")


def _is_record(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    if not isinstance(kind, str):
        return "type" not in record and codex_messages.is_message(record)
    if kind in STARTS:
        return isinstance(record.get(STARTS[kind]), str)
    item = record.get("item")
    return kind in ITEMS and isinstance(item, dict) and "id" in item and ("type" in item or "item_type" in item)


def _lines(reading: Reading) -> Iterator[Item]:
    older: codex_messages.Reading | None = None
    for document in lines.documents(reading.opened, lenient=True):
        if document.edges:
            yield from _stub(reading, document)
        elif document.value is None or document.invalid is not None:
            yield from lines.said_of(document)
        if document.value is None:
            continue
        if not isinstance(document.value, dict):
            yield Refused(document.line, "not a JSON object")
        elif isinstance(document.value.get("type"), str):
            yield from _record(reading, document)
        elif codex_messages.is_known(document.value):
            if older is None:
                older = codex_messages.Reading(reading.opened, reading.flow)
            yield from codex_messages.record(older, document)
        else:
            yield Refused(document.line, "a record without a type")


def _stub(reading: Reading, document: lines.Document) -> Iterator[Item]:
    """Mark the place of a line that is too long to be read, where its edges name an item."""
    marked = _ITEM.search(document.edges) is not None
    yield Refused(document.line, document.reason, marked=marked)
    if marked:
        yield from _begin(reading)
        native = f"{reading.maker.counted(document.edges)}:0"
        yield reading.maker.stub(native, Place(document.line, document.place), document.reason, CLIENT)


def _record(reading: Reading, document: lines.Document) -> Iterator[Item]:
    value, kind = document.value, text.name(document.value["type"], "unknown")
    if kind in STARTS:
        yield from _start(reading, text.name(value.get(STARTS[kind]), ""))
        yield Ignored(kind, document.line)
    elif kind in ITEMS and isinstance(value.get("item"), dict):
        yield from _item(reading, Record(document, kind, value["item"]))
    elif kind in ITEMS:
        yield Refused(document.line, f"{kind} without an item")
    elif kind in ("error", "turn.failed"):
        yield from _error(reading, document, kind)
    else:
        if kind == "turn.completed" and isinstance(value.get("usage"), dict):
            reading.flow.counted(value["usage"])
        yield Ignored(kind[:100], document.line)


def _start(reading: Reading, session: str) -> Iterator[Item]:
    if session:
        reading.current = session
        reading.open.clear()
        yield from _begin(reading)


def _begin(reading: Reading) -> Iterator[Item]:
    """Begin a session where no record named one: by the first item of the head."""
    if not reading.current:
        reading.current = text.name(_first(reading.opened), "session")
    if reading.current not in reading.makers:
        reading.makers[reading.current] = Maker(reading.current)
        yield Session(reading.current)


def _first(opened: Opened) -> str:
    for record in lines.first_documents(opened):
        if record.get("type") == "item.completed":
            return f"exec-{canonical.sha256(text.readable(record, ordered=True).encode('utf-8', 'replace'))[:16]}"
    return opened.name.rsplit("/", 1)[-1]


def _item(reading: Reading, record: Record) -> Iterator[Item]:
    yield from _begin(reading)
    if record.kind in CALLS:
        found = list(_call(reading, record))
    elif record.type == "item.updated" or (record.type == "item.started" and record.kind != "todo_list"):
        found = []
    else:
        found = list(_said(reading, record))
    if not reading.titled and (words := next((r.event.content for r in found if _is_answer(r)), "")):
        reading.titled = True
        yield Session(reading.current, text.storable(text.first_line(words))[0])
    yield from found
    if not found:
        yield Ignored(f"{record.type}/{record.kind}"[:200], record.document.line)


def _is_answer(read: Read) -> bool:
    return read.event.kind == Kind.MESSAGE and not read.event.type


def _native(reading: Reading, item: dict[str, Any], *parts: Any) -> str:
    """An id of what stays the same while an item goes on, and of how often it stood before."""
    return reading.maker.counted(text.readable([item.get("id"), *parts], ordered=True))


def _said(reading: Reading, record: Record) -> Iterator[Read]:
    """A message, a thought, a list of things to do, an error."""
    item, maker, kind = record.item, reading.maker, record.kind
    if kind == "todo_list":
        words = "\n".join(_todo(entry) for entry in blocks.listed(item.get("items")))
    else:
        words = next((item[key] for key in ("text", "message") if isinstance(item.get(key), str)), "")
        if not words and kind not in (*SPOKEN, "reasoning", "error"):
            words = text.readable({key: value for key, value in item.items() if key not in ("id", "type")})
    if not words.strip():
        return
    native = f"{_native(reading, item, kind, words)}:0"
    more = {} if kind in ("agent_message", "assistant_message") else {"type": kind[:100]}
    if kind == "reasoning":
        yield maker.thought(native, record.at, AGENT, words)
    elif kind == "error":
        yield maker.message(native, record.at, ActorKind.SYSTEM, CLIENT, words, type=kind)
    else:
        yield maker.message(native, record.at, ActorKind.AGENT, AGENT, words, **more)


def _todo(entry: Any) -> str:
    if not isinstance(entry, dict):
        return text.readable(entry)
    return f"[{'x' if entry.get('completed') is True else ' '}] {entry.get('text')}"


def _call(reading: Reading, record: Record) -> Iterator[Read]:
    """A request where an item begins, its response where it completes."""
    item, key = record.item, text.name(record.item.get("id"), "")
    if record.type == "item.updated":
        return
    if key not in reading.open or record.type == "item.started":
        yield _request(reading, record, key)
    if record.type == "item.completed":
        native = reading.open.pop(key, key)
        said = _result(record)
        call = key or f"{native}:0"
        yield reading.maker.response(f"{native}:1", record.at, said, call, block=1, payload=_states(item) or None)


def _request(reading: Reading, record: Record, key: str) -> Read:
    item, kind = record.item, record.kind
    given = {name: item[name] for name in CALLS[kind] if item.get(name) is not None}
    arguments = given.get("arguments", {}) if kind == "mcp_tool_call" else given
    tool = ".".join(name for part in ("server", "tool") if (name := text.name(item.get(part), ""))) or kind
    stable = text.readable(arguments, ordered=True) if kind != "web_search" else ""
    native = _native(reading, item, kind, tool, stable)
    reading.open[key] = native
    return reading.maker.request(f"{native}:0", record.at, AGENT, tool, arguments, key)


def _result(record: Record) -> Said:
    item = record.item
    if record.kind == "file_change":
        return Said("\n".join(_change(change) for change in blocks.listed(item.get("changes"))))
    if record.kind == "web_search":
        return Said(text.readable(item.get("action")) if item.get("action") else text.name(item.get("query"), ""))
    found = next((item[key] for key in _RESULTS if item.get(key) not in (None, "", {})), "")
    if isinstance(found, dict) and isinstance(found.get("content"), list):
        return blocks.said(found["content"])
    if isinstance(found, dict) and isinstance(found.get("message"), str):
        return Said(found["message"])
    return said_of_plain(found)


def _change(change: Any) -> str:
    if not isinstance(change, dict):
        return text.readable(change)
    return f"{text.name(change.get('kind'), 'change')} {text.name(change.get('path'), '')}"


def _states(item: dict[str, Any]) -> dict[str, Any]:
    """Return what is told of a run, and the sub-agents that it began or spoke to."""
    told = {key: item[key] for key in ("exit_code", "status") if item.get(key) is not None}
    threads = [name for given in blocks.listed(item.get("receiver_thread_ids")) if (name := text.name(given, ""))]
    if item.get("status") in ("failed", "declined"):
        told["is_error"] = True
    return told | ({"agent": {"id": threads[0]}} if len(threads) == 1 else {})


def _error(reading: Reading, document: lines.Document, kind: str) -> Iterator[Item]:
    yield from _begin(reading)
    found = document.value.get("error", document.value)
    words = found.get("message") if isinstance(found, dict) else found
    words = words if isinstance(words, str) and words.strip() else text.readable(found)
    native = f"{reading.maker.counted(document.data)}:0"
    at = Place(document.line, document.place)
    yield reading.maker.message(native, at, ActorKind.SYSTEM, CLIENT, words, type=kind)


IMPORTERS = (CodexExec(),)
