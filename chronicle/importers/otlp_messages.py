"""Messages of model calls, in the many spellings that instrumentations write, as bits that become events.

Guarantees: every part of a message becomes a bit, in order: words (with images and files taken out), thoughts, calls
of tools, their results; two spellings of one message give bits of one mark, which is what tells repeated history
from news. Knows the parts of the GenAI conventions, OpenAI's chat and Responses, Anthropic, Gemini, Bedrock,
LangChain, the AI SDK and OpenInference. Refuses nothing: what is of no known shape is shown as JSON.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from chronicle import canonical
from chronicle.envelope import ActorKind, Kind
from chronicle.importers import blocks, claude_blocks, text
from chronicle.importers.making import Said

ROLES = {
    "system": ActorKind.SYSTEM,
    "developer": ActorKind.SYSTEM,
    "user": ActorKind.HUMAN,
    "human": ActorKind.HUMAN,
    "assistant": ActorKind.AGENT,
    "ai": ActorKind.AGENT,
    "model": ActorKind.AGENT,
    "agent": ActorKind.AGENT,
}
TOOL_ROLES = frozenset({"tool", "function"})
CALLS = frozenset(
    {"tool_call", "tool_use", "tool-call", "function_call", "server_tool_use", "server_tool_call", "custom_tool_call"}
)
ANSWERS = frozenset(
    {
        "tool_call_response",
        "tool_result",
        "tool-result",
        "function_call_output",
        "server_tool_call_response",
        "custom_tool_call_output",
    }
)
THOUGHTS = frozenset({"reasoning", "thinking", "reasoning_content"})
SIZE_PARSED = 8 * 1024 * 1024


@dataclass(frozen=True)
class Bit:
    """What one event says. `call` is a tool call's id; `tool` and `arguments` are of a request."""

    kind: Kind
    by: ActorKind
    said: Said = Said("")  # noqa: RUF009 - a tuple, and never changed
    call: str = ""
    tool: str = ""
    arguments: Any = None

    @cached_property
    def mark(self) -> str:
        """What makes two bits one, wherever they are told: the call's id, or who said what."""
        if self.kind in (Kind.TOOL_REQUEST, Kind.TOOL_RESPONSE) and self.call:
            parts: list[str] = [self.kind, self.call]
        elif self.kind is Kind.TOOL_REQUEST:
            parts = [self.kind, self.tool, text.readable(parsed(self.arguments), ordered=True)]
        else:
            speaks = "agent" if self.by is ActorKind.AGENT else "other"
            parts = [self.kind, speaks, " ".join(self.said.words.split())]
        return canonical.sha256("\x00".join(parts).encode("utf-8", "surrogatepass"))[:32]


def parsed(given: Any) -> Any:
    """Return the JSON that a text holds, or the text itself where it holds none."""
    if not isinstance(given, str) or given.lstrip()[:1] not in ("{", "[", '"') or len(given) > SIZE_PARSED:
        return given
    try:
        return json.loads(given, strict=False)
    except (ValueError, RecursionError):
        return given


def bits(messages: Any, role: str = "user") -> list[Bit]:
    """Return the bits of a list of messages, of one message, or of bare text said by `role`."""
    return list(_bits(parsed(messages), role, 0))


def _bits(given: Any, role: str, depth: int) -> Iterator[Bit]:
    if isinstance(given, list) and depth < 4:
        for one in given:
            yield from _bits(one, role, depth + 1)
    elif isinstance(given, Mapping):
        held = next((given[name] for name in ("messages", "contents") if isinstance(given.get(name), list)), None)
        if held is not None and "role" not in given and depth < 4:
            yield from _bits(given.get("system") or [], "system", depth + 1)
            yield from _bits(held, role, depth + 1)
        elif _is_block(given):
            yield from _spoken([given], role)
        else:
            yield from _message(_unwrapped(_unwrapped(given)), role)
    elif given is not None:
        yield from _spoken([given], role)


def _is_block(given: Mapping[str, Any]) -> bool:
    """True for a part of a message that stands where a message is looked for."""
    return not {"role", "content", "parts", "tool_calls", "message", "kwargs", "data"} & set(given) and (
        isinstance(given.get("text"), str) or _special(given) is not None
    )


def _unwrapped(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Take a message out of a choice, of OpenInference's `message`, or of what LangChain dumps."""
    for name in ("message", "kwargs", "data"):
        inner = given.get(name)
        if isinstance(inner, Mapping) and "role" not in given and ("content" not in given or name == "message"):
            role = given.get("type") if name == "data" else None
            return {"role": role, **inner} if role else inner
    if isinstance(given.get("message"), str) and "content" not in given and "role" not in given:
        return {"role": "assistant", **given, "content": parsed(given["message"])}
    return given


def _message(given: Mapping[str, Any], otherwise: str) -> Iterator[Bit]:
    kind = _type(given)
    if kind in CALLS or kind in ANSWERS or (kind == "reasoning" and "role" not in given):
        yield from _spoken([given], "assistant")  # an item of Responses, which stands among messages
        return
    role = _role(given, otherwise)
    for name in ("reasoning_content", "reasoning", "thinking"):
        if isinstance(given.get(name), str) and given[name].strip():
            yield _thought(given[name])
            break
    content = next((given[name] for name in ("parts", "contents", "content", "text") if given.get(name)), None)
    content = parsed(content) if isinstance(content, str) and content.lstrip()[:2] in ("[{", "[ ") else content
    if role in TOOL_ROLES and not _answers(content):
        call = given.get("tool_call_id") or given.get("toolCallId") or given.get("id")
        yield answer(call, content, given.get("name"))
    elif content is not None:
        yield from _spoken(blocks.listed(content), role)
    yield from _calls(given)


def _type(block: Mapping[str, Any]) -> str:
    """Return the type that a block states; "" where that is no text."""
    kind = block.get("type")
    return kind if isinstance(kind, str) else ""


def _role(given: Mapping[str, Any], otherwise: str) -> str:
    named = given.get("role") or given.get("type") or ""
    if not given.get("role") and isinstance(lc := given.get("id"), list) and lc and isinstance(lc[-1], str):
        named = lc[-1]
    named = str(named).lower().removesuffix("messagechunk").removesuffix("message").removeprefix("role.")
    return named if named in ROLES or named in TOOL_ROLES else otherwise if not given.get("role") else "system"


def _calls(given: Mapping[str, Any]) -> Iterator[Bit]:
    for call in blocks.listed(given.get("tool_calls") or given.get("toolCalls")):
        call = call.get("tool_call", call) if isinstance(call, Mapping) else call
        if isinstance(call, Mapping):
            yield _request(call)
    legacy = given.get("function_call")
    if isinstance(legacy, Mapping) and legacy.get("name"):
        yield _request(legacy)


def _request(call: Mapping[str, Any]) -> Bit:
    inner = call.get("function")
    source = {**call, **inner} if isinstance(inner, Mapping) else call
    names = ("name", "toolName", "tool_name", "function.name")
    tool = next((source[name] for name in names if isinstance(source.get(name), str)), inner)
    given = ("arguments", "args", "input", "parameters", "function.arguments")
    arguments = next((source[name] for name in given if source.get(name) is not None), None)
    return request(_call_id(call), tool, arguments)


def request(call: Any, tool: Any, arguments: Any) -> Bit:
    """Return a call of a tool; arguments that are JSON in a text are shown as what they are."""
    return Bit(
        Kind.TOOL_REQUEST,
        ActorKind.AGENT,
        call=text.name(call, ""),
        tool=text.name(tool, "tool"),
        arguments=parsed(arguments),
    )


def answer(call: Any, content: Any, tool: Any = "", **payload: Any) -> Bit:
    """Return what a tool answered."""
    said = _answered(content)
    said = said._replace(payload={**said.payload, **payload})
    return Bit(Kind.TOOL_RESPONSE, ActorKind.SYSTEM, said, text.name(call, ""), text.name(tool, ""))


def _answered(content: Any) -> Said:
    held = parsed(content)
    if isinstance(held, Mapping):
        inner = held.get("content")
        if isinstance(inner, list) and all(isinstance(one, Mapping) and "type" in one for one in inner):
            said = _said(inner)
            failed = held.get("isError") is True or held.get("is_error") is True
            return said._replace(payload={**said.payload, "is_error": True}) if failed else said
        return Said(content if isinstance(content, str) else text.readable(held))
    if isinstance(held, list) and held and all(isinstance(one, Mapping) for one in held):
        return _said(held) if all({"type", "text"} & set(one) for one in held) else Said(text.readable(held))
    return Said("" if content is None else content if isinstance(content, str) else text.readable(content))


def _answers(content: Any) -> bool:
    """True for a content that has its results in parts, each with its call."""
    return any(_answer(block) is not None for block in blocks.listed(content) if isinstance(block, Mapping))


def _spoken(content: Any, role: str) -> Iterator[Bit]:
    """Yield the bits of a message's blocks; neighbours that are words or images are one bit."""
    words: list[Any] = []
    for block in content:
        special = _special(block) if isinstance(block, Mapping) else None
        if special is None:
            words.append(block)
            continue
        yield from _flushed(words, role)
        words = []
        yield special
    yield from _flushed(words, role)


def _flushed(words: list[Any], role: str) -> Iterator[Bit]:
    said = _said(words)
    if words and said.words.strip():
        by = ROLES.get(role, ActorKind.SYSTEM)
        if by is ActorKind.HUMAN and claude_blocks.is_wrapper(said.words):
            by = ActorKind.SYSTEM
        yield Bit(Kind.MESSAGE, by, said)


def _special(block: Mapping[str, Any]) -> Bit | None:
    kind = _type(block)
    if kind in THOUGHTS or block.get("thought") is True:
        words = next(
            (block[name] for name in ("content", "text", "thinking", "reasoning", "summary") if block.get(name)), ""
        )
        words = words if isinstance(words, str) else blocks.said(words).words
        return (
            _thought(words)
            if words.strip()
            else Bit(Kind.THOUGHT, ActorKind.AGENT, Said("[reasoning]", {"block": dict(block)}))
        )
    for name in ("function_call", "functionCall", "toolUse"):
        if isinstance(block.get(name), Mapping):
            return _request(block[name])
    return _request(block) if kind in CALLS else _answer(block)


def _thought(words: str) -> Bit:
    return Bit(Kind.THOUGHT, ActorKind.AGENT, Said(words))


def _answer(block: Mapping[str, Any]) -> Bit | None:
    for name in ("function_response", "functionResponse", "toolResult"):
        if isinstance(inner := block.get(name), Mapping):
            return answer(_call_id(inner), _result(inner), inner.get("name"))
    if _type(block) not in ANSWERS:
        return None
    failed = {"is_error": True} if block.get("is_error") is True or block.get("isError") is True else {}
    return answer(_call_id(block), _result(block), block.get("name") or block.get("toolName"), **failed)


def _result(block: Mapping[str, Any]) -> Any:
    names = ("response", "result", "output", "content", "server_tool_call_response")
    return next((block[name] for name in names if block.get(name) is not None), None)


def _call_id(call: Mapping[str, Any]) -> Any:
    names = ("call_id", "tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "id")
    return next((call[name] for name in names if isinstance(call.get(name), str)), "")


def _said(content: list[Any]) -> Said:
    return blocks.said([_plain(block) for block in content])


def _plain(block: Any) -> Any:
    """Return a block in a spelling that `blocks` knows."""
    if not isinstance(block, Mapping):
        return block
    block = block["message_content"] if isinstance(block.get("message_content"), Mapping) else block
    kind = _type(block)
    if kind == "text" and isinstance(block.get("content"), str):
        return {"type": "text", "text": block["content"]}
    if kind == "blob":
        return {**block, "data": block.get("content", block.get("data"))}
    if kind == "uri":
        return {"type": str(block.get("modality") or "uri"), "url": block.get("uri")}
    if isinstance(image := block.get("image"), Mapping) and isinstance(inner := image.get("image", image), Mapping):
        return {"type": "image_url", "image_url": {"url": inner.get("url")}}
    return dict(block)
