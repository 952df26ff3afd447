"""LangChain's messages in their spellings, as events. Pure; knows no file.

Guarantees: the flat dict, the one with `data`, the constructor with `kwargs`, and an object of a stored value give
the same events under the same ids; thoughts, words and calls of a message are events of their own, its usage
stands on the last; a call whose arguments could not be read keeps them as they were. Human is the type `human`
alone, and inside a sub-agent nobody is: there it is the agent that asked.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from chronicle.envelope import COMPACTION, ActorKind
from chronicle.importers import blocks, openai_items, text
from chronicle.importers.langgraph_values import Made, plain
from chronicle.importers.making import SUMMARY, Maker, Place
from chronicle.importers.protocol import Read

AGENT, HUMAN = "assistant", "user"
KINDS = {"human", "ai", "system", "developer", "tool", "function", "chat", "remove"}
REMOVE_ALL = "__remove_all__"
SUMMARIZED = "Here is a summary of the conversation to date"
FLAT = {
    "additional_kwargs", "artifact", "content", "example", "id", "invalid_tool_calls", "name", "response_metadata",
    "status", "tool_call_chunks", "tool_call_id", "tool_calls", "type", "usage_metadata", "chunk_position",
}  # fmt: skip
THOUGHTS = {"reasoning": "reasoning", "thinking": "thinking", "redacted_thinking": "", "reasoning_content": "text"}
CALLS = {"tool_use", "tool_call", "function_call", "invalid_tool_call", "tool_call_chunk", "server_tool_use"}
SMALL = 64 * 1024


class Message(NamedTuple):
    """A message, whichever way it was spelt."""

    kind: str
    fields: dict[str, Any]

    @property
    def id(self) -> str:
        return text.name(self.fields.get("id"), "")

    @property
    def removes_all(self) -> bool:
        return self.kind == "remove" and self.id == REMOVE_ALL

    @property
    def said(self) -> str:
        """What a message says, whatever its id: two of the same are told apart by how often they stand."""
        names = ("content", "tool_calls", "tool_call_id")
        return text.readable([self.kind, *(plain(self.fields.get(name)) or None for name in names)])

    @property
    def is_summary(self) -> bool:
        """True for what a summarising middleware puts in the place of what it removed."""
        more, content = self.fields.get("additional_kwargs"), self.fields.get("content")
        named = isinstance(more, dict) and more.get("lc_source") == "summarization"
        return self.kind == "human" and (named or (isinstance(content, str) and content.startswith(SUMMARIZED)))


@dataclass(slots=True)
class Speaker:
    """Who a message is of: the session's own agent, or a sub-agent by the name of its node."""

    maker: Maker
    agent: str = ""
    payload: dict[str, Any] = field(default_factory=dict)


def message_of(value: Any) -> Message | None:
    """Return a message, or None for what is none."""
    if isinstance(value, Made):
        kind = _kind(value.name)
        return Message(kind, plain(value.fields)) if kind and isinstance(value.fields, dict) else None
    if not isinstance(value, dict):
        return None
    if value.get("lc") in (1, 2) and isinstance(value.get("id"), list) and value["id"]:
        kind, fields = _kind(str(value["id"][-1])), value.get("kwargs")
        return Message(kind, fields) if kind and isinstance(fields, dict) else None
    kind = value["type"].removesuffix("MessageChunk").lower() if isinstance(value.get("type"), str) else ""
    if kind not in KINDS:
        return None
    data = value.get("data")
    if isinstance(data, dict) and ("content" in data or kind == "remove"):
        return Message(kind, data)
    return Message(kind, value) if "content" in value and "role" not in value else None


def is_plain(value: Any) -> bool:
    """True for a message that only LangChain writes: other transcripts have a `type` and a `content` too."""
    message = message_of(value)
    return message is not None and (message.fields is not value or value.keys() <= FLAT)


def _kind(name: str) -> str:
    """Return what kind of message a class is of: `AIMessageChunk` is an `ai`; "" for a class that is none."""
    before, found, _ = name.partition("Message")
    return before.lower() if found and before.lower() in KINDS else ""


def reads(speaker: Speaker, message: Message, native: str, at: Place, block: int = 0) -> Iterator[Read]:
    """Yield the events of a message; `block` is the number of its first."""
    found = list(_events(speaker, message, native, at, block))
    usage = message.fields.get("usage_metadata")
    for read in found:
        if read is found[-1] and isinstance(usage, dict) and usage:
            payload = dict(read.event.payload or {}) | {"usage": usage}
            yield replace(read, event=replace(read.event, payload=payload))
        else:
            yield read


def _events(speaker: Speaker, message: Message, native: str, at: Place, block: int) -> Iterator[Read]:
    maker, kind, fields = speaker.maker, message.kind, message.fields
    if kind == "ai":
        yield from _of_agent(speaker, message, native, at, block)
    elif kind in ("tool", "function"):
        yield _response(speaker, fields, native, at, block)
    elif kind == "remove":
        words = "[all messages removed]" if message.removes_all else f"[message {message.id or 'of no id'} removed]"
        type = COMPACTION if message.removes_all else "message.removed"
        yield maker.marker(f"{native}:0", at, "langgraph", words, type, payload=speaker.payload, block=block)
    elif (said := blocks.said(fields.get("content"))).words.strip():
        by, actor = _by(speaker, message)
        type = SUMMARY if message.is_summary else ""
        yield maker.message(f"{native}:0", at, by, actor, said, payload=speaker.payload, type=type, block=block)


def _by(speaker: Speaker, message: Message) -> tuple[ActorKind, str]:
    name = text.name(message.fields.get("name"), "")
    if message.is_summary:
        return ActorKind.SYSTEM, "langgraph"
    if message.kind == "human":
        return (ActorKind.AGENT, AGENT) if speaker.agent else (ActorKind.HUMAN, name or HUMAN)
    if message.kind == "chat" and (role := text.name(message.fields.get("role"), "")) in ("user", "assistant"):
        return (ActorKind.HUMAN, name or HUMAN) if role == "user" else (ActorKind.AGENT, name or AGENT)
    return ActorKind.SYSTEM, name or message.kind


def _response(speaker: Speaker, fields: dict[str, Any], native: str, at: Place, block: int) -> Read:
    payload = dict(speaker.payload)
    if fields.get("status") == "error":
        payload["is_error"] = True
    if fields.get("artifact") is not None and len(text.readable(fields["artifact"])) <= SMALL:
        payload["artifact"] = fields["artifact"]
    said = blocks.said(fields.get("content"))
    call, tool = fields.get("tool_call_id"), fields.get("name")
    return speaker.maker.response(f"{native}:0", at, said, call, tool=tool, payload=payload, block=block)


def _of_agent(speaker: Speaker, message: Message, native: str, at: Place, block: int) -> Iterator[Read]:
    fields = message.fields
    actor = text.name(fields.get("name"), "") or speaker.agent or AGENT
    payload = speaker.payload | _model(fields)
    for number, words in enumerate(_thoughts(fields)):
        yield speaker.maker.thought(f"{native}:t{number}", at, actor, words, payload=payload, block=block)
        block += 1
    said = blocks.said([piece for piece in blocks.listed(fields.get("content")) if not _is_aside(piece)])
    if said.words.strip():
        yield speaker.maker.message(f"{native}:0", at, ActorKind.AGENT, actor, said, payload=payload, block=block)
        block += 1
    for number, (tool, arguments, call, more) in enumerate(_calls(fields)):
        yield speaker.maker.request(
            f"{native}:c{number}", at, actor, tool, arguments, call, payload=payload | more, block=block
        )
        block += 1


def _model(fields: dict[str, Any]) -> dict[str, Any]:
    given = fields.get("response_metadata")
    named = (given.get("model_name") or given.get("model")) if isinstance(given, dict) else None
    return {"model": named} if isinstance(named, str) else {}


def _is_aside(piece: Any) -> bool:
    """True for a block that is a thought, or a call that stands among `tool_calls` too."""
    kind = piece.get("type") if isinstance(piece, dict) else None
    return isinstance(kind, str) and (kind in THOUGHTS or kind in CALLS)


def _thoughts(fields: dict[str, Any]) -> Iterator[str]:
    more = fields.get("additional_kwargs")
    if isinstance(more, dict) and isinstance(words := more.get("reasoning_content"), str) and words.strip():
        yield words
    for piece in blocks.listed(fields.get("content")):
        kind = piece.get("type") if isinstance(piece, dict) else None
        if isinstance(kind, str) and kind in THOUGHTS:
            given = piece.get(THOUGHTS[kind]) or piece.get("summary") or piece.get("text")
            words = given if isinstance(given, str) else blocks.said(given).words
            if words.strip():
                yield words


def _calls(fields: dict[str, Any]) -> Iterator[tuple[Any, Any, Any, dict[str, Any]]]:
    listed = [call for call in blocks.listed(fields.get("tool_calls")) if isinstance(call, dict)]
    more = fields.get("additional_kwargs")
    if not listed and isinstance(more, dict):  # the provider's own form, of older versions
        for call in blocks.listed(more.get("tool_calls")):
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict):
                yield function.get("name"), openai_items.parsed(function.get("arguments")), call.get("id"), {}
        return
    for call in listed:
        yield call.get("name"), call.get("args"), call.get("id"), {}
    for call in blocks.listed(fields.get("invalid_tool_calls")):
        if isinstance(call, dict):
            yield call.get("name"), call.get("args"), call.get("id"), {"invalid": call.get("error") or True}
