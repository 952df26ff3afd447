"""What an agent had at a seq: every event accounted for, exact where a receipt says so, reconstructed elsewhere."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chronicle import moments, policies, sections
from chronicle.envelope import COMPACTION, PendingEvent
from chronicle.errors import InvalidFilter
from chronicle.fold import consolidate
from chronicle.log import append
from chronicle.models import AnchorKind, Edition, Log, Origin, Policy
from chronicle.moments import Had, How
from chronicle.receipts import read_brief, read_list
from chronicle.sections import NewSection
from tests.builders import log_of, marker, said, units_of
from tests.summarisers import Noting
from tests.test_receipts import again

pytestmark = pytest.mark.django_db

WHO: dict[str, Any] = {"by": "concierge", "capability": "read"}
NO_FIXTURES = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


def compaction() -> PendingEvent:
    return marker(type=COMPACTION)


def imported(log: Log, from_seq: int, to_seq: int, claim: int | None = None, prose: str = "A summary.") -> None:
    words = NewSection(
        from_seq=from_seq,
        to_seq=to_seq,
        kind=AnchorKind.IMPORTED,
        event_count=1,
        title=f"up to {to_seq}",
        prose=prose,
        origin=Origin.IMPORTED,
        replaces_from=claim,
    )
    sections.append_new(sections.current_edition(log), words)


def ranges(had: Had) -> list[tuple[int, int, str]]:
    """The spans: what stands for them, "events" or "nothing"."""
    return [(one.from_seq, one.to_seq, one.ref or ("nothing" if one.dropped else "events")) for one in had.spans]


def accounts_for(had: Had, seq: int) -> bool:
    """Shown and stated to be left out, together: every event from 1 to the seq, once."""
    covered = [event for span in had.spans for event in range(span.from_seq, span.to_seq + 1)]
    return covered == list(range(1, seq + 1))


@pytest.mark.promise("K47")
@given(st.lists(st.tuples(st.integers(1, 6), st.booleans()), min_size=1, max_size=6), st.integers(0, 3))
@settings(max_examples=25, suppress_health_check=NO_FIXTURES)
def test_at_every_seq_of_an_imported_log_all_events_are_accounted_for(cuts: list[tuple[int, bool]], rest: int) -> None:
    """Each cut: so many events, a compaction; its summary claims all from seq 1, or its own stretch."""
    log, start = log_of(1, source_session=uuid4().hex), 1
    for size, rolling in cuts:
        append(log, [said(str(place)) for place in range(size)] + [compaction()])
        log.refresh_from_db()
        imported(log, start, log.last_seq, 1 if rolling else start)
        start = log.last_seq + 1
    append(log, [said(f"rest {place}") for place in range(rest)])
    log.refresh_from_db()
    for seq in range(1, log.last_seq + 1):
        had = moments.at(log, seq)
        assert had.how is How.IMPORTED
        assert accounts_for(had, seq)
        assert had.not_shown == ()


@pytest.mark.promise("K47")
@given(st.integers(1, 14), st.integers(200, 700), st.integers(0, 3))
@settings(max_examples=12, suppress_health_check=NO_FIXTURES)
def test_at_every_seq_of_another_log_all_events_are_accounted_for(units: int, budget: int, rest: int) -> None:
    log = units_of(units)
    policies.set_for(log, made_by="test", token_budget=budget, max_older=2, rollup_threshold=4, rollup_batch=3)
    consolidate(log, summariser=Noting("Dina asked for a quiet table for eight. " * 9))
    append(log, [said(f"rest {place}") for place in range(rest)])
    log.refresh_from_db()
    for seq in range(1, log.last_seq + 1):
        had = moments.at(log, seq)
        assert had.how is How.POLICY
        assert accounts_for(had, seq)


@pytest.mark.promise("K47")
@given(st.integers(1, 12), st.sampled_from([None, 1, 12, 40, 90, 200, 900]), st.sampled_from([None, "booking", "x"]))
@settings(max_examples=20, suppress_health_check=NO_FIXTURES)
def test_where_a_brief_was_given_what_it_gave_and_left_out_accounts_for_all(
    upto: int, budget: int | None, reader: str | None
) -> None:
    log = units_of(3)
    consolidate(log, summariser=Noting("Dina asked. " * 9))
    append(log, [said(f"rest {place}", audience=("booking",) if place % 2 else ()) for place in range(6)])
    written = read_brief(log, **WHO, upto_seq=upto, budget=budget, reader=reader).written
    had = moments.at(log, upto)
    assert had.exact and had.receipt is not None
    assert accounts_for(had, upto)
    stated = {seq for first, last in written.not_shown for seq in range(first, last + 1)}
    assert {seq for first, last in had.not_shown for seq in range(first, last + 1)} == stated


@pytest.mark.promise("K47")
def test_a_summary_is_in_force_from_its_boundary_on_and_stands_for_what_it_claims() -> None:
    log = log_of([said("1"), said("2"), compaction(), said("4"), compaction(), said("6")], source_session="s")
    imported(log, 1, 3, 1)
    imported(log, 4, 5, 1)
    assert ranges(moments.at(log, 2)) == [(1, 2, "events")]
    assert ranges(moments.at(log, 3)) == [(1, 3, "1-3#1")]
    assert ranges(moments.at(log, 4)) == [(1, 3, "1-3#1"), (4, 4, "events")]
    assert ranges(moments.at(log, 6)) == [(1, 5, "4-5#1"), (6, 6, "events")]


@pytest.mark.promise("K47")
def test_what_was_drawn_here_later_was_not_in_front_of_the_agent() -> None:
    log = log_of([said("1"), compaction(), said("3")], source_session="s")
    imported(log, 1, 2, prose="The agent's own summary.")
    again(log, "1-2", "Drawn here.")
    had = moments.at(log, 3)
    assert [span.section.prose for span in had.spans if span.section] == ["The agent's own summary."]


def test_a_compaction_without_a_summary_is_counted_since_what_it_left_is_not_known() -> None:
    log = log_of([said(), compaction(), said()], source_session="s")
    had = moments.at(log, 3)
    assert (ranges(had), had.unsummarised) == ([(1, 3, "events")], 1)


def test_a_brief_is_exact_at_its_own_seq_alone_and_the_newest_counts() -> None:
    log = units_of(2)
    consolidate(log, summariser=Noting())
    read_brief(log, **WHO, upto_seq=2)
    newest = read_brief(log, **WHO, upto_seq=2).receipt
    read_list(sections.current_edition(log), **WHO)
    assert moments.at(log, 2).receipt == newest
    later = moments.at(log, 3)
    assert (later.how, later.receipt, later.last_brief) == (How.POLICY, None, newest)
    assert not moments.at(log, 4).exact
    assert moments.at(log, 1).last_brief is None
    assert [one.number for one in moments.others_at(log, 2)] == [2, 1]


@pytest.mark.promise("K47")
def test_the_moments_are_where_sections_end_compactions_stand_and_briefs_were_given() -> None:
    log = units_of(4)
    consolidate(log, summariser=Noting())
    append(log, [said(), compaction(), said(), said()])
    read_brief(log, **WHO, upto_seq=3)
    read_brief(log, **WHO, upto_seq=4)
    found, seq = [], moments.around(log, 1).next
    while seq:
        found.append(seq)
        seq = moments.around(log, seq).next
    assert found == [2, 3, 4, 6, 8, 10]
    assert moments.around(log, 7) == (2, 6, 8, 10, 4, 6)
    assert moments.around(log, 8)[1:] == (6, 10, 10, 5, 6)


def test_a_seq_that_the_log_has_not_is_refused() -> None:
    log = log_of(3)
    for seq in (0, 4):
        with pytest.raises(InvalidFilter, match="1 to 3"):
            moments.at(log, seq)


def test_looking_writes_nothing() -> None:
    log = log_of(3)
    moments.at(log, 2)
    moments.around(log, 2)
    assert not Edition.objects.exists() and not Policy.objects.exists()


def test_a_long_log_costs_as_few_queries_as_a_short_one() -> None:
    def queries(units: int) -> int:
        log = units_of(units)
        consolidate(log, summariser=Noting())
        with CaptureQueriesContext(connection) as captured:
            moments.at(log, units)
            moments.around(log, units)
        return len(captured)

    assert queries(2) == queries(40)
