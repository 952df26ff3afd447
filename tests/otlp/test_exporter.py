"""The SDK of OpenTelemetry itself sends spans to a running site, as the documentation says."""

import json
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from chronicle.models import Event, Log
from tests.otlp.conftest import OWNER, token, told


class Kept(SpanExporter):
    """Hands everything on, and keeps what came of it."""

    def __init__(self, to: SpanExporter) -> None:
        self.to, self.results = to, list[SpanExportResult]()

    def export(self, spans: Any) -> SpanExportResult:
        self.results.append(self.to.export(spans))
        return self.results[-1]


def run(exporter: SpanExporter) -> None:
    """One turn of an agent with a tool, as an instrumentation would tell it: children end first."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("garden")
    base = {"gen_ai.conversation.id": "roses-1"}
    user = {"role": "user", "parts": [{"type": "text", "content": "How dry is it? 🌹"}]}
    call = {"type": "tool_call", "id": "call_a", "name": "moisture", "arguments": {"bed": 4}}
    asked = {"role": "assistant", "parts": [call], "finish_reason": "tool_calls"}
    result = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_a", "response": "11 percent"}]}
    answer = {"role": "assistant", "parts": [{"type": "text", "content": "Dry."}], "finish_reason": "stop"}
    with tracer.start_as_current_span("invoke_agent gardener") as agent:
        agent.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "gardener"} | base)
        for prompt, completion in (([user], asked), ([user, asked, result], answer)):
            with tracer.start_as_current_span("chat m-1") as model:
                model.set_attributes({"gen_ai.operation.name": "chat", "gen_ai.usage.output_tokens": 7} | base)
                model.set_attribute("gen_ai.input.messages", json.dumps(prompt))
                model.set_attribute("gen_ai.output.messages", json.dumps([completion]))
            if completion is asked:
                with tracer.start_as_current_span("execute_tool moisture") as tool:
                    tool.set_attributes(
                        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "moisture"} | base
                    )
                    tool.set_attributes({"gen_ai.tool.call.id": "call_a", "gen_ai.tool.call.result": "11 percent"})
                    with tracer.start_as_current_span("GET") as plumbing:
                        plumbing.set_attribute("http.request.method", "GET")
    provider.shutdown()


@pytest.mark.parametrize("compression", [Compression.NoCompression, Compression.Gzip])
def test_the_sdks_own_exporter_needs_an_endpoint_and_a_token(
    live_server: Any, monkeypatch: pytest.MonkeyPatch, compression: Compression
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", live_server.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"Authorization=Bearer%20{token()}")
    exporter = Kept(OTLPSpanExporter(compression=compression))
    run(exporter)

    assert exporter.results == [SpanExportResult.SUCCESS] * 5
    assert told() == [
        ("message", "user", "How dry is it? 🌹"),
        ("tool_request", "assistant", 'moisture {"bed": 4}'),
        ("tool_response", "moisture", "11 percent"),
        ("message", "assistant", "Dry."),
    ]
    log = Log.objects.get()
    assert (log.owner, log.title) == (OWNER, "How dry is it? 🌹")
    assert Event.objects.filter(payload__contains='"output_tokens":7').count() == 2


def test_the_sdks_own_exporter_is_told_that_its_token_is_none(live_server: Any) -> None:
    exporter = Kept(OTLPSpanExporter(endpoint=f"{live_server.url}/v1/traces", headers={"authorization": "Bearer no"}))
    run(exporter)

    assert set(exporter.results) == {SpanExportResult.FAILURE}
    assert not Log.objects.exists()
