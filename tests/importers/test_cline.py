"""Cline and Roo: both of a task's files, and Anthropic's messages as bare lists."""

from collections import Counter

import pytest

from chronicle.importers import cline
from chronicle.importers.protocol import Ignored, ReadSection, Session
from tests.importers.files import DATA, items
from tests.importers.test_openai_chat import reads, shown

UI = DATA / "cline" / "ui_messages.json"
HISTORY = DATA / "cline" / "api_conversation_history.json"
BLOCKS = DATA / "cline" / "blocks.json"


def test_rows_become_events_in_their_order() -> None:
    assert [(kind, by, words) for kind, by, _, words in shown(items(UI))][:9] == [
        ("message", "human", "Water the dry beds.\n[image/png, 8 bytes]\nbeds.md"),
        ("thought", "agent", "The list first."),
        ("message", "agent", "I read the list."),
        ("tool_request", "agent", 'readFile {"path": "beds.md", "content": "/garden/beds.md"}'),
        ("marker", "system", "conversationHistoryDeletedRange [2, 5]"),
        ("tool_response", "system", "north: dry"),
        ("tool_request", "agent", 'command {"command": "pump --bed north"}'),
        ("tool_response", "system", "pumping"),
        ("tool_response", "system", "12 litres"),
    ]


def test_every_output_of_a_command_and_the_result_that_a_later_request_shows_are_joined() -> None:
    found = reads(items(UI))
    asked = {read.native_id: (read.event.payload or {})["tool"] for read in found if read.event.kind == "tool_request"}
    answers = [asked.get(read.answers or "") for read in found if read.event.kind == "tool_response"]

    assert answers == ["readFile", "command", "command"]


def test_times_repeat_and_ids_do_not() -> None:
    found = reads(items(UI))

    assert len({read.native_id for read in found}) == len(found)


def test_what_is_replaced_repeated_or_of_the_interface_is_ignored_by_kind() -> None:
    assert Counter(item.kind for item in items(UI) if isinstance(item, Ignored)) == {
        "checkpoint_created": 1,
        "api_req_started": 1,
        "partial text": 1,
        "command_output": 1,
        "completion_result": 1,
        "resume_completed_task": 1,
    }


def test_usage_stands_once_for_each_request() -> None:
    used = [read.event.payload["usage"] for read in reads(items(UI)) if "usage" in (read.event.payload or {})]

    assert used == [{"tokensIn": 100, "tokensOut": 20, "cost": 0.01}, {"tokensIn": 150, "tokensOut": 9}]


def test_a_deleted_range_is_marked_once_and_a_summary_is_a_section() -> None:
    found = items(UI)
    markers = [read for read in reads(found) if read.event.type == "compaction"]
    sections = [item for item in found if isinstance(item, ReadSection)]

    assert [marker.event.payload for marker in markers] == [{"range": [2, 5]}, None]
    assert [(section.to_id, section.prose) for section in sections] == [
        (markers[1].native_id, "The north bed was dry and has 12 litres now.")
    ]


def test_a_person_who_pastes_rows_has_typed_them() -> None:
    assert shown(items(UI))[-1][:3] == ("message", "human", "user")


def test_calls_and_results_that_are_written_as_text_are_joined_and_what_cline_adds_is_system() -> None:
    found = reads(items(HISTORY))

    assert [(read.event.kind, read.event.actor_kind) for read in found] == [
        ("message", "human"),
        ("message", "system"),
        ("thought", "agent"),
        ("tool_request", "agent"),
        ("tool_response", "system"),
        ("message", "system"),
        ("message", "agent"),
        ("tool_request", "agent"),
        ("tool_response", "system"),
        ("message", "system"),
        ("tool_request", "agent"),
    ]
    assert [found[4].answers, found[8].answers] == [found[3].native_id, found[7].native_id]
    assert found[4].event.content == "north: dry\nsouth: wet"


def test_a_task_is_titled_by_its_words() -> None:
    titles = [item.title for item in items(HISTORY) if isinstance(item, Session)]

    assert titles == ["", "List the beds that need water."]


def test_blocks_are_joined_by_id_out_of_order_and_a_summary_is_a_section() -> None:
    found = items(BLOCKS)
    asked = {read.native_id: read.event.content for read in reads(found) if read.event.kind == "tool_request"}
    answers = [asked.get(read.answers or "") for read in reads(found) if read.event.kind == "tool_response"]

    assert answers == ['look {"box": "b"}', 'look {"box": "a"}']
    assert [item.prose for item in found if isinstance(item, ReadSection)] == ["Peas are in box b; box a is stuck."]
    assert [len(read.blobs) for read in reads(found) if read.event.kind == "tool_response"] == [1, 0]


@pytest.mark.parametrize("words", ["<read_file>", "<read_file><path>", "<thinking>", "</read_file>"])
def test_no_text_makes_the_reader_of_tags_read_on_and_on(words: str) -> None:
    assert cline._untagged({"role": "assistant", "content": words * 100_000})["content"]
