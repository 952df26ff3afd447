"""The project's own plain form."""

import json
from pathlib import Path

import pytest

from chronicle.errors import BrokenFile
from chronicle.importers import lines
from chronicle.importers.events import PlainEvents
from chronicle.importers.protocol import Item, Read, ReadSection, Refused, Session
from tests.importers.files import EVENTS, items


def reads(found: list[Item]) -> list[Read]:
    return [item for item in found if isinstance(item, Read)]


def test_a_line_is_an_event_field_by_field() -> None:
    first, request, response, private, marker, *_ = reads(items(EVENTS / "small.jsonl"))

    assert (first.session, first.native_id, first.event.content) == (
        "hedge",
        "h1",
        "A hedge along the lane, please. 30 metres.",
    )
    assert first.event.claimed_at is not None
    assert first.event.claimed_at.isoformat() == "2026-05-04T08:00:00+07:00"
    assert request.event.payload == {"tool": "plants.search", "arguments": {"kind": "hornbeam"}}
    assert (response.answers, response.event.correlation, response.event.content) == ("h2", "call_1", "")
    assert private.event.audience == ("Ida", "gardener")
    assert (marker.event.kind, marker.event.type, marker.event.actor_kind) == ("marker", "compaction", "system")


def test_a_summary_stands_for_what_was_said_since_the_summary_before_it() -> None:
    found = items(EVENTS / "small.jsonl")
    ids = [read.native_id for read in reads(found)]
    first, second = [item for item in found if isinstance(item, ReadSection)]

    assert (first.from_id, first.to_id, first.title) == ("h1", ids[4], "A hedge of hornbeam")
    assert (second.from_id, second.to_id) == (ids[5], "h7")
    assert not second.rolling


def test_equal_lines_without_an_id_are_two_events() -> None:
    twice = [read.native_id for read in reads(items(EVENTS / "small.jsonl")) if read.event.content == "Order them."]

    assert len(set(twice)) == 2


def test_a_line_may_name_another_session() -> None:
    found = items(EVENTS / "small.jsonl")

    assert [(item.id, item.title) for item in found if isinstance(item, Session)] == [
        ("hedge", "A hedge along the lane"),
        ("other lane", ""),
    ]
    assert reads(found)[-1].session == "other lane"


def test_each_line_that_is_no_event_is_refused_with_its_reason() -> None:
    refused = {item.line: item.reason for item in items(EVENTS / "refused.jsonl") if isinstance(item, Refused)}
    kinds = "message, thought, tool_request, tool_response, marker, bookkeeping"

    assert [(line, reason.split(";")[0]) for line, reason in refused.items()] == [
        (2, "a summary of no events: nothing stands before it, or since the summary before it"),
        (4, f"kind 'shout' is none of {kinds}"),
        (5, "actor must be given"),
        (6, "a message needs content"),
        (7, "at must be an ISO time with a zone, as 2026-12-04T19:30:00+07:00"),
        (8, "unknown key 'colour'"),
        (9, "key 'content' is given twice in one object"),
        (10, "namespace 'anagrapheus' is reserved"),
        (11, "payload must be a JSON object"),
        (12, "id must be text"),
        (13, "audience must be a list of actors"),
        (14, "schema_version must be a whole number"),
        (15, "a summary needs words"),
    ]


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"kind": "message"}, "no header"),
        ({"anagrapheus.events": True, "session": "s"}, "version True of the form is not known; 1 is"),
        ({"anagrapheus.events": 2, "session": "s"}, "version 2 of the form is not known; 1 is"),
        ({"anagrapheus.events": 1}, "the header names no session"),
        ({"anagrapheus.events": 1, "session": " "}, "the header names no session"),
    ],
)
def test_a_file_without_its_header_is_refused_whole(tmp_path: Path, header: dict[str, object], reason: str) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps(header) + "\n")
    with pytest.raises(BrokenFile, match=reason):
        next(PlainEvents().read(lines.open_file(path)))
