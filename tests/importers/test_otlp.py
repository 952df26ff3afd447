"""OpenTelemetry's spans: what is told once, by whom, and what is left out, however they are written."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from chronicle.importers import otlp_spans
from chronicle.importers.protocol import Ignored, Item, Noted, Read, Refused, Session
from tests.importers.files import DATA, items

OTLP, JAEGER, CONSOLE = DATA / "otlp", DATA / "jaeger", DATA / "otel-console"


def reads(found: list[Item]) -> list[Read]:
    return [item for item in found if isinstance(item, Read)]


def shown(found: list[Item]) -> list[tuple[str, str, str, str]]:
    events = [read.event for read in reads(found)]
    return [(event.kind, event.actor_kind, event.actor, event.content) for event in events]


def ignored(found: list[Item]) -> Counter[str]:
    return Counter(item.kind for item in found if isinstance(item, Ignored))


def payloads(found: list[Item]) -> list[dict[str, Any]]:
    return [read.event.payload or {} for read in reads(found)]


def chat(*prompt: dict[str, Any], answer: str = "", span: str = "1", **more: Any) -> dict[str, Any]:
    """One span of a model call, in OTLP's JSON, with what changes from test to test."""
    given = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(prompt)}
    if answer:
        given["gen_ai.output.messages"] = json.dumps([{"role": "assistant", "content": answer}])
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in (given | more).items()]
    return {
        "traceId": "a" * 32,
        "spanId": span.rjust(16, "b"),
        "name": "chat",
        "startTimeUnixNano": f"177788520{span}000000000",
        "endTimeUnixNano": f"177788520{span}500000000",
        "attributes": attributes,
    }


def written(tmp_path: Path, *exports: list[dict[str, Any]]) -> list[Item]:
    path = tmp_path / "spans"
    whole = [{"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]} for spans in exports]
    path.write_text("".join(json.dumps(one) + "\n" for one in (*whole, {"resourceSpans": []})))
    return items(path)


USER = {"role": "user", "content": "Is the gate shut?"}


def test_calls_are_told_by_their_starts_and_a_repeated_history_once() -> None:
    assert shown(items(OTLP / "conventions.json")) == [
        ("message", "system", "system", "You tend the garden."),
        ("message", "human", "user", "How dry is the rose bed?\n[image/png, 76 bytes]"),
        ("thought", "agent", "gardener", "I should ask the sensors."),
        ("tool_request", "agent", "gardener", 'moisture {"bed": "roses"}'),
        ("tool_request", "agent", "gardener", 'forecast {"days": 2}'),
        ("tool_response", "system", "moisture", "11 percent"),
        ("tool_response", "system", "forecast", '{"rain": "none"}'),
        ("message", "agent", "gardener", "Dry: 11 percent, and no rain for two days. Water it tonight."),
    ]


def test_parallel_calls_are_joined_by_id_and_usage_and_model_stand_once_on_a_call() -> None:
    found = items(OTLP / "conventions.json")
    answers = {read.event.correlation: read.answers for read in reads(found) if read.event.kind == "tool_response"}
    requests = {read.event.correlation: read.native_id for read in reads(found) if read.event.kind == "tool_request"}
    used = [
        (payload["message"], payload["usage"]["output_tokens"]) for payload in payloads(found) if "usage" in payload
    ]

    assert answers == requests
    assert used == [("resp_1", 33), ("resp_2", 21)]
    assert payloads(found)[-1]["model"] == "gpt-5-mini-2026"
    assert payloads(found)[-1]["span"]["id"] == "00000000000000c2"


def test_plumbing_is_ignored_by_kind_and_a_span_without_an_id_refused_by_its_place() -> None:
    found = items(OTLP / "conventions.json")

    assert ignored(found) == {"header": 1, "span/http": 1, "span/embeddings": 1, "span/invoke_agent": 1}
    (refused,) = [item for item in found if isinstance(item, Refused)]
    assert refused.reason == "resourceSpans/0/scopeSpans/0/spans/6: a span without an id"


def test_an_image_in_a_part_is_taken_out() -> None:
    (read,) = [read for read in reads(items(OTLP / "conventions.json")) if read.blobs]

    assert read.blobs[0].data.startswith(b"\x89PNG")
    assert read.event.payload is not None
    assert read.event.payload["attachments"][0]["media_type"] == "image/png"


def test_of_nested_instrumentations_one_is_told_and_the_tool_span_says_the_result() -> None:
    found = items(OTLP / "nested.json")

    assert shown(found) == [
        ("message", "system", "system", "You plan dinners."),
        ("message", "human", "user", "Which dishes are left?\n"),
        ("tool_request", "agent", "cook", 'list_dishes {"of": "today"}'),
        ("tool_response", "system", "list_dishes", "soup, stew, plum cake"),
        ("message", "agent", "cook", "Soup, stew and plum cake."),
    ]
    assert ignored(found)["span/nested"] == 4
    assert sum("usage" in payload for payload in payloads(found)) == 2


def test_times_beyond_what_a_float_holds_are_read_as_numbers_and_as_texts() -> None:
    exact = otlp_spans.nanoseconds("1777885200000000123")

    assert exact == otlp_spans.nanoseconds(1777885200000000123) == 1777885200000000123
    assert reads(items(OTLP / "nested.json"))[0].event.claimed_at is not None
    assert otlp_spans.nanoseconds(0) is None
    assert otlp_spans.nanoseconds("0") is None
    assert otlp_spans.nanoseconds(True) is None


@pytest.mark.parametrize("given", ["5b8efff798038103", "0x5B8EFFF798038103", "W47/95gDgQM="])
def test_an_id_is_hex_with_or_without_its_mark_or_base64(given: str) -> None:
    assert otlp_spans.identity(given, 8) == "5b8efff798038103"


def test_lines_hold_events_snake_case_and_log_records_and_one_conversation_over_lines() -> None:
    found = items(OTLP / "lines.jsonl")
    talk = [(read.session[:6], read.event.actor, read.event.content) for read in reads(found)]

    assert talk == [
        ("hedge", "system", "Answer briefly."),
        ("hedge", "user", "How high is the hedge?"),
        ("hedge", "assistant", "Two metres."),
        ("hedge", "user", "And how wide?"),
        ("hedge", "assistant", "One metre."),
        ("333333", "user", "Who trims it?"),
        ("333333", "assistant", 'rota {"week": 20}'),
        ("333333", "rota", "Ida"),
        ("333333", "assistant", "Ida trims it."),
    ]
    assert reads(found)[-2].answers == reads(found)[-3].native_id
    assert ignored(found) == {"span/http": 1, "metrics": 1}
    (noted,) = [item for item in found if isinstance(item, Noted)]
    assert noted.words.startswith("3 spans on lines with others gave no events")


def test_documents_one_after_another_hold_openinference_langfuse_and_the_ai_sdk() -> None:
    found = items(OTLP / "documents.json")
    plums = [(read.event.kind, read.event.content) for read in reads(found) if read.session == "plums"]
    rest = [read for read in reads(found) if read.session != "plums"]

    assert plums == [
        ("message", "Are the plums ripe?"),
        ("tool_request", 'look {"tree": 4}'),
        ("tool_response", "Ripe, most of them."),
        ("message", "Most are ripe."),
    ]
    assert [(read.event.kind, read.event.content) for read in rest[-4:]] == [
        ("message", "Rake the leaves."),
        ("message", "Raking now."),
        ("tool_request", 'rake {"where": "lawn"}'),
        ("tool_response", '{"bags":3}'),
    ]
    assert rest[-1].answers == rest[-2].native_id
    assert next(item.title for item in found if isinstance(item, Session)) == "Are the plums ripe?"


def test_a_call_without_content_is_told_as_one_and_nothing_is_made_up_for_it() -> None:
    bare, error, asked, tool, *_ = [read for read in reads(items(OTLP / "documents.json")) if read.session[0] == "5"]

    assert (bare.event.type, bare.event.content) == ("model.call", "[chat m-4: no content was recorded]")
    assert bare.event.payload is not None
    assert bare.event.payload["usage"] == {"input_tokens": 7}
    assert (error.event.type, error.event.actor_kind, error.event.content) == (
        "model.error",
        "system",
        "the model is busy",
    )
    assert (asked.event.kind, asked.event.content) == ("message", "Is anybody there?")
    assert (tool.event.kind, tool.event.content) == ("tool_request", "rake")
    assert "arguments" not in (tool.event.payload or {})


def test_an_unfinished_span_is_told_as_far_as_it_goes_and_noted() -> None:
    noted = [item.words for item in items(OTLP / "documents.json") if isinstance(item, Noted)]

    assert noted == ["1 unfinished: what they were asked is in, no answer was recorded"]


def test_a_sub_agent_speaks_under_its_name_and_is_asked_by_the_agent_that_called_it() -> None:
    found = items(OTLP / "sub-agents.json")

    assert shown(found) == [
        ("message", "human", "user", "Plan a feast."),
        ("tool_request", "agent", "host", 'ask_baker {"what": "bread"}'),
        ("message", "agent", "host", "How much bread for ten?"),
        ("message", "agent", "baker", "Ten loaves."),
        ("tool_response", "system", "ask_baker", "Ten loaves."),
        ("message", "agent", "host", "Stew for ten."),
    ]
    assert payloads(found)[3]["agent"] == {"id": "baker", "by": "host"}
    assert ignored(found)["span/nested"] == 1


def test_jaegers_spans_are_in_no_order_and_their_logs_say_why_a_call_failed() -> None:
    found = items(JAEGER / "traces.json")

    assert [content for *_, content in shown(found)] == [
        "You plan dinners.",
        "Which dishes are left?\n",
        'list_dishes {"of": "today"}',
        "soup, stew",
        "Soup and stew.",
        "the stove went out",
    ]
    assert reads(found)[0].event.claimed_at is not None


def test_a_span_printed_at_its_start_and_at_its_end_is_told_as_it_ended() -> None:
    found = items(CONSOLE / "spans.json")

    assert [(read.event.kind, read.event.actor, read.event.content) for read in reads(found)] == [
        ("message", "cook", "[chat m-6: no content was recorded]"),
        ("tool_request", "cook", "oven"),
        ("message", "cook", "[chat m-6: no content was recorded]"),
    ]
    assert {read.session for read in reads(found)} == {"supper"}
    assert payloads(found)[0]["usage"] == {"input_tokens": 12, "output_tokens": 3}
    assert ignored(found) == {"span/earlier snapshot": 2, "span/http": 1, "span/invoke_agent": 1}


def test_what_the_console_prints_beside_spans_is_read_or_ignored_by_kind(tmp_path: Path) -> None:
    log = {
        "body": {"content": "Is the oven hot?"},
        "severity_number": None,
        "attributes": {"event.name": "gen_ai.user.message"},
        "timestamp": "2026-05-04T09:00:00.000000Z",
        "trace_id": "0x" + "8" * 32,
        "span_id": "0x8000000000000002",
    }
    path = tmp_path / "printed"
    printed = [{"resource_metrics": []}, log, {"context": {"trace_id": "0x1"}, "name": "no span id"}]
    path.write_text((CONSOLE / "spans.json").read_text() + "\n".join(json.dumps(one, indent=4) for one in printed))
    found = items(path)

    assert shown(found)[0] == ("message", "human", "user", "Is the oven hot?")
    assert ignored(found)["metrics"] == 1
    assert ignored(found)["span/told by its log records"] == 1
    assert [item.reason for item in found if isinstance(item, Refused)] == ["10:#: a span without an id"]


def test_nested_attributes_are_read_like_flat_ones() -> None:
    assert [content for *_, content in shown(items(CONSOLE / "phoenix.jsonl"))] == [
        "Is the kettle on?",
        "It is.",
        "Thanks.",
        "It is.",
    ]


def test_the_same_words_answered_twice_are_two_events_and_asked_twice_in_one_history_too(tmp_path: Path) -> None:
    said = {"role": "assistant", "content": "Yes."}
    found = written(
        tmp_path,
        [chat(USER, answer="Yes.", span="1")],
        [chat(USER, said, USER, answer="Yes.", span="2")],
    )

    assert [content for *_, content in shown(found)] == ["Is the gate shut?", "Yes.", "Is the gate shut?", "Yes."]


def test_a_later_call_that_comes_first_leaves_the_earlier_one_nothing_to_repeat(tmp_path: Path) -> None:
    said = {"role": "assistant", "content": "Yes."}
    later = chat(USER, said, {"role": "user", "content": "Sure?"}, answer="Sure.", span="2")
    found = written(tmp_path, [later], [chat(USER, answer="Yes.", span="1")])

    assert [content for *_, content in shown(found)] == ["Is the gate shut?", "Yes.", "Sure?", "Sure."]
    assert ignored(found)["span/told before"] == 1


def test_a_span_sent_twice_is_told_once(tmp_path: Path) -> None:
    found = written(tmp_path, [chat(USER, answer="Yes.")], [chat(USER, answer="Yes.")])

    assert len(reads(found)) == 2
    assert ignored(found)["span/again"] == 1


def test_a_call_id_used_again_is_another_call(tmp_path: Path) -> None:
    ask = {"role": "assistant", "tool_calls": [{"id": "call_0", "function": {"name": "look", "arguments": "{}"}}]}
    told = {"role": "tool", "tool_call_id": "call_0", "content": "shut"}
    found = written(tmp_path, [chat(USER, ask, told, ask, {**told, "content": "open"}, answer="Open.", span="1")])
    asked = [read.native_id for read in reads(found) if read.event.kind == "tool_request"]

    assert [read.answers for read in reads(found) if read.event.kind == "tool_response"] == asked
    assert len(set(asked)) == 2


@pytest.mark.skipif(not os.environ.get("CORPUS_DIR"), reason="reads files that are not in the repository")
def test_a_real_export_of_tempo_is_told_once_and_its_plumbing_left_out() -> None:
    found = items(Path(os.environ["CORPUS_DIR"]) / "otel" / "tempo-batches-otlp.json")

    assert [kind for kind, *_ in shown(found)] == ["message", "message", "tool_request", "tool_response", "message"]
    assert ignored(found)["span/nested"] == 4
    assert reads(found)[3].answers == reads(found)[2].native_id


def test_runs_of_langsmith_are_told_by_their_starts_and_chains_left_out() -> None:
    found = items(DATA / "langsmith" / "runs.json")

    assert shown(found) == [
        ("message", "system", "system", "You cook."),
        ("message", "human", "user", "What is in the soup?"),
        ("tool_request", "agent", "assistant", 'pantry {"of": "soup"}'),
        ("tool_response", "system", "pantry", "leeks, barley"),
        ("message", "agent", "assistant", "Leeks and barley."),
        ("message", "system", "system", "the stove went out"),
    ]
    assert {read.session for read in reads(found)} == {"soup-1"}
    assert reads(found)[3].answers == reads(found)[2].native_id
    assert reads(found)[0].event.claimed_at is not None
    assert payloads(found)[-2]["usage"] == {"prompt_tokens": 31, "completion_tokens": 6}


def test_runs_of_langsmith_with_their_children_inside_are_told_too() -> None:
    found = items(DATA / "langsmith" / "lines.jsonl")

    assert [content for *_, content in shown(found)][2:] == [
        'pantry {"of": "soup"}',
        "leeks, barley",
        "Leeks and barley.",
    ]
