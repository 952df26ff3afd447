"""Letta's agent files: envelopes, the visible reply, hidden messages, ids that mean nothing outside the file."""

import json
from pathlib import Path

from chronicle.importers.protocol import Item, ReadSection
from tests.importers.files import DATA, items
from tests.importers.test_openai_chat import reads, sessions, shown

DIARY = DATA / "letta" / "diary.af"


def written(tmp_path: Path, file: object, name: str) -> list[Item]:
    path = tmp_path / name
    path.write_text(json.dumps(file))
    return items(path)


def test_only_what_a_person_typed_is_human() -> None:
    found = shown(items(DIARY))

    assert [words for _, by, _, words in found if by == "human"] == [
        "When did the plums bloom?",
        "A plain text from a person.",
        "Not before August.",
    ]
    assert ("message", "system", "letta", "Ida logged in") in found


def test_the_visible_reply_is_a_message_and_what_is_said_beside_a_call_a_thought() -> None:
    found = shown(items(DIARY))
    place = found.index(("thought", "agent", "Diary", "She waits for an answer."))

    assert [one[0] for one in found[place : place + 4]] == ["thought", "tool_request", "message", "tool_response"]
    assert found[place + 2][3] == "The diary does not say, Ida."


def test_parallel_returns_in_one_message_are_joined_by_id_out_of_order() -> None:
    found = reads(items(DIARY))
    tools = {read.native_id: (read.event.payload or {})["tool"] for read in found if read.event.kind == "tool_request"}
    answers = [
        (tools.get(read.answers or ""), read.event.content) for read in found if read.event.kind == "tool_response"
    ]

    assert answers[:2] == [("get_date", "4 May"), ("archival_memory_search", "nothing found")]


def test_a_summary_of_hidden_messages_is_a_section_up_to_its_marker() -> None:
    found = items(DIARY)
    sections = [item for item in found if isinstance(item, ReadSection)]
    markers = [read for read in reads(found) if read.event.kind == "marker"]

    assert [section.to_id for section in sections] == [markers[0].native_id]
    assert "Ida asked about plums" in sections[0].prose


def test_messages_that_left_the_context_are_marked_at_the_end() -> None:
    last = reads(items(DIARY))[-1].event

    assert (last.kind, last.type, last.payload) == ("marker", "compaction", {"evicted": 4, "in_context": 7})


def test_a_file_that_is_a_text_holding_the_document_gives_the_same_events() -> None:
    once, twice = items(DIARY), items(DATA / "letta" / "double.af")

    assert [read.native_id for read in reads(once)] == [read.native_id for read in reads(twice)]
    assert reads(twice)[0].event.locator == "~agents/0:0.0"


def test_a_longer_snapshot_is_the_same_session_though_ids_and_instructions_changed(tmp_path: Path) -> None:
    file = json.loads(DIARY.read_text())
    file["agents"][0]["messages"] = [
        message | {"id": f"message-{number + 7}"} for number, message in enumerate(file["agents"][0]["messages"][:6])
    ]
    file["agents"][0]["messages"][0]["content"] = "You keep the diary, and it is May."
    file["agents"][0]["in_context_message_ids"] = []
    short, long = written(tmp_path, file, "short.af"), items(DIARY)

    assert sessions(short) == sessions(long)
    known = {read.native_id for read in reads(long)}
    assert [read.event.content for read in reads(short) if read.native_id not in known] == [
        "You keep the diary, and it is May."
    ]


def test_the_older_file_of_one_agent_is_read() -> None:
    assert shown(items(DATA / "letta" / "old.af"))[-1] == ("message", "human", "user", "Good morning.")


def test_no_source_code_and_no_secret_is_read() -> None:
    everything = " ".join(f"{read.event.content} {read.event.payload}" for read in reads(items(DIARY)))

    assert "SystemExit" not in everything
    assert "never read" not in everything
