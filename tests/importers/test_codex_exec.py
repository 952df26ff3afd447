"""The stream of `codex exec --json`: items that begin and complete, and the older numbered messages."""

from pathlib import Path

from chronicle.importers.protocol import Ignored, Item, Noted, Read, Refused, Session
from tests.importers.files import DATA, items

EXEC = DATA / "codex-exec"


def reads(found: list[Item]) -> list[Read]:
    return [item for item in found if isinstance(item, Read)]


def payloads(found: list[Item], kind: str) -> list[dict[str, object]]:
    return [dict(read.event.payload or {}) for read in reads(found) if read.event.kind == kind]


def test_a_request_stands_where_its_item_began_and_its_response_where_it_completed() -> None:
    found = {read.native_id: read for read in reads(items(EXEC / "stream.jsonl"))}
    joined = [(read.line, found[read.answers].line, read.event.correlation) for read in found.values() if read.answers]

    assert joined == [
        (7, 5, "item_2"),
        (8, 4, "item_1"),
        (10, 10, "item_4"),
        (12, 11, "item_5"),
        (14, 13, "item_6"),
        (15, 15, "item_7"),
    ]


def test_an_item_that_never_completes_is_a_request_alone_and_the_report_says_so() -> None:
    found = items(EXEC / "stream.jsonl")

    assert [read.line for read in reads(found) if read.event.kind == "tool_request"][-1] == 22
    assert [item.words for item in found if isinstance(item, Noted)] == [
        "1 items began and did not complete in this stream"
    ]


def test_calls_of_every_kind_name_their_tool_and_what_came_of_them() -> None:
    found = items(EXEC / "stream.jsonl")

    assert [payload["tool"] for payload in payloads(found, "tool_request")] == [
        "command_execution",
        "command_execution",
        "file_change",
        "pantry.find",
        "web_search",
        "spawn_agent",
        "command_execution",
    ]
    assert payloads(found, "tool_response")[0] == {"exit_code": 0, "status": "completed"}
    assert payloads(found, "tool_response")[-1]["agent"] == {"id": "5eed1002-0000-7000-8000-000000000002"}


def test_a_turns_usage_stands_on_its_last_event() -> None:
    used = [read.line for read in reads(items(EXEC / "stream.jsonl")) if "usage" in (read.event.payload or {})]

    assert used == [18]


def test_errors_are_the_clients_and_lists_of_things_to_do_the_agents() -> None:
    found = [(r.line, r.event.actor_kind, r.event.type) for r in reads(items(EXEC / "stream.jsonl")) if r.event.type]

    assert found == [
        (6, "agent", "todo_list"),
        (16, "system", "error"),
        (17, "agent", "todo_list"),
        (20, "system", "error"),
        (23, "system", "turn.failed"),
    ]


def test_a_second_run_of_a_thread_is_more_of_the_same_session_though_its_ids_begin_again() -> None:
    first, second = reads(items(EXEC / "stream.jsonl")), reads(items(EXEC / "resumed.jsonl"))

    assert {read.session for read in first} == {read.session for read in second}
    assert not {read.native_id for read in first} & {read.native_id for read in second}


def test_a_longer_stream_gives_the_same_ids_for_what_was_there(tmp_path: Path) -> None:
    for name, count in (("stream.jsonl", 7), ("messages.jsonl", 6)):
        whole = (EXEC / name).read_bytes().splitlines(keepends=True)
        (tmp_path / name).write_bytes(b"".join(whole[:count]))
        shorter, longer = reads(items(tmp_path / name)), reads(items(EXEC / name))

        assert [(read.session, read.native_id) for read in shorter] == [
            (read.session, read.native_id) for read in longer[: len(shorter)]
        ]


def test_a_stream_from_between_the_dialects_is_read() -> None:
    found = items(EXEC / "created.jsonl")

    assert [(read.event.kind, read.event.content) for read in reads(found)] == [
        ("thought", "It is raining."),
        ("tool_request", 'command_execution {"command": "ls"}'),
        ("tool_response", "coat\n"),
        ("message", "Take the coat."),
    ]


def test_the_older_messages_hold_the_prompt_and_are_joined_by_their_call_ids() -> None:
    found = items(EXEC / "messages.jsonl")
    lines = {read.native_id: read.line for read in reads(found)}

    assert [read.event.content for read in reads(found) if read.event.actor_kind == "human"] == ["Count the ducks."]
    assert [item.title for item in found if isinstance(item, Session)][-1] == "Count the ducks."
    assert [(read.line, lines[read.answers]) for read in reads(found) if read.answers] == [
        (9, 7),
        (10, 6),
        (14, 13),
        (16, 15),
    ]
    assert [read.event.content for read in reads(found) if read.event.kind == "tool_response"] == [
        "no geese",
        "5 ducks\n",
        "nothing",
        "Success.",
    ]


def test_the_older_messages_count_tokens_once_and_deltas_never() -> None:
    found = items(EXEC / "messages.jsonl")
    made = [(read.line, dict(read.event.payload or {})) for read in reads(found)]
    used = [(line, payload["usage"]["input_tokens"]) for line, payload in made if "usage" in payload]

    assert used == [(7, 500), (19, 10)]
    assert sum(item.kind.endswith("_delta") for item in found if isinstance(item, Ignored)) == 2
    assert [item.line for item in found if isinstance(item, Refused)] == [23]
