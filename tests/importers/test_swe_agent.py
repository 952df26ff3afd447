"""Trajectories of SWE-agent and mini-swe-agent."""

import json
from collections import Counter
from pathlib import Path

from chronicle.importers.protocol import Ignored, Item, Noted, Read, Session
from tests.importers.files import DATA, items

OWN = DATA / "swe-agent"


def reads(found: list[Item]) -> list[Read]:
    return [item for item in found if isinstance(item, Read)]


def shown(name: str) -> list[tuple[str, str, str]]:
    return [(read.event.kind, read.event.actor, read.event.content) for read in reads(items(OWN / name))]


def test_the_history_is_read_and_the_steps_that_repeat_it_are_counted() -> None:
    found = items(OWN / "function-calling.traj")

    assert Counter(item.kind for item in found if isinstance(item, Ignored)) == {
        "header": 1,
        "demonstration": 1,
        "trajectory, which repeats the history": 1,
    }
    assert [read.event.content for read in reads(found)].count("I will look at the schedule.") == 1


def test_the_task_is_a_persons_and_titles_the_session() -> None:
    found = items(OWN / "function-calling.traj")

    assert [read.event.content for read in reads(found) if read.event.actor_kind == "human"] == [
        "The valve for the rose bed opens twice each morning. Please fix it."
    ]
    assert [item.title for item in found if isinstance(item, Session)] == [
        "The valve for the rose bed opens twice each morning. Please fix it."
    ]


def test_parallel_calls_are_answered_by_id_out_of_order() -> None:
    found = reads(items(OWN / "function-calling.traj"))
    requests = {read.native_id: read.event.correlation for read in found if read.event.kind == "tool_request"}
    answers = [(read.event.content, requests[read.answers or ""]) for read in found if read.answers]

    assert answers == [("MORNING = (6, 6)\r\n", "call_a"), ("1 passed", "call_c"), ("edited", "call_b")]
    assert requests[found[-1].native_id] == "call_d"


def test_arguments_that_are_no_json_stay_as_they_stand() -> None:
    last = reads(items(OWN / "function-calling.traj"))[-1].event

    assert last.payload == {
        "tool": "submit",
        "arguments": "{broken",
        "usage": {"tokens_sent": 900, "tokens_received": 80, "api_calls": 3},
    }


def test_usage_of_the_run_stands_once() -> None:
    for path in OWN.iterdir():
        found = [read for read in reads(items(path)) if (read.event.payload or {}).get("usage")]

        assert len(found) <= 1


def test_old_observations_given_as_a_users_words_are_responses_paired_by_position() -> None:
    assert shown("old-observations-as-user.traj") == [
        ("message", "swe-agent", "SETTING: a garden shed."),
        ("message", "user", "ISSUE: the rain gauge reads millimetres as inches."),
        ("thought", "primary", "DISCUSSION\nI look first."),
        ("tool_request", "primary", "bash ls\n"),
        ("tool_response", "bash", "gauge.py\n(Open file: n/a)\nbash-$"),
        ("thought", "primary", "I open it."),
        ("tool_request", "primary", "bash cat gauge.py\n"),
    ]


def test_steps_are_read_where_there_is_no_history() -> None:
    found = items(OWN / "steps-only.traj")

    assert [read.event.kind for read in reads(found)] == [
        "thought", "tool_request", "tool_response", "thought", "tool_request",
    ]  # fmt: skip
    assert [item.words for item in found if isinstance(item, Noted)] == ["the run ended as 'exit_cost'"]


def test_mini_swe_agents_commands_are_found_in_its_words_and_answered_by_the_next_message() -> None:
    found = reads(items(OWN / "mini-1.traj.json"))

    assert [(read.event.kind, read.event.actor_kind) for read in found] == [
        ("message", "system"),
        ("message", "human"),
        ("message", "agent"),
        ("tool_request", "agent"),
        ("tool_response", "system"),
        ("message", "agent"),
        ("tool_request", "agent"),
        ("tool_response", "system"),
    ]
    assert (found[3].event.payload or {})["arguments"] == "ls packets | wc -l"
    assert (found[3].event.payload or {})["model"] == "small-model"
    assert found[2].event.claimed_at is not None


def test_mini_swe_agents_tool_calls_are_joined_by_id() -> None:
    assert shown("mini-2.traj.json")[2:] == [
        ("tool_request", "mini-swe-agent", 'bash {"command": "water ferns"}'),
        ("tool_response", "bash", "watered"),
        ("message", "mini-swe-agent", "the ferns are watered"),
    ]


def test_a_longer_snapshot_of_a_run_is_the_same_session_with_the_same_ids(tmp_path: Path) -> None:
    whole = json.loads((OWN / "function-calling.traj").read_text())
    short = tmp_path / "other name.traj"
    short.write_text(json.dumps(whole | {"history": whole["history"][:5], "info": {}}, indent=1))
    before, after = reads(items(short)), reads(items(OWN / "function-calling.traj"))

    assert {read.session for read in before} == {read.session for read in after}
    assert [read.native_id for read in before] == [read.native_id for read in after][: len(before)]
