"""Chat messages: each said once, whoever repeats it; sessions told apart without ids; calls in any spelling."""

import json
from pathlib import Path
from typing import Any

import pytest

from chronicle.importers import chat_texts, lines, registry
from chronicle.importers.protocol import Ignored, Item, Noted, Read, Refused, Session
from tests.importers.files import DATA, items

CHAT = DATA / "openai-chat"
SYSTEM = {"role": "system", "content": "You help in the garden."}
ASKED = {"role": "user", "content": "What grows in the shade of a large walnut tree?"}
ANSWERED = {"role": "assistant", "content": "Not much: " + "ferns, ivy, barrenwort and a few more. " * 6}


def reads(found: list[Item]) -> list[Read]:
    return [item for item in found if isinstance(item, Read)]


def shown(found: list[Item]) -> list[tuple[str, str, str, str]]:
    return [(read.event.kind, read.event.actor_kind, read.event.actor, read.event.content) for read in reads(found)]


def sessions(found: list[Item]) -> list[str]:
    return list(dict.fromkeys(read.session for read in reads(found)))


def written(tmp_path: Path, value: Any, name: str = "chat.json") -> list[Item]:
    path = tmp_path / name
    path.write_text(json.dumps(value))
    return items(path)


def log(*messages: Any, answer: Any = ANSWERED, **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), "response": {"choices": [{"message": answer}], **more}}


def logged(tmp_path: Path, *records: Any) -> list[Item]:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return items(path)


def test_a_list_becomes_messages_thoughts_requests_and_responses_in_order() -> None:
    found = shown(items(CHAT / "list.json"))

    assert found[:6] == [
        ("message", "system", "developer", "You plan a small garden. Answer in short sentences."),
        ("message", "human", "Ida", "Which of these beds gets the most sun?\n[image/png, 70 bytes]"),
        ("thought", "agent", "assistant", "Two beds, two questions to the sensor."),
        ("tool_request", "agent", "assistant", 'sun_hours {"bed": "north"}'),
        ("tool_request", "agent", "assistant", 'sun_hours {"bed": "south"}'),
        ("tool_response", "system", "sun_hours", "6.5"),
    ]
    assert found[-1] == ("message", "agent", "assistant", "I cannot plant the same bed twice.")


def test_parallel_calls_are_answered_by_id_out_of_order_and_a_reused_id_means_the_latest() -> None:
    found = reads(items(CHAT / "list.json"))
    asked = {read.native_id: read.event.payload["arguments"] for read in found if "tool" in (read.event.payload or ())}
    responses = [read for read in found if read.event.kind == "tool_response"]
    answers = [(read.event.content, asked.get(read.answers or "")) for read in responses]

    assert answers == [
        ("6.5", {"bed": "south"}),
        ("2.0", {"bed": "north"}),
        ("arguments are no JSON", '{"bed": "south", "plant": '),
        ("a result that nobody asked for", None),
    ]


def test_the_same_words_twice_in_a_list_are_two_events() -> None:
    found = [read for read in reads(items(CHAT / "list.json")) if read.event.content == "Plant tomatoes there, please."]

    assert len({read.native_id for read in found}) == len(found) == 2


def test_a_longer_list_is_the_same_session_under_any_name_and_adds_only_what_is_new(tmp_path: Path) -> None:
    whole = json.loads((CHAT / "list.json").read_text())
    short, long = written(tmp_path, whole[:5], "a.json"), items(CHAT / "list.json")

    assert sessions(short) == sessions(long)
    assert [read.native_id for read in reads(long)][: len(reads(short))] == [read.native_id for read in reads(short)]


def test_what_later_requests_repeat_is_read_once_and_another_session_stays_apart() -> None:
    found = items(CHAT / "calls.jsonl")

    assert [read.line for read in reads(found)] == [1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 5, 5, 5, 6, 6, 6]
    assert [item.line for item in reads(found) if item.session == sessions(found)[0]] == [1, 1, 1, 3, 3, 4, 4, *[5] * 4]
    assert len(sessions(found)) == 3


def test_a_request_that_lost_messages_is_marked_and_goes_on_with_its_session() -> None:
    found = items(CHAT / "calls.jsonl")
    marks = [read for read in reads(found) if read.event.kind == "marker"]

    assert [(mark.line, mark.event.type) for mark in marks] == [(5, "context.cut")]
    assert any(isinstance(item, Noted) and item.line == 5 for item in found)


def test_usage_model_and_time_stand_on_the_answer_alone() -> None:
    found = [read for read in reads(items(CHAT / "calls.jsonl")) if read.line == 4]

    assert found[0].event.payload is None
    assert found[1].event.payload == {
        "model": "garden-1-0504",
        "usage": {"prompt_tokens": 95, "completion_tokens": 9},
    }
    assert found[0].event.claimed_at is None
    assert found[1].event.claimed_at is not None


def test_a_file_for_each_call_gives_one_session_without_repeating(tmp_path: Path) -> None:
    more = {"role": "user", "content": "And in its sun?"}
    one = written(tmp_path, log(SYSTEM, ASKED), "call-1.json")
    answer = {"role": "assistant", "content": "Thyme."}
    two = written(tmp_path, log(SYSTEM, ASKED, ANSWERED, more, answer=answer), "b.json")

    assert sessions(one) == sessions(two)
    assert [read.native_id for read in reads(two)][:3] == [read.native_id for read in reads(one)]


def test_a_copy_of_a_message_is_known_whatever_its_spelling(tmp_path: Path) -> None:
    call = {"id": "call_shade_1", "type": "function", "function": {"name": "shade", "arguments": '{"tree":"walnut"}'}}
    spaced = call | {"function": {"name": "shade", "arguments": '{"tree": "walnut"}'}}
    said = {"role": "assistant", "content": None, "refusal": None, "tool_calls": [call]}
    again = {"role": "assistant", "content": "", "tool_calls": [spaced]}
    block = {"type": "text", "text": ASKED["content"], "cache_control": {"type": "ephemeral"}}
    result = {"role": "tool", "tool_call_id": "call_shade_1", "content": "deep"}
    second = log(SYSTEM, {"role": "user", "content": [block]}, again, result)
    found = logged(tmp_path, log(SYSTEM, ASKED, answer=said), second)

    kinds = [read.event.kind for read in reads(found)]
    assert kinds == ["message", "message", "tool_request", "tool_response", "message"]


def test_a_call_without_an_answer_and_its_retry_are_one(tmp_path: Path) -> None:
    found = logged(tmp_path, log(SYSTEM, ASKED, answer=None) | {"response": None}, log(SYSTEM, ASKED))

    assert len(sessions(found)) == 1
    assert [read.line for read in reads(found)] == [1, 1, 2]


def test_a_request_that_adds_nothing_is_counted(tmp_path: Path) -> None:
    found = logged(tmp_path, log(SYSTEM, ASKED), log(SYSTEM, ASKED))

    assert [item for item in found if isinstance(item, Ignored)] == [Ignored("request that adds nothing", 2)]


def test_other_choices_are_noted(tmp_path: Path) -> None:
    record = log(SYSTEM, ASKED)
    record["response"]["choices"].append({"message": {"role": "assistant", "content": "Nothing."}})

    assert any(isinstance(item, Noted) and "1 other answer" in item.words for item in logged(tmp_path, record))


def test_batches_and_nested_requests_are_read(tmp_path: Path) -> None:
    asked = {"custom_id": "request-7", "method": "POST", "body": {"model": "m", "messages": [SYSTEM, ASKED]}}
    body = {"choices": [{"message": ANSWERED}]}
    answered = {"id": "batch_1", "custom_id": "request-7", "response": {"status_code": 200, "body": body}}

    assert [read.event.content for read in reads(logged(tmp_path, asked))] == [SYSTEM["content"], ASKED["content"]]
    assert [read.event.content for read in reads(logged(tmp_path, answered))] == [ANSWERED["content"]]


def test_each_line_of_a_data_set_is_a_session_and_the_older_spelling_of_calls_is_joined() -> None:
    found = items(CHAT / "fine-tuning.jsonl")
    call = [read for read in reads(found) if read.line == 2]

    assert len(sessions(found)) == 3
    assert [read.event.kind for read in call] == ["message", "tool_request", "tool_response", "message"]
    assert call[2].answers == call[1].native_id


def test_two_conversations_that_part_after_the_same_opening_are_two_sessions(tmp_path: Path) -> None:
    begun = [SYSTEM, ASKED, ANSWERED]
    one = {"messages": [*begun, {"role": "user", "content": "Ferns it is."}]}
    two = {"messages": [*begun, {"role": "user", "content": "Ivy it is."}]}
    found = logged(tmp_path, one, two, {"messages": [*one["messages"], {"role": "assistant", "content": "Fine."}]})

    assert len(sessions(found)) == 2
    assert [read.event.content for read in reads(found) if read.line == 3] == ["Fine."]


def test_sharegpt_is_read_with_its_ids_and_its_calls() -> None:
    found = items(CHAT / "sharegpt.json")

    assert [session.partition("@")[0] for session in sessions(found)] == ["orchard_0", "orchard_1"]
    assert shown(found)[-3:] == [
        ("tool_request", "agent", "assistant", 'count_trees {"row": 2}'),
        ("tool_response", "system", "count_trees", "17"),
        ("message", "agent", "assistant", "Seventeen."),
    ]


def test_a_call_written_as_text_is_a_request_and_the_users_words_after_it_are_its_result() -> None:
    found = reads(items(CHAT / "text-calls.json"))

    assert [(read.event.kind, read.event.actor_kind) for read in found] == [
        ("message", "system"),
        ("message", "human"),
        ("message", "agent"),
        ("tool_request", "agent"),
        ("tool_response", "system"),
        ("tool_request", "agent"),
        ("message", "human"),
    ]
    assert found[3].event.payload == {
        "tool": "execute_bash",
        "arguments": {"command": "wc -l seeds.csv", "note": "two\nlines"},
    }
    assert found[4].answers == found[3].native_id


def test_a_flattened_dialogue_is_taken_apart_and_any_other_text_is_refused() -> None:
    found = items(CHAT / "flattened.jsonl")

    assert shown(found)[:3] == [
        ("message", "human", "user", "Is the soil wet enough?\n\nIt rained on Monday."),
        ("message", "agent", "assistant", "Dig with a finger: two centimetres down it should be dark."),
        ("message", "human", "user", "It is."),
    ]
    assert [item.line for item in found if isinstance(item, Refused)] == [3]


@pytest.mark.parametrize(
    "words",
    [
        "Human: only one speaks",
        "A story. Human: hello\n\nAssistant: hi",
        "User: a\nUser: b\nAssistant: c",
        "",
        "Note: x\n\nUser: y",
    ],
)
def test_a_text_whose_turns_are_not_unmistakable_is_no_dialogue(words: str) -> None:
    assert chat_texts.dialogue(words) is None


@pytest.mark.parametrize("words", ["<parameter=a>", "<function=a>", "<tool_call>{", "\n", "\n \n", "<|im_start|>u\n"])
def test_no_text_makes_the_readers_of_text_read_on_and_on(words: str) -> None:
    long = words * 50_000

    assert chat_texts.calls("<function=f>" + long)
    assert chat_texts.dialogue("User: x" + long) is None or "im_start" in words


def test_instructions_and_answer_beside_the_messages_stand_before_and_behind_them() -> None:
    found = reads(items(CHAT / "request.json"))

    assert [(read.event.locator, read.event.kind, read.event.actor_kind) for read in found] == [
        ("#:0", "message", "system"),
        ("messages/0:0", "message", "human"),
        ("response:0", "thought", "agent"),
        ("response:1", "message", "agent"),
    ]


def test_one_message_a_line_is_one_session(tmp_path: Path) -> None:
    found = logged(tmp_path, SYSTEM, ASKED, ANSWERED)

    assert len(sessions(found)) == 1
    assert [read.line for read in reads(found)] == [1, 2, 3]


def test_a_session_is_titled_by_the_first_words_of_a_person() -> None:
    titles = [item.title for item in items(CHAT / "list.json") if isinstance(item, Session)]

    assert titles == ["", "Which of these beds gets the most sun?"]


@pytest.mark.parametrize(
    "value",
    [
        [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]}],
        [{"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}]}],
        [{"role": "user", "content": [{"type": "text", "text": "<task>\nx</task>"}]}],
        [{"type": "message", "role": "user", "content": "x"}],
        [{"role": "user", "content": "x"}, {"type": "function_call", "name": "f", "call_id": "c", "arguments": "{}"}],
        [{"role": "user", "parts": [{"text": "x"}]}],
        {"messages": [{"role": "user", "content": "x"}], "trajectory_format": "mini-swe-agent-1"},
        {"role": "nobody", "content": "x"},
        [{"a": 1}],
    ],
)
def test_what_bears_the_mark_of_another_format_is_not_taken(value: Any, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps(value))

    assert not registry.named("openai-chat").sniff(lines.open_file(path))
