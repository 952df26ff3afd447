"""One message of a Pi session as events. Knows no file.

Guarantees: each block of an answer is an event, in order; a result is joined to its call by `toolCallId`;
a command that the person ran gives the person's request and its response; what extensions put in, and
summaries of other branches, are system. An answer without words says why it ended.
"""

from collections.abc import Iterator
from typing import Any

from chronicle.envelope import ActorKind
from chronicle.importers import blocks, text
from chronicle.importers.making import SUMMARY, Maker, Place, Said
from chronicle.importers.protocol import Read
from chronicle.importers.usage import with_usage

HUMAN, AGENT, CLIENT, BASH = "user", "assistant", "pi", "bash"
SYSTEM = ActorKind.SYSTEM
LAST = 9_999  # the block of a mark that is no block of its record
SUMMARIES = {"branchSummary": "branch.summary", "compactionSummary": SUMMARY}
CUSTOM = ("custom", "hookMessage")
ROLES = ("user", "assistant", "toolResult", "bashExecution", *SUMMARIES, *CUSTOM)
_TOLD = ("exitCode", "cancelled", "truncated", "fullOutputPath")


def events(maker: Maker, at: Place, native: str, message: dict[str, Any]) -> Iterator[Read]:
    """Yield the events of a message; none for one that says nothing."""
    role = message.get("role")
    if role == "assistant":
        yield from _answer(maker, at, native, message)
    elif role == "toolResult":
        yield _result(maker, at, native, message)
    elif role == "bashExecution":
        yield from _command(maker, at, native, message)
    else:
        yield from _words(maker, at, native, message, text.name(role, "unknown"))


def _words(maker: Maker, at: Place, native: str, message: dict[str, Any], role: str) -> Iterator[Read]:
    """What the person said, or what was put in."""
    said = blocks.said(message.get("content") if role not in SUMMARIES else message.get("summary"))
    if not said.words.strip():
        return
    if role == "user":
        yield maker.message(f"{native}:0", at, ActorKind.HUMAN, HUMAN, said)
        return
    type = SUMMARIES.get(role) or f"custom.{text.name(message.get('customType'), role)}"[:200]
    details = message.get("details")
    payload = {"details": details} if details is not None else None
    yield maker.message(f"{native}:0", at, SYSTEM, CLIENT, said, type=type, payload=payload)


def _answer(maker: Maker, at: Place, native: str, message: dict[str, Any]) -> Iterator[Read]:
    made = {key: name for key in ("model", "provider") if (name := text.name(message.get(key), ""))}
    found: list[Read] = []
    content = blocks.listed(message.get("content"))
    for index, block in enumerate(content):
        found += _block(maker, at, f"{native}:{index}", block, index, made)
    error = message.get("errorMessage")
    ended = text.name(message.get("stopReason"), "")
    if (isinstance(error, str) and error.strip()) or (not found and ended in ("aborted", "error")):
        words = error if isinstance(error, str) and error.strip() else ended
        found.append(
            maker.message(f"{native}:end", at, SYSTEM, CLIENT, words, type=ended or "error", block=len(content))
        )
    if found and isinstance(message.get("usage"), dict):
        found[-1] = with_usage(found[-1], message["usage"])
    yield from found


def _block(maker: Maker, at: Place, native: str, block: Any, index: int, made: dict[str, Any]) -> Iterator[Read]:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "thinking":
        words = block.get("thinking")
        if isinstance(words, str) and words.strip():
            yield maker.thought(native, at, AGENT, words, block=index, payload=made)
    elif kind == "toolCall":
        arguments = block.get("arguments", {})
        yield maker.request(native, at, AGENT, block.get("name"), arguments, block.get("id"), block=index, payload=made)
    else:
        said = blocks.said([block])
        if said.words.strip():
            yield maker.message(native, at, ActorKind.AGENT, AGENT, said, block=index, payload=made)


def _result(maker: Maker, at: Place, native: str, message: dict[str, Any]) -> Read:
    payload: dict[str, Any] = {"is_error": message["isError"] is True} if "isError" in message else {}
    if message.get("details") is not None:
        payload["details"] = message["details"]
    call, said = text.name(message.get("toolCallId"), ""), blocks.said(message.get("content"))
    tool = message.get("toolName")
    return maker.response(f"{native}:0", at, said, call, tool=tool, payload=payload or None)


def _command(maker: Maker, at: Place, native: str, message: dict[str, Any]) -> Iterator[Read]:
    """A command of the person, with what came of it."""
    arguments = {"command": message.get("command")}
    told = {key: message[key] for key in _TOLD if message.get(key) is not None}
    output = message.get("output")
    yield maker.request(f"{native}:0", at, HUMAN, BASH, arguments, by=ActorKind.HUMAN)
    said = Said(output if isinstance(output, str) else "", told)
    yield maker.response(f"{native}:1", at, said, f"{native}:0", tool=BASH, block=1)
