"""Events as OpenTelemetry spans in OTLP JSON, one request a line, in the GenAI semantic conventions.

Guarantees: one span an event, in the order of seq (attribute `chronicle.seq`); ids derive from the log and the
event, so that the same export is the same spans; times are the claimed ones where there are any. What an
agent said, thought or asked for is an output message of a `chat` span, what it was told an input message, a
tool's answer an `execute_tool` span.
"""

import json
from collections.abc import Iterator
from itertools import batched
from typing import Any

from chronicle import canonical
from chronicle.envelope import ActorKind, Kind
from chronicle.exports.taken import Taken
from chronicle.models import Event, Log

SPANS_A_LINE = 200
_PART = {Kind.THOUGHT: "reasoning", Kind.MESSAGE: "text"}
_ROLE = {ActorKind.HUMAN: "user", ActorKind.SYSTEM: "system", ActorKind.AGENT: "assistant"}


def write(taken: Taken) -> Iterator[str]:
    """Yield the lines; of an empty range one without a span."""
    trace = canonical.sha256(taken.log.public_id.encode())[:32]
    empty = True
    for some in batched(taken.events(), SPANS_A_LINE, strict=False):
        empty = False
        yield _line(taken.log, [_span(taken.log, trace, event) for event in some])
    if empty:
        yield _line(taken.log, [])


def _line(log: Log, spans: list[dict[str, Any]]) -> str:
    resource = {"attributes": _attributes({"service.name": "anagrapheus-site", "chronicle.log": log.public_id})}
    scoped = {"scope": {"name": "anagrapheus-site"}, "spans": spans}
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [scoped]}]}) + "\n"


def _span(log: Log, trace: str, event: Event) -> dict[str, Any]:
    at = str(int((event.claimed_at or event.at).timestamp() * 10**6) * 1000)
    name, attributes = _meaning(event, canonical.parse(event.payload) if event.payload else {})
    common = {
        "gen_ai.conversation.id": log.source_session or log.public_id,
        "chronicle.seq": event.seq,
        "chronicle.kind": event.kind,
        "chronicle.actor_kind": event.actor_kind,
        "chronicle.actor": event.actor,
        "chronicle.event_id": str(event.event_id),
    }
    return {
        "traceId": trace,
        "spanId": canonical.sha256(event.event_id.bytes)[:16],
        "name": name,
        "kind": 1,
        "startTimeUnixNano": at,
        "endTimeUnixNano": at,
        "attributes": _attributes(common | attributes),
        "status": {},
    }


def _meaning(event: Event, payload: Any) -> tuple[str, dict[str, Any]]:
    payload = payload if isinstance(payload, dict) else {}
    content = canonical.restore_text(event.content) if event.text_form == "escaped" else event.content
    if event.kind == Kind.TOOL_RESPONSE:
        return f"execute_tool {event.actor}", {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": event.actor,
            "gen_ai.tool.call.id": event.correlation,
            "gen_ai.tool.call.result": content,
        }
    if event.kind in (Kind.MARKER, Kind.BOOKKEEPING):
        return event.type, {"chronicle.content": content}
    said = {"role": _ROLE[ActorKind(event.actor_kind)], "parts": [_part(event, content, payload)]}
    agent = event.actor_kind == ActorKind.AGENT
    key = "gen_ai.output.messages" if agent else "gen_ai.input.messages"
    made: dict[str, Any] = {"gen_ai.operation.name": "chat", key: json.dumps([said])}
    return "chat", made | (_made_by(event, payload) if agent else {})


def _part(event: Event, content: str, payload: dict[str, Any]) -> dict[str, Any]:
    if event.kind == Kind.TOOL_REQUEST:
        arguments = payload.get("arguments", content)
        return {"type": "tool_call", "id": event.correlation, "name": payload.get("tool", ""), "arguments": arguments}
    return {"type": _PART[Kind(event.kind)], "content": content}


def _made_by(event: Event, payload: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"gen_ai.agent.name": event.actor}
    if isinstance(payload.get("model"), str):
        made["gen_ai.response.model"] = payload["model"]
    usage = payload.get("usage")
    for key, names in (
        ("input", ("input_tokens", "prompt_tokens")),
        ("output", ("output_tokens", "completion_tokens")),
    ):
        found = (
            next((usage[name] for name in names if type(usage.get(name)) is int), None)
            if isinstance(usage, dict)
            else None
        )
        if found is not None:
            made[f"gen_ai.usage.{key}_tokens"] = found
    return made


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: Any) -> dict[str, Any]:
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": str(value)}
