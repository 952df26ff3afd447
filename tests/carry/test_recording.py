"""A log as a recording of the library anagrapheus: its own files come back byte for byte, others can be read by it."""

import json
from pathlib import Path
from typing import Any

import pytest

from chronicle import carry
from chronicle.log import append, read
from chronicle.models import Event, Log
from tests.builders import bookkeeping, log_of, marker, said
from tests.importers.files import DATA
from tests.ingesting import events_of, ingested, only_log

pytestmark = pytest.mark.django_db

LIBRARY = DATA / "anagrapheus"


def recorded(log: Log, folder: Path) -> tuple[carry.Recorded, list[bytes]]:
    done = carry.record(log, folder / "out.recording.jsonl")
    return done, (folder / "out.recording.jsonl").read_bytes().split(b"\n")


@pytest.mark.promise("A28")
@pytest.mark.parametrize(
    ("given", "library"),
    [
        ("run.recording.jsonl", "run.recording.jsonl"),
        ("run.sqlite", "run.recording.jsonl"),
        ("pins-only.recording.jsonl", "pins-only.recording.jsonl"),
    ],
)
def test_what_the_library_wrote_comes_back_byte_for_byte_but_for_the_header(
    given: str, library: str, tmp_path: Path
) -> None:
    log = only_log(ingested(LIBRARY / given))
    done, lines = recorded(log, tmp_path)
    theirs = (LIBRARY / library).read_bytes().split(b"\n")
    assert lines[1:] == theirs[1:], "every line behind the header, seqs that the log renumbered too"
    assert (done.events, done.foreign, done.renumbered, done.refused) == (len(theirs) - 2, 0, 0, [])
    header, its = json.loads(lines[0]), json.loads(theirs[0])
    assert header["anagrapheus.recording"] == its["anagrapheus.recording"] == 1
    assert header.keys() - its.keys() == {"log"}, "free keys: which log, and that it is an export"
    assert b"\r" not in b"".join(lines)


def test_a_log_of_another_origin_is_read_back_by_the_importer(tmp_path: Path) -> None:
    log = log_of(
        [
            said("Plain."),
            said("é as e\u0301", audience=("booking",), payload={"b": [1, 2.5, None], "a": "ÿ"}),
            said("Ours.", namespace="booking", type="Asked", schema_version=3),
            said(r"A NUL \u0000 stays.", text_form="escaped"),
            marker(),
            bookkeeping(),
        ]
    )
    done, lines = recorded(log, tmp_path)
    assert (done.there, done.events, done.foreign, done.refused) == (6, 6, 5, [])
    values = [json.loads(line) for line in lines[1:-1]]
    assert [value["seq"] for value in values] == [1, 2, 3, 4, 5, 6]
    assert {value["envelope"]["namespace"] for value in values[:5]} == {"chronicle"}
    assert values[1]["payload"] == {
        "kind": "message",
        "actor": "Dina",
        "actor_kind": "human",
        "audience": ["booking"],
        "content": "é as é",
        "data": {"a": "ÿ", "b": [1, 2.5, None]},
    }
    assert (values[2]["payload"]["namespace"], values[2]["payload"]["schema_version"]) == ("booking", 3)
    assert values[3]["payload"]["content"] == "A NUL \x00 stays."
    assert values[5]["envelope"]["type"] == "PinsAbandoned"
    report = ingested(tmp_path / "out.recording.jsonl", owner="another")
    assert not report.refused
    again = events_of(report)
    assert [event.event_id for event in again] == [event.event_id for event in read(log)]
    assert [event.actor for event in again[:3]] == ["Dina"] * 3
    assert again[0].content == "Plain."


def test_what_a_recording_has_no_form_for_is_counted_and_named(tmp_path: Path) -> None:
    log = log_of([said(), said(r"A lone \ud800.", text_form="escaped"), said(payload={"é": 1, "e\u0301": 2}), said()])
    done, lines = recorded(log, tmp_path)
    assert (done.events, done.there) == (2, 4)
    assert [seq for seq, _ in done.refused] == [2, 3]
    assert "lone surrogate" in done.refused[0][1]
    assert "one in NFC" in done.refused[1][1]
    assert [json.loads(line)["seq"] for line in lines[1:-1]] == [1, 4]
    assert done.as_json()["kinds"] == {"event": {"written": 2, "of": 4}}


def test_seqs_rise_where_a_log_holds_more_than_its_file(tmp_path: Path) -> None:
    log = only_log(ingested(LIBRARY / "pins-only.recording.jsonl"))
    append(log, [said("And here.")])
    done, lines = recorded(log, tmp_path)
    seqs = [json.loads(line)["seq"] for line in lines[1:-1]]
    assert seqs == sorted(set(seqs))
    assert done.renumbered == 1
    assert Event.objects.filter(log=log).count() == done.events


def test_times_are_written_as_the_library_writes_them(tmp_path: Path) -> None:
    from datetime import UTC, datetime, timedelta, timezone

    whole = datetime(2026, 3, 1, 12, tzinfo=UTC)
    east = datetime(2026, 3, 1, 14, 0, 0, 5, tzinfo=timezone(timedelta(hours=2)))
    log = log_of([said(claimed_at=whole), said(claimed_at=east)])
    _, lines = recorded(log, tmp_path)
    times: list[Any] = [json.loads(line)["envelope"]["created_at"] for line in lines[1:-1]]
    assert times == ["2026-03-01T12:00:00Z", "2026-03-01T12:00:00.000005Z"]
