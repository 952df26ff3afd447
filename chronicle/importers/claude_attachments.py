"""What the client put into the context by a record of its own (`type: attachment`), as the parts that become events.

Guarantees: what a person typed while the agent worked stands in such a record and nowhere else: it is a
human's message; a notice, a peer's words and every other attachment are the client's, kept whole in the payload and
shown up to a size; bytes of an image are taken out, with digest, type and size in their place. Pure.
"""

import base64
import binascii
from typing import Any

from chronicle import canonical
from chronicle.envelope import ActorKind, Kind
from chronicle.importers import claude_blocks, text
from chronicle.importers.claude_blocks import Part
from chronicle.importers.protocol import Blob

QUEUED = "queued_command"


def parts(attachment: Any, human: ActorKind) -> list[Part]:
    """Return the parts of an attachment; `human` is who types in this record's session: a sub-agent's is the system."""
    if not isinstance(attachment, dict):
        return []
    name = f"attachment.{text.name(attachment.get('type'), 'unknown')[:100]}"
    if attachment.get("type") == QUEUED and (found := _queued(attachment, human)):
        for part in found:
            part.type = part.type or name
        return found
    return [_other(attachment, name)]


def _queued(attachment: dict[str, Any], human: ActorKind) -> list[Part]:
    """The words of a prompt that was queued: a person's, unless the record says that it is a notice or a peer's."""
    origin = attachment.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    typed = attachment.get("commandMode") in (None, "prompt") and kind in (None, "human")
    by = human if typed and attachment.get("isMeta") is not True else ActorKind.SYSTEM
    return claude_blocks.parts(attachment.get("prompt"), by)


def _other(attachment: dict[str, Any], name: str) -> Part:
    part = Part(0, Kind.MESSAGE, "", ActorKind.SYSTEM, type=name)
    kept = _taken_out(attachment, part)
    part.payload["added"] = kept
    part.content = claude_blocks.cut(f"[{name}] {text.readable(kept)}")
    return part


def _taken_out(value: Any, part: Part) -> Any:
    """A copy without the bytes of files: `{"base64": …, "type": "image/png"}` gives a blob."""
    if isinstance(value, list):
        return [_taken_out(inner, part) for inner in value]
    if not isinstance(value, dict):
        return value
    if isinstance(given := value.get("base64"), str) and (data := _bytes(given)) is not None:
        media_type = text.name(value.get("type"), "application/octet-stream")[:100]
        part.blobs.append(Blob(canonical.sha256(data), media_type, data))
        place = {"attachment": part.blobs[-1].digest, "media_type": media_type, "size": len(data)}
        return {key: inner for key, inner in value.items() if key != "base64"} | place
    return {key: _taken_out(inner, part) for key, inner in value.items()}


def _bytes(given: str) -> bytes | None:
    try:
        return base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError):
        return None
