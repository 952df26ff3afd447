"""Gemini CLI sessions: documents that are rewritten as they grow, and lines that tell a message again whole."""

from pathlib import Path

from chronicle.importers.making import SUMMARY
from chronicle.importers.protocol import Ignored, Item, Noted, Read, ReadSection, Refused, Session
from tests.importers.files import DATA, items

GEMINI = DATA / "gemini-cli"


def reads(found: list[Item]) -> list[Read]:
    return [item for item in found if isinstance(item, Read)]


def shown(found: list[Item]) -> list[tuple[str, str, str, str]]:
    return [(read.event.kind, read.event.actor_kind, read.event.actor, read.event.content) for read in reads(found)]


def used(found: list[Item]) -> list[tuple[str, int]]:
    made = [(read.native_id, dict(read.event.payload or {})) for read in reads(found)]
    return [(native, payload["usage"]["total"]) for native, payload in made if "usage" in payload]


def test_a_message_gives_its_thoughts_its_words_and_each_call_with_its_result() -> None:
    assert shown(items(GEMINI / "grown.json"))[:7] == [
        ("message", "human", "user", "Which seeds are left?"),
        ("thought", "agent", "gemini", "Looking\nThe drawer first."),
        ("message", "agent", "gemini", "I will look."),
        ("tool_request", "agent", "gemini", 'read_file {"path": "seeds.csv"}'),
        ("tool_response", "system", "read_file", "bean,12\nkale,0"),
        ("tool_request", "agent", "gemini", 'ls {"dir": "."}'),
        ("tool_response", "system", "ls", "seeds.csv"),
    ]


def test_a_message_that_grew_under_its_id_adds_its_calls_and_changes_nothing_that_was_there() -> None:
    first, grown = reads(items(GEMINI / "first.json")), reads(items(GEMINI / "grown.json"))
    there = {read.native_id: read.event.content for read in grown}

    assert [read.native_id for read in first] == ["u1:said", "g1:thought.0", "g1:said"]
    assert all(there[read.native_id] == read.event.content for read in first)
    assert [read.native_id for read in grown[3:7]] == [
        "g1:call.read_1",
        "g1:call.read_1.result",
        "g1:call.ls_1",
        "g1:call.ls_1.result",
    ]


def test_info_warnings_and_errors_are_the_clients_and_never_a_persons() -> None:
    found = [(read.event.type, read.event.actor_kind) for read in reads(items(GEMINI / "grown.json"))]

    assert [pair for pair in found if pair[0] in ("info", "error", "warning")] == [
        ("info", "system"),
        ("error", "system"),
        ("warning", "system"),
    ]


def test_a_call_that_was_broken_off_says_so_and_one_that_runs_has_no_result() -> None:
    found = {read.native_id: read.event for read in reads(items(GEMINI / "grown.json"))}

    assert found["g2:call.rm_1.result"].content == "cancelled by the user"
    assert found["g2:call.rm_1.result"].payload == {"status": "cancelled", "is_error": True}
    assert "g2:call.wait" in found
    assert "g2:call.wait.result" not in found
    assert found["g2:call.grow.result"].payload == {"status": "success", "agent": {"id": "a7"}}


def test_an_image_beside_a_result_becomes_a_blob() -> None:
    (read,) = [read for read in reads(items(GEMINI / "grown.json")) if read.blobs]

    assert read.native_id == "g2:call.shot.result"
    assert read.event.content == "taken\n[image/png, 70 bytes]"


def test_words_in_parts_are_one_message_and_thoughts_among_them_are_thoughts() -> None:
    found = shown(items(GEMINI / "grown.json"))

    assert ("message", "human", "user", "And the \nbeans?") in found
    assert ("thought", "agent", "gemini", "Counting first.") in found
    assert ("message", "agent", "gemini", "Twelve.") in found


def test_usage_stands_once_for_each_message() -> None:
    assert used(items(GEMINI / "grown.json")) == [("g1:call.ls_1.result", 110), ("g2:call.shot.result", 124)]
    assert used(items(GEMINI / "lines.jsonl")) == [("g1:said", 110), ("g2:said", 6), ("g3:said", 133)]


def test_an_empty_message_and_one_told_again_are_counted_and_times_without_a_zone_are_noted() -> None:
    found = items(GEMINI / "grown.json")
    told = [item.kind for item in items(GEMINI / "lines.jsonl") if isinstance(item, Ignored)]

    assert [item.kind for item in found if isinstance(item, Ignored)] == ["header", "gemini/nothing new"]
    assert [item.line for item in found if isinstance(item, Noted)] == [11]
    assert told == ["header", "$set/lastUpdated", "gemini/nothing new", "$set/lastUpdated", "$set/summary"]


def test_in_lines_a_message_told_again_gives_only_what_is_new() -> None:
    found = reads(items(GEMINI / "lines.jsonl"))

    assert len({read.native_id for read in found}) == len(found)
    assert [read.native_id for read in found if read.line == 6] == [
        "g1:call.read_1",
        "g1:call.read_1.result",
        "g1:call.ls_1",
        "g1:call.ls_1.result",
    ]


def test_a_step_back_is_a_mark_and_what_it_took_back_stays() -> None:
    found = items(GEMINI / "lines.jsonl")
    marks = [read for read in reads(found) if read.event.type == "rewind"]

    assert [(read.line, read.event.payload) for read in marks] == [(10, {"taken_back": 2})]
    assert "A wrong answer." in [read.event.content for read in reads(found)]
    assert [item.line for item in found if isinstance(item, Noted)] == [10]


def test_a_history_that_was_replaced_is_a_section_up_to_the_first_message_kept() -> None:
    found = items(GEMINI / "lines.jsonl")
    (section,) = [item for item in found if isinstance(item, ReadSection)]
    end = next(read for read in reads(found) if read.native_id == section.to_id)

    assert (section.line, section.prose) == (13, "<state_snapshot>12 beans are left, no kale.</state_snapshot>")
    assert end.line == 10
    assert [(read.line, read.event.actor_kind) for read in reads(found) if read.event.type == SUMMARY] == [
        (13, "system")
    ]
    assert [read.line for read in reads(found) if read.event.type == "compaction"] == [13, 16]
    assert [read.event.locator for read in reads(found) if read.line == 13] == ["13:0", "13:1", "13:2"]


def test_a_sub_agents_session_is_its_own_and_no_person_speaks_in_it() -> None:
    found = items(GEMINI / "subagent.jsonl")

    assert [(kind, actor) for _, kind, actor, _ in shown(found)] == [
        ("agent", "gemini"),
        ("agent", "subagent"),
        ("system", "ls"),
        ("agent", "subagent"),
        ("system", "ls"),
    ]
    assert [read.answers for read in reads(found)] == [None, None, None, None, "c1:part.0"]


def test_titles_are_the_first_words_or_what_the_client_calls_the_session() -> None:
    names = ("first.json", "grown.json", "lines.jsonl", "subagent.jsonl")
    titles = [[item.title for item in items(GEMINI / name) if isinstance(item, Session)][-1] for name in names]

    assert titles == ["Which seeds are left?", "Seeds that are left", "Beans and kale", "Count the seeds."]


def test_bad_lines_are_refused_by_their_numbers() -> None:
    assert [item.line for item in items(GEMINI / "lines.jsonl") if isinstance(item, Refused)] == [17, 18, 19]


def test_lines_that_follow_a_document_are_more_of_the_same_session(tmp_path: Path) -> None:
    document = (GEMINI / "first.json").read_text()
    lines = (GEMINI / "lines.jsonl").read_text().replace("5eed2002-0000-4000-8000-000000000002", "s")
    (tmp_path / "a.json").write_text(document.replace("5eed2001-0000-4000-8000-000000000001", "s"))
    (tmp_path / "a.jsonl").write_text(lines)
    first, second = reads(items(tmp_path / "a.json")), reads(items(tmp_path / "a.jsonl"))

    assert {read.session for read in first} == {read.session for read in second} == {"s"}
    assert [read.native_id for read in first] == [read.native_id for read in second][:3]
