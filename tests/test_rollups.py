"""Rollups at every level, the bounded cover, stale marks."""

from typing import Any

import pytest

from chronicle import policies, rollups, sections
from chronicle.draws import Draws
from chronicle.fold import consolidate
from chronicle.log import append
from chronicle.models import Anchor, Edition, Log, RollupSource, Section, UnitFailure
from chronicle.reading import Anchors
from chronicle.sections import NewSection, cover_of
from tests.builders import marker, said, units_of
from tests.summarisers import Noting

pytestmark = pytest.mark.django_db


def cover(log: Log) -> list[str]:
    return [section.ref for section in cover_of(sections.current_edition(log))]


def is_partition(edition: Edition) -> bool:
    through = 0
    for section in cover_of(edition):
        if section.anchor.from_seq != through + 1:
            return False
        through = section.anchor.to_seq
    return through == sections.consolidated_through(edition)


@pytest.mark.promise("K12", "S46", "S47", "S56")
def test_twelve_sections_roll_their_oldest_eight_and_four_stay() -> None:
    expected = {11: (0, 11), 12: (1, 5), 13: (1, 6)}
    for count, (rolled, entries) in expected.items():
        log = units_of(count)
        assert consolidate(log, summariser=Noting()).rollups == rolled
        assert len(cover(log)) == entries
    assert cover(log)[0] == "L1:1-16"


@pytest.mark.promise("K13", "S48", "K17", "S58", "DS3")
@pytest.mark.parametrize("count", [13, 20, 84, 100])
def test_the_cover_is_a_partition_of_at_most_twenty_and_every_rollup_opens_down_to_its_events(count: int) -> None:
    log = units_of(count)
    consolidate(log, summariser=Noting())
    edition = sections.current_edition(log)
    entries = cover_of(edition)
    assert len(entries) <= 20
    assert is_partition(edition)
    opened = [seq for entry in entries for seq in _opened(edition, entry.anchor)]
    assert opened == list(range(1, log.last_seq + 1))


def _opened(edition: Edition, anchor: Anchor) -> list[int]:
    children = list(Anchor.objects.filter(rolled_up_into=anchor).order_by("from_seq"))
    if anchor.level == 0:
        assert not children
        return list(range(anchor.from_seq, anchor.to_seq + 1))
    assert len(children) >= 2
    return [seq for child in children for seq in _opened(edition, child)]


@pytest.mark.promise("K13", "S48")
def test_a_thousand_sections_one_after_another_keep_the_bound_at_every_step() -> None:
    log = units_of(0)
    edition = sections.current_edition(log)
    noting, worst = Noting(), 0
    for _ in range(40):
        append(log, [event for n in range(25) for event in (said(str(n)), marker())])
        consolidate(log, summariser=noting)
        worst = max(worst, len(cover_of(edition)))
        assert is_partition(edition)
    assert worst <= 20
    assert Anchor.objects.filter(edition=edition, level=0).count() == 1000
    assert max(Anchor.objects.values_list("level", flat=True)) >= 3


@pytest.mark.promise("S49", "S50", "S57", "R4", "S39")
def test_a_rollup_reads_its_childrens_words_never_the_events() -> None:
    log, noting = units_of(13), Noting("Account")
    consolidate(log, summariser=noting)
    ((first, *rest),) = noting.children
    assert first.title == "Account of 1 events: message 1.1"
    assert len(rest) == 7
    made = Section.objects.get(anchor__level=1)
    read = RollupSource.objects.filter(section=made).order_by("position")
    assert [source.source.anchor.ref for source in read] == [f"{n}-{n + 1}" for n in range(1, 17, 2)]
    assert made.anchor.event_count == 8


@pytest.mark.promise("R5", "S55", "K10", "R3")
def test_a_failed_rollup_writes_nothing_stamps_nothing_and_is_tried_again(clock: Any) -> None:
    log = units_of(13)
    done = consolidate(log, summariser=Noting(fails=lambda call: call > 13))
    assert (done.sections, done.rollups, done.failed) == (13, 0, 1)
    assert not Anchor.objects.filter(rolled_up_into__isnull=False).exists()
    failure = UnitFailure.objects.get()
    assert (failure.level, failure.from_seq, failure.to_seq, failure.attempts) == (1, 1, 16, 1)
    assert consolidate(log, summariser=Noting()).rollups == 0  # its wait is not over
    clock.move(minutes=2)
    assert consolidate(log, summariser=Noting()).rollups == 1
    assert not UnitFailure.objects.exists()


@pytest.mark.promise("R3")
def test_a_higher_level_is_tried_also_when_the_level_below_made_nothing(clock: Any) -> None:
    log = units_of(100)
    edition = sections.current_edition(log)
    consolidate(log, summariser=Noting(fails=lambda call: call > 100 and call != 101))
    clock.move(hours=7)
    policies_before = len(cover_of(edition))
    done = rollups.roll_up(edition, draws=Draws(edition, summariser=Noting()))
    assert len(done.made) > 1
    assert len(cover_of(edition)) < policies_before


@pytest.mark.promise("K12", "S60")
def test_the_policys_threshold_and_batch_are_used() -> None:
    policies.set_default(made_by="putri", rollup_threshold=3, rollup_batch=2)
    log = units_of(4)
    consolidate(log, summariser=Noting())
    assert cover(log) == ["L1:1-4", "5-6", "7-8"]


def test_a_rollup_is_stale_when_a_child_has_another_generation() -> None:
    log = units_of(13)
    consolidate(log, summariser=Noting())
    edition = sections.current_edition(log)
    assert rollups.stale_rollups(edition) == set()
    child = Section.objects.get(anchor__level=0, anchor__from_seq=3)
    sections.supersede(
        edition,
        child,
        NewSection(from_seq=3, to_seq=4, kind="unit", event_count=1, title="Again", prose="Other words."),
    )
    rollup = Section.objects.get(anchor__level=1)
    assert rollups.stale_rollups(edition) == {rollup.pk}
    assert Anchors(edition).parent("3-4") is not None


@pytest.mark.promise("K17")
def test_rolling_up_costs_a_bounded_number_of_queries_a_rollup(django_assert_max_num_queries: Any) -> None:
    log = units_of(13)
    edition = sections.current_edition(log)
    noting = Noting()
    consolidate(log, summariser=noting)
    with django_assert_max_num_queries(6):
        assert rollups.roll_up(edition, draws=Draws(edition, summariser=noting)).made == ()
