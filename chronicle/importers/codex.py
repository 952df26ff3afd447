"""Codex CLI rollouts: a JSON record a line, in an envelope (`type`, `payload`) or bare, or one document of `items`.

Guarantees: what is said is read from the `response_item` records; the client's `event_msg` records say it
again and are counted, and the report names a text that stands in none but them. An id is the digest of
the record and which of its equals it is, so a longer or resumed rollout adds what is new. A `compacted`
record is a marker, its summary an event and a section over all before it. A sub-agent's rollout is a session
of its own under its own name. Usage stands on the last event of an answer (see usage).
Left to the locator: working directory, policies, instructions of the client, encrypted reasoning, the kept history.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from chronicle.envelope import ActorKind
from chronicle.importers import codex_items, lines, parts, text
from chronicle.importers.codex_items import AGENT, CLIENT, HANDED_OVER, HUMAN, Who
from chronicle.importers.making import SUMMARY, Maker, Place
from chronicle.importers.protocol import Ignored, Item, Noted, Opened, Read, ReadSection, Refused, Session, Survey
from chronicle.importers.usage import Trailing

ENVELOPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
BARE = ("message", "reasoning", "function_call", "function_call_output", "local_shell_call", "custom_tool_call")
ROLLED_BACK = "rollback"
_COMPACTED = re.compile(rb'"type"\s*:\s*"compacted"')
_ITEM = re.compile(rb'"type"\s*:\s*"(response_item|compacted|message|reasoning|\w+_call(_output)?)"')
_NAMED = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$")
_SAYS = {"error": "message", "stream_error": "message", "warning": "message", "turn_aborted": "reason"}


class Record(NamedTuple):
    """One record: its number, place and bytes, its time, what it is and says."""

    number: int
    place: str
    data: bytes
    time: Any
    kind: str
    payload: Any

    @property
    def at(self) -> Place:
        return Place(self.number, self.place, self.time)


@dataclass(slots=True)
class Known:
    """What is known of one session so far."""

    maker: Maker
    who: Who = field(default_factory=Who)
    titled: bool = False
    compactions: int = 0
    announced: int = 0  # compactions of which the client's own event has not come yet
    aborted: bool = False
    total: Any = None


@dataclass(slots=True)
class Reading:
    """One file being read. `told` are texts of the client's events that no item has said yet, with their lines."""

    opened: Opened
    events_alone: bool = False
    current: str = ""
    model: str = ""
    sessions: dict[str, Known] = field(default_factory=dict)
    forked: set[str] = field(default_factory=set)
    told: dict[int, list[int]] = field(default_factory=dict)
    said: dict[int, int] = field(default_factory=dict)
    encrypted: list[int] = field(default_factory=list)
    flow: Trailing = field(default_factory=Trailing)


class Codex:
    """The importer."""

    name: ClassVar[str] = "codex"

    def sniff(self, opened: Opened) -> bool:
        """True where a record of the head is in an envelope, or a bare session begins."""
        if _is_document(opened):
            return True
        if any(_is_record(record) for record in lines.first_documents(opened)):
            return True
        cut = b"\n" not in opened.head and opened.size > len(opened.head)
        return cut and b'"session_meta"' in opened.head and b'"payload"' in opened.head

    def survey(self, opened: Opened) -> Survey:
        """Count the records and find the last summary."""
        return parts.survey(opened, "items") if _is_document(opened) else lines.survey(opened, _COMPACTED)

    def read(self, opened: Opened) -> Iterator[Item]:
        """Yield the items of a rollout. Raises BrokenFile only for what is not a regular file."""
        reading = Reading(opened)
        found = _document(reading) if _is_document(opened) else _lines(reading)
        for item in found:
            yield from reading.flow.passing(item)
        yield from reading.flow.rest()
        yield from _notes(reading)


def _is_document(opened: Opened) -> bool:
    head = parts.head(opened)
    return isinstance(head, dict) and isinstance(head.get("session"), dict) and isinstance(head.get("items"), list)


def _is_record(record: dict[str, Any]) -> bool:
    if record.get("type") in ENVELOPES and isinstance(record.get("payload"), dict):
        return True
    return _is_bare_meta(record) or record.get("record_type") == "state"


def _is_bare_meta(record: dict[str, Any]) -> bool:
    return "type" not in record and {"id", "timestamp", "instructions"} <= record.keys()


def _document(reading: Reading) -> Iterator[Item]:
    """The first version: one document with the session and its items."""
    for part in parts.parts(reading.opened, "items"):
        yield from parts.said_of(part)
        if part.reason:
            continue
        if part.is_header:
            session = part.value.get("session") if isinstance(part.value, dict) else None
            yield from _meta(reading, session if isinstance(session, dict) else {})
        elif not isinstance(part.value, dict):
            yield Refused(part.record, f"{part.place}: not a JSON object")
        else:
            kind = text.name(part.value.get("type"), "")
            yield from _record(reading, Record(part.record, part.place, part.data, None, kind, part.value))


def _lines(reading: Reading) -> Iterator[Item]:
    reading.events_alone = not any(b'"response_item"' in raw.data for raw in lines.raw_lines(reading.opened))
    for document in lines.documents(reading.opened, lenient=True):
        if document.edges:
            yield from _stub(reading, document)
        elif document.value is None or document.invalid is not None:
            yield from lines.said_of(document)
        if document.value is not None:
            yield from _line(reading, document)


def _line(reading: Reading, document: lines.Document) -> Iterator[Item]:
    value = document.value
    if not isinstance(value, dict):
        yield Refused(document.line, "not a JSON object")
        return
    kind, payload = text.name(value.get("type"), ""), value.get("payload")
    record = Record(document.line, document.place, document.data, value.get("timestamp"), kind, payload)
    if kind in ENVELOPES and isinstance(payload, dict):
        yield from _envelope(reading, record)
    elif kind in ENVELOPES:
        yield Refused(document.line, f"a record of the type {kind} without a payload")
    elif kind:
        yield from _record(reading, record._replace(payload=value))
    elif _is_bare_meta(value) or ("id" in value and "timestamp" in value):
        yield from _meta(reading, value)
        yield Ignored("session_meta", document.line)
    elif "record_type" in value:
        yield Ignored(_kind("state"), document.line)
    else:
        yield Refused(document.line, "a record without a type")


def _kind(*names: Any) -> str:
    return "/".join(text.name(part, "unknown")[:100] for part in names)


def _envelope(reading: Reading, record: Record) -> Iterator[Item]:
    payload = record.payload
    if record.kind == "response_item":
        yield from _record(reading, record._replace(kind=text.name(payload.get("type"), "")), "response_item")
    elif record.kind == "event_msg":
        yield from _event(reading, record)
    elif record.kind == "compacted":
        yield from _compacted(reading, record)
    else:
        if record.kind == "session_meta":
            yield from _meta(reading, payload, record.number)
        elif model := text.name(payload.get("model"), ""):
            reading.model = model
        yield Ignored(record.kind, record.number)


def _meta(reading: Reading, meta: dict[str, Any], line: int = 0) -> Iterator[Item]:
    """A session begins; a fork's first record is followed by that of the session it was copied from."""
    given = text.name(meta.get("id"), "")
    if not given or given == reading.current:
        return
    known = reading.sessions.get(reading.current)
    if known is not None and (given in reading.forked or not known.maker.last):
        yield Noted(line, f"this session goes on from {given}, whose records stand copied at its beginning")
        return
    reading.current = given
    if given not in reading.sessions:
        yield from _begin(reading, given, _who(meta, given))
    agent = reading.sessions[given].who.payload.get("agent", {})
    origins = (meta.get("forked_from_id"), meta.get("parent_thread_id"), agent.get("parent"))
    reading.forked.update(name for origin in origins if (name := text.name(origin, "")))


def _begin(reading: Reading, session: str, who: Who) -> Iterator[Item]:
    reading.sessions[session] = Known(Maker(session), who)
    yield Session(session)


def _who(meta: dict[str, Any], session: str) -> Who:
    """Who works in a session: a sub-agent is spoken to by the agent that began it, and never by a person."""
    source = meta.get("source")
    child = (source.get("subagent") or source.get("sub_agent")) if isinstance(source, dict) else None
    if child is None:
        return Who()
    spawn = child.get("thread_spawn") if isinstance(child, dict) else None
    spawn = spawn if isinstance(spawn, dict) else {}
    agent: dict[str, Any] = {"id": session}
    if parent := text.name(spawn.get("parent_thread_id") or meta.get("parent_thread_id"), ""):
        agent["parent"] = parent
    names = (spawn.get("agent_nickname"), meta.get("agent_nickname"), spawn.get("agent_role"), meta.get("agent_role"))
    kind = child if isinstance(child, str) or spawn else next(iter(child), "") if isinstance(child, dict) else ""
    named = next((name for given in (*names, kind) if (name := text.name(given, ""))), "")
    return Who(named or text.name(f"agent-{session}", "sub-agent"), ActorKind.AGENT, {"agent": agent})


def _known(reading: Reading) -> Iterator[Item]:
    """Begin a session where no record named one: by the id in the file's name, else by that name."""
    if not reading.current:
        stem = reading.opened.name.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        found = _NAMED.search(stem)
        reading.current = text.name(found[1] if found else stem, "session")
    if reading.current not in reading.sessions:
        yield from _begin(reading, reading.current, Who())


def _record(reading: Reading, record: Record, *before: str) -> Iterator[Item]:
    """One item of what the model was given or answered."""
    yield from _known(reading)
    known = reading.sessions[reading.current]
    known.who.model = reading.model
    native = known.maker.counted(record.data)
    item = codex_items.Item(known.maker, known.who, record.at, native, record.payload)
    found = list(codex_items.events(item))
    for words in codex_items.texts(record.payload) if record.kind in ("message", "reasoning") else ():
        _says(reading, words)
        known.aborted = known.aborted or words.startswith("<turn_aborted")
    if record.kind == "reasoning" and not found:
        reading.encrypted.append(record.number)
    yield from _titled(known, found)
    yield from found
    if not found:
        yield Ignored(_kind(*before, record.kind or None), record.number)


def _titled(known: Known, found: list[Read]) -> Iterator[Session]:
    """Name a session by the first words of who speaks to its agent."""
    if known.titled:
        return
    asks = known.who.told_by
    words = next((r.event.content for r in found if r.event.actor_kind == asks and r.event.kind == "message"), "")
    if title := codex_items.title_of(words):
        known.titled = True
        yield Session(known.maker.session, title)


def _says(reading: Reading, words: str) -> None:
    """An item says a text that an event of the client says too, before or behind it."""
    key = hash(words.strip())
    if waiting := reading.told.get(key):
        waiting.pop(0)
        if not waiting:
            del reading.told[key]
    elif not reading.events_alone:
        reading.said[key] = reading.said.get(key, 0) + 1


def _tells(reading: Reading, words: Any, line: int) -> None:
    if not isinstance(words, str) or not words.strip():
        return
    key = hash(words.strip())
    if left := reading.said.get(key, 0):
        reading.said[key] = left - 1
    else:
        reading.told.setdefault(key, []).append(line)


def _event(reading: Reading, record: Record) -> Iterator[Item]:
    """One event of the client: most say again what the items say."""
    yield from _known(reading)
    known, payload = reading.sessions[reading.current], record.payload
    kind = text.name(payload.get("type"), "unknown")
    if kind in ("user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content"):
        yield from _told(reading, known, record, kind)
        return
    if kind == "token_count":
        _usage(reading, known, payload.get("info"))
    elif kind == "thread_name_updated" and (title := text.name(payload.get("thread_name"), "")):
        known.titled = True
        yield Session(known.maker.session, text.storable(text.first_line(title))[0])
    if (read := _of_client(known, record, kind)) is not None:
        yield read
    else:
        yield Ignored(_kind("event_msg", kind), record.number)


def _told(reading: Reading, known: Known, record: Record, kind: str) -> Iterator[Item]:
    words = record.payload.get("message", record.payload.get("text"))
    if not reading.events_alone:
        _tells(reading, words, record.number)
    if not reading.events_alone or not isinstance(words, str) or not words.strip():
        yield Ignored(_kind("event_msg", kind), record.number)
        return
    native = f"{known.maker.counted(record.data)}:0"
    if kind.startswith("agent_reasoning"):
        read = known.maker.thought(native, record.at, known.who.agent, words, payload=known.who.made())
    elif kind == "agent_message":
        payload = known.who.made()
        read = known.maker.message(native, record.at, ActorKind.AGENT, known.who.agent, words, payload=payload)
    else:
        by = ActorKind.SYSTEM if codex_items.is_wrapper(words) else known.who.told_by
        speaker = {ActorKind.HUMAN: HUMAN, ActorKind.SYSTEM: CLIENT}.get(by, AGENT)
        read = known.maker.message(native, record.at, by, speaker, words, payload=dict(known.who.payload) or None)
    yield from _titled(known, [read])
    yield read


def _usage(reading: Reading, known: Known, info: Any) -> None:
    """Count an answer's tokens once: the client repeats a count until there is another."""
    total = info.get("total_token_usage") if isinstance(info, dict) else None
    last = info.get("last_token_usage") if isinstance(info, dict) else None
    if not isinstance(last, dict) or (total is not None and total == known.total):
        return
    known.total = total
    reading.flow.counted(last)


def _of_client(known: Known, record: Record, kind: str) -> Read | None:
    """What the client alone says: a turn broken off, an error, a step back, a compaction without a record."""
    payload = record.payload
    said = {key: value for key, value in payload.items() if key != "type"}
    native = f"{known.maker.counted(record.data)}:0"
    if kind == "context_compacted":
        known.announced -= 1
        if known.announced >= 0:
            return None
        known.announced = 0
        return known.maker.marker(native, record.at, CLIENT, "context compacted")
    if kind == "thread_rolled_back":
        words = f"turns rolled back: {text.readable(said.get('num_turns'))}"
        return known.maker.marker(native, record.at, CLIENT, words, type=ROLLED_BACK, payload=said)
    if kind == "turn_aborted" and known.aborted:
        known.aborted = False
        return None
    if kind in _SAYS:
        words = f"{kind.replace('_', ' ')}: {text.name(payload.get(_SAYS[kind]), 'no reason given')}"
        return known.maker.message(native, record.at, ActorKind.SYSTEM, CLIENT, words, type=kind, payload=said)
    if kind == "exited_review_mode" and payload.get("review_output"):
        words = text.readable(payload["review_output"])
        return known.maker.message(native, record.at, ActorKind.SYSTEM, CLIENT, words, type=kind)
    return None


def _compacted(reading: Reading, record: Record) -> Iterator[Item]:
    """The history was replaced: a marker, the summary as an event, and a section over all that stood before it."""
    yield from _known(reading)
    known, payload = reading.sessions[reading.current], record.payload
    native, kept = known.maker.counted(record.data), payload.get("replacement_history")
    known.announced += 1
    prose = _summary(payload.get("message"), kept)
    told = {"replacement": len(kept)} if isinstance(kept, list) else None
    began = known.maker.last
    marker = known.maker.marker(f"{native}:0", record.at, CLIENT, "compacted", payload=told)
    yield marker
    if not prose:
        yield Noted(record.number, "a compaction whose summary is empty or encrypted; it is a mark in the log only")
        return
    yield known.maker.message(f"{native}:1", record.at, ActorKind.SYSTEM, CLIENT, prose, type=SUMMARY, block=1)
    if not began:
        yield Noted(record.number, "a summary of events that this file does not hold; it stays an event")
        return
    known.compactions += 1
    words = text.storable(prose)[0]
    title = text.storable(text.first_line(_gist(prose)))[0]
    yield ReadSection(
        known.maker.session, marker.native_id, words, record.number,
        title=title, model=reading.model, rolling=known.compactions > 1,
    )  # fmt: skip


def _summary(message: Any, kept: Any) -> str:
    """Return the summary: the record's own words, else the handing over at the end of the history it keeps."""
    if isinstance(message, str) and message.strip():
        return message
    for item in reversed(kept) if isinstance(kept, list) else ():
        for words in codex_items.texts(item) if isinstance(item, dict) else ():
            if words.lstrip().startswith(HANDED_OVER):
                return words
    return ""


def _gist(prose: str) -> str:
    """A title out of a summary: its own first line, not the sentence that hands it over."""
    if not prose.lstrip().startswith(HANDED_OVER):
        return prose
    return prose.partition("\n")[2].strip() or prose


def _stub(reading: Reading, document: lines.Document) -> Iterator[Item]:
    """Mark the place of a line that is too long to be read, where its edges name an item."""
    marked = _ITEM.search(document.edges) is not None
    yield Refused(document.line, document.reason, marked=marked)
    if not marked:
        return
    yield from _known(reading)
    maker = reading.sessions[reading.current].maker
    native = maker.counted(document.edges)
    yield maker.stub(f"{native}:0", Place(document.line, document.place), document.reason, CLIENT)


def _notes(reading: Reading) -> Iterator[Item]:
    if reading.encrypted:
        count, first = len(reading.encrypted), reading.encrypted[0]
        yield Noted(first, f"{count} thoughts are encrypted or empty (the first on line {first}); they give no event")
    if alone := sorted(line for waiting in reading.told.values() for line in waiting):
        yield Noted(
            alone[0],
            f"{len(alone)} texts stand in the client's events alone (the first on line {alone[0]}); they give no event",
        )
    for known in reading.sessions.values():
        yield from text.timeless(known.maker.timeless)


IMPORTERS = (Codex(),)
