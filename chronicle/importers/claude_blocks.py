"""The content of one Claude Code message, as the parts that become events. Pure; knows no file and no session.

Guarantees: every block gives a part, in order, or is blank; an unknown block is kept whole in a payload.
Human is only what a person typed: wrappers of commands, hooks and notifications, interruptions and what
the client itself added are system. Left to the locator, because it repeats what is kept: the signature of
a thought, `toolUseResult` but for its short values that the content does not show.
"""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from chronicle import canonical
from chronicle.envelope import ActorKind, Kind
from chronicle.importers import text
from chronicle.importers.protocol import Blob

CLIENT = "claude-code"
SHORT = 1000
SHOWN = 2000
WRAPPERS = (
    "<command-",
    "<local-command-",
    "<bash-",
    "<task-notification",
    "<system-reminder",
    "<user-prompt-submit-hook",
    "<ide_",
    "[Request interrupted",
)


@dataclass(slots=True)
class Part:
    """What one block says.

    `index` counts blocks; `call` is a tool call's id, on its request and on its result; `tool` is the
    tool's name on a request, `starts` the kind of sub-agent that the request starts.
    """

    index: int
    kind: Kind
    content: str
    by: ActorKind
    payload: dict[str, Any] = field(default_factory=dict)
    call: str = ""
    tool: str = ""
    starts: str = ""
    type: str = ""
    blobs: list[Blob] = field(default_factory=list)


def blocks(content: Any) -> Sequence[Any]:
    """Return a message's content as a list of blocks; a bare string is one text block."""
    if isinstance(content, list):
        return content
    return () if content is None else (content,)


def is_wrapper(words: str) -> bool:
    """True for text in a user record that no person typed."""
    return words.lstrip().startswith(WRAPPERS)


def parts(content: Any, by: ActorKind) -> list[Part]:
    """Return the parts of a message's content; `by` is who the record is from, before a text is looked at."""
    found = [_part(index, block, by) for index, block in enumerate(blocks(content))]
    return [part for part in found if part.kind not in (Kind.MESSAGE, Kind.THOUGHT) or _is_words(part.content)]


def _is_words(content: str) -> bool:
    return content != "" and not content.isspace()


def _part(index: int, block: Any, by: ActorKind) -> Part:
    if isinstance(block, str):
        return _text(index, block, by)
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "text" and isinstance(block.get("text"), str):
        return _text(index, block["text"], by)
    if kind == "thinking" and isinstance(block.get("thinking"), str):
        return Part(index, Kind.THOUGHT, block["thinking"], by)
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        return _request(index, block, by)
    if isinstance(kind, str) and kind.endswith("tool_result"):
        return _response(index, block)
    return _other(index, block, kind, by)


def _text(index: int, words: str, by: ActorKind) -> Part:
    wrapped = by is not ActorKind.AGENT and is_wrapper(words)
    return Part(index, Kind.MESSAGE, words, ActorKind.SYSTEM if wrapped else by)


def _request(index: int, block: dict[str, Any], by: ActorKind) -> Part:
    given = block.get("input", {})
    part = Part(index, Kind.TOOL_REQUEST, "", by, call=_call(block, "id"))
    part.tool = text.name(block.get("name"), "tool")
    part.content = cut(f"{part.tool} {text.readable(given)}")
    part.payload = {"tool": part.tool, "arguments": given}
    part.starts = text.name(given.get("subagent_type"), "") if isinstance(given, dict) else ""
    return part


def cut(shown: str) -> str:
    """A request's arguments stand whole in its payload; the content shows them up to a size, and says so."""
    return shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}… [{len(shown):,} characters, whole in the payload]"


def _call(block: dict[str, Any], key: str) -> str:
    return text.name(block.get(key), "")


def _response(index: int, block: dict[str, Any]) -> Part:
    part = Part(index, Kind.TOOL_RESPONSE, "", ActorKind.SYSTEM, call=_call(block, "tool_use_id"))
    part.content = "\n".join(_shown(piece, part) for piece in blocks(block.get("content")))
    if "is_error" in block:
        part.payload["is_error"] = block["is_error"] is True
    return part


def _shown(piece: Any, part: Part) -> str:
    if isinstance(piece, str):
        return piece
    if isinstance(piece, dict) and isinstance(piece.get("text"), str):
        return str(piece["text"])
    taken = _take_out(piece, part)
    if taken is None:
        part.payload.setdefault("other", []).append(piece)
        return f"[{piece.get('type') if isinstance(piece, dict) else type(piece).__name__}]"
    return taken


def _other(index: int, block: Any, kind: Any, by: ActorKind) -> Part:
    """An image, a document, or a block of a kind not known here: kept, and named in the content."""
    by = ActorKind.AGENT if by is ActorKind.AGENT else by if kind in ("image", "document") else ActorKind.SYSTEM
    said = Kind.THOUGHT if kind == "redacted_thinking" else Kind.MESSAGE
    part = Part(index, said, "", by, type=f"block.{text.name(kind, 'unknown')[:100]}")
    taken = _take_out(block, part)
    if taken is None:
        part.payload["block"] = _without_signature(block)
    part.content = taken or f"[{text.name(kind, 'a block of no known kind')}]"
    return part


def _without_signature(block: Any) -> Any:
    return {key: value for key, value in block.items() if key != "signature"} if isinstance(block, dict) else block


def _take_out(block: Any, part: Part) -> str | None:
    """Move a block's bytes into a blob of the part, leaving digest, type and size; None where it has none."""
    source = block.get("source") if isinstance(block, dict) else None
    if not isinstance(source, dict) or not isinstance(source.get("data"), str):
        return None
    try:
        data = base64.b64decode(source["data"], validate=True)
    except (binascii.Error, ValueError):
        return None
    media_type = text.name(source.get("media_type"), "application/octet-stream")[:100]
    digest = canonical.sha256(data)
    part.blobs.append(Blob(digest, media_type, data))
    place = {"attachment": digest, "media_type": media_type, "size": len(data)}
    part.payload.setdefault("attachments", []).append(place)
    return f"[{media_type}, {len(data)} bytes]"


def short_values(result: Any, content: str) -> dict[str, Any]:
    """Return what of a `toolUseResult` the content does not show: numbers, truths and short texts."""
    if not isinstance(result, dict):
        return {}
    return {key: value for key, value in result.items() if _is_short(value) and not _repeats(value, content)}


def _is_short(value: Any) -> bool:
    return 0 < len(value) <= SHORT if isinstance(value, str) else isinstance(value, bool | int | float)


def _repeats(value: Any, content: str) -> bool:
    return isinstance(value, str) and value.strip() in content
