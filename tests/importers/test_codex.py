"""Codex rollouts: who said what, what answers what, what is said twice, and where a section ends."""

import json
import os
from pathlib import Path

import pytest

from chronicle.importers.codex import Codex
from chronicle.importers.making import SUMMARY
from chronicle.importers.protocol import Ignored, Item, Noted, Read, ReadSection, Refused, Session
from tests.importers.files import DATA, items, opened

CODEX = DATA / "codex"


def reads(found: list[Item]) -> list[Read]:
    return [item for item in found if isinstance(item, Read)]


def shown(found: list[Item]) -> list[tuple[str, str, str, str]]:
    return [(read.event.kind, read.event.actor_kind, read.event.actor, read.event.content) for read in reads(found)]


def ignored(found: list[Item]) -> list[str]:
    return [item.kind for item in found if isinstance(item, Ignored)]


def usages(found: list[Item]) -> list[tuple[int, dict[str, int]]]:
    payloads = [(read.line, read.event.payload or {}) for read in reads(found)]
    return [(line, payload["usage"]) for line, payload in payloads if "usage" in payload]


def test_a_session_is_told_once_though_the_client_tells_it_twice() -> None:
    found = items(CODEX / "dialogue.jsonl")

    assert [content for kind, _, _, content in shown(found) if kind == "thought"] == [
        "**Looking at the beds**\n\n**Then at the bulbs**"
    ]
    assert [content for _, kind, _, content in shown(found) if kind == "agent"].count("Beds 2 and 3 have none.") == 1
    assert ignored(found).count("event_msg/agent_reasoning") == 2


def test_only_what_a_person_typed_is_human() -> None:
    found = shown(items(CODEX / "dialogue.jsonl"))

    assert [content[:12] for _, kind, _, content in found if kind == "human"] == ["# Context fr", "Plant them, "]
    assert [content[:12] for kind, _, actor, content in found if actor == "codex" and kind == "message"] == [
        "<permissions",
        "# AGENTS.md ",
        "<environment",
        "<turn_aborte",
        "error: strea",
        "turn aborted",
    ]


def test_the_title_is_what_was_asked_behind_the_editors_context_or_the_name_that_was_given() -> None:
    titles = [item.title for item in items(CODEX / "dialogue.jsonl") if isinstance(item, Session)]

    assert titles == ["", "Which beds have no tulips?", "Tulips for the empty beds"]


def test_parallel_calls_are_joined_by_their_ids_in_whatever_order_they_are_answered() -> None:
    found = [read for read in reads(items(CODEX / "dialogue.jsonl")) if read.event.kind == "tool_response"]
    requests = {read.native_id: read for read in reads(items(CODEX / "dialogue.jsonl"))}
    joined = [
        (read.event.correlation, requests[read.answers].line if read.answers else None, read.event.actor)
        for read in found
    ]

    assert joined == [
        ("call_bulbs", 11, "shell"),
        ("call_beds", 10, "shell"),
        ("call_patch", 23, "apply_patch"),
        ("call_local", 25, "local_shell"),
        ("call_img", 28, "view_image"),
        ("call_unknown", None, "tool"),
    ]


def test_an_output_wrapped_in_json_is_taken_out_and_what_is_told_of_the_run_is_kept() -> None:
    wrapped, plain = [read for read in reads(items(CODEX / "dialogue.jsonl")) if read.event.kind == "tool_response"][:2]

    assert wrapped.event.content == "tulip,2\n"
    assert wrapped.event.payload == {"metadata": {"exit_code": 0, "duration_seconds": 0.1}}
    assert plain.event.content.startswith("1,tulip")


def test_arguments_are_read_where_they_are_json_and_kept_where_they_are_not() -> None:
    payloads = [
        read.event.payload for read in reads(items(CODEX / "dialogue.jsonl")) if read.event.kind == "tool_request"
    ]

    arguments = [payload["arguments"] for payload in payloads if payload]
    assert (arguments[0], arguments[-1]) == ({"command": ["cat", "beds.csv"]}, "{not json")
    assert [payload["tool"] for payload in payloads if payload][2:5] == ["apply_patch", "local_shell", "web_search"]


def test_an_image_in_an_output_becomes_a_blob() -> None:
    (read,) = [read for read in reads(items(CODEX / "dialogue.jsonl")) if read.blobs]

    assert read.event.content == "bed.png\n[image/png, 70 bytes]"
    assert read.blobs[0].media_type == "image/png"


def test_usage_stands_once_on_the_last_event_of_its_answer_wherever_the_count_stands() -> None:
    behind, before = items(CODEX / "dialogue.jsonl"), items(CODEX / "counts-before.jsonl")

    assert [(line, usage["input_tokens"]) for line, usage in usages(behind)] == [(11, 1200), (19, 1300)]
    assert [(line, usage["input_tokens"]) for line, usage in usages(before)] == [(7, 100), (10, 150), (13, 200)]


def test_the_model_is_that_of_the_latest_turn() -> None:
    made = [read.event.payload or {} for read in reads(items(CODEX / "dialogue.jsonl"))]

    assert list(dict.fromkeys(payload["model"] for payload in made if "model" in payload)) == [
        "gpt-5-codex",
        "gpt-5.1-codex",
    ]


def test_a_text_that_only_the_client_tells_is_named_in_the_report_and_so_are_encrypted_thoughts() -> None:
    before = [item for item in items(CODEX / "counts-before.jsonl") if isinstance(item, Noted)]
    dialogue = [item for item in items(CODEX / "dialogue.jsonl") if isinstance(item, Noted)]

    assert [(item.line, item.words[:45]) for item in before] == [
        (15, "1 texts stand in the client's events alone (t"),
        (16, "1 timestamp without a moment that can be read"),
    ]
    assert [(item.line, item.words[:33]) for item in dialogue] == [(17, "1 thoughts are encrypted or empty")]


def test_a_rollout_of_the_clients_events_alone_is_read_from_them() -> None:
    assert shown(items(CODEX / "events-alone.jsonl")) == [
        ("message", "human", "user", "Is the soup ready?"),
        ("thought", "agent", "assistant", "It simmers."),
        ("message", "agent", "assistant", "In ten minutes."),
    ]


def test_a_compaction_is_a_marker_and_its_summary_a_section_over_all_before_it() -> None:
    found = items(CODEX / "compacted.jsonl")
    sections = [item for item in found if isinstance(item, ReadSection)]
    lines = {read.native_id: read for read in reads(found)}

    assert [(item.prose[:12], item.line, item.rolling) for item in sections] == [
        ("Ida wants a ", 5, False),
        ("Another lang", 9, True),
    ]
    assert [(lines[item.to_id].line, lines[item.to_id].event.kind) for item in sections] == [
        (5, "marker"),
        (9, "marker"),
    ]
    assert sections[1].title == "Soup and a gratin are decided."
    assert [read.line for read in reads(found) if read.event.type == SUMMARY] == [5, 9, 10]


def test_a_compaction_without_words_is_a_mark_alone_and_one_the_client_alone_tells_is_too() -> None:
    found = items(CODEX / "compacted.jsonl")
    marks = [(read.line, read.event.type) for read in reads(found) if read.event.kind == "marker"]

    assert marks == [
        (5, "compaction"),
        (9, "compaction"),
        (13, "compaction"),
        (16, "compaction"),
        (17, "compaction.encrypted"),
        (18, "rollback"),
    ]
    assert any(isinstance(item, Noted) and item.line == 13 for item in found)


def test_a_sub_agent_has_a_session_and_a_name_of_its_own_and_no_person_speaks_to_it() -> None:
    found = items(CODEX / "child.jsonl")
    spawned = [read for read in reads(items(CODEX / "parent.jsonl")) if read.event.kind == "tool_response"]

    assert [(kind, actor) for _, kind, actor, _ in shown(found)] == [
        ("agent", "assistant"),
        ("agent", "Pomona"),
        ("system", "shell"),
        ("agent", "Pomona"),
        ("agent", "Pomona"),
    ]
    child = {read.session for read in reads(found)}
    assert [read.event.payload for read in spawned] == [{"agent": {"id": child.pop()}}]
    assert {(read.event.payload or {})["agent"]["parent"] for read in reads(found)} == {
        "5eed0004-0000-7000-8000-000000000004"
    }


def test_older_rollouts_without_envelopes_are_read_and_equal_words_twice_are_two_messages() -> None:
    found = items(CODEX / "bare.jsonl")

    assert [content for _, kind, _, content in shown(found) if kind == "human"] == ["Prune the roses?", "ok", "ok"]
    assert [read.event.claimed_at for read in reads(found)] == [None] * 8
    assert ignored(found) == ["session_meta", "state", "state"]


def test_the_first_version_is_one_document_with_a_session_and_its_items() -> None:
    found = items(CODEX / "document.json")

    assert [(read.event.locator, read.event.content) for read in reads(found)][1] == (
        "items/1:0",
        'local_shell {"cmd": "sow peas"}',
    )
    assert reads(found)[2].answers == reads(found)[1].native_id


def test_one_file_may_hold_two_sessions_and_bad_records_are_refused_by_their_lines() -> None:
    found = items(CODEX / "two-sessions.jsonl")

    assert [read.session[-1] for read in reads(found)] == ["9", "9", "a", "a"]
    assert [item.line for item in found if isinstance(item, Refused)] == [7, 8, 10, 11]
    assert "world_state" in ignored(found)


def test_a_longer_snapshot_gives_the_same_ids_and_words_for_what_was_there(tmp_path: Path) -> None:
    whole = (CODEX / "dialogue.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "rollout.jsonl").write_bytes(b"".join(whole[:14]))
    shorter, longer = reads(items(tmp_path / "rollout.jsonl")), reads(items(CODEX / "dialogue.jsonl"))

    assert [(read.native_id, read.event.content) for read in shorter] == [
        (read.native_id, read.event.content) for read in longer[: len(shorter)]
    ]


def test_a_slice_is_known_by_the_id_in_its_files_name(tmp_path: Path) -> None:
    path = tmp_path / "rollout-2026-05-04T08-00-00-5eed0001-0000-7000-8000-000000000001.jsonl"
    path.write_bytes(b"".join((CODEX / "dialogue.jsonl").read_bytes().splitlines(keepends=True)[8:12]))

    assert {read.session for read in reads(items(path))} == {"5eed0001-0000-7000-8000-000000000001"}


def test_a_record_over_the_limit_leaves_its_mark_in_the_session(tmp_path: Path) -> None:
    lines = (CODEX / "dialogue.jsonl").read_text().splitlines(keepends=True)
    path = tmp_path / "rollout.jsonl"
    path.write_text("".join([*lines[:5], json.dumps({"type": "response_item", "payload": "x" * 9_000_000}), "\n"]))
    found = items(path)

    assert [(item.line, item.marked) for item in found if isinstance(item, Refused)] == [(6, True)]
    assert reads(found)[-1].event.type == "stub"


@pytest.mark.skipif(not os.environ.get("CORPUS_DIR"), reason="needs CORPUS_DIR")
def test_a_real_rollout_is_told_once_and_all_its_tokens_are_counted() -> None:
    path = Path(os.environ["CORPUS_DIR"]) / "codex" / "codex-rollout-short.redacted.jsonl"
    found = items(path)

    assert isinstance(opened(path)[0], Codex)
    assert sum(kind == "human" for _, kind, _, _ in shown(found)) == 1
    assert sum(usage["input_tokens"] for _, usage in usages(found)) == 536834
    assert sum(read.answers is not None for read in reads(found)) == 34
