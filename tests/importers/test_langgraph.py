"""Checkpoints of LangGraph, made by the library itself and by hand, and LangChain's messages in three spellings."""

from pathlib import Path

import msgspec
import pytest

from chronicle.errors import InvalidPayload
from chronicle.importers import langgraph_values
from chronicle.importers.langgraph_values import Made
from chronicle.importers.protocol import Ignored, Read, ReadSection, Refused
from tests.importers.files import DATA, items

FOLDER = DATA / "langgraph"
THREADS, OLD, ODD = FOLDER / "threads.sqlite", FOLDER / "old.sqlite", FOLDER / "odd.sqlite"


def reads(path: Path, session: str = "garden") -> list[Read]:
    return [item for item in items(path) if isinstance(item, Read) and session in ("", item.session)]


def said(path: Path, session: str = "garden") -> list[str]:
    return [read.event.content for read in reads(path, session) if read.event.kind == "message"]


def test_a_thread_is_a_session_and_its_messages_come_from_the_writes_once_each() -> None:
    assert {read.session for read in reads(THREADS, "")} == {"garden", "dinner"}
    assert said(THREADS, "dinner") == ["A soup, please.", "Pumpkin soup.", "What is the soil?", "The soil is clay.",
                                       "Clay: dig first."]  # fmt: skip
    assert len({read.native_id for read in reads(THREADS, "")}) == len(reads(THREADS, ""))


def test_a_sub_graph_stands_before_the_write_of_the_task_that_ran_it_and_nobody_in_it_is_human() -> None:
    found = {read.event.content: read.event for read in reads(THREADS, "dinner")}
    contents = list(found)

    assert contents.index("The soil is clay.") < contents.index("Clay: dig first.")
    assert (found["What is the soil?"].actor_kind, found["A soup, please."].actor_kind) == ("agent", "human")
    assert found["The soil is clay."].actor == "soil_agent"
    assert found["The soil is clay."].payload == {"agent": {"id": "soil"}}


def test_parallel_calls_are_joined_by_their_ids_also_where_a_later_turn_uses_them_again() -> None:
    found = {read.native_id: read for read in reads(THREADS)}
    answers = [read for read in found.values() if read.event.kind == "tool_response"]

    assert [read.event.actor for read in answers] == ["calendar", "shop"] * 2
    assert [read.answers for read in answers] == [f"lc_run--{turn}-a:c{number}" for turn in ("h-1", "h-2")
                                                  for number in (0, 1)]  # fmt: skip


def test_a_thought_is_its_own_event_and_usage_and_model_stand_with_the_message() -> None:
    found = reads(THREADS)
    thought = next(read.event for read in found if read.event.kind == "thought")

    assert (thought.content, thought.payload) == ("It rests then.", {"model": "garden-model"})
    assert ["usage" in (read.event.payload or {}) for read in found if read.event.kind == "tool_request"] == [
        False, True, False, True,
    ]  # fmt: skip


def test_times_are_those_of_the_checkpoints() -> None:
    assert [str(read.event.claimed_at)[:19] for read in reads(OLD)][:2] == [
        "2024-08-02 10:00:00",
        "2024-08-02 10:00:01",
    ]
    assert all(read.event.claimed_at for read in reads(THREADS, ""))


def test_of_checkpoints_that_repeat_the_list_each_message_is_read_once_where_it_first_stands() -> None:
    assert said(OLD) == ["When do I plant the hedge?", "In November.", *["Thank you."] * 3]
    assert [read.answers for read in reads(OLD) if read.event.kind == "tool_response"] == ["a1:c0"]


@pytest.mark.parametrize(("path", "count"), [(OLD, 1), (ODD, 1)])
def test_a_pickle_is_refused_by_its_row_and_stops_nothing(path: Path, count: int) -> None:
    refused = [item.reason for item in items(path) if isinstance(item, Refused)]

    assert sum("a pickle is never read" in reason for reason in refused) == count


def test_a_damaged_value_is_refused_by_its_row_and_other_channels_are_counted() -> None:
    found = items(ODD)

    assert any("no msgpack" in item.reason for item in found if isinstance(item, Refused))
    assert [item.kind for item in found if isinstance(item, Ignored) and item.kind != "checkpoint"] == ["write/context"]


def test_interrupts_resumptions_and_errors_are_system_messages() -> None:
    found = {read.event.type: read.event for read in reads(ODD) if read.event.type in ("interrupt", "resume", "error")}

    assert {event.actor_kind for event in found.values()} == {"system"}
    assert "Really ninety?" in found["interrupt"].content
    assert found["error"].content == "ValueError: the gate is shut"


def test_a_summary_in_the_place_of_removed_messages_is_a_section_up_to_the_first_message_kept() -> None:
    found = {read.native_id: read.event for read in reads(ODD)}
    (section,) = [item for item in items(ODD) if isinstance(item, ReadSection)]

    assert section.title == "Ninety plants were to be ordered."
    assert found[section.to_id].type == "resume"
    assert [event.type for event in found.values() if event.kind == "marker"] == ["compaction"]
    assert sum(event.content == "no such shop" for event in found.values()) == 1


def test_a_call_whose_arguments_could_not_be_read_is_kept_and_a_failed_tool_says_so() -> None:
    found = {(read.event.payload or {}).get("tool"): read.event.payload for read in reads(ODD)}

    assert found["pay"] == {"tool": "pay", "arguments": '{"sum": ', "invalid": "not JSON"}
    assert next(read for read in reads(ODD) if read.native_id == "t1:0").event.payload == {"is_error": True}


def test_three_spellings_of_the_same_messages_give_the_same_events() -> None:
    spelt = [
        [(read.native_id, read.event.content, read.answers) for read in reads(FOLDER / name, "")]
        for name in ("data.jsonl", "constructor.json", "flat.json")
    ]

    assert spelt[0] == spelt[1] == spelt[2][1:-1]
    assert spelt[0][2] == ("t9:0", "200 degrees.", "a9:c0")


def test_a_state_names_its_thread() -> None:
    assert {read.session for read in reads(FOLDER / "constructor.json", "")} == {"kitchen"}


def test_no_class_is_imported_and_what_json_does_not_know_is_shown_in_words() -> None:
    inside = msgspec.msgpack.encode(["os", "system", {"x": "ls"}])
    made = langgraph_values.decoded("msgpack", msgspec.msgpack.encode(msgspec.msgpack.Ext(2, inside)))

    assert made == Made("system", {"x": "ls"})
    assert langgraph_values.plain({1: b"abc", "n": float("nan"), "m": made}) == {
        "1": "[3 bytes]",
        "n": "nan",
        "m": {"class": "system", "fields": {"x": "ls"}},
    }


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("pickle", b"x"),
        ("yaml", b"x"),
        ("msgpack", "x"),
        ("msgpack", b"\x91" * 100_000),
        ("msgpack", b"\xdd\xff\xff\xff\xff"),
    ],
)
def test_what_cannot_be_read_says_why(kind: str, data: object) -> None:
    with pytest.raises(InvalidPayload):
        langgraph_values.decoded(kind, data)
