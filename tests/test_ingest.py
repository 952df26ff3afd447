"""Files into logs: once, in order, with their sections; what is refused is named, nothing is overwritten."""

import json
from pathlib import Path
from typing import Any

import pytest

from chronicle import canonical
from chronicle.envelope import StoredEvent
from chronicle.errors import LogNotFound, OwnerEmpty, UnknownFormat
from chronicle.importers import lines
from chronicle.importers.protocol import Read, record_of
from chronicle.ingest import found, run, versions
from chronicle.log import read
from chronicle.models import Attachment, Event, Log, Section, Source
from chronicle.verify import verify_log
from tests.builders import log_of
from tests.conftest import Clock
from tests.importers.files import CLAUDE, EVENTS, FILES, items, name_of
from tests.importers.places import LINE, is_lines, is_words, records_on, text_lines
from tests.ingesting import chronicle_of, compaction, events_of, ingested, only_log, talk, written

pytestmark = pytest.mark.django_db

every_file = pytest.mark.parametrize("path", FILES, ids=name_of)


@every_file
def test_everything_that_is_read_lands_in_order_and_is_counted(path: Path) -> None:
    report = ingested(path)
    given = [item for item in items(path) if isinstance(item, Read)]
    for log in report.logs:
        mine = list(dict.fromkeys(item.native_id for item in given if item.session == log.session))
        kept = [event.idempotency_key.partition(":")[2] for event in read(Log.objects.get(public_id=log.log))]
        firsts = [key for key in kept if versions.parsed(key).number == 1]
        assert firsts == mine
        assert log.added == log.last_seq == len(kept) == len(mine) + log.grown + log.conflicts
    assert len(given) == sum(log.added + log.replayed + log.refused for log in report.logs)


@every_file
def test_records_read_are_those_with_events_and_the_ignored_and_the_refused(path: Path) -> None:
    report = ingested(path)
    records = report.records

    assert records["read"] == records["events"] + records["ignored"] + records["refused"]
    assert records["ignored"] == sum(report.ignored.values())
    places = {record_of(locator) for locator in Event.objects.values_list("locator", flat=True)}
    if is_lines(path) and not is_words(path) and all(map(LINE.fullmatch, places)):
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
    assert Source.objects.count() == bool(first.records["events"]), "a file without an event leaves nothing"


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
    reports = [ingested(file.path, inside=file.inside) for file in found([CLAUDE / "project"])]
    parent, child = [report for report in reports if report.logs]

    assert parent.logs[0].log == child.logs[0].log
    actors = [(event.actor_kind, event.actor) for event in events_of(parent)]
    assert actors[-4:] == [
        ("agent", "assistant"),
        ("agent", "scout"),
        ("system", "Glob"),
        ("agent", "scout"),
    ]
    assert [(report.skipped, report.refused) for report in reports if not report.logs] == [("no known format", [])]


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
    with pytest.raises(UnknownFormat, match="no format 'word'; known are "):
        ingested(CLAUDE / "resume-a.jsonl", format="word")

    assert Event.objects.count() == 1
    assert not Source.objects.exists()


# Content


def test_the_same_id_with_other_content_is_kept_beside_what_is_stored_and_named_by_its_line() -> None:
    first = ingested(CLAUDE / "conflict-a.jsonl")
    before = [(event.seq, event.content, event.digest) for event in events_of(first)]
    report = ingested(CLAUDE / "conflict-b.jsonl")
    after = events_of(report)

    assert (report.logs[0].added, report.logs[0].replayed, report.logs[0].conflicts, report.refusals) == (2, 4, 2, 0)
    assert [(event.seq, event.content, event.digest) for event in after[:6]] == before
    assert [(note.line, note.words) for note in report.notes] == [
        (3, f"same id, other content: kept as event 7 of log {report.logs[0].log}, beside event 2"),
        (7, f"same id, other content: kept as event 8 of log {report.logs[0].log}, beside event 6"),
    ]
    assert [event.idempotency_key for event in after[6:]] == [f"{after[of].idempotency_key}~2" for of in (1, 5)]
    assert [event.causation for event in after[6:]] == [after[1].event_id, after[5].event_id]
    assert [ingested(CLAUDE / f"conflict-{name}.jsonl").logs[0].added for name in "abab"] == [0, 0, 0, 0]
    assert verify_log(only_log(report)).status == "OK"


def test_the_same_id_twice_in_one_file_is_compared_too(tmp_path: Path) -> None:
    other = talk(1) | {"message": {"content": "Other."}}
    path = written(tmp_path, [talk(1), talk(1), other, other, talk(2)])
    report = ingested(path)

    assert (report.logs[0].added, report.logs[0].replayed, report.logs[0].conflicts) == (3, 2, 1)
    assert [note.line for note in report.notes] == [3]
    assert [event.content for event in events_of(report)] == ["Message 1.", "Other.", "Message 2."]
    assert ingested(path).logs[0].added == 0


def test_a_message_that_grew_under_its_id_is_an_event_of_its_own_that_points_back(tmp_path: Path) -> None:
    texts = ["One", "One and two", "One and two and three"]
    files = [written(tmp_path, [talk(1, words=words), talk(2)], f"{words[-3:]}.jsonl") for words in texts]
    reports = [ingested(path) for path in files]
    stored = events_of(reports[-1])

    assert [(report.logs[0].added, report.logs[0].grown, report.logs[0].conflicts) for report in reports] == [
        (2, 0, 0),
        (1, 1, 0),
        (1, 1, 0),
    ]
    assert [event.content for event in stored] == ["One", "Message 2.", *texts[1:]]
    assert [event.causation for event in stored] == [None, None, stored[0].event_id, stored[2].event_id]
    assert [event.idempotency_key.rpartition("u1:0")[2] for event in stored if "u1:" in event.idempotency_key] == [
        "",
        "~2+",
        "~3+",
    ]
    assert not any(report.refused or report.notes for report in reports)
    assert [ingested(path).logs[0].added for path in files] == [0, 0, 0]


def test_an_older_snapshot_after_a_longer_one_adds_nothing(tmp_path: Path) -> None:
    ingested(written(tmp_path, [talk(1, words="One and two")], "long.jsonl"))
    report = ingested(written(tmp_path, [talk(1, words="One")], "short.jsonl"))

    assert (report.logs[0].added, report.logs[0].replayed, report.notes) == (0, 1, [])


def test_a_request_that_gained_arguments_grew_and_one_with_other_arguments_conflicts(tmp_path: Path) -> None:
    def call(arguments: dict[str, Any]) -> dict[str, Any]:
        block = {"type": "tool_use", "id": "t1", "name": "plant", "input": arguments}
        return {"type": "assistant", "sessionId": "s", "uuid": "u1", "message": {"content": [block]}}

    reports = [
        ingested(written(tmp_path, [call(arguments)], f"{number}.jsonl"))
        for number, arguments in enumerate([{"tree": "oak"}, {"tree": "oak", "rows": 2}, {"tree": "elm"}])
    ]

    assert [(report.logs[0].grown, report.logs[0].conflicts) for report in reports] == [(0, 0), (1, 0), (0, 1)]


def test_many_versions_of_one_id_stop_at_a_number_and_the_rest_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "MOST", 30)
    monkeypatch.setattr(run, "BATCH", 7)
    path = written(tmp_path, [talk(1, words=f"Version {number}.") for number in range(1, 41)])
    first, second = ingested(path), ingested(path)

    assert (first.logs[0].added, first.logs[0].conflicts, first.logs[0].refused) == (30, 29, 10)
    assert (second.logs[0].added, second.logs[0].replayed, second.logs[0].refused) == (0, 30, 10)
    assert [refused.line for refused in second.refused] == list(range(31, 41))


def test_a_sources_id_that_looks_like_a_version_is_an_id_like_any_other(tmp_path: Path) -> None:
    header = {"anagrapheus.events": 1, "session": "s"}
    event = {"kind": "message", "actor_kind": "human", "actor": "Ida"}
    rows = [event | {"id": name, "content": f"I am {name}."} for name in ("e", "e~2", "e~2+", "e~1", "e~2~2")]
    path = written(tmp_path, [header, *rows])
    other = written(
        tmp_path, [header, event | {"id": "e", "content": "No."}, event | {"id": "e~2", "content": "No."}], "o"
    )

    assert (ingested(path).logs[0].added, ingested(other).logs[0].conflicts) == (5, 2)
    assert [ingested(one).logs[0].added for one in (path, other)] == [0, 0]


@pytest.mark.parametrize(
    ("one", "other"), [("a\x00b", "a\\u0000b"), ("a\ud800b", "a\\ud800b"), ("\x00\\", "\\u0000\\\\")]
)
def test_text_that_no_database_takes_is_not_the_text_of_its_escape(tmp_path: Path, one: str, other: str) -> None:
    for first, second in ((one, other), (other, one)):
        session = f"from {canonical.sha256(repr(first).encode())}"
        ingested(written(tmp_path, [talk(1, session=session, words=first)], "first.jsonl"))
        again = ingested(written(tmp_path, [talk(1, session=session, words=first)], "first.jsonl"))
        report = ingested(written(tmp_path, [talk(1, session=session, words=second)], "second.jsonl"))

        assert (again.logs[0].replayed, again.refused) == (1, [])
        assert (report.logs[0].added, report.logs[0].replayed, report.logs[0].conflicts) == (1, 0, 1)
        assert [note.line for note in report.notes] == [1]


def test_the_same_id_for_other_readers_is_reported(tmp_path: Path) -> None:
    header = {"anagrapheus.events": 1, "session": "s"}
    event = {"id": "e1", "kind": "message", "actor_kind": "human", "actor": "Ida", "content": "For you alone."}
    ingested(written(tmp_path, [header, event | {"audience": ["gardener"]}], "private.jsonl"))
    report = ingested(written(tmp_path, [header, event], "public.jsonl"))

    assert [note.line for note in report.notes] == [2]
    assert [event.audience for event in events_of(report)] == [("gardener",), ()]


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


def test_a_sub_agent_told_twice_nested_and_in_its_own_file_is_one(tmp_path: Path) -> None:
    inner = {"type": "assistant", "uuid": "i1", "message": {"id": "m", "content": [{"type": "text", "text": "Sound."}]}}
    data = {"type": "agent_progress", "agentId": "a1", "message": inner}
    nested = {"type": "progress", "sessionId": "s", "uuid": "p1", "parentToolUseID": "toolu_t", "data": data}
    own = inner | {"sessionId": "s", "isSidechain": True, "agentId": "a1"}
    ingested(written(tmp_path, [talk(1), nested], "s.jsonl"))
    report = ingested(written(tmp_path, [own], "agent-a1.jsonl"))

    assert (report.logs[0].added, report.logs[0].replayed, report.refused) == (0, 1, [])


def test_times_at_the_ends_of_the_calendar_and_names_that_are_not_utf_8_are_stored(tmp_path: Path) -> None:
    times = ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"]
    records = [talk(number) | {"timestamp": time} for number, time in enumerate(times)]
    path = tmp_path / "odd-\udcff.jsonl"
    written(tmp_path, records, path.name)
    report = ingested(path)

    assert report.path.endswith("odd-\\udcff.jsonl")
    assert [event.claimed_at and event.claimed_at.year for event in events_of(report)] == [None, None, 1, 9999]
    assert Source.objects.get().name == report.path
