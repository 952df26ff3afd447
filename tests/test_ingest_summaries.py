"""Summaries that a source holds, as sections; logs of the library with their chronicle."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from chronicle import canonical, fold, moments, rollups, sections
from chronicle.importers.protocol import Read, ReadSection
from chronicle.ingest import run, summaries
from chronicle.log import append, read
from chronicle.models import Event, Log, Pin, RollupSource, Section, SectionPin, Source
from tests.builders import log_of, said
from tests.importers.files import ANAGRAPHEUS, CLAUDE, DATA, items
from tests.ingesting import chronicle_of, compaction, events_of, ingested, only_log, talk, written

pytestmark = pytest.mark.django_db


def test_compaction_summaries_become_sections_that_join_and_the_second_names_the_first() -> None:
    report = ingested(CLAUDE / "compaction.jsonl")
    log = only_log(report)
    markers = Event.objects.filter(log=log, type="compaction").values_list("seq", flat=True)
    first, second = sections.current_sections(sections.current_edition(log))

    assert report.logs[0].sections == 2
    assert [(section.anchor.from_seq, section.anchor.to_seq) for section in (first, second)] == [(1, 7), (8, 15)]
    assert list(markers) == [7, 15]
    assert {(section.origin, section.anchor.kind) for section in (first, second)} == {("imported", "imported")}
    assert (first.replaces_from, second.replaces_from) == (1, 1)
    assert (first.anchor.event_count, second.anchor.event_count) == (6, 6)
    assert list(RollupSource.objects.values_list("section", "source")) == [(second.pk, first.pk)]
    assert report.logs[0].through == 15


def test_a_summary_that_comes_with_a_longer_snapshot_takes_what_is_free(tmp_path: Path) -> None:
    early = [talk(number) for number in range(1, 51)]
    log = only_log(ingested(written(tmp_path, early, "early.jsonl")))
    fold.consolidate(log)
    drawn = chronicle_of(log)
    report = ingested(written(tmp_path, [*early, *compaction(1, "All that was said.")], "late.jsonl"))

    assert [ref for ref, _, _ in drawn] == ["1-40"]
    assert chronicle_of(log) == [*drawn, ("41-51", "All that was said.", 1)]
    assert report.logs[0].sections == 1


def test_a_summary_with_nothing_free_stays_an_event_and_the_report_says_so(tmp_path: Path) -> None:
    early = [*(talk(number) for number in range(1, 40)), compaction(1, "")[0]]
    log = only_log(ingested(written(tmp_path, early, "early.jsonl")))
    fold.consolidate(log)
    drawn = chronicle_of(log)
    summary = compaction(1, "All that was said.")[1]
    report = ingested(written(tmp_path, [*early, summary], "late.jsonl"))

    assert chronicle_of(log) == drawn
    assert report.logs[0].sections == 0
    assert [note.line for note in report.notes] == [41]
    assert "covers that already" in report.notes[0].words or "cover that already" in report.notes[0].words
    assert events_of(report)[-1].content == "All that was said."
    assert not report.refused


def test_a_summary_with_other_words_is_refused_and_what_is_stored_stays(tmp_path: Path) -> None:
    records = [talk(1), *compaction(1, "First words.")]
    log = only_log(ingested(written(tmp_path, records, "one.jsonl")))
    changed = [talk(1), records[1], talk(9, words="Other words.") | {"isCompactSummary": True}]
    report = ingested(written(tmp_path, changed, "two.jsonl"))

    assert chronicle_of(log) == [("1-2", "First words.", 1)]
    assert [refused.reason for refused in report.refused] == ["summary 1-2#1 is stored with other words"]


def test_a_summarys_events_are_written_with_it_however_many_batches_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "BATCH", 4)
    seen: list[int] = []
    records = [*(talk(number) for number in range(1, 21)), *compaction(1, "Twenty messages."), talk(99)]
    path = written(tmp_path, records)
    ingested(path, fence=lambda: seen.append(Event.objects.count()))

    assert seen[:2] == [0, 23]
    assert chronicle_of(Log.objects.get()) == [("1-21", "Twenty messages.", 1)]


def test_the_sample_comes_with_its_two_summaries() -> None:
    report = ingested(Path(canonical.__file__).parent / "sample" / "dinner.jsonl")

    assert (report.logs[0].added, report.logs[0].sections, report.refused) == (732, 2, [])
    assert [ref for ref, _, _ in chronicle_of(only_log(report))] == ["1-44", "45-94"]


def test_a_log_of_the_library_arrives_with_its_seqs_sections_generations_and_pins() -> None:
    report = ingested(ANAGRAPHEUS / "run.sqlite")
    log = only_log(report)
    edition = sections.current_edition(log)
    stored = Section.objects.filter(anchor__edition=edition)
    third = stored.get(anchor__from_seq=69, generation=3)

    assert (report.logs[0].added, report.logs[0].last_seq, report.notes) == (197, 197, [])
    assert [f"events:seq={event.seq}" for event in read(log)] == [event.locator for event in read(log)]
    assert stored.count() == report.logs[0].sections == 18
    assert len(sections.current_sections(edition)) == 14
    assert third in sections.current_sections(edition)
    assert not SectionPin.objects.filter(section=third).exists()
    assert SectionPin.objects.count() == 17
    assert sections.consolidated_through(edition) == report.logs[0].through == 193
    assert Pin.objects.filter(log=log).count() == 94
    assert Pin.objects.filter(log=log, event__type="PinPromoted").count() == 94


def test_seqs_that_a_log_cannot_keep_are_numbered_anew_and_the_locator_keeps_the_old() -> None:
    report = ingested(ANAGRAPHEUS / "pins-only.recording.jsonl")
    stored = events_of(report)

    assert [event.seq for event in stored] == list(range(1, 13))
    assert stored[0].locator == "2:seq=10"
    assert [(note.line, note.words) for note in report.notes] == [
        (2, "seq 10 of the source is 1 here, and so on; locators keep the old")
    ]


def test_an_event_id_that_stands_under_another_key_is_refused_alone() -> None:
    taken = next(item for item in items(ANAGRAPHEUS / "run.recording.jsonl") if isinstance(item, Read))
    log = log_of([said(event_id=taken.event.event_id)])
    report = ingested(ANAGRAPHEUS / "run.recording.jsonl", log_id=log.public_id)

    assert (report.logs[0].added, report.logs[0].refused) == (196, 1)
    assert [refused.line for refused in report.refused] == [2]


@pytest.mark.promise("DA1", "DA2", "DA3")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE chronicle_sections SET from_seq = 35, to_seq = 20 WHERE section_id = '20-35'",
        "UPDATE chronicle_sections SET to_seq = 220 WHERE section_id = '176-193'",
        "DELETE FROM chronicle_sections WHERE section_id = '1-19'",
    ],
    ids=["inverted", "past the end", "hole"],
)
def test_a_file_whose_chronicle_is_not_whole_writes_nothing_at_all(tmp_path: Path, statement: str) -> None:
    import sqlite3
    from contextlib import closing

    path = tmp_path / "run.sqlite"
    shutil.copy(ANAGRAPHEUS / "run.sqlite", path)
    with closing(sqlite3.connect(path)) as database:
        database.execute(statement)
        database.commit()
    report = ingested(path)

    assert [refused.line for refused in report.refused] == [0]
    assert report.refused[0].reason.startswith("section ")
    assert not (report.logs or Log.objects.exists() or Event.objects.exists() or Source.objects.exists())


def test_imported_sections_stand_at_level_0_and_are_rolled_up_like_any_other(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = []
    for number in range(1, 13):
        records += [talk(number), *compaction(number, f"Summary {number}.")]
    log = only_log(ingested(written(tmp_path, records)))
    edition = sections.current_edition(log)
    imported = {(section.anchor.level, section.anchor.kind) for section in sections.current_sections(edition)}
    rolled = rollups.roll_up(edition)
    cover = sections.cover_of(edition)

    assert imported == {(0, "imported")}
    assert [rollup.ref for rollup in rolled.made] == ["L1:1-23"]
    assert [section.anchor.level for section in cover] == [1, 0, 0, 0, 0]


@pytest.mark.promise("S86")
@pytest.mark.parametrize("kind", ["interval", "bootstrap", "pressure", "emergency"])
def test_each_kind_of_the_old_store_stands_at_level_0_and_is_rolled_up(kind: str) -> None:
    edition = sections.current_edition(log_of(12))
    for seq in range(1, 13):
        sections.append_new(
            edition,
            sections.NewSection(
                from_seq=seq,
                to_seq=seq,
                kind=kind,
                event_count=1,
                title="T",
                prose=f"Message {seq}.",
                origin="imported",
            ),
        )
    rollup = sections.cover_of(edition)[0] if rollups.roll_up(edition).made else None

    assert rollup is not None
    assert (rollup.anchor.level, rollup.anchor.kind, rollup.ref) == (1, "rollup", "L1:1-8")
    assert {child.kind for child in rollup.anchor.children.all()} == {kind}


@pytest.mark.promise("S86")
def test_nothing_here_writes_an_emergency_entry_so_they_arrive_by_import_alone() -> None:
    package = Path(canonical.__file__).parent
    naming = [path for path in package.rglob("*.py") if "emergency" in path.read_text().casefold()]

    assert {path.relative_to(package).parts[0] for path in naming} <= {
        "models",
        "migrations",
        "carry",
    }  # what is loaded arrived as well


def test_events_that_a_compaction_kept_before_what_it_replaced_are_covered_and_summed_up_by_nobody() -> None:
    """OpenHands keeps the first events word for word: the summary begins behind them."""
    log = only_log(ingested(DATA / "openhands" / "v0-list.json"))
    kept, summary = sections.current_sections(sections.current_edition(log))

    assert [(one.anchor.from_seq, one.anchor.to_seq, one.origin) for one in (kept, summary)] == [
        (1, 1, "closed without summary"),
        (2, 7, "imported"),
    ]
    assert kept.prose.startswith("Event 1 was kept word for word")
    assert summary.replaces_from == 2
    assert [(span.from_seq, span.to_seq, span.section and span.section.prose) for span in moments.at(log, 8).spans] == [
        (1, 1, None),
        (2, 7, "A herb bed is asked for; the soil is sandy."),
        (8, 8, None),
    ]


FIRST = ReadSection("s", "u2", "First two.", 3, from_id="u1")
LAST = ReadSection("s", "u4", "Last two.", 5, from_id="u3")
ROLLUP = ReadSection("s", "u4", "Both.", 6, from_id="u1", level=1)


def keyed() -> Log:
    """A log of four messages that a source knows as u1 to u4."""
    log = log_of()
    append(log, [said(f"Message {number}.") for number in range(1, 5)], keys=[f"u{number}" for number in range(1, 5)])
    return log


def landed(log: Log, *found: ReadSection) -> summaries.Imported:
    with transaction.atomic():
        return summaries.land(log, found, str, "spacebot")


def test_an_imported_rollup_stands_for_its_sections_which_are_stamped_once() -> None:
    log = keyed()
    once, twice = landed(log, FIRST, LAST, ROLLUP), landed(log, FIRST, LAST, ROLLUP)
    rollup, first, last = sections.current_sections(sections.current_edition(log))

    assert [(done.added, done.present, done.refused) for done in (once, twice)] == [(3, 0, []), (0, 3, [])]
    assert (rollup.ref, rollup.origin, rollup.anchor.event_count) == ("L1:1-4", "imported", 4)
    assert {first.anchor.rolled_up_into, last.anchor.rolled_up_into} == {rollup.anchor}
    assert set(RollupSource.objects.values_list("section", "source")) == {(rollup.pk, first.pk), (rollup.pk, last.pk)}


def test_a_rollup_over_sections_that_are_not_all_there_is_said_and_not_kept() -> None:
    log = keyed()
    done = landed(log, FIRST, ROLLUP)

    assert done.added == 1
    assert "not all here" in done.notes[0][1]


def test_a_rollup_that_is_stored_with_other_words_is_refused_by_its_line() -> None:
    log = keyed()
    landed(log, FIRST, LAST, ROLLUP)

    assert landed(log, replace(ROLLUP, prose="Neither.")).refused == [(6, "rollup L1:1-4 is stored with other words")]


def test_sections_that_this_site_rolled_up_already_keep_their_rollup() -> None:
    log = keyed()
    landed(log, FIRST, LAST)
    edition = sections.current_edition(log)
    children = list(sections.current_sections(edition))
    new = sections.NewSection(from_seq=1, to_seq=4, level=1, kind="rollup", event_count=4, title="Ours", prose="Ours.")
    sections.append_rollup(edition, new, children)

    assert "stands there already" in landed(log, ROLLUP).notes[0][1]
