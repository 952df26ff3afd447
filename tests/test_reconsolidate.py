"""Re-consolidation: the bill, what it writes, what it leaves alone, and who is told what."""

import json
import logging
import threading
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.utils import timezone

from chronicle import policies
from chronicle.divergence import bill, words
from chronicle.envelope import PendingEvent
from chronicle.errors import (
    ChronicleFork,
    DivergenceNotAccepted,
    InvalidPolicy,
    InvalidSection,
    LeaseLost,
    SummaryFailed,
    Superseded,
    UnknownSection,
)
from chronicle.fold import consolidate
from chronicle.log import read
from chronicle.models import (
    Anchor,
    AuditEntry,
    Event,
    Log,
    Pin,
    PinScratch,
    Receipt,
    ReceiptPart,
    RollupSource,
    Section,
)
from chronicle.reading import Prose, find
from chronicle.reconsolidate import areconsolidate, reconsolidate
from chronicle.rollups import stale_rollups
from chronicle.sections import current_edition
from tests.builders import bookkeeping, log_of, marker, said, units_of
from tests.summarisers import Awaited, Giving, Noting, Pinned

pytestmark = pytest.mark.django_db


def made_of(units: int = 13) -> Log:
    """A log of units of two events, consolidated: from 12 units on the oldest 8 are rolled up."""
    log = units_of(units)
    consolidate(log, summariser=Noting())
    log.refresh_from_db()
    return log


def redo(log: Log, ref: str = "3-4", **given: Any) -> Section:
    return reconsolidate(log, ref, **{"accepted": True, "by": "s.putri", "summariser": Noting("Other"), **given})


def receipt(log: Log, ref: str, *, number: int = 1, form: str = "full", reader: str = "concierge") -> Receipt:
    made = Receipt.objects.create(
        log=log,
        number=number,
        reader=reader,
        capability="read",
        at=timezone.now(),
        upto_seq=9,
        token_estimate=7,
        text_digest="0" * 64,
    )
    ReceiptPart.objects.create(receipt=made, position=0, section=find(current_edition(log), ref), form=form)
    return made


@pytest.mark.promise("A71", "A72")
def test_the_next_generation_is_current_over_the_same_anchor_and_the_old_words_stay() -> None:
    log = made_of(3)
    before = find(current_edition(log), "3-4")
    made = redo(log)
    assert (made.ref, made.generation, made.supersedes_id) == ("3-4#2", 2, before.pk)
    assert made.anchor_id == before.anchor_id and made.origin == "drawn" and made.made_by == "s.putri"
    prose = Prose(current_edition(log))
    assert prose.section("3-4").text == before.prose
    assert prose.section("3-4#2").text == made.prose != before.prose
    assert Anchor.objects.count() == 3


@pytest.mark.promise("A71")
def test_the_range_is_read_from_the_log_again_without_what_is_not_public() -> None:
    events = [said("one"), said("secret", audience=("booking",)), bookkeeping(), said("two"), marker(), said("rest")]
    log = log_of(events)
    consolidate(log, summariser=Noting())
    noting = Noting("Other")
    redo(log, "1-5", summariser=noting)
    assert [one.content for one in noting.spans[0].said] == ["one", "two"]
    assert noting.in_transaction == [connection.in_atomic_block]


@pytest.mark.promise("A70")
def test_a_superseded_generation_is_refused_before_the_summariser_runs() -> None:
    log, noting = made_of(3), Noting()
    redo(log)
    with pytest.raises(ChronicleFork, match="3-4#2 is current") as told:
        redo(log, "3-4#1", summariser=noting)
    assert told.value.details["current"] == "3-4#2" and noting.calls == 0
    assert redo(log, "3-4#2").ref == "3-4#3"
    assert redo(log, "3-4").ref == "3-4#4"


@pytest.mark.promise("A70")
@pytest.mark.parametrize("ref", ["2-4", "3-4#2", "L1:1-4", "nonsense"])
def test_an_unknown_section_is_refused_before_the_summariser_runs(ref: str) -> None:
    noting = Noting()
    with pytest.raises(UnknownSection):
        redo(made_of(3), ref, summariser=noting)
    assert noting.calls == 0


def test_a_log_without_sections_has_none_to_redo() -> None:
    with pytest.raises(UnknownSection):
        redo(log_of(3))


def test_what_is_not_accepted_is_not_drawn_and_the_bill_is_in_the_refusal() -> None:
    log, noting = made_of(), Noting()
    with pytest.raises(DivergenceNotAccepted) as refused:
        redo(log, accepted=False, summariser=noting)
    found = refused.value.details["bill"]
    assert (found["section"], found["next"], found["from_seq"], found["to_seq"]) == ("3-4#1", "3-4#2", 3, 4)
    assert noting.calls == 0 and Section.objects.filter(generation=2).count() == 0
    assert json.loads(json.dumps(found)) == found


@pytest.mark.promise("K39", "K15")
def test_the_bill_names_who_read_the_old_words_what_becomes_stale_and_the_price() -> None:
    log = made_of()
    receipt(log, "3-4", number=1)
    receipt(log, "3-4", number=2, form="title", reader="booking")
    receipt(log, "3-4", number=3, form="dropped")
    receipt(log, "5-6", number=4)
    found = bill(log, "3-4")
    assert [(one.number, one.reader, one.form, one.upto_seq) for one in found.receipts] == [
        (1, "concierge", "full", 9),
        (2, "booking", "title", 9),
    ]
    [rollup] = found.rollups
    assert (rollup.id, rollup.read, rollup.already) == ("L1:1-16#1", "3-4#1", False)
    assert found.made_with.summariser == "noting" and found.made_with.model == "noting-1"
    assert found.will_use.summariser == "outline" and found.price.calls == 0
    said_ = " ".join(words(found).values())
    for expected in ("3-4#2", "receipts read 3-4#1", "concierge at 9", "L1:1-16#1", "rebuild discards", "diverge"):
        assert expected in said_


def test_the_price_of_a_model_is_an_estimate_of_what_it_is_given() -> None:
    log = made_of()
    policies.set_default(made_by="test")
    policies.set_for(log, made_by="test", summariser="model", model="test:gemma")
    found = bill(log, "3-4")
    size = Event.objects.get(log=log, seq=3).size
    assert found.price == (1, -(-size // 4), find(current_edition(log), "3-4").token_estimate)
    children = Section.objects.filter(anchor__rolled_up_into__isnull=False)
    assert found.reroll.tokens_in == sum(child.token_estimate for child in children)
    assert (found.events, found.given, found.what) == (2, 1, "event")
    of_the_rollup = bill(log, "L1:1-16")
    assert (of_the_rollup.given, of_the_rollup.what, of_the_rollup.price) == (8, "section", found.reroll)


def test_a_bill_is_made_by_reading_alone(django_assert_num_queries: Any) -> None:
    from tests.web.digest import database_digest

    log = made_of()
    policies.Policy.objects.count()
    before = database_digest()
    bill(log, "3-4")
    assert database_digest() == before


@pytest.mark.promise("K15")
def test_a_child_of_a_rollup_can_be_redone_its_stamp_stays_and_the_rollup_is_stale() -> None:
    log = made_of()
    edition = current_edition(log)
    stamp = Anchor.objects.get(from_seq=3, level=0).rolled_up_into_id
    redo(log)
    assert Anchor.objects.get(from_seq=3, level=0).rolled_up_into_id == stamp is not None
    assert stale_rollups(edition) == {find(edition, "L1:1-16").pk}
    again = bill(log, "3-4")
    assert [(one.id, one.read, one.already) for one in again.rollups] == [("L1:1-16#1", "3-4#1", True)]


@pytest.mark.promise("K16")
def test_a_rollup_is_redone_from_its_childrens_current_generations_and_only_when_asked() -> None:
    log, noting = made_of(), Noting("Arc")
    redo(log)
    consolidate(log, summariser=Noting())
    edition = current_edition(log)
    assert find(edition, "L1:1-16").generation == 1  # never by itself
    made = redo(log, "L1:1-16", summariser=noting)
    assert made.ref == "L1:1-16#2" and (made.anchor.from_seq, made.anchor.to_seq) == (1, 16)
    read_now = RollupSource.objects.filter(section=made).order_by("position")
    assert [row.source.ref for row in read_now] == ["1-2", "3-4#2", *(f"{n}-{n + 1}" for n in range(5, 16, 2))]
    assert "Other" in noting.children[0][1].prose
    assert stale_rollups(edition) == set()
    assert Anchor.objects.filter(rolled_up_into=made.anchor).count() == 8
    with pytest.raises(ChronicleFork):
        redo(log, "L1:1-16#1")


@pytest.mark.promise("K16")
def test_the_parent_of_a_redone_rollup_becomes_stale_and_the_bill_says_so_before() -> None:
    log = units_of(8)
    policies.set_for(log, made_by="test", rollup_batch=2, rollup_threshold=2)
    consolidate(log, summariser=Noting())
    edition = current_edition(log)
    lower, upper = Anchor.objects.get(level=1, from_seq=1), Anchor.objects.get(level=2, from_seq=1)
    of_the_leaf = bill(log, "1-2")
    assert of_the_leaf.rollups[0].above[0] == upper.ref
    assert [one.id for one in bill(log, lower.ref).rollups] == [f"{upper.ref}#1"]
    redo(log, "1-2")
    assert stale_rollups(edition) == {find(edition, lower.ref).pk}
    redo(log, lower.ref)
    assert stale_rollups(edition) == {find(edition, upper.ref).pk}


def test_a_unit_closed_without_summary_can_be_drawn_later() -> None:
    from chronicle import failures, fold

    log = units_of(2)
    for _ in range(5):
        consolidate(log, summariser=Noting(fails=lambda _: True))
        failures.UnitFailure.objects.update(next_try=timezone.now())
    fold.close_without_summary(failures.UnitFailure.objects.get(), by="s.putri")
    made = redo(log, "1-2")
    assert (made.ref, made.origin) == ("1-2#2", "drawn")


@pytest.mark.promise("K39", "A73", "DA5")
def test_the_audit_trail_says_who_and_why_and_the_servers_log_warns_without_prose(caplog: Any) -> None:
    log = made_of()
    receipt(log, "3-4")
    with caplog.at_level(logging.INFO):
        made = redo(log, reason="RT-4821 is in no event")
    entry = AuditEntry.objects.get(what="section.reconsolidated")
    details = json.loads(entry.details)
    assert (entry.who, entry.target) == ("s.putri", log.public_id)
    assert (details["old"], details["new"], details["reason"]) == ("3-4#1", "3-4#2", "RT-4821 is in no event")
    assert (details["from_seq"], details["to_seq"], details["receipts"]) == (3, 4, [1])
    [line] = [record for record in caplog.records if record.levelno == logging.WARNING]
    said_ = line.getMessage()
    for expected in ("3-4#1", "3-4#2", "3 to 4", "diverge", "rebuild"):
        assert expected in said_
    for record in caplog.records:
        assert made.prose not in record.getMessage() and made.title not in record.getMessage()
    assert made.prose not in entry.details


@pytest.mark.promise("A75")
def test_the_log_holds_no_trace_of_it_but_pins() -> None:
    log = made_of()
    before = [event.digest for event in read(log)]
    redo(log)
    assert [event.digest for event in read(log)] == before
    pinned = Pinned()
    redo(log, summariser=pinned, fence=lambda: None)
    more = list(read(log, since_seq=len(before)))
    assert [(event.kind, event.type) for event in more] == [("bookkeeping", "PinPromoted")]
    assert Pin.objects.get().unit == "1/3-4#3" and not PinScratch.objects.exists()


def test_a_draw_is_a_real_one_though_the_same_request_was_pinned_before() -> None:
    log, pinned = made_of(3), Pinned()
    first = redo(log, summariser=pinned)
    second = redo(log, summariser=pinned)
    assert pinned.draws == 2 and first.prose != second.prose
    assert [pin.key for pin in first.pins.all()] == [pin.key for pin in second.pins.all()]


@pytest.mark.promise("A74")
def test_an_asynchronous_summariser_is_refused_by_the_synchronous_call_and_nothing_is_written() -> None:
    log, awaited = made_of(3), Awaited()
    with pytest.raises(TypeError, match="awaited"):
        redo(log, summariser=awaited)
    assert awaited.calls == 0

    async def words_() -> None:
        raise AssertionError("never awaited")

    coroutine = words_()
    with pytest.raises(TypeError):
        redo(log, summariser=Giving(coroutine))
    assert coroutine.cr_frame is None  # closed
    assert not Section.objects.filter(generation=2).exists() and not AuditEntry.objects.filter(what__contains="recon")


@pytest.mark.django_db(transaction=True)
def test_the_awaited_call_takes_an_asynchronous_summariser() -> None:
    log, awaited = made_of(3), Awaited()
    call = async_to_sync(areconsolidate)
    made = call(log, "3-4", accepted=True, by="s.putri", summariser=awaited)
    assert made.generation == 2 and made.prose == "Awaited words over 1 events." and awaited.calls == 1
    with pytest.raises(DivergenceNotAccepted):
        call(log, "3-4", accepted=False, by="s.putri", summariser=awaited)
    assert awaited.calls == 1


@pytest.mark.parametrize("answer", [None, "words", SummaryFailed("none")])
def test_a_draw_that_fails_writes_nothing(answer: Any) -> None:
    log = made_of(3)
    with pytest.raises(SummaryFailed):
        redo(log, summariser=Noting(fails=lambda _: True) if isinstance(answer, SummaryFailed) else Giving(answer))
    assert find(current_edition(log), "3-4").generation == 1
    assert not AuditEntry.objects.filter(what="section.reconsolidated").exists()


def test_names_override_the_newest_policy_and_only_known_ones_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    log, noting = made_of(3), Noting("By policy")
    monkeypatch.setattr("chronicle.policies.summariser_named", lambda _: noting)
    assert reconsolidate(log, "3-4", accepted=True, by="x").prose.startswith("By policy")
    monkeypatch.undo()
    assert reconsolidate(log, "3-4", accepted=True, by="x", summariser="outline").summariser == "outline"
    for name in ("os:system", "chronicle.summarisers.constant:Constant", "no-such"):
        with pytest.raises(InvalidPolicy):
            reconsolidate(log, "3-4", accepted=True, by="x", summariser=name)
    with pytest.raises(InvalidPolicy):
        reconsolidate(log, "3-4", accepted=True, by="x", prompt="no-such/1")


@pytest.mark.parametrize("reason", ["\x00", "\ud800", "x" * 2001])
def test_a_reason_that_cannot_be_kept_is_refused_before_the_summariser_runs(reason: str) -> None:
    noting = Noting()
    with pytest.raises(InvalidSection):
        redo(made_of(3), reason=reason, summariser=noting)
    assert noting.calls == 0


def test_a_child_that_is_redone_while_its_rollup_is_drawn_makes_the_draw_void() -> None:
    log = made_of()
    pinned = Pinned(meanwhile=lambda: redo(log, "5-6") and None)
    with pytest.raises(Superseded, match="another generation by now") as told:
        redo(log, "L1:1-16", summariser=pinned)
    assert told.value.details["wasted_tokens"] == 24
    assert find(current_edition(log), "L1:1-16").generation == 1
    assert list(read(log))[-1].type == "PinsAbandoned" and not PinScratch.objects.exists()


def test_a_lost_lease_writes_nothing_and_leaves_what_was_drawn_to_the_next_holder() -> None:
    log = made_of(3)

    def gone() -> None:
        raise LeaseLost("taken over")

    with pytest.raises(LeaseLost) as lost:
        redo(log, summariser=Pinned(), fence=gone)
    assert lost.value.details["wasted_tokens"] == 24
    assert find(current_edition(log), "3-4").generation == 1
    again = Pinned()
    assert redo(log, summariser=again, fence=lambda: None).generation == 2
    assert again.draws == 0  # kept by the slot's unit


@pytest.mark.promise("A70")
@pytest.mark.django_db(transaction=True)
def test_of_two_at_the_same_moment_one_writes_and_the_other_is_told_and_its_draw_abandoned() -> None:
    log = made_of(3)
    both, outcomes = threading.Barrier(2), {}

    def ask(who: str) -> None:
        pinned = Pinned(name=who, meanwhile=lambda: both.wait(20) and None)
        try:
            outcomes[who] = redo(log, "3-4#1", by=who, summariser=pinned).ref
        except (ChronicleFork, Superseded) as told:
            outcomes[who] = told
        connection.close()

    threads = [threading.Thread(target=ask, args=(who,)) for who in ("ardian", "sari")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [(winner, _)] = [(who, one) for who, one in outcomes.items() if one == "3-4#2"]
    [told] = [one for who, one in outcomes.items() if who != winner]
    assert isinstance(told, ChronicleFork | Superseded) and told.details["wasted_tokens"] == 24
    assert Section.objects.filter(anchor__from_seq=3).count() == 2
    assert AuditEntry.objects.get(what="section.reconsolidated").who == winner
    assert [pin.kind for pin in Pin.objects.all()] == [winner]
    assert [event.type for event in read(log)][-2:] == ["PinPromoted", "PinsAbandoned"]
    abandoned: PendingEvent | Any = list(read(log))[-1]
    assert "superseded already" in abandoned.payload


def test_the_story_so_far_is_given_where_the_newest_policy_says_so_and_is_recorded() -> None:
    log, noting = made_of(3), Noting("Other")
    policies.set_for(log, made_by="test", story_so_far=1)
    made = redo(log, "5-6", summariser=noting)
    assert [one.title for one in noting.spans[0].story] == [find(current_edition(log), "3-4").title]
    assert [row.source.ref for row in made.sources.all()] == ["3-4"]
