"""Items of the Responses API, as sessions of the Agents SDK and logs of requests keep them. Pure; knows no file.

Guarantees: a call and its output are joined by `call_id`; an item that holds a hosted tool's request and
result in one (`mcp_call`, `file_search_call`, `code_interpreter_call`, …) gives both, the result only where
there is one; an unknown `…_call` or `…_output` is read the same way, any other kind is ignored by name.
Human is the role `user` alone. Reasoning without a summary that can be read and compactions, which are
encrypted, are counted for the report.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from chronicle import canonical
from chronicle.envelope import ActorKind
from chronicle.errors import InvalidPayload
from chronicle.importers import blocks, sqlite_files, text
from chronicle.importers.making import Maker, Place, Said
from chronicle.importers.protocol import Ignored, Item, Noted, Read, Refused

AGENT, HUMAN = "assistant", "user"
FAKE_ID = "__fake_id__"
ROLES = {
    "user": ActorKind.HUMAN,
    "assistant": ActorKind.AGENT,
    "system": ActorKind.SYSTEM,
    "developer": ActorKind.SYSTEM,
}
COMPACTIONS = ("compaction", "compaction_summary", "context_compaction")
ENCRYPTED = "[compaction: its summary is encrypted]"

# Calls that a program answers in an item of their own. All other calls are hosted: they hold their result.
ASKED = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "computer_call": "action",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
}
# Of a hosted call, what is not its arguments.
ENVELOPE = {"id", "type", "status", "call_id", "name", "namespace", "created_by", "phase", "approval_request_id"}
RESULTS = ("output", "outputs", "results", "result", "tools", "error")


@dataclass(slots=True)
class Reading:
    """One session being read: its events so far, and what is counted for the report."""

    maker: Maker
    begun: bool = False
    titled: bool = False
    hidden: int = 0  # reasoning items without a word
    first_hidden: int = 0
    compacted: list[int] = field(default_factory=list)

    def notes(self) -> Iterator[Noted]:
        if self.hidden:
            yield Noted(
                self.first_hidden, f"{self.hidden} reasoning items hold nothing that can be read (encrypted or empty)"
            )
        if self.compacted:
            words = f"{len(self.compacted)} compactions whose summary is encrypted: marked, without a section"
            yield Noted(self.compacted[0], words)
        yield from text.timeless(self.maker.timeless)


def is_specific(value: Any) -> bool:
    """True for an item that only the Responses API writes; a bare role and content is any chat's."""
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if kind in ("function_call", "custom_tool_call"):
        return isinstance(value.get("call_id"), str) and isinstance(value.get("name"), str)
    if kind in ("function_call_output", "custom_tool_call_output"):
        return isinstance(value.get("call_id"), str) and "output" in value
    if kind == "reasoning":
        return isinstance(value.get("summary"), list) and "id" in value
    if kind == "message":
        content = value.get("content")
        known = [block.get("type") for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        return value.get("role") in ROLES and bool(set(known) & {"output_text", "input_text"})
    hosted = ("web_search_call", "file_search_call", "code_interpreter_call", "mcp_call", "image_generation_call")
    return kind in hosted and "id" in value


def has_id(value: dict[str, Any]) -> bool:
    """True where an item has an id of its own; providers other than OpenAI write the same one on all."""
    given = value.get("id")
    return isinstance(given, str) and bool(given.strip()) and given != FAKE_ID


def items(
    reading: Reading, value: Any, native: str, at: Place, payload: dict[str, Any] | None = None
) -> Iterator[Item]:
    """Yield what one item gives. `payload` is added to its events: the model, the response it is of."""
    if not isinstance(value, dict):
        yield Refused(at.record, "not a JSON object")
        return
    made: list[Item] = list(_made(reading, value, native, at, payload or {}))
    yield from made or [Ignored(_kind(value), at.record)]


def _kind(value: dict[str, Any]) -> str:
    kind = text.name(value.get("type"), "item")[:100]
    return f"{kind} without content" if kind in ("message", "item", "reasoning") else kind


def _made(reading: Reading, value: dict[str, Any], native: str, at: Place, payload: dict[str, Any]) -> Iterator[Read]:
    kind = value.get("type")
    if kind in (None, "message"):
        yield from _message(reading, value, native, at, payload)
    elif kind == "reasoning":
        yield from _thought(reading, value, native, at, payload)
    elif kind in COMPACTIONS:
        reading.compacted.append(at.record)
        yield reading.maker.marker(f"{native}:0", at, "responses", ENCRYPTED, payload=payload)
    elif kind == "mcp_approval_response":
        yield _approval(reading, value, native, at, payload)
    elif isinstance(kind, str) and kind.endswith("_output"):
        yield _output(reading, value, native, at, payload)
    elif isinstance(kind, str) and (kind.endswith("_call") or kind in ("mcp_list_tools", "mcp_approval_request")):
        yield from _call(reading, value, kind, native, at, payload)


def _message(
    reading: Reading, value: dict[str, Any], native: str, at: Place, payload: dict[str, Any]
) -> Iterator[Read]:
    role = text.name(value.get("role"), "unknown")
    said = blocks.said(value.get("content"))
    if not said.words.strip():
        return
    by = ROLES.get(role, ActorKind.SYSTEM)
    yield reading.maker.message(f"{native}:0", at, by, AGENT if by is ActorKind.AGENT else role, said, payload=payload)


def _thought(
    reading: Reading, value: dict[str, Any], native: str, at: Place, payload: dict[str, Any]
) -> Iterator[Read]:
    given = [*blocks.listed(value.get("summary")), *blocks.listed(value.get("content"))]
    said = blocks.said([block for block in given if block])
    if said.words.strip():
        yield reading.maker.thought(f"{native}:0", at, AGENT, said, payload=payload)
        return
    reading.hidden += 1
    reading.first_hidden = reading.first_hidden or at.record


def _output(reading: Reading, value: dict[str, Any], native: str, at: Place, payload: dict[str, Any]) -> Read:
    call = value.get("call_id") or value.get("id")
    said = blocks.said(_opened(value.get("output")))
    if value.get("status") in ("failed", "incomplete"):
        payload = payload | {"status": value["status"]}
    return reading.maker.response(f"{native}:0", at, said, call, tool=value.get("name"), payload=payload)


def _opened(output: Any) -> Any:
    """An output is a text, a list of blocks, or one block; what is none of these is shown as it is."""
    if isinstance(output, dict) and "type" not in output:
        return text.readable(output)
    return output


def _approval(reading: Reading, value: dict[str, Any], native: str, at: Place, payload: dict[str, Any]) -> Read:
    words = "approved" if value.get("approve") is True else "not approved"
    if isinstance(reason := value.get("reason"), str) and reason.strip():
        words = f"{words}: {reason}"
    call = value.get("approval_request_id")
    return reading.maker.response(f"{native}:0", at, words, call, payload=payload | {"approve": value.get("approve")})


def _call(
    reading: Reading, value: dict[str, Any], kind: str, native: str, at: Place, payload: dict[str, Any]
) -> Iterator[Read]:
    call = value.get("call_id") or (value.get("id") if has_id(value) else "")
    tool = value.get("name") or kind.removesuffix("_call")
    server = {"server": value["server_label"]} if isinstance(value.get("server_label"), str) else {}
    yield reading.maker.request(
        f"{native}:0", at, AGENT, tool, _arguments(value, kind), call, payload=payload | server, block=0
    )
    if kind in ASKED or kind == "mcp_approval_request":
        return
    said = _result(value)
    if said is not None:
        met = reading.maker.unanswered[-1]
        yield reading.maker.response(f"{native}:1", at, said, met.call, tool=met.tool, payload=payload, block=1)


def _arguments(value: dict[str, Any], kind: str) -> Any:
    if "arguments" in value or kind in ASKED:
        given = value.get("arguments", value.get(ASKED.get(kind, "arguments")))
        if given is None and kind == "shell_call":
            given = value.get("actions")
        return parsed(given) if kind != "custom_tool_call" else given
    return {key: given for key, given in value.items() if key not in ENVELOPE and key not in RESULTS}


def parsed(arguments: Any) -> Any:
    """Return arguments that are a JSON text as what they say; a text that is none stays as it is."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return sqlite_files.document(arguments) if arguments.strip() else arguments
    except InvalidPayload:
        return arguments


def _result(value: dict[str, Any]) -> Said | None:
    """Return what a hosted tool gave; None where its item says of no result and no end."""
    for key in RESULTS:
        if value.get(key) is not None and value[key] != []:
            return _shown(value, key)
    status = value.get("status")
    return Said("", {"status": status}) if status in ("completed", "failed", "incomplete") else None


def _shown(value: dict[str, Any], key: str) -> Said:
    given = value[key]
    if key == "result" and isinstance(given, str) and (taken := blocks.blob(given, "image/png")) is not None:
        place = {"attachment": taken.digest, "media_type": taken.media_type, "size": len(taken.data)}
        return Said(f"[{taken.media_type}, {len(taken.data)} bytes]", {"attachments": [place]}, [taken])
    if key == "outputs":
        return blocks.said([_logs(piece) for piece in blocks.listed(given)])
    failed = {"is_error": True} if key == "error" else {}
    return Said(given if isinstance(given, str) else text.readable(given), failed)


def _logs(piece: Any) -> Any:
    logs = piece.get("logs") if isinstance(piece, dict) else None
    return logs if isinstance(logs, str) else piece


def title_of(found: list[Item]) -> str:
    """Return the first words of a person among some items; "" where none spoke."""
    for item in found:
        if (
            isinstance(item, Read)
            and item.event.actor_kind is ActorKind.HUMAN
            and (words := item.event.content.strip())
        ):
            return text.first_line(words)
    return ""


def bytes_of(value: Any) -> bytes:
    """Return what an item without an id is known by: its JSON, however it was spaced and ordered."""
    return text.readable(value, ordered=True).encode("utf-8", "surrogatepass")


def session_of(stem: str, first: Any) -> str:
    """Return a session's id where the source names none: the file's name and the digest of its first item."""
    return text.name(f"{stem}-{canonical.sha256(bytes_of(first))[:12]}", "session")
