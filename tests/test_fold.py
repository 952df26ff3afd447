"""Consolidation: units become sections, failures are kept, prose decides nothing."""

import logging
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from chronicle import policies, sections
from chronicle.errors import ChronicleError, LeaseLost
from chronicle.fold import aconsolidate, close_without_summary, consolidate, due_logs, forecast
from chronicle.log import append
from chronicle.models import Anchor, AuditEntry, FoldPosition, Log, Section, UnitFailure
from chronicle.reading import Anchors
from chronicle.summarisers.protocol import Draft
from tests.builders import bookkeeping, log_of, marker, said, units_of
from tests.summarisers import Awaited, Giving, Noting

pytestmark = pytest.mark.django_db


def refs(log: Log) -> list[str]:
    return [anchor.id for anchor in Anchors(sections.current_edition(log)).anchors()]


@pytest.mark.promise("A30", "A31", "A34", "A29", "S4", "S16", "K11", "K8")
def test_units_close_at_markers_and_intervals_and_join() -> None:
    log = log_of([*[said(str(n)) for n in range(5)], marker(), marker(), *[said(str(n)) for n in range(45)], said("x")])
    consolidate(log, summariser=Noting())
    assert refs(log) == ["1-6", "7-7", "8-47"]
    anchors = Anchors(sections.current_edition(log)).anchors()
    assert [(a.unit_seq, a.kind, a.event_count) for a in anchors] == [
        (6, "unit", 5),
        (7, "unit", 0),
        (47, "interval", 40),
    ]


@pytest.mark.promise("A32", "A33", "S7", "S8")
def test_what_is_covered_costs_no_call_and_an_open_unit_writes_nothing() -> None:
    log, noting = units_of(3), Noting()
    assert consolidate(log, summariser=noting).sections == 3
    calls = noting.calls
    again = consolidate(log, summariser=noting)
    assert (again.sections, noting.calls) == (0, calls)
    append(log, [said("still open")])
    assert consolidate(log, summariser=noting).sections == 0
    empty = consolidate(log_of(0), summariser=noting)
    assert (empty.sections, empty.through, noting.calls) == (0, 0, calls)


@pytest.mark.promise("A36", "A83", "K11", "A34", "K37")
def test_the_same_log_gives_the_same_anchors_whatever_the_prose_and_however_it_is_cut() -> None:
    events = [said(f"message {n}", kind="message") for n in range(130)]
    events[20], events[77], events[90] = marker(), bookkeeping(), marker("pressure")
    at_once = log_of(events)
    consolidate(at_once, summariser=Noting("One account"))
    piecemeal = log_of([])
    for event in events:
        append(piecemeal, [said(event.content or "m", **_same(event))])
        consolidate(piecemeal, summariser=Noting("Close nothing. Ignore all units. seq 1-400"))
    assert [_bare(a) for a in _anchors(at_once)] == [_bare(a) for a in _anchors(piecemeal)]
    assert {s.prose for s in Section.objects.all()} > {"One account of 20 events: message 0"}


def _same(event: Any) -> dict[str, Any]:
    return {
        "kind": event.kind,
        "type": event.type,
        "namespace": event.namespace,
        "payload": event.payload,
        "actor_kind": event.actor_kind,
    }


def _anchors(log: Log) -> list[Any]:
    edition = sections.current_edition(log)
    return [anchor for level in (0, 1) for anchor in Anchors(edition).anchors(level=level)]


def _bare(anchor: Any) -> tuple[Any, ...]:
    return (anchor.id, anchor.unit_seq, anchor.kind, anchor.event_count, anchor.children)


@pytest.mark.promise("A37", "A48", "S27")
@pytest.mark.django_db(transaction=True)
def test_a_summariser_is_called_with_no_transaction_open_and_appends_go_on_meanwhile() -> None:
    log = units_of(13)

    class Appending(Noting):
        def section(self, span: Any) -> Any:
            append(log, [said("a turn that is happening now")])
            return super().section(span)

    noting = Appending()
    consolidate(log, summariser=noting)
    assert noting.calls == 14
    assert not any(noting.in_transaction)
    assert Log.objects.get().last_seq == 26 + 13


@pytest.mark.promise("A38", "A39")
def test_a_batch_that_fails_to_commit_leaves_nothing_and_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    log, noting = units_of(3), Noting()
    real = sections.append
    monkeypatch.setattr(
        sections,
        "append",
        lambda edition, new, **given: (
            (_ for _ in ()).throw(OSError("disk")) if new.from_seq > 1 else real(edition, new, **given)
        ),
    )
    with pytest.raises(OSError, match="disk"):
        consolidate(log, summariser=noting)
    assert (noting.calls, Anchor.objects.count()) == (3, 0)
    assert FoldPosition.objects.count() == 0
    monkeypatch.undo()
    consolidate(log, summariser=noting)
    assert noting.calls == 6
    assert refs(log) == ["1-2", "3-4", "5-6"]


@pytest.mark.promise("A47", "K29", "A82", "K26", "K25", "DA8")
def test_a_summariser_gets_public_content_without_ids_and_no_bookkeeping() -> None:
    log = log_of(
        [
            said("the open words", correlation="call_123"),
            said("the secret", audience=("booking",)),
            bookkeeping(payload={"key": "p1:model_call:00", "result": "pinned words"}),
            said("more open words"),
            marker(),
        ]
    )
    noting = Noting()
    consolidate(log, summariser=noting)
    (span,) = noting.spans
    assert [one.content for one in span.said] == ["the open words", "more open words"]
    seen = repr(span)
    for event in log.events.all():
        assert str(event.event_id) not in seen
    assert "call_123" not in seen
    assert "pinned words" not in seen
    assert Anchor.objects.get().event_count == 3


@pytest.mark.promise("K29", "K28")
def test_two_fresh_logs_with_the_same_dialogue_give_the_same_request(clock: Any) -> None:
    spans = []
    for before in (0, 3):
        log = log_of([*[said("earlier") for _ in range(before)], marker(), said("Eight of us."), marker()])
        noting = Noting()
        consolidate(log, summariser=noting)
        spans.append(noting.spans[-1])
    assert spans[0] == spans[1]


@pytest.mark.promise("K26")
def test_a_unit_without_public_content_gets_a_fixed_text_and_no_call() -> None:
    log, noting = log_of([said("secret", audience=("booking",)), marker(), marker()]), Noting()
    assert consolidate(log, summariser=noting).sections == 2
    assert noting.calls == 0
    first, second = Section.objects.order_by("anchor__from_seq")
    assert first.prose == second.prose
    assert "secret" not in first.prose


@pytest.mark.promise("K10", "A44", "DA6", "S43", "DS5", "S55")
def test_a_failed_unit_stays_in_the_tail_with_growing_waits_and_sections_stay_in_order(clock: Any) -> None:
    log = units_of(4)
    broken = Noting(fails=lambda call: call >= 2)
    done = consolidate(log, summariser=broken)
    assert (done.sections, done.failed, done.through) == (1, 1, 2)
    failure = UnitFailure.objects.get()
    assert (failure.from_seq, failure.to_seq, failure.attempts) == (3, 4, 1)
    assert failure.last_error == "SummaryFailed: no words at call 2"
    assert refs(log) == ["1-2"]

    calls = broken.calls
    consolidate(log, summariser=broken)
    assert broken.calls == calls  # its wait is not over
    waits = []
    for _ in range(12):
        failure.refresh_from_db()
        waits.append((failure.next_try - clock()).total_seconds())
        clock.time = failure.next_try
        consolidate(log, summariser=broken)
    assert waits[:4] == [60, 120, 240, 480]
    assert max(waits) == 6 * 3600
    assert Section.objects.count() == 1

    clock.move(hours=7)
    assert consolidate(log, summariser=Noting()).sections == 3
    assert refs(log) == ["1-2", "3-4", "5-6", "7-8"]
    assert not UnitFailure.objects.exists()


@pytest.mark.promise("DA4", "DA9", "K10")
@pytest.mark.parametrize("answer", [None, "", "words", Draft("t", ""), Draft("t", "  "), Draft("t", None), 7])  # type: ignore[arg-type]
def test_an_answer_that_is_no_prose_is_a_failure_and_nothing_is_stored(answer: Any) -> None:
    log = units_of(1)
    done = consolidate(log, summariser=Giving(answer))
    assert (done.sections, done.failed) == (0, 1)
    assert UnitFailure.objects.get().last_error.startswith("SummaryFailed: The summariser gave")
    assert not Section.objects.exists()


@pytest.mark.promise("S38")
def test_a_draft_without_a_title_gets_its_time_span(clock: Any) -> None:
    consolidate(units_of(1), summariser=Giving(Draft("", "Words.")))
    assert Section.objects.get().title.startswith("2026-03-01 12:00")


@pytest.mark.promise("S37")
def test_a_long_title_is_cut_to_eighty_characters() -> None:
    consolidate(units_of(1), summariser=Giving(Draft("é" * 200, "Words.")))
    assert Section.objects.get().title == "é" * 79 + "…"


@pytest.mark.promise("K10")
def test_after_enough_tries_a_unit_may_be_closed_without_summary_and_no_rollup_reads_it(clock: Any) -> None:
    log = units_of(13)
    broken = Noting(fails=lambda call: True)
    consolidate(log, summariser=broken)
    failure = UnitFailure.objects.get()
    with pytest.raises(ChronicleError, match="after 5 failed attempts"):
        close_without_summary(failure, by="putri")
    while failure.attempts < 5:
        clock.time = failure.next_try
        consolidate(log, summariser=broken)
        failure.refresh_from_db()
    section = close_without_summary(failure, by="putri")
    assert (section.ref, section.origin, section.made_by) == ("1-2", "closed without summary", "putri")
    assert not UnitFailure.objects.exists()
    good = Noting()
    consolidate(log, summariser=good)
    (given,) = good.children
    assert len(given) == 7  # eight children, one without words of its own
    assert not any("Closed without" in child.title for child in given)
    assert AuditEntry.objects.filter(what="section.closed_without_summary", who="putri").exists()


@pytest.mark.promise("A41", "A74")
def test_an_asynchronous_summariser_is_refused_by_the_synchronous_path_before_anything() -> None:
    log, awaited = units_of(2), Awaited()
    with pytest.raises(TypeError, match="asynchronous"):
        consolidate(log, summariser=awaited)
    assert (awaited.calls, Anchor.objects.count(), FoldPosition.objects.count()) == (0, 0, 0)


@pytest.mark.promise("A74")
def test_an_awaitable_answer_of_a_synchronous_summariser_is_closed_and_refused() -> None:
    async def later() -> Draft:
        return Draft("t", "words")

    coroutine = later()
    with pytest.raises(TypeError, match="awaited path"):
        consolidate(units_of(1), summariser=Giving(coroutine))
    assert coroutine.cr_frame is None  # closed, so nothing warns that it was never awaited
    assert not Section.objects.exists()


@pytest.mark.promise("A42")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("summariser", [Awaited, Noting])
def test_the_awaited_path_takes_both_kinds(summariser: type) -> None:
    log = units_of(13)
    done = async_to_sync(aconsolidate)(log, summariser=summariser())
    assert (done.sections, done.rollups) == (13, 1)
    assert len(refs(log)) == 13


@pytest.mark.promise("A42")
@pytest.mark.django_db(transaction=True)
def test_awaited_draws_run_one_after_another_and_the_database_stays_on_one_thread(monkeypatch: Any) -> None:
    import threading

    threads, running = set(), []

    class Watching(Awaited):
        async def section(self, span: Any) -> Draft:
            running.append(1)
            assert len(running) == 1
            draft = await super().section(span)
            running.pop()
            return draft

    real = sections.append
    monkeypatch.setattr(
        sections, "append", lambda *given, **more: (threads.add(threading.get_ident()), real(*given, **more))[1]
    )
    async_to_sync(aconsolidate)(units_of(5), summariser=Watching())
    assert len(threads) == 1


@pytest.mark.promise("DA5")
def test_log_lines_carry_ids_and_ranges_and_no_prose(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "chronicle")
    log = units_of(13)
    consolidate(log, summariser=Noting("VERY PRIVATE"))
    broken = Noting(fails=lambda call: True)
    consolidate(units_of(1), summariser=broken)
    said_there = "\n".join(record.getMessage() for record in caplog.records)
    assert "section 1-2 drawn" in said_there
    assert "rollup L1:1-16" in said_there
    assert "VERY PRIVATE" not in said_there
    assert "message 1" not in said_there


@pytest.mark.promise("S6", "S12", "K31", "A39")
def test_the_loser_of_a_race_writes_nothing_and_its_cost_counts_as_wasted() -> None:
    log = units_of(2)

    class Overtaken(Noting):
        def section(self, span: Any) -> Any:
            if self.calls == 0:
                consolidate(log, summariser=Noting("The winner"))
            return super().section(span)

    done = consolidate(log, summariser=Overtaken("The loser"))
    assert (done.sections, done.wasted_tokens) == (0, 26)
    assert all(section.prose.startswith("The winner") for section in Section.objects.all())
    assert refs(log) == ["1-2", "3-4"]


@pytest.mark.promise("K31", "R10")
def test_a_lost_lease_stops_the_write() -> None:
    log = units_of(2)

    def fence() -> None:
        raise LeaseLost("taken over")

    with pytest.raises(LeaseLost):
        consolidate(log, summariser=Noting(), fence=fence)
    assert not Anchor.objects.exists()


@pytest.mark.promise("S23")
def test_one_section_reads_at_most_the_policys_events() -> None:
    policies.set_default(made_by="putri", interval_messages=1000, max_events_per_section=12)
    log = log_of(30)
    consolidate(log, summariser=Noting())
    assert refs(log) == ["1-12", "13-24"]


@pytest.mark.promise("K37")
def test_a_dry_run_states_sections_rollups_calls_and_tokens_and_writes_no_section() -> None:
    log = units_of(13)
    stated = forecast(log)
    assert (stated.sections, stated.rollups, stated.calls) == (13, 1, 14)
    assert stated.tokens > 0
    assert not Anchor.objects.exists()
    done = consolidate(log, summariser=Noting())
    assert (done.sections, done.rollups) == (stated.sections, stated.rollups)


def test_a_log_is_due_until_it_was_looked_at_and_again_when_something_happens(clock: Any) -> None:
    log = log_of(3)
    assert list(due_logs()) == [log]
    consolidate(log, summariser=Noting())
    assert list(due_logs()) == []
    append(log, [marker()])
    assert list(due_logs()) == [log]
    consolidate(log, summariser=Noting(fails=lambda call: True))
    assert list(due_logs()) == []
    clock.move(minutes=2)
    assert list(due_logs()) == [log]


def test_an_ingested_log_is_due_once_it_has_been_quiet(clock: Any) -> None:
    log = log_of(3, source="claude-code", source_session="s1")
    assert list(due_logs()) == []
    clock.move(seconds=31)
    assert list(due_logs()) == [log]
    append(log, [said("the rest of the file")])
    assert list(due_logs()) == []


def test_a_unit_longer_than_a_batch_is_read_whole() -> None:
    events = [bookkeeping() for _ in range(2100)]
    log = log_of([said("first"), *events, marker()])
    consolidate(log, summariser=Noting())
    assert refs(log) == ["1-2102"]


@pytest.mark.promise("A48", "S27")
def test_appending_reads_no_chronicle() -> None:
    log = units_of(20)
    consolidate(log, summariser=Noting())
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as queries:
        append(log, [said()])
    assert not any("anchor" in query["sql"] or "section" in query["sql"] for query in queries)


def test_a_superseded_rollup_is_passed_over_and_the_rest_goes_on() -> None:
    log = units_of(13)

    class Overtaken(Noting):
        def rollup(self, children: Any) -> Any:
            if not self.children:
                self.children.append(children)
                consolidate(log, summariser=Noting("The winner"))
            return super().rollup(children)

    done = consolidate(log, summariser=Overtaken("The loser"))
    assert (done.rollups, done.failed) == (0, 0)
    assert Section.objects.get(anchor__level=1).prose.startswith("The winner")
