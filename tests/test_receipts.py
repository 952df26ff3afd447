"""Receipts: what was read is kept, and can be made again byte for byte whatever happens afterwards."""

from itertools import product
from typing import Any

import pytest

from chronicle import canonical, policies, receipts, sections
from chronicle.errors import ReceiptUnreadable
from chronicle.fold import consolidate
from chronicle.log import append
from chronicle.models import Log, Receipt, Section
from chronicle.receipts import Reading, read_brief
from chronicle.sections import NewSection, supersede
from tests.builders import log_of, marker, said, units_of
from tests.summarisers import Noting

pytestmark = pytest.mark.django_db


@pytest.fixture
def log() -> Log:
    log = units_of(13)
    append(log, [said("The PIN is 4821.", audience=("booking",)), said("Still open.")])
    consolidate(log, summariser=Noting())
    return log


def read(log: Log, **given: Any) -> Reading:
    return read_brief(log, **{"by": "concierge", "capability": "read", **given})


def again(log: Log, ref: str, words: str = "Other words.") -> Section:
    """The next generation of a section."""
    edition = sections.current_edition(log)
    old = next(one for one in sections.current_sections(edition) if one.anchor.ref == ref)
    anchor = old.anchor
    new = NewSection(
        level=anchor.level,
        from_seq=anchor.from_seq,
        to_seq=anchor.to_seq,
        kind=anchor.kind,
        event_count=anchor.event_count,
        title=words,
        prose=words,
    )
    return supersede(edition, old, new)


@pytest.mark.promise("K44")
def test_a_brief_leaves_a_receipt_that_says_what_was_given_to_whom(log: Log) -> None:
    reading = read(log, reader="booking", upto_seq=28, budget=400)
    receipt = Receipt.objects.get()
    assert (receipt.number, receipt.what, receipt.reader, receipt.capability) == (1, "brief", "concierge", "read")
    assert (receipt.upto_seq, receipt.tail_from, receipt.tail_to, receipt.budget) == (28, 27, 28, 400)
    assert canonical.parse(receipt.filters)["reader"] == "booking"
    assert receipt.text_digest == canonical.sha256(reading.text.encode())
    assert (receipt.size, receipt.token_estimate) == (len(reading.text.encode()), reading.written.tokens)
    forms = list(receipt.parts.order_by("position").values_list("section__anchor__level", "form"))
    assert forms == [(1 if place == 0 else 0, form) for place, (_, form) in enumerate(reading.written.parts)]


@pytest.mark.promise("K44")
def test_twice_the_same_question_gives_the_same_bytes_and_two_receipts_with_one_digest(log: Log) -> None:
    one, two = read(log, reader="booking"), read(log, reader="booking")
    assert one.text == two.text
    assert [receipt.number for receipt in Receipt.objects.order_by("pk")] == [1, 2]
    assert one.receipt.text_digest == two.receipt.text_digest
    assert one.receipt.digest != two.receipt.digest


@pytest.mark.promise("K45")
@pytest.mark.parametrize("upto", [None, 1, 5, 14, 27])
def test_a_receipt_is_made_again_byte_for_byte_after_everything_moved_on(log: Log, upto: int | None) -> None:
    asked = product([None, "booking", "search"], [None, 1, 12, 40, 120, 300, 900, 32000])
    readings = [read(log, reader=reader, budget=budget, upto_seq=upto) for reader, budget in asked]
    again(log, "1-2")
    again(log, "L1:1-16")
    policies.set_for(log, made_by="test", max_recent=1, max_older=0, token_budget=200)
    append(log, [said("Later."), marker()])
    consolidate(log, summariser=Noting("Later"))
    for reading in readings:
        receipt = Receipt.objects.get(pk=reading.receipt.pk)
        assert receipts.text_of(receipt) == reading.text
        assert receipts.stands(receipt)


@pytest.mark.promise("K45")
def test_a_receipt_that_says_something_else_does_not_stand(log: Log) -> None:
    receipt = read(log).receipt
    assert receipts.stands(receipt)
    for name, other in {"reader": "mallory", "number": 7, "budget": 1, "capability": "admin"}.items():
        before = getattr(receipt, name)
        setattr(receipt, name, other)
        assert not receipts.stands(receipt)
        setattr(receipt, name, before)
    receipt.filters = canonical.dump({"reader": "search", "header": 0, "first": 0, "whole": False})
    assert not receipts.stands(receipt)


@pytest.mark.promise("K46")
def test_a_generation_knows_who_read_it(log: Log) -> None:
    read(log, by="concierge")
    read(log, by="search", budget=1)
    rollup = Section.objects.get(anchor__level=1)
    assert [(part.receipt.reader, part.form) for part in receipts.readers_of(rollup)] == [
        ("concierge", "full"),
        ("search", "dropped"),
    ]


def test_a_receipt_of_a_renderer_that_is_not_here_says_so(log: Log) -> None:
    receipt = read(log).receipt
    receipt.renderer = 99
    with pytest.raises(ReceiptUnreadable, match="renderer 99"):
        receipts.text_of(receipt)


def test_a_brief_of_an_empty_log_has_a_receipt_as_well() -> None:
    reading = read(log_of())
    assert (reading.text, reading.receipt.upto_seq, reading.receipt.tail_from) == ("", 0, None)
    assert receipts.stands(Receipt.objects.get())
