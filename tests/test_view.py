"""The view over a cover: a partition but for a stated prefix, labelled by coverage."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronicle import sections
from chronicle.brief import Brief
from chronicle.cover import Entry, RollupPolicy, settle
from chronicle.fold import consolidate
from chronicle.log import append
from chronicle.reading import figures
from chronicle.view import view
from tests.builders import bookkeeping, log_of, marker, said, units_of
from tests.summarisers import Noting


def ground(count: int) -> list[Entry]:
    return [Entry(0, 10 * n + 1, 10 * n + 10) for n in range(count)]


@pytest.mark.promise("K14", "R6", "R9")
@given(
    st.lists(st.integers(1, 9), max_size=60),
    st.integers(0, 600),
    st.integers(1, 20),
    st.integers(0, 20),
)
def test_only_a_prefix_is_dropped_and_it_is_stated(
    sizes: list[int], recent_from: int, max_recent: int, max_older: int
) -> None:
    cover, start = [], 1
    for size in sizes:
        cover.append(Entry(0, start, start + size - 1))
        start += size
    shown = view(cover, recent_from=recent_from, max_recent=max_recent, max_older=max_older)
    entries = [*shown.older, *shown.recent]
    assert entries == cover[len(cover) - len(entries) :]
    assert len(entries) == min(len(cover), max_recent + max_older)
    first = entries[0].from_seq if entries else start
    assert shown.dropped == ((1, first - 1) if first > 1 else None)
    assert all(entry.to_seq >= recent_from for entry in shown.recent)


@pytest.mark.promise("K14", "R6", "R9", "DS1")
@pytest.mark.parametrize("count", range(1, 301))
def test_no_entry_falls_between_recent_and_older_at_any_count(count: int) -> None:
    cover = settle(ground(count), RollupPolicy())
    for recent in (1, count * 10 - 55, count * 10 + 1):
        shown = view(cover, recent_from=recent, max_recent=8, max_older=12)
        assert [*shown.older, *shown.recent] == cover
        assert shown.dropped is None


@pytest.mark.promise("R6", "K14")
def test_a_rollup_made_last_but_covering_the_oldest_is_older() -> None:
    cover = [Entry(1, 1, 80), *ground(13)[8:]]  # the rollup is the newest row and covers the oldest events
    shown = view(cover, recent_from=101, max_recent=8, max_older=12)
    assert shown.older == (Entry(1, 1, 80), Entry(0, 81, 90), Entry(0, 91, 100))
    assert [entry.from_seq for entry in shown.recent] == [101, 111, 121]


@pytest.mark.promise("K14", "K20")
@pytest.mark.django_db
def test_a_brief_views_the_cover_at_any_seq(clock: Any) -> None:
    log = units_of(13)
    clock.move(hours=48)
    append(log, [said("today"), marker()])
    consolidate(log, summariser=Noting())
    brief = Brief(sections.current_edition(log))
    now = brief.view()
    assert [entry.name for entry in now.recent] == ["27-28"]
    assert [entry.name for entry in now.older][:2] == ["L1:1-16", "17-18"]
    inside = brief.view(11)  # the rollup reaches past 11, so its children stand
    assert [entry.name for entry in (*inside.older, *inside.recent)] == ["1-2", "3-4", "5-6", "7-8", "9-10"]


@pytest.mark.promise("S87")
@pytest.mark.django_db
def test_the_figures_of_a_log(clock: Any) -> None:
    log = units_of(13)
    consolidate(log, summariser=Noting())
    clock.move(hours=1)
    append(log, [said(), bookkeeping(), said(kind="thought")])
    got = figures(sections.current_edition(log))
    assert (got.sections, got.ground, got.rollups, got.events, got.after) == (14, 13, 1, 15, 2)
    assert got.first_at is not None
    assert got.last_at is not None
    assert (got.last_at - got.first_at).total_seconds() == 3600
    empty = figures(sections.current_edition(log_of(0)))
    assert empty == (0, 0, 0, 0, None, None, 0)
