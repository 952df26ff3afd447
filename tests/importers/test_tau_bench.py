"""tau-bench: a session for each task and trial, a user that is no human, a reward at the end."""

from tests.importers.files import DATA, items
from tests.importers.test_openai_chat import reads, sessions, shown

RESULTS = DATA / "tau-bench" / "results.json"


def test_each_trial_of_a_task_is_a_session_of_its_own() -> None:
    found = sessions(items(RESULTS))

    assert [session.partition("@")[0] for session in found] == ["0-0", "0-1", "1-0"]
    assert len(set(found)) == 3


def test_the_user_is_simulated_and_nobody_is_human() -> None:
    found = items(RESULTS)

    assert ("message", "agent", "simulated user", "Please move my lemon tree.") in shown(found)
    assert not [read for read in reads(found) if read.event.actor_kind == "human"]


def test_a_run_ends_with_its_reward_and_what_it_was_given_for() -> None:
    last = [read for read in reads(items(RESULTS)) if read.event.type == "result"]

    assert [read.event.content for read in last] == ["reward 1.0", "reward 0.0", "reward 0.0"]
    assert last[0].event.payload is not None
    assert last[0].event.payload["info"]["user_cost"] == 0.01


def test_the_second_version_is_read_with_its_calls() -> None:
    found = reads(items(DATA / "tau-bench" / "simulations.json"))

    assert [(read.event.kind, read.event.content) for read in found][2:] == [
        ("tool_request", 'open_window {"bay": 3}'),
        ("tool_response", "open"),
        ("message", "reward 1.0"),
    ]
    assert found[3].answers == found[2].native_id
