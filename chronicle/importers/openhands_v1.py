"""Events of OpenHands version 1 (its software agent SDK), told by their `kind`."""

from collections.abc import Iterator
from typing import Any

from chronicle.envelope import ActorKind
from chronicle.importers import blocks, text
from chronicle.importers.making import Maker, Place, arguments
from chronicle.importers.openhands_events import CLIENT, Known, condensation, speaker
from chronicle.importers.protocol import Item, Read

KINDS = {
    "SystemPromptEvent", "MessageEvent", "ActionEvent", "ObservationEvent", "UserRejectObservation", "AgentErrorEvent",
    "ConversationErrorEvent", "Condensation", "CondensationRequest", "CondensationSummaryEvent",
    "ConversationStateUpdateEvent", "PauseEvent", "InterruptEvent", "TokenEvent", "LLMCompletionLogEvent",
}  # fmt: skip


def is_event(value: dict[str, Any]) -> bool:
    """True for an event of version 1: one of a known kind, or one that calls itself an event."""
    kind = value.get("kind")
    if not isinstance(kind, str) or "source" not in value or not isinstance(value.get("id"), str):
        return False
    return kind in KINDS or kind.endswith(("Event", "Observation"))


def kind_of(value: dict[str, Any]) -> str:
    """Return what an event that gives nothing is counted as."""
    return text.name(value.get("kind"), "unknown")[:100]


def items(known: Known, value: dict[str, Any], native: str, at: Place) -> Iterator[Item]:
    """Yield what one event gives."""
    maker = known.maker
    match value["kind"]:
        case "SystemPromptEvent":
            yield from _system(maker, value, native, at)
        case "MessageEvent":
            yield from _message(maker, value, native, at)
        case "ActionEvent":
            yield from _action(maker, value, native, at)
        case "ObservationEvent" | "UserRejectObservation" | "AgentErrorEvent":
            yield from _observation(maker, value, native, at)
        case "ConversationErrorEvent":
            words = f"{value.get('code', '')} {value.get('detail', '')}".strip() or "an error"
            yield maker.message(f"{native}:0", at, ActorKind.SYSTEM, CLIENT, words, type="error")
        case "Condensation":
            forgotten = value.get("forgotten_event_ids", value.get("forgotten_events"))
            more = {key: value[key] for key in ("summary_offset", "reason") if value.get(key) is not None}
            ids = forgotten if isinstance(forgotten, list) else []
            yield from condensation(known, f"{native}:0", at, ids, value.get("summary"), more)


def _system(maker: Maker, value: dict[str, Any], native: str, at: Place) -> Iterator[Read]:
    said = blocks.said(value.get("system_prompt"))
    if said.words.strip():
        tools = value.get("tools")
        named = (
            [tool.get("title") or tool.get("name") for tool in tools if isinstance(tool, dict)]
            if isinstance(tools, list)
            else []
        )
        more = {"tools": [name for name in named if isinstance(name, str)]} if named else None
        yield maker.message(f"{native}:0", at, ActorKind.SYSTEM, CLIENT, said, payload=more)


def _message(maker: Maker, value: dict[str, Any], native: str, at: Place) -> Iterator[Read]:
    message = value.get("llm_message")
    message = message if isinstance(message, dict) else {}
    by, actor = speaker(value.get("source"))
    if by is ActorKind.HUMAN and isinstance(value.get("sender"), str) and value["sender"]:
        by, actor = ActorKind.AGENT, text.name(value["sender"], actor)  # another agent wrote it
    yield from _thoughts(maker, message, native, at, actor)
    said = blocks.said([*blocks.listed(message.get("content")), *blocks.listed(value.get("extended_content") or None)])
    if said.words.strip():
        yield maker.message(f"{native}:0", at, by, actor, said)


def _thoughts(maker: Maker, value: dict[str, Any], native: str, at: Place, actor: str) -> Iterator[Read]:
    """Yield the reasoning beside a message or an action; thinking blocks repeat it where both are given."""
    found = [value.get("reasoning_content")]
    if not isinstance(found[0], str) or not found[0].strip():
        listed = value.get("thinking_blocks")
        found = (
            [block.get("thinking") for block in listed if isinstance(block, dict)] if isinstance(listed, list) else []
        )
    for number, words in enumerate(found):
        if isinstance(words, str) and words.strip():
            yield maker.thought(f"{native}:reasoning{number or ''}", at, actor, words)


def _action(maker: Maker, value: dict[str, Any], native: str, at: Place) -> Iterator[Read]:
    _, actor = speaker(value.get("source"))
    yield from _thoughts(maker, value, native, at, actor)
    said = blocks.said(value.get("thought"))
    if said.words.strip():
        yield maker.thought(f"{native}:0", at, actor, said)
    given = _given(value)
    more = {"message": value["llm_response_id"]} if isinstance(value.get("llm_response_id"), str) else None
    call = value.get("tool_call_id")
    yield maker.request(f"{native}:1", at, actor, value.get("tool_name"), given, call, payload=more, block=1)
    last = given.get("message") if isinstance(given, dict) and value.get("tool_name") == "finish" else None
    if isinstance(last, str) and last.strip():
        yield maker.message(f"{native}:2", at, ActorKind.AGENT, actor, last, block=2)


def _given(value: dict[str, Any]) -> Any:
    action = value.get("action")
    if isinstance(action, dict):
        return {key: found for key, found in action.items() if key != "kind"}
    call = value.get("tool_call")
    return arguments(call.get("arguments")) if isinstance(call, dict) else None


def _observation(maker: Maker, value: dict[str, Any], native: str, at: Place) -> Iterator[Read]:
    seen = value.get("observation")
    content: Any = value.get("rejection_reason", value.get("error"))
    failed = value["kind"] != "ObservationEvent"
    if isinstance(seen, dict):
        content = next((seen[key] for key in ("content", "output", "message", "error") if seen.get(key)), None)
        failed = seen.get("is_error") is True or bool(seen.get("error"))
        content = content if content is not None else text.readable({k: v for k, v in seen.items() if k != "kind"})
    more = {"is_error": True} if failed else None
    yield maker.response(
        f"{native}:0", at, blocks.said(content), value.get("tool_call_id"), tool=value.get("tool_name"), payload=more
    )
