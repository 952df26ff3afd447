"""Files into logs: once, in order, with their sections; what is refused is named, nothing is overwritten."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chronicle import canonical, fold, rollups, sections
from chronicle.envelope import StoredEvent
from chronicle.errors import LeaseLost, LogNotFound, OwnerEmpty, UnknownFormat
from chronicle.importers import lines
from chronicle.importers.protocol import Read
from chronicle.ingest import FileReport, found, ingest_file, run
from chronicle.log import read
from chronicle.models import Attachment, AuditEntry, Event, Log, Pin, RollupSource, Section, SectionPin, Source
from tests.builders import log_of, said
from tests.conftest import Clock
from tests.importers.files import ANAGRAPHEUS, CLAUDE, DATA, EVENTS, FILES, items, name_of, records_on, text_lines

pytestmark = pytest.mark.django_db

every_file = pytest.mark.parametrize("path", FILES, ids=name_of)


def ingested(path: Path, owner: str = "demo", **given: Any) -> FileReport:
    return ingest_file(path, owner=owner, **given)


def only_log(report: FileReport) -> Log:
    (log,) = report.logs
    return Log.objects.get(public_id=log.log)


def events_of(report: FileReport) -> list[StoredEvent]:
    return list(read(only_log(report)))


def written(tmp_path: Path, records: list[dict[str, Any]], name: str = "session.jsonl") -> Path:
    path = tmp_path / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def talk(number: int, *, session: str = "s", words: str = "") -> dict[str, Any]:
    content = words or f"Message {number}."
    return {"type": "user", "sessionId": session, "uuid": f"u{number}", "message": {"content": content}}


def compaction(number: int, words: str, session: str = "s") -> list[dict[str, Any]]:
    boundary = {"type": "system", "subtype": "compact_boundary", "sessionId": session, "uuid": f"b{number}"}
    return [boundary, talk(number, session=session, words=words) | {"uuid": f"c{number}", "isCompactSummary": True}]


def chronicle_of(log: Log) -> list[tuple[str, str, int | None]]:
    edition = sections.current_edition(log)
    return [(section.ref, section.prose, section.replaces_from) for section in sections.current_sections(edition)]


# What holds for every file


@every_file
def test_everything_that_is_read_lands_in_order_and_is_counted(path: Path) -> None:
    report = ingested(path)
    given = [item for item in items(path) if isinstance(item, Read)]
    for log in report.logs:
        mine = list(dict.fromkeys(item.native_id for item in given if item.session == log.session))
        kept = [event.idempotency_key.partition(":")[2] for event in read(Log.objects.get(public_id=log.log))]
        assert kept == mine
        assert log.added == log.last_seq == len(mine)
    assert len(given) == sum(log.added + log.replayed + log.refused for log in report.logs)


@every_file
def test_records_read_are_those_with_events_and_the_ignored_and_the_refused(path: Path) -> None:
    report = ingested(path)
    records = report.records

    assert records["read"] == records["events"] + records["ignored"] + records["refused"]
    assert records["ignored"] == sum(report.ignored.values())
    if path.suffix != ".sqlite":
        assert records["read"] == sum(map(records_on, text_lines(path)))


@every_file
def test_the_same_file_twice_adds_nothing(path: Path) -> None:
    first = ingested(path)
    before = list(Event.objects.order_by("pk").values_list("digest", flat=True)), Section.objects.count()
    second = ingested(path)

    assert [log.added for log in second.logs] == [0] * len(first.logs)
    assert [log.sections for log in second.logs] == [0] * len(first.logs)
    assert [log.sections_present for log in second.logs] == [log.sections for log in first.logs]
    assert second.refused == first.refused
    assert second.records == first.records
    assert (list(Event.objects.order_by("pk").values_list("digest", flat=True)), Section.objects.count()) == before
    assert Source.objects.count() == 1


@every_file
def test_batches_make_no_difference(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ingested(path, owner="whole")
    monkeypatch.setattr(run, "BATCH", 3)
    monkeypatch.setattr(run, "HELD_BACK", 3)
    parts = ingested(path, owner="parts")
    for one, other in zip(whole.logs, parts.logs, strict=True):
        logs = [Log.objects.get(public_id=log.log) for log in (one, other)]
        said = [[(event.seq, event.kind, event.content, event.payload) for event in read(log)] for log in logs]
        assert said[0] == said[1]
        assert [ref for ref, _, _ in chronicle_of(logs[0])] == [ref for ref, _, _ in chronicle_of(logs[1])]
        causes = [[str(event.causation and seq_of(log, event)) for event in read(log)] for log in logs]
        assert causes[0] == causes[1]


def seq_of(log: Log, event: StoredEvent) -> int | None:
    cause = Event.objects.filter(log=log, event_id=event.causation).first()
    return cause.seq if cause else None


# Logs and sessions


@pytest.mark.promise("K1")
def test_sections_of_sessions_that_share_a_file_stay_in_their_own_logs(tmp_path: Path) -> None:
    mixed = [talk(1, session="a"), talk(1, session="b"), *compaction(1, "A.", "a"), *compaction(1, "B.", "b")]
    first, second = ingested(written(tmp_path, mixed)).logs

    assert chronicle_of(Log.objects.get(public_id=first.log)) == [("1-2", "A.", 1)]
    assert chronicle_of(Log.objects.get(public_id=second.log)) == [("1-2", "B.", 1)]


@pytest.mark.promise("K1")
def test_sessions_that_share_a_file_get_a_log_each_with_seqs_of_its_own() -> None:
    report = ingested(CLAUDE / "interleaved.jsonl")

    assert [(log.added, log.last_seq) for log in report.logs] == [(8, 8), (8, 8)]
    for log in report.logs:
        stored = list(read(Log.objects.get(public_id=log.log)))
        assert [event.seq for event in stored] == list(range(1, 9))
        assert len({event.content.split()[0] for event in stored}) == 1


def test_a_longer_snapshot_adds_what_is_new_to_the_same_log() -> None:
    first, second = ingested(CLAUDE / "resume-a.jsonl"), ingested(CLAUDE / "resume-b.jsonl")

    assert [log.log for log in first.logs] == [log.log for log in second.logs]
    assert (second.logs[0].added, second.logs[0].replayed, second.logs[0].last_seq) == (2, 6, 8)
    assert ingested(CLAUDE / "resume-a.jsonl").logs[0].added == 0


def test_a_snapshot_that_begins_earlier_says_that_its_events_stand_behind(tmp_path: Path) -> None:
    ingested(written(tmp_path, [talk(3), talk(4)], "late.jsonl"))
    report = ingested(written(tmp_path, [talk(1), talk(2), talk(3), talk(4), talk(5)], "whole.jsonl"))

    assert [event.content for event in events_of(report)] == [f"Message {number}." for number in (3, 4, 1, 2, 5)]
    assert [(note.line, note.words) for note in report.notes] == [
        (3, "the log held this line already; new events of earlier lines stand behind it")
    ]


def test_one_owners_session_is_not_anothers() -> None:
    mine, theirs = ingested(CLAUDE / "resume-a.jsonl"), ingested(CLAUDE / "resume-a.jsonl", owner="other")

    assert mine.logs[0].log != theirs.logs[0].log
    assert (theirs.logs[0].owner, theirs.logs[0].added) == ("other", 6)


def test_a_log_is_titled_by_its_session_and_knows_where_it_is_from() -> None:
    log = only_log(ingested(CLAUDE / "roles.jsonl"))

    assert (log.title, log.source, log.source_session) == (
        "Pruning plan for the old trees",
        "claude-code",
        "c0ffee06-0000-4000-8000-000000000006",
    )


def test_a_folder_joins_a_sub_agents_file_to_its_parents_log() -> None:
    reports = [ingested(file.path) for file in found([CLAUDE / "project"])]
    parent, child = [report for report in reports if report.logs]

    assert parent.logs[0].log == child.logs[0].log
    actors = [(event.actor_kind, event.actor) for event in events_of(parent)]
    assert actors[-4:] == [
        ("agent", "assistant"),
        ("agent", "agent-e4f5a6b"),
        ("system", "Glob"),
        ("agent", "agent-e4f5a6b"),
    ]
    assert [report.refused[0].reason for report in reports if not report.logs] == ["no known format"]


def test_a_named_log_takes_what_is_ingested_behind_what_it_has() -> None:
    log = log_of(3)
    report = ingested(CLAUDE / "interleaved.jsonl", log_id=log.public_id)
    again = ingested(CLAUDE / "interleaved.jsonl", log_id=log.public_id)

    assert {part.log for part in report.logs} == {log.public_id}
    assert [part.added for part in report.logs] == [8, 8]
    assert [part.added for part in again.logs] == [0, 0]
    log.refresh_from_db()
    assert (log.last_seq, log.title) == (19, "")


def test_another_owners_log_is_not_found_and_nothing_is_written() -> None:
    log = log_of(1, owner="somebody else")
    with pytest.raises(LogNotFound):
        ingested(CLAUDE / "resume-a.jsonl", log_id=log.public_id)
    with pytest.raises(OwnerEmpty):
        ingested(CLAUDE / "resume-a.jsonl", owner=" ")
    with pytest.raises(UnknownFormat, match="known are events, anagrapheus, claude-code"):
        ingested(CLAUDE / "resume-a.jsonl", format="word")

    assert Event.objects.count() == 1
    assert not Source.objects.exists()


# Content


def test_the_same_id_with_other_content_is_reported_and_what_is_stored_stays() -> None:
    before = [(event.seq, event.content, event.digest) for event in events_of(ingested(CLAUDE / "conflict-a.jsonl"))]
    report = ingested(CLAUDE / "conflict-b.jsonl")

    assert [(refused.line, refused.reason) for refused in report.refused] == [
        (3, "same id, other content: what the log holds stays as it is"),
        (7, "same id, other content: what the log holds stays as it is"),
    ]
    assert (report.logs[0].added, report.logs[0].replayed, report.logs[0].refused) == (0, 4, 2)
    assert [(event.seq, event.content, event.digest) for event in events_of(report)] == before


def test_the_same_id_twice_in_one_file_is_compared_too(tmp_path: Path) -> None:
    report = ingested(written(tmp_path, [talk(1), talk(1), talk(1) | {"message": {"content": "Other."}}, talk(2)]))

    assert (report.logs[0].added, report.logs[0].replayed, report.logs[0].refused) == (2, 1, 1)
    assert [refused.line for refused in report.refused] == [3]


def test_usage_that_is_known_better_later_is_no_conflict(tmp_path: Path) -> None:
    def part(number: int, tokens: int) -> dict[str, Any]:
        message = {"id": "msg_1", "model": "m", "content": [{"type": "text", "text": f"Part {number}."}]}
        usage = {"usage": {"output_tokens": tokens}}
        return {"type": "assistant", "sessionId": "s", "uuid": f"u{number}", "message": message | usage}

    ingested(written(tmp_path, [part(1, 3)], "short.jsonl"))
    report = ingested(written(tmp_path, [part(1, 3), part(2, 9)], "long.jsonl"))

    assert (report.logs[0].added, report.logs[0].replayed, report.refused) == (1, 1, [])


def test_a_response_names_its_request_by_its_event_even_one_from_an_earlier_file(tmp_path: Path) -> None:
    stored = {event.correlation + event.kind: event for event in events_of(ingested(CLAUDE / "parallel.jsonl"))}
    for call in ("toolu_l", "toolu_t", "toolu_g"):
        assert stored[f"{call}tool_response"].causation == stored[f"{call}tool_request"].event_id
    assert stored["toolu_losttool_response"].causation is None

    small = (EVENTS / "small.jsonl").read_text().splitlines()
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.write_text("\n".join(small[:3]))
    second.write_text("\n".join([small[0], small[3]]))
    ingested(first)
    request, response = events_of(ingested(second))[-2:]
    assert response.causation == request.event_id


@pytest.mark.promise("K43")
def test_text_that_no_database_takes_is_kept_escaped_and_given_back() -> None:
    escaped = [event for event in events_of(ingested(CLAUDE / "oddtext.jsonl")) if event.text_form == "escaped"]

    assert [canonical.restore_text(event.content) for event in escaped] == [
        "A NUL \x00 inside, and a backslash \\u0000 that is none.",
        "a lone \ud83d half",
        "not \udcff\udcfe utf-8",
        "raw \x00 and \x07 here",
        'Tool\\u0000Name {"key": "\udc00"}',
    ]
    assert escaped[-1].data()["arguments"] == {"key": "\udc00"}


def test_images_are_stored_once_and_are_still_checked_the_second_time() -> None:
    ingested(CLAUDE / "image.jsonl")
    stored = Attachment.objects.get()
    again = ingested(CLAUDE / "image.jsonl", owner="other")

    assert (stored.media_type, stored.size) == ("image/png", 76)
    assert canonical.sha256(bytes(stored.data)) == stored.digest
    assert again.logs[0].added == 6
    assert Attachment.objects.count() == 1


def test_a_known_file_is_no_reason_to_believe_that_its_events_are_there() -> None:
    path = CLAUDE / "resume-a.jsonl"
    opened = lines.open_file(path)
    now = log_of(1).started_at
    Source.objects.create(
        digest=lines.digest(opened), name="before a crash", format="claude-code", size=1, ingested_at=now
    )
    report = ingested(path)

    assert report.logs[0].added == 6
    assert set(Event.objects.filter(log__source="claude-code").values_list("source__name", flat=True)) == {
        "before a crash"
    }


@pytest.mark.promise("K32", "K42")
def test_a_frozen_clock_and_times_that_run_backwards_change_nothing_about_order(clock: Clock) -> None:
    stored = events_of(ingested(CLAUDE / "roles.jsonl"))

    assert {event.at for event in stored} == {clock.time}
    assert [event.locator.partition(":")[0] for event in stored] == sorted(
        [event.locator.partition(":")[0] for event in stored], key=int
    )
    claimed = [event.claimed_at for event in stored if event.claimed_at]
    assert claimed != sorted(claimed)
    assert [event.seq for event in stored] == list(range(1, len(stored) + 1))


def test_the_locator_and_the_digest_of_the_file_lead_back_to_the_bytes() -> None:
    path = CLAUDE / "resume-a.jsonl"
    report = ingested(path)
    source = Source.objects.get()
    event = Event.objects.get(log=only_log(report), seq=3)

    assert source.digest == canonical.sha256(path.read_bytes()) == report.digest
    assert event.source == source
    line, _, block = event.locator.partition(":")
    record = json.loads(path.read_text().splitlines()[int(line) - 1])
    assert record["message"]["content"][int(block)]["text"] == event.content


# Summaries


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

    assert {path.relative_to(package).parts[0] for path in naming} <= {"models", "migrations"}


# Faults


def test_an_ingest_that_dies_leaves_a_beginning_and_the_next_one_completes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "BATCH", 10)
    path = written(tmp_path, [talk(number) for number in range(1, 46)])
    beats: list[int] = []

    def dies() -> None:
        beats.append(1)
        if len(beats) == 3:
            raise LeaseLost("The lease is gone.")

    with pytest.raises(LeaseLost):
        ingested(path, fence=dies)
    log = Log.objects.get()
    assert [event.content for event in read(log)] == [f"Message {number}." for number in range(1, 21)]
    report = ingested(path)
    assert (report.logs[0].added, report.logs[0].replayed) == (25, 20)
    assert [event.content for event in read(log)] == [f"Message {number}." for number in range(1, 46)]
    assert ingested(path).logs[0].added == 0


def test_the_fence_stands_before_every_write_and_nothing_of_its_batch_is_left(tmp_path: Path) -> None:
    def gone() -> None:
        raise LeaseLost("The lease is gone.")

    with pytest.raises(LeaseLost):
        ingested(CLAUDE / "image.jsonl", fence=gone)

    assert not (Log.objects.exists() or Event.objects.exists() or Attachment.objects.exists())
    assert not Source.objects.exists()


def test_progress_is_told_in_lines_up_to_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "BATCH", 4)
    told: list[tuple[int, int | None, str]] = []
    report = ingested(CLAUDE / "resume-a.jsonl", name="shown.jsonl", progress=lambda *words: told.append(words))

    assert report.path == "shown.jsonl"
    assert [done for done, _, _ in told] == [5, 7]
    assert {(of, what) for _, of, what in told} == {(7, "lines")}


def test_an_empty_file_or_one_of_no_known_format_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "notes").write_text("# Notes\n")
    (tmp_path / "link").symlink_to(CLAUDE / "image.jsonl")
    reasons = [ingested(tmp_path / name).refused[0].reason for name in ("empty", "notes", "link", "absent")]

    assert reasons == [
        "an empty file",
        "no known format",
        "a symbolic link is not followed; name the file it leads to",
        "cannot be opened: No such file or directory",
    ]
    assert not Log.objects.exists()


def test_a_format_named_is_the_format_taken() -> None:
    report = ingested(CLAUDE / "image.jsonl", format="anagrapheus")

    assert report.format == "anagrapheus"
    assert [(refused.line, refused.reason) for refused in report.refused] == [
        (1, 'no header; a recording begins with {"anagrapheus.recording":1}')
    ]


def test_an_ingest_is_in_the_audit_trail_and_one_that_added_nothing_is_not() -> None:
    report = ingested(CLAUDE / "resume-a.jsonl")
    ingested(CLAUDE / "resume-a.jsonl")
    entry = AuditEntry.objects.get(what="log.ingested")

    assert (entry.who, entry.target) == ("demo", report.logs[0].log)
    assert json.loads(entry.details) == {"added": 6, "sections": 0, "source": report.digest}


def test_the_number_of_queries_does_not_grow_with_the_events(tmp_path: Path) -> None:
    def queries(count: int) -> int:
        path = written(tmp_path, [talk(number, session=f"s{count}") for number in range(count)], f"{count}.jsonl")
        with CaptureQueriesContext(connection) as captured:
            ingested(path)
        return len(captured)

    assert queries(20) == queries(800)


def test_folders_are_walked_in_order_and_links_are_named(tmp_path: Path) -> None:
    for name in ("b/two.jsonl", "a/one.jsonl", "b.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    (tmp_path / "c-link").symlink_to(tmp_path / "a")
    (tmp_path / "d-loop").symlink_to(tmp_path)

    assert [(str(file.path.relative_to(tmp_path)), bool(file.reason)) for file in found([tmp_path])] == [
        ("a/one.jsonl", False),
        ("b.jsonl", False),
        ("b/two.jsonl", False),
        ("c-link", True),
        ("d-loop", True),
    ]
    assert DATA in [file.path.parents[1] for file in found([DATA]) if file.path.name == "bom.jsonl"]
