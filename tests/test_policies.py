"""Policy rows: never changed, refused out of range, holding from a seq on."""

from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from chronicle import policies, sections
from chronicle.errors import InvalidPolicy
from chronicle.fold import consolidate
from chronicle.log import append
from chronicle.models import Policy
from chronicle.reading import Anchors
from tests.builders import log_of, said
from tests.summarisers import Noting

pytestmark = pytest.mark.django_db


@pytest.mark.promise("S60", "S61")
@pytest.mark.parametrize(
    ("name", "wrong", "says"),
    [
        ("interval_messages", 0, "from 1 to"),
        ("rollup_batch", 1, "from 2 to 100"),
        ("rollup_batch", 101, "from 2 to 100"),
        ("rollup_threshold", 201, "to 200"),
        ("rollup_threshold", 7, "from rollup_batch"),
        ("max_recent", 0, "from 1 to 100"),
        ("max_older", 101, "from 0 to 100"),
        ("recent_window_hours", 8761, "from 1 to 8760"),
        ("token_budget", 199, "from 200 to 32000"),
        ("max_events_per_section", 5001, "from 1 to 5000"),
        ("interval_tokens", 0, "from 1 to"),
        ("interval_messages", True, "whole number"),
        ("interval_messages", "40", "whole number"),
        ("boundary", "dinner/Closed", "list of marker types"),
        ("boundary", ["Closed"], "namespace/type"),
        ("colour", 1, "has no 'colour'"),
    ],
)
def test_a_value_out_of_its_range_is_refused_with_the_range(name: str, wrong: Any, says: str) -> None:
    log = log_of(1)
    policies.rows(log)
    with pytest.raises(InvalidPolicy, match=says):
        policies.set_for(log, made_by="putri", **{name: wrong})
    assert Policy.objects.filter(log=log).count() == 1


@pytest.mark.promise("S60")
def test_the_database_refuses_what_goes_past_the_door() -> None:
    for wrong in ({"rollup_batch": 1}, {"rollup_threshold": 3}, {"token_budget": 10}, {"max_recent": 0}):
        with pytest.raises(DatabaseError), transaction.atomic():
            Policy.objects.create(made_at=timezone.now(), **wrong)


@pytest.mark.promise("K11")
def test_a_row_holds_from_its_seq_on_and_never_for_what_is_covered() -> None:
    log = log_of(85)
    consolidate(log, summariser=Noting())
    row = policies.set_for(log, made_by="putri", interval_messages=10)
    assert row.from_seq == 81
    append(log, [said(str(n)) for n in range(20)])
    consolidate(log, summariser=Noting())
    ids = [anchor.id for anchor in Anchors(sections.current_edition(log)).anchors()]
    assert ids == ["1-40", "41-80", "81-90", "91-100"]
    with pytest.raises(InvalidPolicy, match="101 or later"):
        policies.set_for(log, made_by="putri", from_seq=5, interval_messages=7)


@pytest.mark.promise("K11")
def test_a_new_default_moves_no_anchor_of_a_log_that_was_consolidated() -> None:
    old = log_of(10)
    consolidate(old, summariser=Noting())
    policies.set_default(made_by="putri", interval_messages=5)
    append(old, [said(str(n)) for n in range(10)])
    consolidate(old, summariser=Noting())
    assert sections.consolidated_through(sections.current_edition(old)) == 0
    young = log_of(10)
    consolidate(young, summariser=Noting())
    assert sections.consolidated_through(sections.current_edition(young)) == 10


@pytest.mark.promise("S16", "K12", "S23")
def test_the_defaults_are_the_documented_ones() -> None:
    row = policies.default()
    assert (row.interval_messages, row.max_events_per_section) == (40, 400)
    assert (row.rollup_threshold, row.rollup_batch) == (12, 8)
    assert (row.max_recent, row.max_older, row.recent_window_hours, row.token_budget) == (8, 12, 24, 2000)
