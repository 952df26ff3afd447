"""Rebuilds that are cut off: by a crash, a draw that fails, a lease that is lost."""

from collections.abc import Callable
from typing import Any

import pytest

from chronicle import audit
from chronicle import rebuild as module
from chronicle.errors import LeaseLost, RebuildHalted
from chronicle.fold import consolidate
from chronicle.models import Anchor, Section
from chronicle.sections import current_edition
from tests.builders import units_of
from tests.rebuilding import edition, redone, slots, states, words
from tests.summarisers import Noting

pytestmark = pytest.mark.django_db


class Crash(BaseException):
    pass


def dies(when: int) -> Callable[[int], bool]:
    def fails(call: int) -> bool:
        if call == when:
            raise Crash
        return False

    return fails


@pytest.mark.promise("DA12", "K22")
@pytest.mark.parametrize("when", [1, 2, 26, 30, 31, 33])
def test_a_crash_in_any_draw_leaves_the_old_edition_and_the_next_rebuild_goes_on(when: int) -> None:
    log = units_of(30)
    consolidate(log, summariser=Noting("First"))
    before = words(edition(log, 1))
    crashing = Noting("Second", fails=dies(when))
    with pytest.raises(Crash):
        redone(log, summariser=crashing)

    assert states(log) == {1: "current", 2: "building"} and words(current_edition(log)) == before
    kept = Section.objects.filter(anchor__edition=edition(log, 2)).count()
    going_on = Noting("Second")
    report = redone(log, summariser=going_on)
    assert report.edition == 2 and states(log) == {1: "archived", 2: "current"}
    assert going_on.calls == report.compared.anchors_of - kept
    assert slots(edition(log, 1)) == slots(edition(log, 2))


@pytest.mark.promise("DA12", "K22")
@pytest.mark.parametrize("place", ["the old one", "the new one", "the audit entry", "the position"])
def test_a_crash_in_the_switch_leaves_the_old_edition_in_force(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    log = units_of(13)
    consolidate(log, summariser=Noting("First"))
    crash_at(place, monkeypatch)
    with pytest.raises(Crash):
        redone(log, summariser=Noting("Second"))

    assert states(log) == {1: "current", 2: "building"}
    assert all(prose.startswith("First") for prose in words(current_edition(log)).values())
    monkeypatch.undo()
    again = Noting("Second")
    assert redone(log, summariser=again).edition == 2 and again.calls == 0


def crash_at(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put = module._put

    def crash(*_: Any, **__: Any) -> None:
        raise Crash

    if place == "the old one":
        monkeypatch.setattr(module, "_put", crash)
    elif place == "the new one":  # between the two updates
        monkeypatch.setattr(module, "_put", lambda one, state: put(one, state) if state == "archived" else crash())
    elif place == "the audit entry":
        monkeypatch.setattr(audit, "record", crash)
    else:
        move = module.FoldPosition.objects.update_or_create

        def crash_late(**given: Any) -> Any:
            return crash() if "seen_seq" in given["defaults"] else move(**given)

        monkeypatch.setattr(module.FoldPosition.objects, "update_or_create", crash_late)


def test_a_draw_that_fails_halts_it_and_says_where_it_stands() -> None:
    log = units_of(13)
    consolidate(log, summariser=Noting())
    with pytest.raises(RebuildHalted, match=r"Edition 2 stands at 4: a draw failed, SummaryFailed: no words at call 3"):
        redone(log, summariser=Noting(fails=lambda call: call == 3))
    with pytest.raises(RebuildHalted, match=r"Edition 2 stands at 26: a draw failed"):
        redone(log, summariser=Noting(fails=lambda call: call == 12))
    assert states(log) == {1: "current", 2: "building"}
    assert redone(log, summariser=Noting()).edition == 2


def test_a_lost_lease_writes_nothing_more_and_switches_nothing() -> None:
    log = units_of(30)
    consolidate(log, summariser=Noting())
    fences = []

    def fence() -> None:
        fences.append(1)
        if len(fences) == 3:
            raise LeaseLost("taken over")

    with pytest.raises(LeaseLost) as lost:
        redone(log, summariser=Noting(), fence=fence)
    assert lost.value.details["wasted_tokens"] == 5 * 13
    assert states(log) == {1: "current", 2: "building"}
    assert Anchor.objects.filter(edition=edition(log, 2)).count() == 25
