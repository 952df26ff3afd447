"""The cover holds its rules for any policy, any mix of levels, any way of growing."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronicle.cover import (
    Entry,
    RollupPolicy,
    check_children,
    check_partition,
    crosses,
    due_rollups,
    next_rollup,
    rolled,
    settle,
)


@st.composite
def policies(draw: st.DrawFn) -> RollupPolicy:
    batch = draw(st.integers(2, 20))
    return RollupPolicy(
        threshold=draw(st.integers(batch, 40)),
        batch=batch,
        max_recent=draw(st.integers(1, 20)),
        max_older=draw(st.integers(0, 20)),
    )


@st.composite
def covers(draw: st.DrawFn) -> list[Entry]:
    entries, start = [], 1
    for level, size in draw(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), max_size=60)):
        entries.append(Entry(level, start, start + size - 1))
        start += size
    return entries


@pytest.mark.promise("K13")
@settings(max_examples=30, deadline=None)
@given(policies(), st.integers(1, 400))
def test_growing_one_by_one_the_cover_stays_a_bounded_partition(policy: RollupPolicy, count: int) -> None:
    cover: list[Entry] = []
    for seq in range(1, count + 1):
        cover = settle([*cover, Entry(0, seq, seq)], policy)
        check_partition(cover, seq)
        assert len(cover) <= max(policy.bound, seq.bit_length())
        assert [entry.level for entry in cover] == sorted((entry.level for entry in cover), reverse=True)


@pytest.mark.promise("K13")
@settings(max_examples=60, deadline=None)
@given(policies(), covers())
def test_any_mix_of_levels_settles_into_a_partition_that_is_bounded_where_it_can_be(
    policy: RollupPolicy, cover: list[Entry]
) -> None:
    last = cover[-1].to_seq if cover else 0
    settled = settle(cover, policy)
    check_partition(settled, last)
    assert next_rollup(settled, policy) is None
    assert len(settled) <= policy.bound or all(one.level != other.level for one, other in pairwise(settled))


@pytest.mark.promise("K13")
@settings(max_examples=20, deadline=None)
@given(policies(), covers())
def test_whatever_an_import_brought_sections_that_follow_do_not_pile_up(
    policy: RollupPolicy, cover: list[Entry]
) -> None:
    cover = settle(cover, policy)
    brought, last = len(cover), cover[-1].to_seq if cover else 0
    for seq in range(last + 1, last + 257):
        cover = settle([*cover, Entry(0, seq, seq)], policy)
        assert len(cover) <= max(policy.bound, brought + 9)


@pytest.mark.promise("S49", "S53", "S54")
@settings(max_examples=60, deadline=None)
@given(policies(), covers())
def test_every_batch_that_is_due_fits_under_its_rollup(policy: RollupPolicy, cover: list[Entry]) -> None:
    for batch in due_rollups(cover, policy):
        check_children(batch.entries, batch.rollup)
        assert 2 <= len(batch.entries) <= policy.batch
        assert len(rolled(cover, batch)) == len(cover) - len(batch.entries) + 1


@pytest.mark.promise("S53")
@settings(max_examples=60, deadline=None)
@given(policies(), covers(), st.sets(st.integers(0, 59)))
def test_no_batch_reaches_across_a_gap(policy: RollupPolicy, cover: list[Entry], missing: set[int]) -> None:
    holed = [entry for place, entry in enumerate(cover) if place not in missing]
    for batch in due_rollups(holed, policy):
        check_children(batch.entries, batch.rollup)


@pytest.mark.promise("S49")
@settings(max_examples=30, deadline=None)
@given(policies(), covers())
def test_ranges_of_all_levels_nest(policy: RollupPolicy, cover: list[Entry]) -> None:
    ever = list(cover)
    while (batch := next_rollup(cover, policy)) is not None:
        cover = rolled(cover, batch)
        ever.append(batch.rollup)
    assert not any(crosses(one, other) for one in ever for other in ever)
