"""Draws through the ledger: nothing paid for is lost, nothing of a loser stays open, nothing of another is dropped."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from chronicle import drawing, policies, sections
from chronicle.draws import OVERTAKEN, Draws, settle
from chronicle.errors import DrawFailed, LeaseLost
from chronicle.fold import aconsolidate, consolidate
from chronicle.log import append, read
from chronicle.models import Event, Log, Pin, PinScratch, Section, SectionPin, UnitFailure
from chronicle.pins import PinLedger
from chronicle.summarisers import span_of
from tests.builders import said, units_of
from tests.summarisers import Noting, Scripted

pytestmark = pytest.mark.django_db

WORDS: Callable[[str, list[str]], str] = lambda _, lines: f"Words on {lines[0]}"  # noqa: E731


class PowerCut(BaseException):
    """What ends a process between draw and write."""


def cut() -> None:
    raise PowerCut


def abandoned(log: Log) -> list[tuple[str, str, int]]:
    found = Event.objects.filter(log=log, type="PinsAbandoned").order_by("seq")
    payloads = [json.loads(payload) for payload in found.values_list("payload", flat=True)]
    return [(payload["unit_id"], payload["reason"], len(payload["discarded"])) for payload in payloads]


def resting(log: Log) -> dict[str, list[str]]:
    """The keys that each section lists, by its ref; each must have its pin in the log."""
    found: dict[str, list[str]] = {}
    for pin in SectionPin.objects.filter(section__anchor__edition__log=log).select_related("section__anchor"):
        found.setdefault(pin.section.ref, []).append(pin.key)
    assert {key for keys in found.values() for key in keys} == set(
        Pin.objects.filter(log=log).values_list("key", flat=True)
    )
    return found


@pytest.mark.promise("K25", "A27", "DA8")
def test_each_section_lists_its_pins_and_what_they_add_to_the_log_counts_nowhere() -> None:
    log = units_of(13, size=3)
    done = consolidate(log, summariser=Scripted(WORDS))
    assert (done.sections, done.rollups) == (13, 1)
    assert [len(keys) for keys in resting(log).values()] == [1] * 14
    log.refresh_from_db()
    assert log.last_seq == 39 + 14

    append(log, [said(f"later {n}") for n in range(2)])
    append(log, [said(kind="marker", type="unit.closed", content="")])
    seen = Scripted(WORDS)
    assert consolidate(log, summariser=seen).sections == 1
    [newest] = Section.objects.filter(anchor__level=0, anchor__from_seq=40).select_related("anchor")
    assert (newest.ref, newest.anchor.event_count) == ("40-56", 2), "the pins lie inside the range"
    assert newest.prose == "Words on later 0"
    assert seen.calls == 1


@pytest.mark.promise("A27")
def test_drawn_outside_a_ledger_a_section_lists_no_pins() -> None:
    log = units_of(2)
    consolidate(log, summariser=Noting())
    assert not SectionPin.objects.exists() and not Pin.objects.exists()


@pytest.mark.promise("K29")
def test_two_logs_of_one_dialogue_give_the_same_pin_keys() -> None:
    keys = []
    for owner in ("here", "there"):
        log = units_of(13, owner=owner)
        if owner == "there":
            append(log, [said("it goes on")])
        consolidate(log, summariser=Scripted(WORDS))
        keys.append([pin.key for pin in Pin.objects.filter(log=log).order_by("event")])
    assert keys[0] == keys[1]
    assert len(set(keys[0])) == 14


@pytest.mark.promise("A13", "A21")
def test_what_was_drawn_before_a_crash_is_not_drawn_again() -> None:
    log = units_of(30)
    script = Scripted()
    with pytest.raises(PowerCut):
        consolidate(log, summariser=script, fence=cut)
    assert script.calls == 25, "a batch was drawn and none of it written"
    assert not Section.objects.exists()
    assert len(PinLedger(log).scratch_units()) == 25
    again = Scripted()
    done = consolidate(log, summariser=again)
    assert (done.sections, done.rollups) == (30, 3)
    assert again.calls == 5 + 3
    assert Section.objects.get(anchor__from_seq=1, anchor__level=0).prose == "Words 1 on message 1.1"
    assert set(Pin.objects.filter(log=log, unit="1/1-2").values_list("attempts", flat=True)) == {2}
    assert not PinScratch.objects.exists()


@pytest.mark.promise("A18")
def test_an_answer_without_use_is_abandoned_and_a_draw_that_was_cut_off_keeps_its_parts() -> None:
    log = units_of(2)
    assert consolidate(log, summariser=Scripted(lambda *_: "")).failed == 1
    assert abandoned(log) == [("1/1-2", "summary_failed: The script gave no words.", 1)]

    def cut_off(*_: Any) -> Any:
        raise DrawFailed("timed out")

    class InTwoParts(Scripted):
        def pinned(self, resolver: Any) -> Any:
            resolver.resolve("p1:part:1", "part", lambda: "the first half")
            return super().pinned(resolver)

    draws = Draws(sections.current_edition(log), summariser=InTwoParts(cut_off))
    drawn = drawing.run(draws.section("3-4", span_of(read(log, since_seq=2)), policies.rows(log)[0]))
    assert isinstance(drawn.draft, DrawFailed)
    assert [pin.key for pin in PinScratch.objects.filter(unit="1/3-4")] == ["p1:part:1"]
    assert len(abandoned(log)) == 1


@pytest.mark.promise("K31")
def test_the_loser_of_a_race_leaves_no_unit_open_and_drops_nothing_of_the_winners() -> None:
    log = units_of(2)
    winner = Scripted(lambda _, lines: f"Winner's words on {lines[0]}")

    class Overtaken(Scripted):
        def draw(self, lines: list[str]) -> Any:
            if self.calls == 0:
                consolidate(log, summariser=winner)
            return super().draw(lines)

    done = consolidate(log, summariser=Overtaken(WORDS))
    assert (done.sections, done.wasted_tokens) == (0, 240)
    assert winner.calls == 2
    assert [section.prose for section in Section.objects.order_by("anchor__from_seq")] == [
        "Winner's words on message 1.1",
        "Winner's words on message 2.1",
    ]
    assert abandoned(log) == [("1/1-2", OVERTAKEN, 1), ("1/3-4", OVERTAKEN, 1)]
    assert len(resting(log)) == 2
    assert not PinScratch.objects.exists()


@pytest.mark.promise("K31")
def test_the_loser_of_an_awaited_race_is_settled_too() -> None:
    log = units_of(1)

    class Overtaken(Scripted):
        def draw(self, lines: list[str]) -> Any:
            consolidate(log, summariser=Scripted(WORDS))
            return super().draw(lines)

    done = async_to_sync(aconsolidate)(log, summariser=Overtaken(WORDS))
    assert (done.sections, done.wasted_tokens) == (0, 120)
    assert abandoned(log) == [("1/1-2", OVERTAKEN, 1)]


@pytest.mark.promise("K31")
def test_the_loser_of_a_rollup_leaves_no_unit_open() -> None:
    log = units_of(12)

    class Overtaken(Scripted):
        def draw(self, lines: list[str]) -> Any:
            if len(lines) == 8:
                consolidate(log, summariser=Scripted(WORDS))
            return super().draw(lines)

    done = consolidate(log, summariser=Overtaken(WORDS))
    assert (done.sections, done.rollups) == (12, 0)
    assert abandoned(log) == [("1/L1:1-16", OVERTAKEN, 1)]
    assert len(resting(log)) == 13


@pytest.mark.promise("K31")
def test_who_has_lost_the_lease_drops_nothing_for_the_next_holder_needs_it() -> None:
    log = units_of(2)

    def lost() -> None:
        raise LeaseLost("taken over")

    for answer in (WORDS, lambda *_: ""):
        with pytest.raises(LeaseLost):
            consolidate(log, summariser=Scripted(answer), fence=lost)
    assert [left.unit for left in PinLedger(log).scratch_units()] == ["1/1-2", "1/3-4"]
    assert abandoned(log) == []
    holder = Scripted()
    assert consolidate(log, summariser=holder).sections == 2
    assert holder.calls == 0


@pytest.mark.promise("K31")
def test_what_a_dead_loser_left_open_is_settled_by_the_next_run_and_the_rest_is_left_alone() -> None:
    log = units_of(1)
    consolidate(log, summariser=Scripted(WORDS))
    ledger = PinLedger(log)
    for unit in ("1/1-2", "1/1-2#2", "1/1-2~5f0c2a91", "1/3-9", "1/L1:1-2", "2/1-2", "an application's own"):
        ledger.open(unit).adopt("p1:x:1", "x", 1)
    assert settle(log) == 2
    assert [unit for unit, _, _ in abandoned(log)] == ["1/1-2", "1/1-2~5f0c2a91"]
    assert [left.unit for left in ledger.scratch_units()] == [
        "1/1-2#2",
        "1/3-9",
        "1/L1:1-2",
        "2/1-2",
        "an application's own",
    ]
    ledger.open("1/1-2").adopt("p1:x:1", "x", 1)
    consolidate(log, summariser=Scripted(WORDS))
    assert [unit for unit, _, _ in abandoned(log)] == ["1/1-2", "1/1-2~5f0c2a91", "1/1-2"]


def test_a_failed_unit_whose_answer_was_abandoned_is_asked_anew() -> None:
    log = units_of(1)
    consolidate(log, summariser=Scripted(lambda *_: ""))
    UnitFailure.objects.update(next_try=log.started_at)
    good = Scripted(WORDS)
    assert consolidate(log, summariser=good).sections == 1
    assert good.calls == 1
