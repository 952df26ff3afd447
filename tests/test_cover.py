"""Which sections are rolled up, and what the cover is then."""

from collections import Counter

import pytest

from chronicle.cover import (
    Batch,
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
from chronicle.errors import InvalidPolicy, InvalidSection

USUAL = RollupPolicy()


def sections(count: int, *, level: int = 0, first: int = 1, size: int = 40) -> list[Entry]:
    starts = range(first, first + count * size, size)
    return [Entry(level, start, start + size - 1) for start in starts]


def grown(count: int, policy: RollupPolicy = USUAL) -> list[Entry]:
    cover: list[Entry] = []
    for entry in sections(count):
        cover = settle([*cover, entry], policy)
        assert len(cover) <= policy.bound
        check_partition(cover, entry.to_seq)
    return cover


@pytest.mark.promise("K12", "S47")
def test_eleven_sections_are_left_alone() -> None:
    assert next_rollup(sections(11), USUAL) is None


@pytest.mark.promise("K12", "S46", "S47", "S49")
def test_at_twelve_sections_the_oldest_eight_become_one_and_four_stay() -> None:
    cover = sections(12)
    batch = next_rollup(cover, USUAL)
    assert batch == Batch(0, tuple(cover[:8]))
    assert batch.rollup == Entry(1, 1, 320)
    assert settle(cover, USUAL) == [Entry(1, 1, 320), *cover[8:]]


@pytest.mark.promise("K12")
def test_at_thirteen_sections_one_rollup_and_five_sections_stand() -> None:
    assert [entry.level for entry in grown(13)] == [1, 0, 0, 0, 0, 0]


@pytest.mark.promise("S48")
def test_every_level_is_rolled_the_same_way() -> None:
    cover = sections(12, level=7)
    assert next_rollup(cover, USUAL) == Batch(7, tuple(cover[:8]))


@pytest.mark.promise("R3")
def test_a_higher_level_is_due_though_the_level_below_has_nothing_to_roll() -> None:
    high = sections(12, level=1)
    low = sections(3, first=high[-1].to_seq + 1)
    assert next_rollup([*high, *low], USUAL) == Batch(1, tuple(high[:8]))


@pytest.mark.promise("R3")
def test_the_lowest_level_comes_first_and_each_is_due_on_its_own() -> None:
    high = sections(12, level=1)
    low = sections(12, first=high[-1].to_seq + 1)
    assert [batch.level for batch in due_rollups([*high, *low], USUAL)] == [0, 1]


@pytest.mark.promise("S53")
def test_a_run_with_a_gap_is_not_rolled_across_it() -> None:
    whole = sections(13)
    assert next_rollup([*whole[:4], *whole[5:]], USUAL) is None


@pytest.mark.promise("S53")
def test_over_its_bound_a_cover_is_still_not_rolled_across_a_gap() -> None:
    scattered = sections(45)[::2]
    assert len(scattered) > USUAL.bound
    assert next_rollup(scattered, USUAL) is None


@pytest.mark.promise("K13")
def test_over_its_bound_the_fullest_level_is_rolled_though_below_the_threshold() -> None:
    high = sections(10, level=1, size=320)
    low = sections(11, first=high[-1].to_seq + 1)
    assert next_rollup([*high, *low], USUAL) == Batch(0, tuple(low[:8]))
    assert next_rollup([*high, *low[:10]], USUAL) is None


@pytest.mark.promise("K13")
def test_a_batch_over_the_bound_may_be_as_small_as_two() -> None:
    policy = RollupPolicy(max_recent=1, max_older=1)
    assert next_rollup(sections(3), policy) == Batch(0, tuple(sections(3)))
    high = sections(1, level=1)
    low = sections(2, first=high[-1].to_seq + 1)
    assert next_rollup([*high, *low], policy) == Batch(0, tuple(low))


@pytest.mark.promise("K13")
@pytest.mark.parametrize("count", [13, 20, 84, 100, 1000])
def test_the_cover_is_a_partition_of_at_most_twenty_entries_at_every_count_on_the_way(count: int) -> None:
    assert len(grown(count)) <= 20


@pytest.mark.promise("K13")
def test_the_cover_never_passes_twenty_through_twenty_thousand_sections() -> None:
    levels = Counter(entry.level for entry in grown(20_000))
    assert sum(levels.values()) <= 20
    assert max(levels) >= 4


@pytest.mark.promise("K13")
def test_sections_that_arrive_all_at_once_are_bounded_too() -> None:
    cover = settle(sections(1000), USUAL)
    check_partition(cover, 40_000)
    assert len(cover) <= 20


@pytest.mark.promise("S54", "K13")
def test_where_no_two_neighbours_are_of_one_level_there_is_nothing_to_roll() -> None:
    mixed = [Entry(place % 2, place * 10 + 1, place * 10 + 10) for place in range(21)]
    assert next_rollup(mixed, USUAL) is None


@pytest.mark.promise("K13")
def test_an_imported_mix_is_rolled_run_by_run_into_the_bound() -> None:
    mixed = [Entry(place // 3 % 2, place * 10 + 1, place * 10 + 10) for place in range(60)]
    cover = settle(mixed, USUAL)
    check_partition(cover, 600)
    assert len(cover) == 20


def test_within_its_bound_a_mixed_cover_is_left_alone() -> None:
    mixed = [Entry(place % 3, place * 10 + 1, place * 10 + 10) for place in range(20)]
    assert next_rollup(mixed, USUAL) is None


@pytest.mark.promise("S53")
def test_two_stretches_of_one_level_are_two_runs() -> None:
    left = sections(6)
    middle = Entry(1, left[-1].to_seq + 1, left[-1].to_seq + 320)
    right = sections(6, first=middle.to_seq + 1)
    assert next_rollup([*left, middle, *right], USUAL) is None


@pytest.mark.promise("S54")
@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_children_make_no_rollup(count: int) -> None:
    with pytest.raises(InvalidSection, match="at least two"):
        check_children(sections(count), Entry(1, 1, 40))


@pytest.mark.promise("S49")
def test_the_children_of_a_rollup_are_exactly_its_range() -> None:
    check_children(sections(8), Entry(1, 1, 320))
    with pytest.raises(InvalidSection, match="end at 320, not at 330"):
        check_children(sections(8), Entry(1, 1, 330))
    with pytest.raises(InvalidSection, match="no section covers 1-40"):
        check_children(sections(8)[1:], Entry(1, 1, 320))


@pytest.mark.promise("S53")
def test_children_with_a_gap_are_refused() -> None:
    holed = sections(8)
    del holed[3]
    with pytest.raises(InvalidSection, match="no section covers 121-160"):
        check_children(holed, Entry(1, 1, 320))


@pytest.mark.promise("S57")
def test_a_rollup_reads_the_level_below_it_and_no_other() -> None:
    with pytest.raises(InvalidSection, match="L2:1-320 reads level 1, 1-40 is not of it"):
        check_children(sections(8), Entry(2, 1, 320))
    with pytest.raises(InvalidSection, match="L1:1-320 reads level 0, L1:281-320 is not of it"):
        check_children([*sections(7), Entry(1, 281, 320)], Entry(1, 1, 320))


@pytest.mark.parametrize(
    ("entries", "last", "words"),
    [
        ([], 5, "end at 0, not at 5"),
        ([Entry(0, 9, 3)], 3, "ends before it starts"),
        ([Entry(0, 4, 9)], 9, "no section covers 1-3"),
        ([Entry(0, 1, 5), Entry(0, 5, 9)], 9, "overlaps"),
        ([Entry(0, 1, 5)], 9, "end at 5, not at 9"),
        ([Entry(0, 1, 9)], 5, "end at 9, not at 5"),
    ],
)
def test_what_is_no_partition_is_refused_with_the_place(entries: list[Entry], last: int, words: str) -> None:
    with pytest.raises(InvalidSection, match=words):
        check_partition(entries, last)


def test_an_empty_cover_is_the_partition_of_an_empty_log() -> None:
    check_partition([], 0)
    assert next_rollup([], USUAL) is None


def test_a_batch_that_is_no_longer_in_the_cover_is_refused() -> None:
    cover = sections(12)
    batch = next_rollup(cover, USUAL)
    assert batch is not None
    with pytest.raises(InvalidSection, match="not in the cover as they were read"):
        rolled([*cover[:2], *cover[3:]], batch)


@pytest.mark.parametrize(
    ("one", "other", "crossing"),
    [((1, 5), (6, 9), False), ((1, 5), (5, 9), True), ((1, 9), (1, 5), False), ((3, 4), (1, 9), False)],
)
def test_ranges_cross_when_they_overlap_without_nesting(
    one: tuple[int, int], other: tuple[int, int], crossing: bool
) -> None:
    assert crosses(Entry(0, *one), Entry(0, *other)) is crosses(Entry(0, *other), Entry(0, *one)) is crossing


def test_the_callers_own_reference_travels_with_an_entry_and_changes_nothing() -> None:
    cover = [Entry(0, entry.from_seq, entry.to_seq, ref=place) for place, entry in enumerate(sections(12))]
    batch = next_rollup(cover, USUAL)
    assert batch is not None
    assert [entry.ref for entry in batch.entries] == list(range(8))
    assert batch.entries == tuple(sections(12)[:8])


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"batch": 1}, "rollup_batch"),
        ({"batch": 101, "threshold": 150}, "rollup_batch"),
        ({"threshold": 7}, "rollup_threshold"),
        ({"threshold": 201}, "rollup_threshold"),
        ({"max_recent": 0}, "max_recent"),
        ({"max_older": 101}, "max_older"),
    ],
)
@pytest.mark.promise("S60")
def test_a_policy_value_outside_its_range_is_refused_by_name(fields: dict[str, int], name: str) -> None:
    with pytest.raises(InvalidPolicy, match=name):
        RollupPolicy(**fields)
