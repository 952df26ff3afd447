"""Databases of Spacebot: channels by seq, checkpoints and rollups with their stamps, runs with their transcripts."""

import gzip
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from chronicle import sections
from chronicle.errors import InvalidPayload
from chronicle.importers import spacebot_runs
from chronicle.importers.protocol import Noted, Read, ReadSection
from chronicle.models import Log, Section
from tests.importers.files import DATA, items
from tests.ingesting import ingested

AGENT, OLD = DATA / "spacebot" / "agent.sqlite", DATA / "spacebot" / "old.sqlite"
BOTH = pytest.mark.parametrize("path", [AGENT, OLD], ids=lambda path: path.stem)


def reads(path: Path, session: str = "garden") -> list[Read]:
    return [item for item in items(path) if isinstance(item, Read) and item.session == session]


def messages(path: Path) -> list[str]:
    return [read.event.content for read in reads(path) if read.event.locator.startswith("conversation_messages")]


@BOTH
def test_the_order_is_the_seq_or_where_there_is_none_yet_the_rows_and_never_the_time_and_id(path: Path) -> None:
    assert messages(path)[:3] == ["When do we plant the hedge?", "In November, when it rests.", "Hornbeam or yew?"]
    assert messages(path)[-2:] == ["Ordered.", "Thank you."]
    assert any("older than its column seq" in item.words for item in items(path) if isinstance(item, Noted)) is (
        path == OLD
    )


@BOTH
def test_half_open_ranges_have_both_ends_in_and_zero_is_the_beginning(path: Path) -> None:
    said = {read.native_id: read.event.content for read in reads(path)}
    found = [item for item in items(path) if isinstance(item, ReadSection)]

    assert [(said[item.from_id or ""], said[item.to_id], item.level) for item in found] == [
        ("When do we plant the hedge?", "In November, when it rests.", 0),
        ('branch {"task": "Think about the soil"}', "Hornbeam: it grows faster.", 0),
        ("When do we plant the hedge?", "Hornbeam: it grows faster.", 1),
        ("How many plants?", "task 7 was given to the shed", 0),
    ]


def test_who_speaks_is_the_sender_and_the_system_is_no_person() -> None:
    found = {read.event.content: (str(read.event.actor_kind), read.event.actor) for read in reads(AGENT)}

    assert found["How many plants?"] == ("human", "Otto")
    assert found["Ordered."] == ("agent", "assistant")
    assert found["task 7 was given to the shed"] == ("system", "system")
    assert [read.event.actor for read in reads(AGENT, "dinner")] == ["Ida", "cook"]


def test_a_run_stands_before_the_first_message_of_a_later_second() -> None:
    contents = [read.event.content for read in reads(AGENT)]

    assert contents.index("In November, when it rests.") < contents.index("The soil is heavy clay.")
    assert contents.index("The soil is heavy clay.") < contents.index("Hornbeam or yew?")


def test_a_transcript_is_the_workers_own_with_its_calls_joined_whatever_their_order() -> None:
    found = {read.native_id: read for read in reads(AGENT)}
    answers = {
        read.event.content: (found[read.answers].event.payload or {})["arguments"]
        for read in found.values()
        if read.answers
    }

    assert answers["Ninety for 300."] == {"plant": "hornbeam"}
    assert answers["Sold out."] == '{"plant": "hornbeam", "note": "…'
    assert answers["Ordered for 300."] == {"task": "Order ninety hornbeams."}
    assert answers["Waiting for the bank"] == {"sum": 300}
    assert {read.event.actor for read in found.values() if read.event.content.startswith("shop")} == {"builtin"}
    assert sum(read.event.content == "Order ninety hornbeams." for read in found.values()) == 0


def test_a_damaged_transcript_is_said_and_its_run_kept() -> None:
    (noted,) = [item for item in items(AGENT) if isinstance(item, Noted)]

    assert "its gzip is cut" in noted.words
    assert any("Water them daily." in read.event.content for read in reads(AGENT))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (gzip.compress(b"[" + b" " * 5_000_000 + b"]"), "inflates to over"),
        (gzip.compress(b'{"a": 1}'), "no list of steps"),
        (gzip.compress(b"[1")[:15], "cut"),
        (b"\x1f\x8b\x00\x00nothing", "damaged gzip"),
    ],
)
def test_a_transcript_is_inflated_within_bounds(data: bytes, reason: str) -> None:
    with pytest.raises(InvalidPayload, match=reason):
        spacebot_runs.steps(data)


def test_a_transcript_may_stand_uncompressed_or_not_at_all() -> None:
    assert spacebot_runs.steps(json.dumps([{"type": "user_text", "text": "Plant."}])) == [
        {"type": "user_text", "text": "Plant."}
    ]
    assert spacebot_runs.steps(None) == []


def test_a_worker_of_no_channel_has_a_session_of_its_own() -> None:
    alone = {item.session for item in items(AGENT) if isinstance(item, Read)} - {"garden", "dinner"}

    assert len(alone) == 1
    assert next(iter(alone)).startswith("worker-")


@pytest.mark.django_db
@BOTH
def test_checkpoints_and_rollups_are_sections_with_their_stamps_and_twice_adds_nothing(path: Path) -> None:
    first, second = ingested(path), ingested(path)
    log = Log.objects.get(source_session="garden")
    found = Section.objects.filter(anchor__edition=sections.current_edition(log)).select_related("anchor")
    rollup = found.get(anchor__level=1)
    cover = [(one.ref, one.prose) for one in sections.cover_of(sections.current_edition(log))]

    assert (first.refusals, second.refusals) == (0, 0)
    assert [(one.added, one.sections) for one in second.logs] == [(0, 0)] * 3
    assert {(one.anchor.from_seq, one.anchor.to_seq) for one in found.filter(anchor__level=0)} == {
        (1, 2),
        (3, 6),
        (7, 9),
    }
    assert (rollup.anchor.from_seq, rollup.anchor.to_seq, rollup.origin) == (1, 6, "imported")
    assert rollup.anchor.children.count() == 2
    assert [prose.split()[0] for _, prose in cover] == ["A", "Ninety"]


@pytest.mark.django_db
def test_a_bot_that_went_on_adds_what_is_new_and_rolls_up_what_was_there(tmp_path: Path) -> None:
    early = tmp_path / "agent.sqlite"
    shutil.copy(AGENT, early)
    with closing(sqlite3.connect(early)) as database:
        database.execute("DELETE FROM conversation_messages WHERE channel_id = 'garden' AND seq > 5")
        database.execute("DELETE FROM channel_chronicle_checkpoints WHERE level = 1 OR covers_to_seq > 5")
        database.execute("DELETE FROM worker_runs")
        database.commit()
    ingested(early)
    ingested(AGENT)
    log = Log.objects.get(source_session="garden")
    found = sections.current_sections(sections.current_edition(log))

    assert [section.ref for section in found] == ["L1:1-6", "1-2", "3-6", "7-9"]
