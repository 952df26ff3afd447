"""The older stream of `codex exec --json`: a line of settings, the prompt, then events as `{"id", "msg": {"type"}}`.

Guarantees: the prompt is the person's message; calls are joined by `call_id`; a count of tokens stands on
the last event of the agent before it. A stream without a session's id is known by its first words, so
that a longer snapshot is the same session. Knows no file but for its head.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from chronicle import canonical
from chronicle.envelope import ActorKind
from chronicle.importers import blocks, lines, text
from chronicle.importers.codex_items import AGENT, CLIENT, HUMAN, is_wrapper
from chronicle.importers.making import Maker, Place, Said
from chronicle.importers.protocol import Ignored, Item, Opened, Read, Session
from chronicle.importers.usage import Trailing

SAYS = {"agent_message": "message", "user_message": "message", "agent_reasoning": "text"}
THINKS = ("agent_reasoning", "agent_reasoning_raw_content")
CLIENTS = ("error", "stream_error", "turn_aborted", "background_event", "warning")
BEGINS = {
    "exec_command_begin": ("shell", ("command", "cwd")),
    "patch_apply_begin": ("apply_patch", ("changes", "auto_approved")),
    "mcp_tool_call_begin": ("mcp", ("invocation",)),
    "web_search_begin": ("web_search", ("query",)),
    "view_image_tool_call": ("view_image", ("path",)),
}
ENDS = ("exec_command_end", "patch_apply_end", "mcp_tool_call_end", "web_search_end")
_OUTPUTS = ("aggregated_output", "formatted_output", "stdout")
_TOLD = ("exit_code", "success", "duration")


@dataclass(slots=True)
class Reading:
    """One stream being read."""

    opened: Opened
    flow: Trailing
    maker: Maker | None = None
    model: str = ""
    total: Any = None
    titled: bool = False


def is_message(record: dict[str, Any]) -> bool:
    """True for a numbered event of the older stream."""
    message = record.get("msg")
    return isinstance(message, dict) and isinstance(message.get("type"), str) and "id" in record


def _message(record: dict[str, Any]) -> dict[str, Any]:
    message = record.get("msg")
    return message if isinstance(message, dict) else {}


def is_known(record: dict[str, Any]) -> bool:
    """True for any record of the older stream: an event, the prompt, the settings."""
    return isinstance(record.get("msg"), dict) or "prompt" in record or "model" in record


def record(reading: Reading, document: lines.Document) -> Iterator[Item]:
    """Yield what one record of the stream gives."""
    value = document.value
    message = _message(value)
    kind = text.name(message.get("type"), "")
    reading.model = text.name(value.get("model") or message.get("model"), "") or reading.model
    if not kind and "prompt" not in value:
        yield Ignored("settings", document.line)
        return
    yield from _session(reading, message, kind)
    if kind == "token_count":
        _usage(reading, message)
    prompt = {"type": "user_message", "message": value.get("prompt")}
    found = list(_events(reading, document, message if kind else prompt))
    yield from _titled(reading, found)
    yield from found
    if not found:
        yield Ignored(f"msg/{kind or 'prompt'}"[:200], document.line)


def _session(reading: Reading, message: dict[str, Any], kind: str) -> Iterator[Session]:
    named = text.name(message.get("session_id"), "") if kind == "session_configured" else ""
    if reading.maker is not None and (not named or named == reading.maker.session):
        return
    reading.maker = Maker(named or _named(reading.opened))
    yield Session(reading.maker.session)


def _named(opened: Opened) -> str:
    """Return the id of the session where the head names one, else one made of its first words."""
    words = ""
    for value in lines.first_documents(opened):
        message = _message(value)
        if message.get("type") == "session_configured" and (named := text.name(message.get("session_id"), "")):
            return named
        if not words and text.name(message.get("type"), "") in (*SAYS, *BEGINS):
            words = text.readable(message, ordered=True)
    return f"exec-{canonical.sha256((words or opened.name).encode('utf-8', 'surrogatepass'))[:16]}"


def _titled(reading: Reading, found: list[Read]) -> Iterator[Session]:
    words = next((read.event.content for read in found if read.event.actor_kind == ActorKind.HUMAN), "")
    if reading.maker is not None and not reading.titled and (title := text.first_line(words)):
        reading.titled = True
        yield Session(reading.maker.session, text.storable(title)[0])


def _usage(reading: Reading, message: dict[str, Any]) -> None:
    info = message.get("info")
    last = info.get("last_token_usage") if isinstance(info, dict) else None
    total = info.get("total_token_usage") if isinstance(info, dict) else None
    if info is None and "input_tokens" in message:
        last = {key: value for key, value in message.items() if key != "type"}
    if isinstance(last, dict) and (total is None or total != reading.total):
        reading.total = total
        reading.flow.counted(last)


def _events(reading: Reading, document: lines.Document, message: dict[str, Any]) -> Iterator[Read]:
    maker = reading.maker
    if maker is None:
        return
    kind, at = text.name(message.get("type"), ""), Place(document.line, document.place)
    if kind in BEGINS:
        yield _begin(reading, maker, at, message, f"{maker.counted(document.data)}:0")
    elif kind in ENDS:
        call = text.name(message.get("call_id"), "")
        said = _result(message)
        yield maker.response(f"{maker.counted(document.data)}:0", at, said, call, tool=_tool(maker, message, call))
    elif kind in SAYS or kind in THINKS or kind in CLIENTS or kind == "plan_update":
        yield from _said(reading, maker, at, message, document)


def _said(
    reading: Reading, maker: Maker, at: Place, message: dict[str, Any], document: lines.Document
) -> Iterator[Read]:
    kind = text.name(message.get("type"), "")
    words = next((message[key] for key in ("message", "text", "content", "reason") if message.get(key)), "")
    if kind == "plan_update":
        words = text.readable({key: value for key, value in message.items() if key != "type"})
    said = blocks.said(words) if isinstance(words, str | list) else Said(text.readable(words))
    if not said.words.strip():
        return
    native = f"{maker.counted(document.data)}:0"
    made = {"model": reading.model} if reading.model else None
    if kind in THINKS:
        yield maker.thought(native, at, AGENT, said, payload=made)
    elif kind == "user_message":
        by = ActorKind.SYSTEM if is_wrapper(said.words) else ActorKind.HUMAN
        yield maker.message(native, at, by, HUMAN if by is ActorKind.HUMAN else CLIENT, said)
    elif kind in CLIENTS:
        yield maker.message(native, at, ActorKind.SYSTEM, CLIENT, said, type=kind)
    else:
        yield maker.message(
            native, at, ActorKind.AGENT, AGENT, said, payload=made, type=kind if kind == "plan_update" else ""
        )


def _begin(reading: Reading, maker: Maker, at: Place, message: dict[str, Any], native: str) -> Read:
    tool, keys = BEGINS[text.name(message.get("type"), "")]
    given = {key: message[key] for key in keys if message.get(key) is not None}
    invocation = given.get("invocation")
    if isinstance(invocation, dict):
        tool = _tool(maker, message, "") or tool
        given = invocation["arguments"] if isinstance(invocation.get("arguments"), dict) else invocation
    made = {"model": reading.model} if reading.model else None
    return maker.request(native, at, AGENT, tool, given, text.name(message.get("call_id"), ""), payload=made)


def _tool(maker: Maker, message: dict[str, Any], call: str) -> str:
    invocation = message.get("invocation")
    if call in maker.calls or not isinstance(invocation, dict):
        return ""
    return ".".join(name for key in ("server", "tool") if (name := text.name(invocation.get(key), "")))


def _result(message: dict[str, Any]) -> Said:
    told = {key: message[key] for key in _TOLD if message.get(key) is not None}
    found = next((message[key] for key in _OUTPUTS if isinstance(message.get(key), str) and message[key]), "")
    errors = message.get("stderr")
    if isinstance(errors, str) and errors.strip() and errors not in found:
        found = f"{found}\n{errors}" if found else errors
    result = message.get("result")
    if not found and result is not None:
        inner = result.get("Ok", result.get("Err", result)) if isinstance(result, dict) else result
        content = inner.get("content") if isinstance(inner, dict) else inner
        said = blocks.said(content) if isinstance(content, str | list) else Said(text.readable(inner))
        return said._replace(payload=dict(said.payload) | told)
    return Said(found or text.name(message.get("query"), ""), told)
