"""The many ways in which instrumentations write one message, one call, one result."""

import json
from typing import Any

import pytest

from chronicle.importers import otlp_content, otlp_messages
from chronicle.importers.otlp_spans import Span

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
