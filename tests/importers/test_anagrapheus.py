"""Logs of the library anagrapheus: the recording's header, the database's chronicle, and what both give."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from chronicle.errors import BrokenFile, UnknownFormat
from chronicle.importers import lines, registry
from chronicle.importers.anagrapheus import Anagrapheus
from chronicle.importers.protocol import Item, Noted, Read, ReadSection, Refused
from tests.importers.files import ANAGRAPHEUS, items

RECORDING = ANAGRAPHEUS / "run.recording.jsonl"
DATABASE = ANAGRAPHEUS / "run.sqlite"


def reads(found: list[Item]) -> list[Read]:
    return [item for item in found if isinstance(item, Read)]


def sections(found: list[Item]) -> list[ReadSection]:
    return [item for item in found if isinstance(item, ReadSection)]


def changed(tmp_path: Path, *statements: str) -> Path:
    """A copy of the database with some statements run on it."""
    copy = tmp_path / "changed.sqlite"
    shutil.copy(DATABASE, copy)
    with closing(sqlite3.connect(copy)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()
    return copy


def refusal(path: Path) -> str:
    """What is said of a file that is refused before its first item."""
    with pytest.raises(BrokenFile) as broken:
        next(Anagrapheus().read(lines.open_file(path)))
    return str(broken.value)


@pytest.mark.promise("A28")
@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (b"", "empty; a recording begins with its header"),
        (b"\n", "empty; a recording begins with its header"),
        (b'{"seq":1}\n', 'no header; a recording begins with {"anagrapheus.recording":1}'),
        (b'{"anagrapheus.recording":true}\n', "version True of a recording is not known; 1 is"),
        (b'{"anagrapheus.recording":1.0}\n', "version 1.0 of a recording is not known; 1 is"),
        (b'{"anagrapheus.recording":"1"}\n', "version '1' of a recording is not known; 1 is"),
        (b'{"anagrapheus.recording":2}\n', "version 2 of a recording is not known; 1 is"),
        (b'{"anagrapheus.recording":null}\n', "version None of a recording is not known; 1 is"),
    ],
)
def test_a_recording_without_its_header_of_version_1_is_refused_whole(
    tmp_path: Path, header: bytes, reason: str
) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_bytes(header + b"\n".join(RECORDING.read_bytes().splitlines()[1:]) if header.strip() else header)

    assert refusal(path) == reason


@pytest.mark.promise("A28")
def test_a_recording_ends_its_lines_with_lf_alone() -> None:
    assert b"\r" not in RECORDING.read_bytes()
    assert len(reads(items(RECORDING))) == 197


def test_a_recording_without_a_header_is_known_for_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "headless.jsonl"
    path.write_bytes(b"".join(RECORDING.read_bytes().splitlines(keepends=True)[1:]))

    assert registry.importer_for(lines.open_file(path)).name == "anagrapheus"


@pytest.mark.parametrize("path", [RECORDING, DATABASE], ids=["recording", "database"])
def test_events_keep_their_ids_seqs_types_and_payloads(path: Path) -> None:
    found = reads(items(path))
    second = found[1].event

    assert [read.seq for read in found] == list(range(1, 198))
    assert (second.namespace, second.type, second.actor, second.actor_kind, second.kind) == (
        "negotiation",
        "Offered",
        "Union",
        "agent",
        "message",
    )
    assert second.payload == {"speaker": "Union", "item": "visa fee", "amount": 599}
    assert str(second.event_id) == found[1].native_id == "01a22e1c-0a95-7783-bc7c-b5135de40dd7"
    assert found[0].event.content == "We can live with 669 for the data transfer clause."
    pins = [read.event for read in found if read.event.kind == "bookkeeping"]
    assert len(pins) == 96
    assert {(event.namespace, event.actor_kind) for event in pins} == {("anagrapheus", "system")}


def test_a_recording_and_a_database_of_one_run_are_one_session_with_the_same_content() -> None:
    recorded, stored = reads(items(RECORDING)), reads(items(DATABASE))

    assert {read.session for read in recorded} == {read.session for read in stored}
    assert [(read.native_id, read.event.content, read.event.payload) for read in recorded] == [
        (read.native_id, read.event.content, read.event.payload) for read in stored
    ]


def test_the_type_that_ends_every_section_is_a_marker() -> None:
    markers = [read for read in reads(items(DATABASE)) if read.event.kind == "marker"]

    assert {read.event.type for read in markers} == {"RoundClosed"}
    assert [read.seq for read in markers][:3] == [19, 35, 59]


def test_sections_keep_generations_pins_and_units() -> None:
    found = sections(items(DATABASE))
    ids = {read.native_id: read.seq for read in reads(items(DATABASE))}
    slot = [section for section in found if ids[section.to_id] == 78]

    assert len(found) == 18
    assert [section.generation for section in slot] == [1, 2, 3]
    assert [ids[section.from_id or ""] for section in slot] == [69, 69, 69]
    assert [len(section.pins) for section in slot] == [1, 1, 0]
    assert all(ids[section.unit_id or ""] == ids[section.to_id] for section in found)


@pytest.mark.promise("DA1")
def test_an_inverted_range_refuses_the_file(tmp_path: Path) -> None:
    path = changed(tmp_path, "UPDATE chronicle_sections SET from_seq = 35, to_seq = 20 WHERE section_id = '20-35'")

    assert refusal(path) == "section '20-35': its range is inverted, 35 to 20"


@pytest.mark.promise("DA2")
def test_a_section_past_the_end_refuses_the_file(tmp_path: Path) -> None:
    path = changed(tmp_path, "UPDATE chronicle_sections SET to_seq = 220 WHERE section_id = '176-193'")

    assert refusal(path) == "section '176-193' goes past the log, which holds 1 to 197"


@pytest.mark.promise("DA2")
def test_sections_over_an_empty_log_refuse_the_file(tmp_path: Path) -> None:
    assert "goes past the log, which holds 1 to 0" in refusal(changed(tmp_path, "DELETE FROM events"))


@pytest.mark.promise("DA3")
@pytest.mark.parametrize(
    ("gone", "reason"),
    [
        ("1-19", "section 20-35: events 1 to 19 are in no section"),
        ("36-59", "section 60-68: events 36 to 59 before it are in no section"),
    ],
)
def test_a_hole_in_the_chronicle_refuses_the_file(tmp_path: Path, gone: str, reason: str) -> None:
    path = changed(tmp_path, f"DELETE FROM chronicle_sections WHERE section_id = '{gone}'")

    assert refusal(path) == reason


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("SET prose = '  ' WHERE section_id = '20-35'", "section '20-35': its prose is empty"),
        ("SET unit = 3 WHERE section_id = '20-35'", "section '20-35': its unit 3 is outside its range"),
        ("SET from_seq = 30 WHERE section_id = '36-59'", "section 30-59 overlaps 20-35"),
        ("SET supersedes = '9-9' WHERE section_id = '60-68#2'", "'9-9', which is not there"),
        ("SET supersedes = '69-78' WHERE section_id = '69-78#3'", "'69-78' is superseded already"),
        ("SET supersedes = '1-19' WHERE section_id = '60-68#2'", "covers another range than '1-19'"),
        ("SET supersedes = '69-78#3' WHERE section_id = '69-78'", "supersedes itself in a circle"),
        ("SET supersedes = NULL WHERE section_id = '60-68#2'", "neither supersedes the other"),
        ("SET from_seq = 1.5 WHERE section_id = '1-19'", ""),
    ],
)
def test_a_chronicle_that_no_log_can_hold_refuses_the_file(tmp_path: Path, statement: str, reason: str) -> None:
    try:
        path = changed(tmp_path, f"UPDATE chronicle_sections {statement}")
    except sqlite3.IntegrityError:  # a STRICT table keeps a number that is not whole out by itself
        assert not reason
        return

    assert reason in refusal(path)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (
            "UPDATE schema_versions SET version = 2 WHERE component = 'timeline'",
            "version 2 of timeline is not known; 1 is",
        ),
        ("UPDATE schema_versions SET version = 7 WHERE component = 'chronicle'", "version 7 of chronicle"),
        ("DELETE FROM schema_versions WHERE component = 'timeline'", "names no version of the timeline"),
    ],
)
def test_another_schema_version_refuses_the_file(tmp_path: Path, statement: str, reason: str) -> None:
    assert reason in refusal(changed(tmp_path, statement))


def test_a_database_is_left_as_it_was(tmp_path: Path) -> None:
    copy = tmp_path / "run.sqlite"
    shutil.copy(DATABASE, copy)
    copy.chmod(0o400)
    items(copy)

    assert copy.read_bytes() == DATABASE.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["run.sqlite"]


def test_another_database_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE trees (kind TEXT)")
        database.execute("CREATE VIEW events AS SELECT 1 AS seq")
        database.commit()

    assert not Anagrapheus().sniff(lines.open_file(path))
    assert "it has no table events" in refusal(path)


@pytest.mark.parametrize("size", [100, 5000, 70_000])
def test_a_database_that_was_cut_is_said_to_be_damaged(tmp_path: Path, size: int) -> None:
    path = tmp_path / "cut.sqlite"
    path.write_bytes((ANAGRAPHEUS / "run.sqlite").read_bytes()[:size])
    with pytest.raises(UnknownFormat, match="a damaged SQLite file, cut or overwritten"):
        registry.importer_for(lines.open_file(path))


def test_a_virtual_table_is_no_table_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "virtual.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE VIRTUAL TABLE events USING fts5(seq, payload)")
        database.execute("CREATE TABLE schema_versions (component TEXT, version INTEGER)")
        database.commit()

    assert not Anagrapheus().sniff(lines.open_file(path))


def test_a_bad_row_is_refused_by_its_seq(tmp_path: Path) -> None:
    path = changed(
        tmp_path,
        "UPDATE events SET payload = '{' WHERE seq = 3",
        "UPDATE events SET event_id = 'none' WHERE seq = 195",
        "INSERT INTO pin_scratch VALUES ('u', 'p1:model_call:00', 'model_call', 'null', 1, '')",
    )
    found = items(path)

    assert [item.line for item in found if isinstance(item, Refused)] == [3, 195]
    assert len(reads(found)) == 195
    assert [item.words for item in found if isinstance(item, Noted)] == [
        "1 pins of units that were still open were left out"
    ]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"seq": 0}, "seq must be a whole number from 1"),
        ({"seq": True}, "seq must be a whole number from 1"),
        ({"payload": []}, "payload must be a JSON object"),
        ({"envelope": None}, "not a stored event"),
        ({"event_id": "x"}, "event_id is not a UUID"),
        ({"causation_id": "x"}, "causation_id is not a UUID"),
        ({"schema_version": 1.0}, "schema_version must be a whole number from 1"),
        ({"namespace": ""}, "namespace must be given"),
        ({"created_at": "2026-11-30T20:18:39"}, "created_at must be an ISO time with a zone"),
    ],
)
def test_a_line_that_is_no_stored_event_is_refused(tmp_path: Path, change: dict[str, object], reason: str) -> None:
    header, first, *_ = RECORDING.read_text().splitlines()
    event = json.loads(first)
    for key, value in change.items():
        (event if key in event else event["envelope"])[key] = value
    path = tmp_path / "recording.jsonl"
    path.write_text(f"{header}\n{json.dumps(event)}\n{first}\n")
    refused, read = items(path)[1], reads(items(path))[0]

    assert isinstance(refused, Refused)
    assert (refused.line, read.line) == (2, 3)
    assert reason in refused.reason


def test_a_recording_of_pins_alone_asks_for_the_seqs_it_has() -> None:
    found = reads(items(ANAGRAPHEUS / "pins-only.recording.jsonl"))

    assert [read.seq for read in found][:2] == [10, 11]
    assert found[0].event.locator == "2:seq=10"
