"""A preview says what an ingest would do, by the same importers and the same rules, and writes nothing."""

from pathlib import Path
from typing import Any

import pytest

from chronicle.errors import LogNotFound, OwnerEmpty
from chronicle.ingest import FileReport, Tally, preview, preview_file
from tests.importers.files import CLAUDE, OWN, name_of
from tests.ingesting import compaction, ingested, talk, written
from tests.web.digest import database_digest

pytestmark = pytest.mark.django_db


def looked(path: Path, **given: Any) -> Tally:
    """The preview of a file, which has changed nothing."""
    before = database_digest()
    look = preview_file(path, owner=given.pop("owner", "demo"), **given)
    assert database_digest() == before
    return look


def foreseen(look: Tally) -> list[tuple[Any, ...]]:
    return [
        (one.session, one.new, one.held + one.repeats, one.refused, one.grown, one.conflicts)
        for one in look.sessions.values()
        if one.events or one.summaries
    ]


def done(report: FileReport) -> list[tuple[Any, ...]]:
    return [(log.session, log.added, log.replayed, log.refused, log.grown, log.conflicts) for log in report.logs]


@pytest.mark.parametrize("path", OWN, ids=name_of)
def test_what_is_foreseen_is_what_an_ingest_does_the_first_time_and_the_second(path: Path) -> None:
    for _ in range(2):
        look = looked(path)
        report = ingested(path)
        assert sorted(foreseen(look)) == sorted(done(report))
        assert look.report.records == report.records
        assert look.report.ignored == report.ignored
        assert look.report.format == report.format
        assert [refused.line for refused in look.report.refused] == [refused.line for refused in report.refused]


def test_growth_and_conflicts_are_foreseen_with_their_lines() -> None:
    ingested(CLAUDE / "conflict-a.jsonl")
    look = looked(CLAUDE / "conflict-b.jsonl")
    report = ingested(CLAUDE / "conflict-b.jsonl")

    assert foreseen(look) == done(report)
    assert look.total("conflicts") == 2
    assert [note.line for note in look.report.notes] == [note.line for note in report.notes]
    assert "both will be kept" in look.report.notes[0].words


def test_sessions_kinds_compactions_and_times_are_counted(tmp_path: Path) -> None:
    records = [talk(1), talk(2), *compaction(3, "All of it."), talk(4, session="t")]
    told = looked(written(tmp_path, records)).as_json()

    assert [one["session"] for one in told["sessions"]] == ["s", "t"]
    assert (told["events"], told["compactions"], told["summaries"], told["sessions_all"]) == (5, 1, 1, 2)
    assert told["kinds"] == {"message": 4, "marker": 1}
    assert told["sessions"][0]["log"] == ""


def test_an_id_that_comes_again_in_a_later_batch_is_no_new_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, [talk(1), talk(2), talk(1), talk(3)])
    monkeypatch.setattr(preview, "BATCH", 2)

    assert [(one.new, one.repeats) for one in looked(path).sessions.values()] == [(3, 1)]


def test_progress_is_told_by_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preview, "BATCH", 2)
    path = written(tmp_path, [talk(number) for number in range(5)])
    told: list[tuple[int, int | None, str]] = []
    looked(path, progress=lambda done, of, what: told.append((done, of, what)))

    assert told == [(2, 5, "lines"), (4, 5, "lines"), (5, 5, "lines")]


def test_a_file_of_no_format_is_said_and_in_a_folder_it_is_passed_by(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Buy fish.")

    assert [one.reason for one in looked(path).report.refused] == ["no known format"]
    assert looked(path, inside="folder/notes.txt").report.skipped == "no known format"


def test_what_an_ingest_refuses_to_begin_a_preview_refuses_too(tmp_path: Path) -> None:
    path = written(tmp_path, [talk(1)])
    with pytest.raises(OwnerEmpty):
        looked(path, owner=" ")
    with pytest.raises(LogNotFound):
        looked(path, log_id="none")
