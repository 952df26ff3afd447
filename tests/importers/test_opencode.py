"""opencode: an export, the files of its storage, its database; the same sessions, the same events."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from chronicle.importers.protocol import Ignored, Noted, Read, ReadSection, Refused, Session
from chronicle.log import read as events_of_log
from chronicle.models import Log
from tests.importers.files import DATA, items
from tests.ingesting import ingested

FOLDER = DATA / "opencode"
EXPORT, DATABASE, STORAGE = FOLDER / "export.json", FOLDER / "opencode.db", FOLDER / "storage"


def reads(path: Path, session: str = "ses_garden") -> list[Read]:
    return [item for item in items(path) if isinstance(item, Read) and item.session == session]


def told(found: list[Read]) -> list[tuple[str, str, str, str, str | None]]:
    return [
        (one.native_id, str(one.event.actor_kind), one.event.actor, one.event.content, one.answers) for one in found
    ]


def test_an_export_and_the_database_give_the_same_events_under_the_same_ids() -> None:
    assert told(reads(EXPORT)) == told(reads(DATABASE))


def test_messages_stand_by_their_time_and_parts_by_their_ids_not_by_their_rows() -> None:
    assert [read.native_id for read in reads(DATABASE)][:4] == ["prt_01a:0", "prt_01b:0", "prt_01c:0", "prt_02a:0"]


def test_a_tools_part_gives_its_request_and_its_response_once_there_is_one() -> None:
    found = {read.native_id: read for read in reads(EXPORT)}

    assert found["prt_02b:1"].answers == "prt_02b:0"
    assert found["prt_02c:1"].event.payload == {"is_error": True}
    assert "prt_02d:1" not in found
    assert [read.event.kind for read in found.values()].count("tool_request") == 3


def test_human_is_a_text_that_is_not_synthetic_and_nobody_in_a_session_that_another_began() -> None:
    by = {read.event.content: str(read.event.actor_kind) for read in reads(EXPORT)}

    assert (by["When do we plant the hedge?"], by["Called the tool with the plan."]) == ("human", "system")
    assert {str(read.event.actor_kind) for read in reads(DATABASE, "ses_soil")} == {"agent"}
    assert next(read for read in reads(EXPORT) if read.native_id == "prt_02b:1").event.payload == {
        "session": "ses_soil"
    }


def test_a_compactions_summary_is_a_section_up_to_its_marker() -> None:
    for path in (EXPORT, DATABASE):
        (section,) = [item for item in items(path) if isinstance(item, ReadSection)]
        assert (section.to_id, section.prose[:9], section.rolling) == ("prt_04a:0", "The hedge", False)


def test_a_compaction_that_kept_a_tail_covers_what_stood_before_it(tmp_path: Path) -> None:
    value = json.loads(EXPORT.read_text())
    value["messages"][3]["parts"][0]["tail_start_id"] = "msg_03"
    (tmp_path / "export.json").write_text(json.dumps(value))
    (section,) = [item for item in items(tmp_path / "export.json") if isinstance(item, ReadSection)]

    assert section.to_id == "prt_02d:0"


def test_usage_stands_once_for_each_message_of_the_agent() -> None:
    for path in (EXPORT, DATABASE):
        found = [read.native_id for read in reads(path) if "usage" in (read.event.payload or {})]
        assert found == ["prt_02d:0", "msg_03:error", "prt_05a:0"]


def test_an_error_that_ended_a_message_stands_behind_what_it_said() -> None:
    contents = [read.event.content for read in reads(DATABASE)]

    assert contents.index("In November, ") + 1 == contents.index("MessageAbortedError: The operation was aborted.")


def test_images_are_taken_out_and_steps_counted() -> None:
    assert [len(read.blobs) for read in reads(EXPORT)].count(1) == 1
    assert [item.kind for item in items(DATABASE) if isinstance(item, Ignored) and item.kind != "message"] == [
        "part/step-start",
        "part/step-finish",
    ]


def test_an_element_that_does_not_say_whose_it_is_is_refused_by_its_place() -> None:
    assert [item.reason[:10] for item in items(EXPORT) if isinstance(item, Refused)] == ["messages/6"]


def test_a_part_in_a_file_of_its_own_is_told_its_speaker_by_the_file_beside_it(tmp_path: Path) -> None:
    part = STORAGE / "part" / "msg_02" / "prt_02d.json"
    alone = tmp_path / "prt_02d.json"
    shutil.copy(part, alone)

    assert [read.event.actor for read in reads(part)] == ["build"]
    assert [item.title for item in items(part) if isinstance(item, Session)] == ["A hedge along the lane"]
    assert any("who speaks is not known" in item.words for item in items(alone) if isinstance(item, Noted))


@pytest.mark.django_db
def test_a_folder_of_storage_is_the_same_log_as_the_export_and_adds_only_what_is_new(tmp_path: Path) -> None:
    for path in sorted(STORAGE.rglob("*.json")):
        ingested(path, inside=str(path.relative_to(FOLDER)))
    log = Log.objects.get(source_session="ses_garden")
    early = [event.content for event in events_of_log(log)]
    report = ingested(EXPORT)

    assert early == [read.event.content for read in reads(EXPORT)][: len(early)]
    assert (report.logs[0].log, report.logs[0].replayed, report.logs[0].refused) == (log.public_id, len(early), 0)
    assert report.logs[0].sections == 1


@pytest.mark.django_db
def test_a_call_that_was_answered_since_and_a_text_that_grew_add_what_is_new(tmp_path: Path) -> None:
    later = tmp_path / "opencode.db"
    shutil.copy(DATABASE, later)
    with closing(sqlite3.connect(later)) as database:
        state = {"status": "completed", "input": {"plant": "hornbeam"}, "output": "300.", "title": "", "metadata": {}}
        part = {"type": "tool", "callID": "c3", "tool": "shop", "state": state}
        database.execute("UPDATE part SET data = ? WHERE id = 'prt_02d'", (json.dumps(part),))
        database.commit()
    ingested(DATABASE)
    report = ingested(later)
    (garden,) = [log for log in report.logs if log.session == "ses_garden"]

    assert (garden.added, garden.refused) == (1, 0)
