"""Claude Code transcripts (`~/.claude/projects/<folder>/<session>.jsonl`), one JSON record a line.

Guarantees: order is line order; a native id is `<uuid>:<block>`, so a resumed or longer snapshot gives
the same events; a call's result names its request by id, however far apart they stand; a sub-agent's
messages (nested in progress records, or in files of their own) belong to their parent's session; each
compaction summary becomes a section that ends at its boundary; usage stands once per message, on the
last record of it. What is no event is ignored by kind. Time is what the record claims, or none.
Left to the locator (`line:block`): parentUuid, cwd, git branch, version, request ids, signatures.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, NamedTuple

from chronicle import canonical
from chronicle.envelope import COMPACTION, ActorKind, Kind, PendingEvent
from chronicle.importers import claude_agents, claude_attachments, claude_blocks, lines, text
from chronicle.importers.claude_blocks import CLIENT, Part
from chronicle.importers.claude_pass import FirstPass, first_pass
from chronicle.importers.protocol import Ignored, Item, Noted, Opened, Read, ReadSection, Refused, Session, Survey

HUMAN, AGENT = "user", "assistant"
SUMMARY = "compaction.summary"
MICROCOMPACTION = "microcompaction"
STUB = "stub"
SUBAGENT_COMPACTION = "subagent.compaction"

_RECORD_TYPES = {
    "assistant", "user", "progress", "system", "summary", "attachment", "file-history-snapshot", "queue-operation"
}  # fmt: skip
_MARKS = (b'"parentUuid":', b'"sessionId":', b'"isSidechain":')
_SESSION_ID = re.compile(rb'"sessionId"\s*:\s*"([\w.-]{1,200})"')
_UUID = re.compile(rb'"uuid"\s*:\s*"([\w.-]{1,200})"')
_GIST = re.compile(r"Primary Request and Intent:?\W*\s*(\S[^\n]*)")


class Call(NamedTuple):
    """A tool call met before: its native id, the tool, and the kind of sub-agent it started."""

    native_id: str
    tool: str
    agent: str


class Record(NamedTuple):
    """One record that gives events: whose session, which id, where it stands, when, and who was at work."""

    session: str
    id: str
    line: int
    place: str
    value: dict[str, Any]
    message: Any
    at: datetime | None = None
    agent: str = ""  # the sub-agent's name; empty for the session's own
    group: str = ""  # the id of the call that started the sub-agent
    agent_id: str = ""


@dataclass(slots=True)
class Known:
    """What is known of one session so far."""

    last: str = ""  # the native id of its last own event
    boundary: str = ""  # a compaction whose summary has not come yet
    compactions: int = 0
    titled: bool = False


@dataclass(slots=True)
class Reading:
    """One file being read: what later records need to know of earlier ones."""

    opened: Opened
    last_line: dict[str, int]
    calls: dict[str, Call] = field(default_factory=dict)
    agents: dict[str, tuple[str, str]] = field(default_factory=dict)  # agent id → its name, the call that began it
    sessions: dict[str, Known] = field(default_factory=dict)
    current: str = ""
    leaves: dict[str, str] = field(default_factory=dict)  # record uuid → its session
    titles: list[tuple[str, str]] = field(default_factory=list)  # the leaf it names, the words
    nameless: dict[str, int] = field(default_factory=dict)
    timeless: set[int] = field(default_factory=set)  # the lines whose timestamp is no moment


class ClaudeCode:
    """The importer. It keeps the first pass over the file it surveyed last, for the reading that follows."""

    name: ClassVar[str] = "claude-code"

    def __init__(self) -> None:
        self._passed: tuple[Opened, FirstPass] | None = None

    def sniff(self, opened: Opened) -> bool:
        """True where a record of the head has a known type and the marks of a session."""
        if any(_is_record(record) for record in lines.first_documents(opened)):
            return True
        cut = b"\n" not in opened.head and opened.size > len(opened.head)  # one line, longer than the head
        return cut and all(mark in opened.head for mark in _MARKS)

    def survey(self, opened: Opened) -> Survey:
        """Count the lines and find the last compaction summary."""
        first = first_pass(opened)
        self._passed = opened, first
        return first.survey

    def read(self, opened: Opened) -> Iterator[Item]:
        """Yield the items of a transcript. Raises BrokenFile only for what is not a regular file."""
        passed, self._passed = self._passed, None
        first = passed[1] if passed and passed[0] is opened else first_pass(opened)
        reading = Reading(opened, first.last_line, agents=claude_agents.of_parent(opened))
        for document in lines.documents(opened, lenient=True):
            if document.value is None or document.invalid is not None:
                yield from _stub(reading, document) if document.edges else lines.said_of(document)
            if document.value is not None:
                yield from _record(reading, document)
        yield from _titles(reading)
        yield from text.timeless(reading.timeless)


def _is_record(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    if not isinstance(kind, str) or kind not in _RECORD_TYPES:
        return False
    return "sessionId" in record or "leafUuid" in record or (kind == "file-history-snapshot" and "messageId" in record)


def _record(reading: Reading, document: lines.Document) -> Iterable[Item]:
    value = document.value
    if not isinstance(value, dict) or not isinstance(kind := value.get("type"), str):
        reason = "a record without a type" if isinstance(value, dict) else "not a JSON object"
        return (Refused(document.line, reason),)
    _keep_leaf(reading, value)
    if kind in ("user", "assistant"):
        return _message(reading, _own(reading, document))
    if kind == "system":
        return _system(reading, document)
    if kind == "progress":
        return _progress(reading, document)
    if kind == "attachment":
        return _attachment(reading, document)
    return (Ignored(_kind(kind), document.line),)


def _stub(reading: Reading, document: lines.Document) -> Iterator[Item]:
    """Mark the place of a line that is too long to be read, where its edges name its session."""
    session = _SESSION_ID.search(document.edges)
    yield Refused(document.line, document.reason, marked=session is not None)
    if session is None:
        return
    uuid = _UUID.findall(document.edges)
    value = {"type": "system", "sessionId": session[1].decode(), "uuid": uuid[-1].decode() if uuid else None}
    part = Part(0, Kind.MESSAGE, f"[{document.reason}]", ActorKind.SYSTEM, {"stub": document.reason}, type=STUB)
    record = _own(reading, document._replace(value=value, data=document.edges))
    yield from _greet(reading, record, [])
    yield _read(reading, reading.sessions[record.session], record, part, last=True)


def _kind(*names: Any) -> str:
    return "/".join(text.name(part, "unknown")[:100] for part in names)


def _keep_leaf(reading: Reading, value: dict[str, Any]) -> None:
    if isinstance(uuid := value.get("uuid"), str) and isinstance(session := value.get("sessionId"), str):
        reading.leaves[uuid] = session
    if isinstance(leaf := value.get("leafUuid"), str) and isinstance(words := value.get("summary"), str):
        reading.titles.append((leaf, words))


def _titles(reading: Reading) -> Iterator[Item]:
    """A summary record titles the session that its leaf is in; most describe sessions of other files."""
    for leaf, words in reading.titles:
        session = text.name(reading.leaves.get(leaf), "")
        if session in reading.sessions and (title := text.first_line(words)):
            yield Session(session, text.storable(title)[0])


def _own(reading: Reading, document: lines.Document) -> Record:
    """Return a record of the session's own, or of a sub-agent that writes a file (or a chain) of its own."""
    value = document.value
    record = Record(
        _session(reading, value),
        _native_id(reading, value, document),
        document.line,
        document.place,
        value,
        value.get("message"),
        text.when(value.get("timestamp")),
    )
    return _aside(reading, record) if value.get("isSidechain") is True else record


def _aside(reading: Reading, record: Record) -> Record:
    given = record.value.get("agentId")
    agent_id = given if isinstance(given, str) else ""
    agent, group = reading.agents.get(agent_id, (f"agent-{agent_id}" if agent_id else "sub-agent", ""))
    return record._replace(agent=text.name(agent, "sub-agent"), group=group, agent_id=agent_id)


def _session(reading: Reading, value: dict[str, Any]) -> str:
    given = value.get("sessionId")
    if given == reading.current and given:
        return reading.current
    if isinstance(given, str) and given.strip():
        reading.current = text.name(given, "")
    elif not reading.current:
        stem = reading.opened.name.rsplit("/", 1)[-1].removesuffix(".jsonl")
        reading.current = text.name(stem, "session")
    return reading.current


def _native_id(reading: Reading, value: dict[str, Any], document: lines.Document) -> str:
    """The record's uuid; without one, the digest of its text and which of its equals it is."""
    if isinstance(uuid := value.get("uuid"), str) and uuid:
        return text.name(uuid, "")
    digest = canonical.sha256(document.data)[:32]
    reading.nameless[digest] = reading.nameless.get(digest, 0) + 1
    return f"#{digest}.{reading.nameless[digest]}"


def _progress(reading: Reading, document: lines.Document) -> Iterable[Item]:
    data = document.value.get("data")
    kind = data.get("type") if isinstance(data, dict) else None
    nested = data.get("message") if isinstance(data, dict) else None
    if kind != "agent_progress" or not isinstance(nested, dict) or nested.get("type") not in ("user", "assistant"):
        return (Ignored(_kind("progress", kind), document.line),)
    group = document.value.get("parentToolUseID")
    call = reading.calls.get(group) if isinstance(group, str) else None
    agent_id = text.name(data.get("agentId"), "unknown")
    agent = call.agent if call and call.agent else f"agent-{agent_id}"
    record = Record(
        session=_session(reading, document.value),
        id=_native_id(reading, nested, document),
        line=document.line,
        place=document.place,
        value=nested,
        message=nested.get("message"),
        at=text.when(nested.get("timestamp")),
        agent=text.name(agent, "sub-agent"),
        group=text.name(group, ""),
        agent_id=agent_id,
    )
    return _message(reading, record, prompt=data.get("prompt"))


def _message(reading: Reading, record: Record, prompt: Any = None) -> list[Item]:
    content = record.message.get("content") if isinstance(record.message, dict) else record.message
    found = claude_blocks.parts(content, _by(record, prompt, content))
    return _said(reading, record, found)


def _attachment(reading: Reading, document: lines.Document) -> list[Item]:
    record = _own(reading, document)
    by = ActorKind.SYSTEM if record.agent else ActorKind.HUMAN
    return _said(reading, record, claude_attachments.parts(document.value.get("attachment"), by))


def _said(reading: Reading, record: Record, found: list[Part]) -> list[Item]:
    if not found:
        return [Ignored(_kind(record.value["type"], "without content"), record.line)]
    items: list[Item] = []
    known = reading.sessions.get(record.session)
    if known is None or not known.titled:
        items += _greet(reading, record, found)
        known = reading.sessions[record.session]
    before, end = known.last, found[-1]
    items += [_read(reading, known, record, part, last=part is end) for part in found]
    if record.value.get("isCompactSummary") is True and not record.agent:
        items.append(_summary(known, record, found, before))
    return items


def _by(record: Record, prompt: Any, content: Any) -> ActorKind:
    """Who a record is from. A sub-agent is spoken to by the agent that called it, never by a person."""
    value = record.value
    if value["type"] == "assistant":
        model = record.message.get("model") if isinstance(record.message, dict) else None
        made_by_client = value.get("isApiErrorMessage") is True or model == "<synthetic>"
        return ActorKind.SYSTEM if made_by_client else ActorKind.AGENT
    if record.agent:
        first = "parentUuid" in value and value["parentUuid"] is None
        return ActorKind.AGENT if first or (prompt and _words(content) == prompt) else ActorKind.SYSTEM
    for flag in ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"):
        if value.get(flag) is True:
            return ActorKind.SYSTEM
    return ActorKind.HUMAN


def _words(content: Any) -> str:
    return "".join(block if isinstance(block, str) else str(block.get("text", "")) if isinstance(block, dict) else ""
                   for block in claude_blocks.blocks(content))  # fmt: skip


def _greet(reading: Reading, record: Record, found: list[Part]) -> Iterator[Session]:
    """Yield a session where it begins, and once more when the first words of a person name it."""
    if record.session not in reading.sessions:
        reading.sessions[record.session] = Known()
        yield Session(record.session)
    known = reading.sessions[record.session]
    if not known.titled:
        said = next((part.content for part in found if part.by is ActorKind.HUMAN), "")
        if title := text.first_line(said):
            known.titled = True
            yield Session(record.session, text.storable(title)[0])


def _read(reading: Reading, known: Known, record: Record, part: Part, *, last: bool) -> Read:
    native_id = f"{record.id}:{part.index}"
    call = reading.calls.get(part.call) if part.kind is Kind.TOOL_RESPONSE else None
    event = _event(reading, record, part, call, last=last)
    if part.call:
        _learn(reading, record, part, native_id, call)
    if not record.agent:
        known.last = native_id
    return Read(
        record.session, native_id, event, record.line, tuple(part.blobs), answers=call.native_id if call else None
    )


def _learn(reading: Reading, record: Record, part: Part, native_id: str, call: Call | None) -> None:
    """Keep what later records need: a request by its call id, a sub-agent by the id that its result states."""
    if part.kind is Kind.TOOL_REQUEST:
        reading.calls[part.call] = Call(native_id, part.tool, part.starts)
    result = record.value.get("toolUseResult") if call else None
    if call and isinstance(result, dict) and isinstance(agent := result.get("agentId"), str):
        reading.agents[agent] = claude_agents.named(agent, call.agent, part.call)


def _event(reading: Reading, record: Record, part: Part, call: Call | None, *, last: bool) -> PendingEvent:
    content, text_form = text.storable(part.content)
    return PendingEvent(
        kind=part.kind,
        actor_kind=part.by,
        actor=_actor(record, part, call),
        content=content,
        payload=_payload(reading, record, part, last=last) or None,
        type=SUMMARY if record.value.get("isCompactSummary") is True else part.type,
        correlation=part.call,
        claimed_at=record.at,
        locator=f"{record.place}:{part.index}",
        text_form=text_form,
    )


def _actor(record: Record, part: Part, call: Call | None) -> str:
    if part.kind is Kind.TOOL_RESPONSE:
        return call.tool if call else "tool"
    if part.by is ActorKind.HUMAN:
        return HUMAN
    if part.by is ActorKind.SYSTEM:
        return CLIENT
    return (record.agent if record.value["type"] == "assistant" else "") or AGENT


def _payload(reading: Reading, record: Record, part: Part, *, last: bool) -> dict[str, Any]:
    payload, value = part.payload, record.value
    if record.agent:
        payload["agent"] = {"id": record.agent_id, "call": record.group}
    if value["type"] == "assistant" and isinstance(record.message, dict):
        payload |= _made_by(reading, record, last=last)
    if part.kind is Kind.TOOL_RESPONSE and (
        short := claude_blocks.short_values(value.get("toolUseResult"), part.content)
    ):
        payload["result"] = short
    if record.at is None and (stamp := value.get("timestamp")) is not None:
        payload["timestamp"] = stamp
        reading.timeless.add(record.line)
    return payload


def _made_by(reading: Reading, record: Record, *, last: bool) -> dict[str, Any]:
    """The message that a block is of, its model, and its usage on the message's last block only.

    A message that was cut by the end of one snapshot has usage on two of its events after the next:
    who sums takes one for each `message`, the later.
    """
    message, made = record.message, {}
    for key, name in (("id", "message"), ("model", "model")):
        if isinstance(message.get(key), str):
            made[name] = message[key]
    if last and message.get("usage") and reading.last_line.get(made.get("message", ""), 0) <= record.line:
        made["usage"] = message["usage"]
    return made


def _system(reading: Reading, document: lines.Document) -> Iterable[Item]:
    value, subtype = document.value, document.value.get("subtype")
    if subtype not in ("compact_boundary", "microcompact_boundary", "local_command"):
        return (Ignored(_kind("system", subtype), document.line),)
    record = _own(reading, document)
    words = value.get("content") if isinstance(value.get("content"), str) else ""
    if subtype == "local_command":
        return _message(reading, record._replace(value=value | {"isMeta": True}, message=words))
    part = Part(0, Kind.MARKER, words or subtype, ActorKind.SYSTEM, _metadata(value), type=MICROCOMPACTION)
    if subtype == "compact_boundary":
        part.type = SUBAGENT_COMPACTION if record.agent else COMPACTION
    items: list[Item] = list(_greet(reading, record, []))
    known = reading.sessions[record.session]
    items.append(_read(reading, known, record, part, last=True))
    if part.type == COMPACTION:
        known.boundary = known.last
    return items


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    keys = ("compactMetadata", "microcompactMetadata", "logicalParentUuid")
    return {key: value[key] for key in keys if value.get(key) is not None}


def _summary(known: Known, record: Record, found: list[Part], before: str) -> Item:
    """The summary written at a compaction: a section up to the boundary, or up to what stood before it."""
    end, known.boundary = known.boundary or before, ""
    if not end:
        return Noted(record.line, "a summary of events that this file does not hold; it stays an event")
    prose = "\n".join(part.content for part in found)
    known.compactions += 1
    return ReadSection(
        session=record.session,
        to_id=end,
        prose=text.storable(prose)[0],
        line=record.line,
        title=_gist(prose),
        rolling=known.compactions > 1,
    )


def _gist(prose: str) -> str:
    """A title out of the summary's own words: what it gives as the request, else its first line."""
    found = _GIST.search(prose)
    return text.storable(text.first_line(found.group(1) if found else prose))[0]


IMPORTERS = (ClaudeCode(),)
