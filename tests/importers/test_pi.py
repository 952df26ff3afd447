"""Pi sessions: a tree of entries with ids, the older list without, and what compactions kept."""

import json
from pathlib import Path

from chronicle.importers.making import SUMMARY
from chronicle.importers.protocol import Ignored, Item, Noted, Read, ReadSection, Refused, Session
from tests.importers.files import DATA, items

PI = DATA / "pi"


def reads(found: list[Item]) -> list[Read]:
    return [item for item in found if isinstance(item, Read)]


def shown(found: list[Item]) -> list[tuple[str, str, str, str]]:
    return [(read.event.kind, read.event.actor_kind, read.event.actor, read.event.content) for read in reads(found)]


def sections(found: list[Item]) -> list[ReadSection]:
    return [item for item in found if isinstance(item, ReadSection)]


def test_an_answer_gives_its_blocks_in_order_and_results_are_joined_out_of_order() -> None:
    found = reads(items(PI / "linear.jsonl"))
    requests = {read.native_id: (read.event.payload or {})["tool"] for read in found[3:5]}

    assert shown(items(PI / "linear.jsonl"))[1:5] == [
        ("thought", "agent", "assistant", "Beans need sun."),
        ("message", "agent", "assistant", "I will look at the plan."),
        ("tool_request", "agent", "assistant", 'read {"path": "beds.md"}'),
        ("tool_request", "agent", "assistant", 'bash {"command": "ls"}'),
    ]
    assert [requests[read.answers or ""] for read in found[5:7]] == ["bash", "read"]
    assert found[6].blobs[0].media_type == "image/png"


def test_a_command_that_the_person_ran_is_the_persons_request() -> None:
    ran = [read for read in reads(items(PI / "linear.jsonl")) if read.line == 8]
    (request,) = [read for read in ran if read.event.actor_kind == "human"]
    (response,) = [read for read in ran if read.answers == request.native_id]

    assert (request.event.kind, request.event.content) == ("tool_request", 'bash {"command": "wc seeds.csv"}')
    assert response.event.payload == {"exitCode": 0, "cancelled": False, "truncated": False}


def test_an_answer_that_was_broken_off_or_failed_says_why() -> None:
    found = [(r.line, r.event.content, r.event.type) for r in reads(items(PI / "linear.jsonl")) if r.line in (12, 14)]

    assert found == [(12, "aborted", "aborted"), (14, "Kale", ""), (14, "overloaded", "error")]


def test_usage_stands_on_the_last_event_of_a_message() -> None:
    found = reads(items(PI / "linear.jsonl"))
    used = [(r.line, r.native_id.rpartition(":")[2]) for r in found if "usage" in (r.event.payload or {})]

    assert used == [(3, "3"), (6, "0"), (12, "end"), (14, "end")]


def test_in_the_first_version_a_compaction_cites_an_index_and_ends_before_that_entry() -> None:
    found = items(PI / "linear.jsonl")
    (section,) = sections(found)
    end = next(read for read in reads(found) if read.native_id == section.to_id)

    assert (end.line, section.title, section.rolling) == (6, "Beds are planned, beans in bed 1.", False)
    assert [(read.line, read.event.type) for read in reads(found) if read.line == 10] == [
        (10, "compaction"),
        (10, SUMMARY),
    ]


def test_in_a_tree_a_compaction_ends_before_the_entry_that_its_id_names() -> None:
    first, second = sections(items(PI / "tree.jsonl"))

    assert (first.to_id, first.rolling) == ("b0:0", False)
    assert (second.to_id, second.rolling) == ("b3:0", True)


def test_a_compaction_without_a_summary_is_a_mark_alone() -> None:
    found = items(PI / "tree.jsonl")

    assert [read.native_id for read in reads(found) if read.line == 16] == ["c3:0"]
    assert any(isinstance(item, Noted) and item.line == 16 for item in found)


def test_every_branch_is_in_and_a_mark_says_where_the_session_went_back() -> None:
    found = items(PI / "tree.jsonl")
    marks = [(read.native_id, read.event.content) for read in reads(found) if read.event.type == "branch"]

    assert marks == [("b0:branch", "parentId a2")]
    assert {"Soup, gratin, pears.", "Stewed plums."} <= {content for _, _, _, content in shown(found)}
    assert [item.words for item in found if isinstance(item, Noted) and not item.line] == [
        "the session went back to an earlier entry (times: 1); every branch is in the log"
    ]


def test_what_extensions_and_summaries_put_in_is_never_a_persons() -> None:
    found = [(r.event.type, r.event.actor_kind) for r in reads(items(PI / "tree.jsonl")) if "." in r.event.type]

    assert found == [
        ("branch.summary", "system"),
        ("custom.kitchen", "system"),
        (SUMMARY, "system"),
        (SUMMARY, "system"),
        ("branch.summary", "system"),
        ("custom.notes", "system"),
    ]


def test_titles_are_the_first_words_or_the_name_that_was_given() -> None:
    titles = [
        [item.title for item in items(PI / name) if isinstance(item, Session)][-1]
        for name in ("linear.jsonl", "tree.jsonl", "two.jsonl")
    ]

    assert titles == ["Plan the vegetable beds.", "A menu for eight", "Two."]


def test_one_file_may_hold_two_sessions_whose_ids_are_the_same() -> None:
    assert [(read.session, read.native_id) for read in reads(items(PI / "two.jsonl"))] == [
        ("5eed3003", "a1:0"),
        ("5eed3004", "a1:0"),
        ("5eed3004", "a2:0"),
    ]


def test_what_is_no_event_is_counted_and_what_is_broken_refused_by_its_line() -> None:
    found = items(PI / "linear.jsonl")

    assert [item.kind for item in found if isinstance(item, Ignored)] == [
        "session",
        "model_change",
        "thinking_level_change",
    ]
    assert [item.line for item in found if isinstance(item, Refused)] == [17, 18]


def test_a_longer_snapshot_gives_the_same_ids_for_what_was_there(tmp_path: Path) -> None:
    for name in ("linear.jsonl", "tree.jsonl"):
        whole = (PI / name).read_bytes().splitlines(keepends=True)
        (tmp_path / name).write_bytes(b"".join(whole[:9]))
        shorter, longer = reads(items(tmp_path / name)), reads(items(PI / name))

        assert [read.native_id for read in shorter] == [read.native_id for read in longer[: len(shorter)]]


def test_a_slice_is_known_by_its_files_name_and_a_long_entry_leaves_its_mark(tmp_path: Path) -> None:
    lines = (PI / "tree.jsonl").read_text().splitlines(keepends=True)
    path = tmp_path / "2026-05-04T08-00-00-000Z_5eed3002.jsonl"
    path.write_text("".join([lines[2], json.dumps({"type": "message", "id": "z", "message": "x" * 9_000_000}), "\n"]))
    found = items(path)

    assert {read.session for read in reads(found)} == {"5eed3002"}
    assert reads(found)[-1].event.type == "stub"
