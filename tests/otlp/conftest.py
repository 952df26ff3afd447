"""Posts of spans, as an exporter makes them."""

import gzip
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from chronicle import credentials
from chronicle.models import Event, Log

OWNER = "alice"
BINARY = "application/x-protobuf"
T0 = 1777885200_000000000


def token(can: str = "record", *, name: str = "garden", owner: str = OWNER) -> str:
    return credentials.make(name, owner=owner, can=can.split(","), by="test").token


def span(number: int, attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A span that begins `number` seconds after T0 and takes half a second."""
    pairs = [{"key": key, "value": {"stringValue": str(value)}} for key, value in attributes.items()]
    start = T0 + number * 10**9
    made = {
        "traceId": "ab" * 16,
        "spanId": f"{number:016x}",
        "name": "chat",
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 5 * 10**8),
        "attributes": pairs,
    }
    return made | more


def chat(number: int, *prompt: dict[str, Any], answer: Any = "", conversation: str = "roses", **more: Any) -> Any:
    """A model call of a conversation."""
    said = answer if isinstance(answer, dict) else {"role": "assistant", "content": answer}
    given = {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": conversation,
        "gen_ai.request.model": "m-1",
        "gen_ai.input.messages": json.dumps(prompt),
        "gen_ai.output.messages": json.dumps([said]),
    }
    return span(number, given, **more)


def user(words: str) -> dict[str, Any]:
    return {"role": "user", "content": words}


def export(*spans: Any) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def packed(*spans: Any) -> bytes:
    """The same export in protobuf, whose ids are bytes."""
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for one in spans:
        made = scope.spans.add(name=one["name"])
        made.trace_id, made.span_id = bytes.fromhex(one["traceId"]), bytes.fromhex(one["spanId"])
        made.parent_span_id = bytes.fromhex(one.get("parentSpanId", ""))
        made.start_time_unix_nano, made.end_time_unix_nano = int(one["startTimeUnixNano"]), int(one["endTimeUnixNano"])
        for pair in one["attributes"]:
            made.attributes.add(key=pair["key"]).value.string_value = pair["value"]["stringValue"]
    return request.SerializeToString()


@dataclass(frozen=True, slots=True)
class Exporter:
    """Posts with one token."""

    token: str
    client: Client = field(default_factory=lambda: Client(raise_request_exception=False))

    def post(self, body: Any, kind: str = "application/json", *, zipped: bool = False, **headers: str) -> HttpResponse:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        given |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        given |= {"Content-Encoding": "gzip"} if zipped else {}
        data = gzip.compress(data) if zipped else data
        found: HttpResponse = self.client.generic("POST", "/v1/traces", data, kind, headers=given, CONTENT_TYPE=kind)
        return found

    def send(self, *spans: Any) -> HttpResponse:
        return self.post(export(*spans))


def told(log: Log | None = None) -> list[tuple[str, str, str]]:
    """What a log holds (or the only one), in its order."""
    log = log or Log.objects.get()
    return list(Event.objects.filter(log=log).order_by("seq").values_list("kind", "actor", "content"))


@pytest.fixture(autouse=True)
def token_key(settings: Any) -> None:
    settings.TOKEN_KEY = "a key for tokens, for the time of a test"


@pytest.fixture
def exporter(db: None) -> Exporter:
    return Exporter(token())
