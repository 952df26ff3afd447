"""Claude Code transcripts: who said what, what answers what, and where a compaction ends a section."""

import json
from collections import Counter
from pathlib import Path

import pytest

from chronicle.importers import lines
from chronicle.importers.claude_code import MICROCOMPACTION, SUMMARY, ClaudeCode
from chronicle.importers.protocol import Ignored, Item, Noted, Read, ReadSection, Refused, Session
from tests.importers.files import CLAUDE, items


def reads(found: list[Item]) -> list[Read]:
    return [item for item in found if isinstance(item, Read)]


def shown(found: list[Item]) -> list[tuple[str, str, str, str]]:
    return [(read.event.kind, read.event.actor_kind, read.event.actor, read.event.content) for read in reads(found)]


def written(tmp_path: Path, *records: dict[str, object]) -> list[Item]:
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return items(path)


def test_a_dialogue_becomes_messages_thoughts_requests_and_responses_in_order() -> None:
    assert shown(items(CLAUDE / "resume-a.jsonl")) == [
        ("message", "human", "user", "Count the apple trees in trees.csv, please."),
        ("thought", "agent", "assistant", "The file is small; reading it is enough."),
        ("message", "agent", "assistant", "I will look at the file."),
        ("tool_request", "agent", "assistant", 'Read {"file_path": "/home/ida/orchard/trees.csv"}'),
        ("tool_response", "system", "Read", "     1→kind,count\n     2→apple,41\n     3→pear,12"),
        ("message", "agent", "assistant", "There are 41 apple trees."),
    ]


def test_only_what_a_person_typed_is_human() -> None:
    found = shown(items(CLAUDE / "roles.jsonl"))
    human = [content for _, actor_kind, _, content in found if actor_kind == "human"]
    client = [content for kind, _, actor, content in found if actor == "claude-code"]

    assert human == [
        "Which trees should be pruned first?",
        "a bare string as message",
        "No time zone on this one.",
        "No time at all.",
        "Time runs backwards here.",
        "A record without a uuid.",
    ]
    assert [content[:12] for content in client] == [
        "Caveat: The ",
        "<command-nam",
        "<system-remi",
        "<bash-input>",
        "<task-notifi",
        "API Error: 5",
        "No response ",
        "<local-comma",
    ]


def test_what_is_no_event_is_counted_by_kind() -> None:
    ignored = Counter(item.kind for item in items(CLAUDE / "roles.jsonl") if isinstance(item, Ignored))

    assert ignored == {
        "summary": 2,
        "queue-operation": 1,
        "progress/hook_progress": 1,
        "system/turn_duration": 1,
        "hologram": 1,
        "user/without content": 2,
        "assistant/without content": 2,
    }


def test_a_summary_record_titles_the_session_its_leaf_is_in_and_no_other() -> None:
    titles = [item.title for item in items(CLAUDE / "roles.jsonl") if isinstance(item, Session)]

    assert titles == ["", "Which trees should be pruned first?", "Pruning plan for the old trees"]


@pytest.mark.promise("K32")
def test_time_is_what_the_record_claims_or_none_and_never_moves_an_event() -> None:
    last = reads(items(CLAUDE / "roles.jsonl"))[-4:]

    assert [read.event.claimed_at and read.event.claimed_at.isoformat() for read in last] == [
        None,
        None,
        "2026-05-01T08:00:00+00:00",
        "2026-05-04T08:00:24+00:00",
    ]
    assert last[0].event.payload == {"timestamp": "2026-05-04T09:00:00"}


@pytest.mark.promise("K32")
@pytest.mark.parametrize("stamp", ["99999-13-45", "2026-05-04T09:00:00", "", 1777885200, ["now"]])
def test_a_time_that_cannot_be_read_is_noted_with_its_line_and_kept(tmp_path: Path, stamp: object) -> None:
    good = {"type": "user", "sessionId": "s", "timestamp": "2026-05-04T09:00:00Z", "message": {"content": "Words."}}
    records = [good | {"uuid": str(number)} | ({"timestamp": stamp} if number > 1 else {}) for number in range(9)]
    path = tmp_path / "times.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    found = items(path)

    assert [read.event.claimed_at is None for read in reads(found)] == [False] * 2 + [True] * 7
    assert reads(found)[-1].event.payload == {"timestamp": stamp}
    (noted,) = [item for item in found if isinstance(item, Noted)]
    assert noted.line == 3
    assert noted.words.startswith("7 timestamps without a moment that can be read (line 3, 4, 5, 6, 7 and so on)")


def test_parallel_calls_are_joined_by_id_however_their_results_are_ordered() -> None:
    found = reads(items(CLAUDE / "parallel.jsonl"))
    requests = {read.native_id: read.event for read in found if read.event.kind == "tool_request"}
    answers = {read.event.correlation: read for read in found if read.event.kind == "tool_response"}

    assert list(answers) == ["toolu_lost", "toolu_t", "toolu_g", "toolu_l"]
    for call, tool in (("toolu_t", "Bash"), ("toolu_g", "Grep"), ("toolu_l", "Bash")):
        assert requests[answers[call].answers or ""].correlation == call
        assert answers[call].event.actor == tool
    assert answers["toolu_lost"].answers is None
    assert answers["toolu_lost"].event.actor == "tool"
    assert [event.correlation for event in requests.values()] == ["toolu_l", "toolu_t", "toolu_g", "toolu_never"]
    assert answers["toolu_l"].event.payload == {"is_error": True}
    assert answers["toolu_t"].event.payload == {"result": {"interrupted": False, "code": 0}}


def test_usage_stands_once_for_a_message_on_its_last_record() -> None:
    usage = [
        (read.event.payload["message"], read.event.payload["usage"]["output_tokens"])
        for read in reads(items(CLAUDE / "parallel.jsonl"))
        if read.event.payload and "usage" in read.event.payload
    ]

    assert usage == [("msg_p1", 55), ("msg_p2", 5)]


def test_a_nested_sub_agent_speaks_under_its_own_name_in_the_session_that_called_it() -> None:
    found = reads(items(CLAUDE / "subagent-nested.jsonl"))
    inner = [read for read in found if read.event.payload and "agent" in read.event.payload]

    assert {read.session for read in found} == {"c0ffee07-0000-4000-8000-000000000007"}
    assert [(read.event.actor_kind, read.event.actor, read.event.kind) for read in inner] == [
        ("agent", "assistant", "message"),
        ("agent", "reviewer", "tool_request"),
        ("system", "Read", "tool_response"),
        ("agent", "reviewer", "message"),
        ("agent", "agent-ffff111", "message"),
    ]
    assert [read.event.payload["agent"]["call"] for read in inner if read.event.payload] == [
        "toolu_task1",
        "toolu_task1",
        "toolu_task1",
        "toolu_task1",
        "toolu_unknown",
    ]
    assert [read.native_id for read in inner][:2] == [
        "aaaaaaaa-0000-4000-8000-000000000001:0",
        "aaaaaaaa-0000-4000-8000-000000000002:0",
    ]


def test_a_sub_agents_own_file_belongs_to_its_parents_session() -> None:
    session = "c0ffee08-0000-4000-8000-000000000008"
    found = items(CLAUDE / "project" / session / "subagents" / "agent-e4f5a6b.jsonl")

    assert {read.session for read in reads(found)} == {session}
    assert [(kind, actor_kind, actor) for kind, actor_kind, actor, _ in shown(found)] == [
        ("message", "agent", "assistant"),
        ("tool_request", "agent", "scout"),
        ("tool_response", "system", "Glob"),
        ("message", "agent", "scout"),
    ]
    assert {str(read.event.payload and read.event.payload["agent"]) for read in reads(found)} == {
        "{'id': 'e4f5a6b', 'call': 'toolu_task2'}"
    }


def test_a_sub_agents_file_without_its_parents_beside_it_is_named_by_its_id(tmp_path: Path) -> None:
    session = "c0ffee08-0000-4000-8000-000000000008"
    copy = tmp_path / "subagents" / "agent-e4f5a6b.jsonl"
    copy.parent.mkdir()
    copy.write_bytes((CLAUDE / "project" / session / "subagents" / "agent-e4f5a6b.jsonl").read_bytes())

    assert {actor for _, _, actor, _ in shown(items(copy))} == {"assistant", "agent-e4f5a6b", "Glob"}


def test_an_image_leaves_its_digest_type_and_size_where_it_stood() -> None:
    found = reads(items(CLAUDE / "image.jsonl"))
    with_image = [read for read in found if read.blobs]
    digest = with_image[0].blobs[0].digest

    assert [read.event.kind for read in with_image] == ["message", "tool_response"]
    for read in with_image:
        (blob,) = read.blobs
        assert read.event.payload is not None
        assert read.event.payload["attachments"] == [{"attachment": digest, "media_type": "image/png", "size": 76}]
        assert blob.data.startswith(b"\x89PNG")
        assert "iVBOR" not in json.dumps(read.event.payload)
    assert with_image[1].event.content == "[image/png, 76 bytes]\n2 by 2 pixels"


def test_an_image_that_cannot_be_decoded_stays_in_its_payload() -> None:
    (unread,) = [
        read for read in reads(items(CLAUDE / "image.jsonl")) if read.event.type == "block.image" and not read.blobs
    ]

    assert unread.event.payload is not None
    assert unread.event.payload["block"]["source"]["data"] == "not base64 at all!"


def test_a_compaction_is_a_marker_and_its_summary_a_section_that_ends_there() -> None:
    found = items(CLAUDE / "compaction.jsonl")
    ids = [read.native_id for read in reads(found)]
    markers = [read for read in reads(found) if read.event.kind == "marker"]
    first, second = [item for item in found if isinstance(item, ReadSection)]

    assert [read.event.type for read in markers] == ["compaction", MICROCOMPACTION, "compaction"]
    assert [first.to_id, second.to_id] == [markers[0].native_id, markers[2].native_id]
    assert (first.rolling, second.rolling) == (False, True)
    assert first.title == "Ida asked how many apple trees trees.csv lists."
    assert markers[0].event.payload == {
        "compactMetadata": {"trigger": "auto", "preTokens": 150000},
        "logicalParentUuid": ids[5].partition(":")[0],
    }
    summaries = [read.event for read in reads(found) if read.event.type == SUMMARY]
    assert [event.actor_kind for event in summaries] == ["system", "system"]
    assert [event.content for event in summaries] == [first.prose, second.prose]


def test_a_summary_without_its_events_stays_an_event_and_one_without_a_boundary_ends_before_itself() -> None:
    found = items(CLAUDE / "slice.jsonl")
    (noted,) = [item for item in found if isinstance(item, Noted)]
    (section,) = [item for item in found if isinstance(item, ReadSection)]

    assert noted.line == 1
    assert section.to_id == reads(found)[2].native_id


def test_a_sub_agents_compaction_is_no_section_of_its_session(tmp_path: Path) -> None:
    aside = {"sessionId": "s", "isSidechain": True, "agentId": "a1"}
    found = written(
        tmp_path,
        {"type": "user", "uuid": "u1", "message": {"content": "Hello."}, "sessionId": "s"},
        {"type": "system", "subtype": "compact_boundary", "uuid": "u2", "content": "Conversation compacted", **aside},
        {"type": "user", "uuid": "u3", "isCompactSummary": True, "message": {"content": "Continued."}, **aside},
    )

    assert [read.event.type for read in reads(found)] == ["", "subagent.compaction", SUMMARY]
    assert not [item for item in found if isinstance(item, ReadSection)]


def test_interleaved_sessions_are_told_apart() -> None:
    found = reads(items(CLAUDE / "interleaved.jsonl"))
    sessions = Counter(read.session for read in found)

    assert sorted(sessions.values()) == [8, 8]
    assert all(read.event.content.startswith("First") == read.session.startswith("c0ffee03") for read in found)


def test_a_longer_snapshot_begins_with_the_events_of_the_shorter() -> None:
    short, long = reads(items(CLAUDE / "resume-a.jsonl")), reads(items(CLAUDE / "resume-b.jsonl"))

    assert [read.native_id for read in long][: len(short)] == [read.native_id for read in short]
    assert len(long) == len(short) + 2


def test_a_line_too_long_leaves_a_stub_in_its_place(tmp_path: Path) -> None:
    long = {"sessionId": "s", "type": "user", "message": {"content": "x" * 9_000_000}, "uuid": "u2"}
    found = written(
        tmp_path,
        {"type": "user", "uuid": "u1", "message": {"content": "Before."}, "sessionId": "s"},
        long,
        {"type": "user", "uuid": "u3", "message": {"content": "After."}, "sessionId": "s"},
    )
    stub = reads(found)[1]

    assert [read.native_id for read in reads(found)] == ["u1:0", "u2:0", "u3:0"]
    assert stub.event.type == "stub"
    length = len(json.dumps(long)) + 1
    assert stub.event.content == f"[a line of {length:,} bytes is over the limit of 8,388,608; none of it was read]"
    assert [(item.line, item.marked) for item in found if isinstance(item, Refused)] == [(2, True)]


def test_an_unknown_block_is_kept_whole(tmp_path: Path) -> None:
    block = {"type": "hologram", "shape": "apple", "signature": "x"}
    found = written(tmp_path, {"type": "assistant", "uuid": "u1", "sessionId": "s", "message": {"content": [block, 7]}})

    assert [(read.event.content, read.event.type) for read in reads(found)] == [
        ("[hologram]", "block.hologram"),
        ("[a block of no known kind]", "block.unknown"),
    ]
    assert reads(found)[0].event.payload == {"block": {"type": "hologram", "shape": "apple"}}


def test_long_arguments_stand_whole_in_the_payload_and_the_content_says_how_long(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "t", "name": "Write", "input": {"content": "y" * 5000}}
    (read,) = reads(
        written(tmp_path, {"type": "assistant", "uuid": "u1", "sessionId": "s", "message": {"content": [call]}})
    )

    assert read.event.payload == {"tool": "Write", "arguments": {"content": "y" * 5000}}
    assert read.event.content.endswith("… [5,021 characters, whole in the payload]")


def test_a_record_without_a_uuid_has_an_id_of_its_text_and_its_count(tmp_path: Path) -> None:
    record = {"type": "user", "sessionId": "s", "message": {"content": "Again."}}
    ids = [read.native_id for read in reads(written(tmp_path, record, record))]

    assert len(set(ids)) == 2
    assert ids[0].replace(".1:", ".2:") == ids[1]


def test_one_line_longer_than_the_head_is_known_by_its_marks(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    record = {"parentUuid": None, "isSidechain": False, "sessionId": "s", "type": "user", "uuid": "u1"}
    path.write_text(json.dumps(record | {"message": {"content": "x" * 480_000}}, separators=(",", ":")))

    assert [len(read.event.content) for read in reads(items(path))] == [480_000]


@pytest.mark.parametrize(
    "text",
    [
        '{"sessionId": "s", "messages": [{"type": "user", "content": "hi"}]}',
        '{\n  "sessionId": "s",\n  "messages": [\n    {"type": "user"}\n  ]\n}',
        '{"type": "session_meta", "payload": {"id": "s"}}\n',
        '[{"role": "user", "content": "hi"}]',
        '{"type": "user"}\n{"type": "assistant"}\n',
        "sessionId uuid type user",
    ],
)
def test_what_only_looks_like_a_transcript_is_not_taken_for_one(tmp_path: Path, text: str) -> None:
    (tmp_path / "other").write_text(text)

    assert not ClaudeCode().sniff(lines.open_file(tmp_path / "other"))


def test_what_a_person_typed_while_the_agent_worked_is_theirs_and_what_the_client_added_is_the_clients() -> None:
    found = items(CLAUDE / "attachments.jsonl")
    events = [item.event for item in found if isinstance(item, Read)]
    said = [(event.actor_kind, event.type, event.content) for event in events if event.type.startswith("attachment")]

    assert said == [
        (
            "system",
            "attachment.nested_memory",
            '[attachment.nested_memory] {"type": "nested_memory", "path": "orchard/NOTES.md", '
            '"content": {"path": "orchard/NOTES.md", "content": "Rows run north to south."}}',
        ),
        ("human", "attachment.queued_command", "Skip the pear trees, please."),
        ("human", "attachment.queued_command", "And look at this one."),
        ("system", "attachment.queued_command", "<task-notification><status>completed</status></task-notification>"),
        ("system", "attachment.queued_command", "The other gardener is done."),
        ("system", "attachment.file", said[5][2]),
        (
            "system",
            "attachment.todo_reminder",
            '[attachment.todo_reminder] {"type": "todo_reminder", "content": [], "itemCount": 0}',
        ),
    ]
    assert [item.kind for item in found if isinstance(item, Ignored)] == ["attachment/without content"]
    blobs = [blob for item in found if isinstance(item, Read) for blob in item.blobs]
    assert [(blob.media_type, blob.data[:4]) for blob in blobs] == [("image/png", b"\x89PNG")] * 2
    assert "base64" not in str([event.payload for event in events]) and blobs[1].digest in said[5][2]
