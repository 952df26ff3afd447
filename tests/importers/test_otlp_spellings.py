"""The many ways in which instrumentations write one message, one call, one result."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronicle.importers import otlp_content, otlp_messages
from chronicle.importers.otlp_chains import call_of
from chronicle.importers.otlp_spans import Span
from tests.importers.shaping import VALUE

ASKED = {"role": "user", "content": "Hm?"}
TOLD = {"role": "assistant", "content": "Ha."}


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "dig", "arguments": {"deep": 1}}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "function": {"name": "dig", "arguments": '{"deep": 1}'}}],
        },
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "dig", "input": {"deep": 1}}]},
        {
            "role": "assistant",
            "content": [{"type": "tool-call", "toolCallId": "c", "toolName": "dig", "input": {"deep": 1}}],
        },
        {"role": "model", "parts": [{"function_call": {"id": "c", "name": "dig", "args": {"deep": 1}}}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c", "name": "dig", "input": {"deep": 1}}}]},
        {"type": "function_call", "call_id": "c", "name": "dig", "arguments": '{"deep": 1}'},
        {"type": "ai", "content": "", "tool_calls": [{"id": "c", "name": "dig", "args": {"deep": 1}}]},
        {
            "lc": 1,
            "id": ["x", "AIMessage"],
            "kwargs": {"content": "", "tool_calls": [{"id": "c", "name": "dig", "args": {"deep": 1}}]},
        },
        {
            "message": {
                "role": "assistant",
                "tool_calls": [{"tool_call": {"id": "c", "function": {"name": "dig", "arguments": '{"deep": 1}'}}}],
            }
        },
    ],
)
def test_every_spelling_of_a_call_is_one_bit_of_one_mark(message: dict[str, Any]) -> None:
    (bit,) = otlp_messages.bits([message], "assistant")

    assert (bit.kind, bit.tool, bit.arguments, bit.call) == ("tool_request", "dig", {"deep": 1}, "c")


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "a hole"}]},
        {"role": "tool", "tool_call_id": "c", "content": "a hole"},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "a hole"}]}],
        },
        {
            "role": "tool",
            "content": [{"type": "tool-result", "toolCallId": "c", "toolName": "dig", "output": "a hole"}],
        },
        {"role": "user", "parts": [{"function_response": {"id": "c", "name": "dig", "response": "a hole"}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c", "content": [{"text": "a hole"}]}}]},
        {"type": "function_call_output", "call_id": "c", "output": "a hole"},
        {"role": "tool", "id": "c", "content": "a hole"},
    ],
)
def test_every_spelling_of_a_result_is_one_bit(message: dict[str, Any]) -> None:
    (bit,) = otlp_messages.bits([message])

    assert (bit.kind, bit.said.words, bit.call) == ("tool_response", "a hole", "c")


@pytest.mark.parametrize(
    ("attributes", "prompt", "answer"),
    [
        ({"request_data": {"messages": [ASKED]}, "response_data": {"message": TOLD}}, "Hm?", "Ha."),
        (
            {
                "events": json.dumps(
                    [{"event.name": "gen_ai.user.message", **ASKED}, {"event.name": "gen_ai.choice", "message": TOLD}]
                )
            },
            "Hm?",
            "Ha.",
        ),
        (
            {
                "mlflow.spanInputs": json.dumps({"messages": [ASKED]}),
                "mlflow.spanOutputs": json.dumps({"choices": [{"message": TOLD}]}),
            },
            "Hm?",
            "Ha.",
        ),
        ({"input.value": "Hm?", "output.value": "Ha."}, "Hm?", "Ha."),
        (
            {"llm.prompts.0.content": "Hm?", "llm.prompts.0.role": "user", "llm.completions.0.content": "Ha."},
            "Hm?",
            "Ha.",
        ),
        ({"gen_ai.prompt": "Hm?", "gen_ai.completion": "Ha."}, "Hm?", "Ha."),
        (
            {"ai.prompt": json.dumps({"system": "Be brief.", "messages": [ASKED]}), "ai.response.text": "Ha."},
            "Hm?",
            "Ha.",
        ),
    ],
)
def test_content_is_found_where_frameworks_put_it(attributes: dict[str, Any], prompt: str, answer: str) -> None:
    found = otlp_content.content(Span("t", "s", "", "chat", 1, 2, attributes))

    assert found.prompt[-1].said.words == prompt
    assert [bit.said.words for bit in found.completion] == [answer]


NAMES = [
    "gen_ai.operation.name", "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "events",
    "gen_ai.prompt.0.role", "gen_ai.prompt.0.content", "gen_ai.prompt.0", "gen_ai.prompt.x.tool_calls.0.name",
    "llm.input_messages.0.message.content", "llm.output_messages.1.message", "ai.prompt.messages", "ai.response.text",
    "ai.response.toolCalls", "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response", "request_data",
    "response_data", "langfuse.observation.input", "langfuse.observation.usage_details", "mlflow.spanInputs",
    "input.value", "output.value", "gen_ai.prompt", "gen_ai.completion", "gen_ai.tool.name", "gen_ai.tool.call.result",
    "session.id", "openinference.span.kind", "ai.operationId", "llm.request.type", "gen_ai.response.model",
]  # fmt: skip
PART = st.dictionaries(
    st.sampled_from(["type", "id", "name", "content", "text", "function", "image", "message_content", "functionCall"]),
    VALUE | st.sampled_from(["tool_call", "tool_result", "reasoning", "blob", "uri", "function_call", "text"]),
    max_size=4,
)
MESSAGE = st.dictionaries(
    st.sampled_from(["role", "type", "content", "parts", "message", "kwargs", "tool_calls", "contents", "data", "id"]),
    VALUE | PART | st.lists(PART, max_size=3) | st.sampled_from(["user", "tool", "ai", "function_call"]),
    max_size=4,
)
GIVEN = VALUE | MESSAGE | st.lists(MESSAGE, max_size=3) | st.sampled_from(["chat", "execute_tool", "LLM", "TOOL", "{}"])


@settings(max_examples=300, deadline=None)
@given(attributes=st.dictionaries(st.sampled_from(NAMES), GIVEN | GIVEN.map(json.dumps), max_size=6))
def test_no_attributes_whatever_they_hold_make_the_reading_raise(attributes: dict[str, Any]) -> None:
    call = call_of(Span("t", "s", "", "chat", 1, 2, attributes))

    for bit in (*call.content.prompt, *call.content.completion) if call else ():
        assert len(bit.mark) == 32
        assert isinstance(bit.said.words, str)
