"""An ingest that dies, is fenced off, or meets what is no transcript; folders, and the count of queries."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chronicle.errors import LeaseLost
from chronicle.importers.claude_code import ClaudeCode
from chronicle.ingest import FileReport, found, run, totals
from chronicle.log import read
from chronicle.models import Attachment, AuditEntry, Event, Log, Source
from tests.importers.files import ANAGRAPHEUS, CLAUDE, DATA
from tests.ingesting import ingested, talk, written

pytestmark = pytest.mark.django_db


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


def test_what_a_folder_holds_and_nobody_named_is_passed_by_and_listed(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("# Notes\n")
    (tmp_path / "empty").write_bytes(b"")
    reports = [ingested(file.path, inside=file.inside) for file in found([tmp_path])]

    assert [(report.path, report.skipped, report.refusals) for report in reports] == [
        (str(tmp_path / "empty"), "an empty file", 0),
        (str(tmp_path / "notes"), "no known format", 0),
    ]
    assert totals([report.as_json() for report in reports]) == (0, 0, 0)
    assert ingested(tmp_path / "notes").as_json()["skipped"] == ""


def test_an_importer_sees_where_in_the_folder_a_file_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    sniff = ClaudeCode.sniff
    monkeypatch.setattr(ClaudeCode, "sniff", lambda self, opened: seen.append(opened.name) or sniff(self, opened))
    (tmp_path / "one" / "events").mkdir(parents=True)
    for name in ("event-2.json", "event-1.json"):
        written(tmp_path / "one" / "events", [talk(1)], name)
    for file in found([tmp_path / "one"]):
        ingested(file.path, inside=file.inside)

    assert seen == ["one/events/event-1.json", "one/events/event-2.json"]


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
    assert [file.inside.partition("/")[2] for file in found([tmp_path])][:2] == ["a/one.jsonl", "b.jsonl"]
    assert {file.inside.partition("/")[0] for file in found([tmp_path])} == {tmp_path.name}
    assert [file.inside for file in found([tmp_path / "b.jsonl"])] == [""]
    assert DATA in [file.path.parents[1] for file in found([DATA]) if file.path.name == "bom.jsonl"]


def test_a_file_of_refusals_alone_keeps_the_first_and_counts_them_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chronicle.ingest.report.KEPT", 5)
    monkeypatch.setattr("chronicle.ingest.report.KINDS_KEPT", 3)
    kinds = [{"type": f"kind-{number}", "sessionId": "s"} for number in range(6)]
    path = written(tmp_path, [talk(1), *kinds])
    path.write_bytes(path.read_bytes() + b"x\n" * 20)
    report = ingested(path)

    assert (report.refusals, len(report.refused)) == (20, 5)
    assert report.ignored == {"kind-0": 1, "kind-1": 1, "kind-2": 1, "other kinds": 3}
    assert report.records == {"read": 27, "events": 1, "ignored": 6, "refused": 20}


def test_an_event_that_cannot_be_stored_is_refused_alone(tmp_path: Path) -> None:
    lines_given = (ANAGRAPHEUS / "run.recording.jsonl").read_text().splitlines()[:4]
    lines_given[2] = lines_given[2].replace('"schema_version":1', f'"schema_version":{2**40}')
    path = tmp_path / "recording.jsonl"
    path.write_text("\n".join(lines_given) + "\n")
    report = ingested(path)

    assert (report.logs[0].added, report.logs[0].refused) == (2, 1)
    assert [(refused.line, refused.reason) for refused in report.refused] == [
        (3, "schema_version is a whole number from 1 to 2147483647")
    ]


@pytest.mark.django_db(transaction=True)
def test_the_same_files_ingested_by_several_at_once_land_once() -> None:
    paths = [CLAUDE / "interleaved.jsonl", CLAUDE / "image.jsonl", ANAGRAPHEUS / "run.sqlite"]

    def all_of_them(_: int) -> list[FileReport]:
        try:
            return [ingested(path) for path in paths]
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        reports = [report for reports in pool.map(all_of_them, range(4)) for report in reports]

    assert sum(log.added for report in reports for log in report.logs) == 16 + 6 + 197
    assert sum(log.sections for report in reports for log in report.logs) == 18
    assert not any(report.refused for report in reports)
    assert Log.objects.count() == 4
    for log in Log.objects.all():
        assert [event.seq for event in read(log)] == list(range(1, log.last_seq + 1))
