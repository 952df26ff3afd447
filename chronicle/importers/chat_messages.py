"""One message of a chat as its events: OpenAI's spelling and Anthropic's, which meet in one file. Pure; knows no file.

Guarantees: thoughts, words, calls and results in the order in which they stand; each has a native id of its
own behind the message's, so that a part which comes later does not move the others; a text and a list of one
text are the same message, and so are arguments as text and as an object. Arguments that are no JSON stay as
they stand. Human is what the role of a person says, but for what a program wraps in tags of its own.
Keys of no known meaning are kept in the payload's `fields`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from chronicle import canonical
from chronicle.envelope import ActorKind, Kind
from chronicle.importers import blocks, chat_texts, text
from chronicle.importers.making import Maker, Place, Said, arguments
from chronicle.importers.protocol import Read

HUMAN = ("user", "human", "prompter", "student")
AGENT = ("assistant", "gpt", "ai", "model", "bot", "chatgpt", "chatbot", "bing", "bard", "claude", "agent")
SYSTEM = ("system", "developer", "context")
TOOLS = ("tool", "function", "observation", "function_response", "tool_response", "ipython", "environment")
ASKING = ("function_call", "tool_call")
ROLES = {*HUMAN, *AGENT, *SYSTEM, *TOOLS, *ASKING}
WRAPPERS = (
    "<environment_context>", "<environment_details>", "<system-reminder>", "<user_instructions>", "[TASK RESUMPTION]",
)  # fmt: skip
REASONING = ("reasoning_content", "reasoning", "thinking")
TIMES = ("timestamp", "created_at", "createdAt", "create_time", "ts", "time", "date")
_KNOWN = {
    "role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal", "thinking_blocks",
    "reasoning_details", "cache_control", "usage", *REASONING, *TIMES,
}  # fmt: skip
_NO_TEXT_CALL = ("finish", "submit", "message")


class Piece(NamedTuple):
    """One event to be: `suffix` names it in its message; a request has `tool` and `arguments`, a response `call`."""

    suffix: str
    kind: Kind
    by: ActorKind
    actor: str
    said: Said = Said("")
    call: str = ""
    tool: str = ""
    arguments: Any = None
    type: str = ""


class Made(NamedTuple):
    """What is known of a message besides what it says: goes into the payload of its events, usage of its last."""

    model: str = ""
    usage: Any = None
    agent: str = "assistant"
    human: tuple[ActorKind, str] = (ActorKind.HUMAN, "user")


@dataclass(slots=True)
class Chat:
    """One session being read. `asked` is true while a call that was written as text waits for its result."""

    maker: Maker
    asked: bool = False


def is_message(value: Any) -> bool:
    """True for a message of a chat: a role that is known, and something said; a `type` is another format's."""
    if not isinstance(value, dict) or not isinstance(value.get("role"), str) or "type" in value or "parts" in value:
        return False
    return value["role"].lower() in ROLES and bool({"content", "tool_calls", "function_call"} & value.keys())


def is_anthropic(value: Any) -> bool:
    """True for a message in whose content stand blocks that Anthropic's API alone writes, or a mark of Cline's."""
    content = value.get("content") if isinstance(value, dict) else None
    if not isinstance(content, list):
        return False
    return "ts" in value or any(map(_is_anthropic_block, content))


def _is_anthropic_block(block: Any) -> bool:
    if not isinstance(block, dict):
        return False
    words = block.get("text")
    if isinstance(words, str) and words.startswith(("<task>", "<environment_details>")):
        return True
    kind = block.get("type")
    return kind in ("tool_use", "tool_result", "thinking", "redacted_thinking") or (
        kind in ("image", "document") and isinstance(block.get("source"), dict)
    )


def identity(message: Any) -> str:
    """Return what makes a message this one, as text: not how it is spelt, nor what only one of its copies has."""
    if not isinstance(message, dict):
        return json.dumps(message, sort_keys=True)
    calls = [(call.get("id"), *_called(call)) for _, call in _calls(message)]
    words = _plain(message.get("content") or message.get("refusal"))
    return json.dumps([message.get("role"), words, calls, message.get("tool_call_id")], sort_keys=True)


def _plain(content: Any) -> Any:
    """Return a content with its texts as one and without marks of caching."""
    found: list[Any] = []
    for block in blocks.listed(content):
        words = blocks.words_of(block)
        if words is None:
            found.append(
                {key: value for key, value in block.items() if key != "cache_control"}
                if isinstance(block, dict)
                else block
            )
        elif found and isinstance(found[-1], str):
            found[-1] += "\n" + words
        else:
            found.append(words)
    return [part.strip() if isinstance(part, str) else part for part in found]


def time_of(value: Mapping[str, Any]) -> Any:
    """Return the time that a message or a record states."""
    return next((value[key] for key in TIMES if value.get(key) is not None), None)


def events(
    chat: Chat, native: str, at: Place, message: Mapping[str, Any], made: Made, within: str = ""
) -> Iterator[Read]:
    """Yield the events of a message; nothing where it says nothing. `within` stands before a block's number."""
    found = [piece for piece in pieces(chat, message, made) if _says(piece)]
    fields = {key: value for key, value in message.items() if key not in _KNOWN and value not in (None, "", [], {})}
    for number, piece in enumerate(found):
        payload: dict[str, Any] = {"fields": fields} if fields and not number else {}
        if piece.by is ActorKind.AGENT and made.model:
            payload["model"] = made.model
        if made.usage and number == len(found) - 1:
            payload["usage"] = made.usage
        yield _event(chat, native, at, piece, payload, f"{within}{number}")


def _says(piece: Piece) -> bool:
    return piece.kind in (Kind.TOOL_REQUEST, Kind.TOOL_RESPONSE) or bool(piece.said.words.strip())


def _event(chat: Chat, native: str, at: Place, piece: Piece, payload: dict[str, Any], block: str) -> Read:
    id, maker = f"{native}:{piece.suffix}", chat.maker
    if piece.kind is Kind.TOOL_REQUEST:
        return maker.request(
            id, at, piece.actor, piece.tool, piece.arguments, piece.call, payload=payload, block=block, by=piece.by
        )
    if piece.kind is Kind.TOOL_RESPONSE:
        call = piece.call or maker.waiting(piece.tool)
        return maker.response(id, at, piece.said, call, tool=piece.tool, payload=payload, block=block, type=piece.type)
    if piece.kind is Kind.THOUGHT:
        return maker.thought(id, at, piece.actor, piece.said, payload=payload, block=block, type=piece.type)
    return maker.message(id, at, piece.by, piece.actor, piece.said, payload=payload, block=block, type=piece.type)


def pieces(chat: Chat, message: Mapping[str, Any], made: Made) -> Iterator[Piece]:
    """Yield what a message says, piece by piece."""
    role = str(message.get("role", "")).lower()
    if role in TOOLS:
        yield _result(chat, message)
    elif role in AGENT:
        yield from _of_agent(chat, message, text.name(message.get("name"), made.agent))
    elif role in ASKING:
        yield _flat_call(message, made.agent)
    else:
        yield from _of_others(chat, message, role, made)


def _result(chat: Chat, message: Mapping[str, Any]) -> Piece:
    """A tool's message; one that names no call may bear the call's id as its own."""
    own = text.name(message.get("id"), "")
    call = message.get("tool_call_id") or (own if own in chat.maker.calls else "")
    return _response("0", blocks.said(message.get("content")), call, message.get("name"))


def _flat_call(message: Mapping[str, Any], agent: str) -> Piece:
    """A call that is a message of its own: its words are an object with the name and the arguments."""
    given = arguments(message.get("content"))
    named = isinstance(given, dict) and isinstance(given.get("name"), str)
    tool, asked = (given["name"], given.get("arguments", {})) if named else ("", given)
    return _request("0", ActorKind.AGENT, agent, "", tool, asked)


def _of_agent(chat: Chat, message: Mapping[str, Any], actor: str) -> Iterator[Piece]:
    if thought := _reasoning(message):
        yield Piece("r", Kind.THOUGHT, ActorKind.AGENT, actor, Said(thought))
    chat.asked = False
    content = message.get("content") or message.get("refusal")
    for piece in _content(content, ActorKind.AGENT, actor):
        yield from _text_calls(chat, piece)
    for suffix, call in _calls(message):
        tool, given = _called(call)
        yield _request(suffix, ActorKind.AGENT, actor, call.get("id"), tool, given)


def _request(suffix: str, by: ActorKind, actor: str, call: Any, tool: Any, given: Any) -> Piece:
    named = text.name(tool, "")
    return Piece(suffix, Kind.TOOL_REQUEST, by, actor, call=text.name(call, ""), tool=named, arguments=given)


def _response(suffix: str, said: Said, call: Any = "", tool: Any = "") -> Piece:
    named = text.name(tool, "")
    return Piece(suffix, Kind.TOOL_RESPONSE, ActorKind.SYSTEM, named, said, call=text.name(call, ""), tool=named)


def _reasoning(message: Mapping[str, Any]) -> str:
    for key in REASONING:
        if isinstance(message.get(key), str) and message[key].strip():
            return str(message[key])
    found = message.get("thinking_blocks") or message.get("reasoning_details")
    told = (block.get("thinking") or block.get("text") or block.get("summary")
            for block in blocks.listed(found) if isinstance(block, dict))  # fmt: skip
    return "\n".join(words for words in told if isinstance(words, str))


def _text_calls(chat: Chat, piece: Piece) -> Iterator[Piece]:
    """Take a piece apart where a model without function calling wrote its calls into the words."""
    found = chat_texts.calls(piece.said.words) if piece.kind is Kind.MESSAGE else []
    end, number = 0, 0
    for call in found:
        words = piece.said.words[end : call.start]
        yield piece._replace(suffix=f"{piece.suffix}.{number}", said=Said(words))
        yield _request(f"{piece.suffix}.{number + 1}", piece.by, piece.actor, "", call.tool, call.arguments)
        end, number = call.end, number + 2
        chat.asked = call.tool not in _NO_TEXT_CALL
    if not found:
        yield piece
    elif rest := piece.said.words[end:]:
        yield piece._replace(suffix=f"{piece.suffix}.{number}", said=piece.said._replace(words=rest))


def _of_others(chat: Chat, message: Mapping[str, Any], role: str, made: Made) -> Iterator[Piece]:
    """What a person, the system or someone unknown said; a result where a call written as text waits for one."""
    content = message.get("content")
    if role in HUMAN and (answer := _answer(chat, content)) is not None:
        yield answer
    elif role in HUMAN:
        yield from _content(content, made.human[0], text.name(message.get("name"), made.human[1]))
    elif role in SYSTEM:
        yield from _content(content, ActorKind.SYSTEM, role)
    else:
        for piece in _content(content, ActorKind.SYSTEM, text.name(role, "system")):
            yield piece._replace(type=f"role.{text.name(role, 'unknown')[:100]}")


def _answer(chat: Chat, content: Any) -> Piece | None:
    """Return a user's words as the result that they are: by their own mark, or because a text call waits for one."""
    asked, chat.asked = chat.asked, False
    if not asked and not isinstance(content, str):
        return None
    said = blocks.said(content)
    told = chat_texts.result(said.words)
    return _response("0", said, tool=told.tool if told else "") if asked or told else None


def _content(content: Any, by: ActorKind, actor: str) -> Iterator[Piece]:
    """Yield the pieces of a content: runs of texts and images as one, each other block by itself."""
    run: list[Any] = []
    begun, speaker = 0, (by, actor)
    for index, block in enumerate(blocks.listed(content)):
        special, spoken = _special(str(index), block, by, actor), _speaker(block, by, actor)
        if run and (special is not None or spoken != speaker):
            yield Piece(str(begun), Kind.MESSAGE, *speaker, said=blocks.said(run))
            run = []
        if special is not None:
            yield special
            continue
        begun, speaker = (begun, speaker) if run else (index, spoken)
        run.append(block)
    if run:
        yield Piece(str(begun), Kind.MESSAGE, *speaker, said=blocks.said(run))


def _speaker(block: Any, by: ActorKind, actor: str) -> tuple[ActorKind, str]:
    words = blocks.words_of(block)
    wrapped = by is ActorKind.HUMAN and words is not None and words.lstrip().startswith(WRAPPERS)
    return (ActorKind.SYSTEM, "system") if wrapped else (by, actor)


def _special(suffix: str, block: Any, by: ActorKind, actor: str) -> Piece | None:
    """Return a block of Anthropic's that is a thought, a call or a result; None for any other."""
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "thinking" and isinstance(block.get("thinking"), str):
        return Piece(suffix, Kind.THOUGHT, by, actor, Said(block["thinking"]))
    if kind == "redacted_thinking":
        return Piece(suffix, Kind.THOUGHT, by, actor, Said("[redacted_thinking]"), type="redacted")
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        return _request(suffix, by, actor, block.get("id"), block.get("name"), block.get("input"))
    if isinstance(kind, str) and kind.endswith("tool_result"):
        said = blocks.said(block.get("content"))
        failed = {"is_error": True} if block.get("is_error") is True else {}
        said = said._replace(payload=dict(said.payload) | failed)
        return _response(suffix, said, block.get("tool_use_id"), block.get("name"))
    return None


def _calls(message: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the calls of a message with a name for each: those of `tool_calls`, and the older `function_call`."""
    given = message.get("tool_calls")
    for number, call in enumerate(given if isinstance(given, list) else ()):
        if isinstance(call, dict):
            yield f"c{number}", call
    if isinstance(older := message.get("function_call"), dict):
        yield "f", older


def _called(call: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the tool and the arguments of a call."""
    inner = next((call[key] for key in ("function", "custom") if isinstance(call.get(key), dict)), call)
    given: Any = next((inner[key] for key in ("arguments", "args", "input", "parameters") if key in inner), {})
    return text.name(inner.get("name"), ""), arguments(given)


def digest(message: Any) -> str:
    """Return a name for a message without an id: the same for each of its copies."""
    return canonical.sha256(identity(message).encode("utf-8", "surrogatepass"))[:32]
