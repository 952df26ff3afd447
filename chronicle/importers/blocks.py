"""The content of a message as transcripts write it: bare text, or a list of blocks of text, images and the rest.

Guarantees: every block is shown in the words, in order: a text as it is, an image or file by its type and
size with its bytes taken out, anything else by the name of its kind, whole in the payload's `other`.
No address is ever opened: an image that is a link stays a link in words.
Knows the spellings of OpenAI (chat and Responses), Anthropic, Gemini and LangChain.
"""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Any

from chronicle import canonical
from chronicle.importers import text
from chronicle.importers.making import Said
from chronicle.importers.protocol import Blob

TEXTS = ("text", "input_text", "output_text", "refusal", "summary_text", "reasoning_text")
_DATA = re.compile(r"data:([\w.+/-]{1,100})?(?:;[\w=.+-]+)*;base64,", re.ASCII)


def listed(content: Any) -> Sequence[Any]:
    """Return a content as a list of blocks; None is no block, anything but a list is one."""
    if isinstance(content, list):
        return content
    return () if content is None else (content,)


def said(content: Any) -> Said:
    """Return a content as words, joined by line ends, with its payload and blobs."""
    payload: dict[str, Any] = {}
    blobs: list[Blob] = []
    words = "\n".join(_shown(block, payload, blobs) for block in listed(content))
    return Said(words, payload, blobs)


def words_of(block: Any) -> str | None:
    """Return the text of a block that is nothing but text, else None."""
    if isinstance(block, str):
        return block
    if not isinstance(block, dict) or block.get("type", "text") not in TEXTS:
        return None
    found = block.get("text", block.get("refusal"))
    return found if isinstance(found, str) else None


def _shown(block: Any, payload: dict[str, Any], blobs: list[Blob]) -> str:
    if (words := words_of(block)) is not None:
        return words
    if (taken := taken_out(block)) is not None:
        blobs.append(taken)
        place = {"attachment": taken.digest, "media_type": taken.media_type, "size": len(taken.data)}
        payload.setdefault("attachments", []).append(place)
        return f"[{taken.media_type}, {len(taken.data)} bytes]"
    payload.setdefault("other", []).append(block)
    if not isinstance(block, dict):
        return text.readable(block)
    kind = text.name(block.get("type"), "block")
    return f"[{kind}: {link}]" if (link := _link(block)) else f"[{kind}]"


def taken_out(block: Any) -> Blob | None:
    """Return the bytes that a block of an image, a sound or a file holds; None where it holds none."""
    if not isinstance(block, Mapping):
        return None
    for source in (
        block,
        *(
            block[key]
            for key in ("source", "image_url", "file", "inlineData", "inline_data", "input_audio")
            if key in block
        ),
    ):
        if (found := _bytes_in(source)) is not None:
            return found
    return None


def _bytes_in(source: Any) -> Blob | None:
    if isinstance(source, str):
        return _of_address(source)
    if not isinstance(source, Mapping):
        return None
    for key in ("url", "image_url", "file_data", "image"):
        if isinstance(source.get(key), str) and (found := _of_address(source[key])) is not None:
            return found
    if isinstance(data := source.get("data"), str) and data:
        return _of_address(data) or _decoded(data, source)
    return None


def _decoded(data: str, source: Mapping[str, Any]) -> Blob | None:
    named = next((source[key] for key in ("media_type", "mimeType", "mime_type", "mediaType") if key in source), None)
    return blob(data, text.name(named, "application/octet-stream")) if named is not None else None


def _of_address(address: str) -> Blob | None:
    found = _DATA.match(address)
    return blob(address[found.end() :], found[1] or "text/plain") if found else None


def blob(data: str, media_type: str) -> Blob | None:
    """Return base64 text as a blob; None where it is no base64."""
    try:
        decoded = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    return Blob(canonical.sha256(decoded), media_type[:100], decoded)


def _link(block: Mapping[str, Any]) -> str:
    """Return the address that a block names, for a reader to see; nothing opens it."""
    for key in ("url", "image_url", "source", "file", "file_url"):
        found = block.get(key)
        if isinstance(found, Mapping):
            found = found.get("url") or found.get("filename")
        if isinstance(found, str) and found and not found.startswith("data:"):
            return found[:500]
    return ""
