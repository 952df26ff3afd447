"""Sessions of OpenHands, version 0 and version 1."""

from collections import Counter

import pytest

from chronicle.importers.protocol import Ignored, Item, Noted, Read, ReadSection, Session
from tests.importers.files import DATA, items

OWN = DATA / "openhands"


def reads(found: list[Item]) -> list[Read]:
    return [item for item in found if isinstance(item, Read)]


def shown(found: list[Item]) -> list[tuple[str, str, str]]:
    return [(read.event.kind, read.event.actor, read.event.content) for read in reads(found)]


def test_version_0_becomes_messages_thoughts_requests_and_responses() -> None:
    assert shown(items(OWN / "v0-list.json")) == [
        ("message", "openhands", "You are a gardener's assistant."),
        ("message", "user", "Plan the herb bed.\n[image/png, 70 bytes]"),
        ("thought", "agent", "What is there?"),
        ("tool_request", "agent", 'execute_bash {"command": "ls beds"}'),
        ("tool_request", "agent", 'read_file {"path": "soil.txt"}'),
        ("tool_response", "read_file", "sandy"),
        ("tool_response", "execute_bash", "herbs"),
        ("marker", "openhands", "A herb bed is asked for; the soil is sandy."),
        ("tool_request", "agent", 'browse {"url": "http://garden.invalid/"}'),
        ("tool_response", "browse", "A page of herbs.\n[image/png, 70 bytes]"),
        ("thought", "agent", "Thyme likes sand."),
        ("message", "openhands", "The session was interrupted."),
        ("tool_request", "agent", 'run {"command": "sleep 60"}'),
        ("message", "agent", "Thyme, sage and rosemary."),
    ]


def test_what_the_platform_notes_for_itself_is_counted_by_kind() -> None:
    found = items(OWN / "v0-list.json")

    assert Counter(item.kind for item in found if isinstance(item, Ignored)) == {
        "observation/agent_state_changed": 1,
        "observation/null": 1,
        "observation/think": 1,
    }


@pytest.mark.parametrize("name", ["v0-list.json", "v1.jsonl"])
def test_responses_are_joined_by_call_id_in_any_order_and_by_cause_without_one(name: str) -> None:
    found = reads(items(OWN / name))
    requests = {read.native_id: read.event.correlation for read in found if read.event.kind == "tool_request"}
    joined = [read.event.correlation for read in found if read.answers and requests[read.answers]]

    assert joined == {"v0-list.json": ["call_2", "call_1", "event 9"], "v1.jsonl": ["call_f", "call_s"]}[name]


@pytest.mark.parametrize(
    ("name", "prose"),
    [
        ("v0-list.json", "A herb bed is asked for; the soil is sandy."),
        ("v1.jsonl", "The switch is on; the fuse was not read."),
    ],
)
def test_a_condensation_is_a_section_over_what_it_forgot(name: str, prose: str) -> None:
    found = items(OWN / name)
    (section,) = [item for item in found if isinstance(item, ReadSection)]
    order = [read.native_id for read in reads(found)]
    forgotten = order[order.index(section.from_id or "") : order.index(section.to_id) + 1]

    assert section.prose == prose
    assert len(forgotten) == {"v0-list.json": 6, "v1.jsonl": 8}[name]


def test_usage_of_a_response_with_parallel_calls_stands_once() -> None:
    found = reads(items(OWN / "v0-list.json"))

    assert sum("usage" in (read.event.payload or {}) for read in found) == 1


def test_times_without_a_zone_stay_words() -> None:
    found = items(OWN / "v0-list.json")

    assert all(read.event.claimed_at is None for read in reads(found))
    assert (reads(found)[0].event.payload or {})["timestamp"] == "2026-05-04T08:00:01.250000"
    assert any("without a moment" in item.words for item in found if isinstance(item, Noted))


def test_a_slice_may_begin_with_an_observation() -> None:
    assert shown(items(OWN / "v0-slice.json")) == [
        ("tool_response", "run", "herbs"),
        ("tool_request", "agent", 'browse {"url": "http://garden.invalid/"}'),
        ("tool_response", "browse", "A page of herbs.\n[image/png, 70 bytes]"),
    ]


def test_version_1_becomes_messages_thoughts_requests_and_responses() -> None:
    assert shown(items(OWN / "v1.jsonl")) == [
        ("message", "openhands", "You tend ponds."),
        ("message", "user", "Is the pond pump on?"),
        ("thought", "agent", "A pump has a switch and a fuse."),
        ("thought", "agent", "I check both."),
        ("tool_request", "agent", 'bash {"command": "switch --state"}'),
        ("tool_request", "agent", 'bash {"command": "fuse'),
        ("tool_response", "bash", "Arguments are not JSON."),
        ("tool_response", "bash", "on"),
        ("marker", "openhands", "The switch is on; the fuse was not read."),
        ("tool_response", "bash", "Not near water."),
        ("tool_request", "agent", 'finish {"message": "The pump is on."}'),
        ("message", "agent", "The pump is on."),
    ]


def test_event_files_of_one_folder_are_one_session_known_by_the_folder() -> None:
    found = [item for path in sorted((OWN / "pond" / "events").iterdir()) for item in items(path)]

    assert {item.id for item in found if isinstance(item, Session)} == {"pond"}
    assert [item.event.content for item in reads(found)][:2] == ["You tend ponds.", "Is the pond pump on?"]


def test_the_state_of_an_agent_beside_its_events_is_no_event() -> None:
    assert [item.kind for item in items(OWN / "pond" / "base_state.json") if isinstance(item, Ignored)] == [
        "base state"
    ]
