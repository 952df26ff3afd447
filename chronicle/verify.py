"""Verifying a log of this database: reads its rows in short pages and hands them to the verifier as values.

Guarantees: writes nothing, holds no lock while it reads, and one log's size never has to fit in memory; every
receipt's text is made again, and every promoted pin is there as its event says. A receipt of a way of writing that
this version does not know is counted as unproven.
"""

from collections.abc import Iterator
from itertools import batched

from django.db.models import Prefetch

from chronicle import canonical, receipts
from chronicle.envelope import PROMOTED, RESERVED_NAMESPACE
from chronicle.errors import ReceiptUnreadable
from chronicle.log import rows
from chronicle.models import Anchor, Event, Log, Pin, Receipt, Section
from chronicle.pins import pin_values
from chronicle.sections import NewSection, current_edition, section_digest
from chronicle.verifier import Cited, Head, Slot, Sourced, Status, Verdict, verify

PAGE = 5000
RECEIPTS = 200
PIN = ("key", "kind", "unit", "result", "attempts")


def verify_log(log: Log) -> Verdict:
    """Prove one log, its current edition and its receipts."""
    log.refresh_from_db()
    edition = current_edition(log)
    anchors = (
        Anchor.objects.filter(edition=edition)
        .select_related("edition")
        .prefetch_related(
            Prefetch("sections", Section.objects.prefetch_related("pins").order_by("generation")), "children"
        )
    )
    slots = [_slot(log.public_id, anchor) for anchor in anchors]
    verdict = verify(Head(log.public_id, log.last_seq, log.head), sourced(log), slots, _receipts(log))
    wrong = _wrong_pin(log) if verdict.status is Status.OK else None
    return verdict if wrong is None else verdict._replace(status=Status.BROKEN, seq=wrong[0], why=wrong[1])


def _wrong_pin(log: Log) -> tuple[int, str] | None:
    """Return the seq before the first event whose pin is gone or says something else, and why; None for none."""
    promoted = Event.objects.filter(log=log, seq__lte=log.last_seq, namespace=RESERVED_NAMESPACE, type=PROMOTED)
    rows = promoted.order_by("seq").values_list("pk", "seq", "payload").iterator(chunk_size=PAGE)
    for some in batched(rows, RECEIPTS, strict=False):
        there = {pin.event_id: pin for pin in Pin.objects.filter(event__in=[pk for pk, _, _ in some])}
        for pk, seq, payload in some:
            pin, given = there.get(pk), canonical.parse(payload) if payload else {}
            if pin is None:
                return seq - 1, f"event {seq}: the pin that it promoted is gone"
            if {name: getattr(pin, name) for name in PIN} != pin_values(given):
                return seq - 1, f"event {seq}: its pin says something else"
    return None


def sourced(log: Log) -> Iterator[Sourced]:
    """Yield the events up to the head that was read, a page at a time by seq."""
    seq = 0
    while True:
        page = Event.objects.filter(log=log, seq__gt=seq, seq__lte=log.last_seq).order_by("seq")[:PAGE]
        found = [Sourced(event, digest) for event, digest in rows.stored_with_source(page)]
        yield from found
        if len(found) < PAGE:
            return
        seq = found[-1].event.seq


def _receipts(log: Log) -> Iterator[Cited]:
    """Yield the receipts by number, each made again; a page at a time."""
    number = 0
    while True:
        page = list(receipts.receipts_of(log).filter(number__gt=number).order_by("number")[:RECEIPTS])
        yield from map(_cited, page)
        if len(page) < RECEIPTS:
            return
        number = page[-1].number


def _cited(receipt: Receipt) -> Cited:
    try:
        why = receipts.made_again(receipt, receipts.parts_of(receipt)).why
    except ReceiptUnreadable:
        return Cited(receipt.number, receipt.upto_seq, "", proven=False)
    return Cited(receipt.number, receipt.upto_seq, why, proven=True)


def _slot(log_id: str, anchor: Anchor) -> Slot:
    digests = tuple((section.digest, _digest(log_id, anchor, section)) for section in anchor.sections.all())
    children = tuple((c.level, c.from_seq, c.to_seq, c.event_count) for c in anchor.children.all())
    return Slot(anchor.ref, anchor.level, anchor.from_seq, anchor.to_seq, anchor.event_count, children, digests)


def _digest(log_id: str, anchor: Anchor, section: Section) -> str:
    pins = sorted(section.pins.all(), key=lambda pin: pin.position)
    words = NewSection(
        from_seq=anchor.from_seq,
        to_seq=anchor.to_seq,
        kind=anchor.kind,
        event_count=anchor.event_count,
        title=section.title,
        prose=section.prose,
        origin=section.origin,
        level=anchor.level,
        summariser=section.summariser,
        model=section.model,
        prompt_digest=section.prompt_digest,
        made_by=section.made_by,
        pins=tuple(pin.key for pin in pins),
    )
    return section_digest(log_id, anchor, section.generation, words, section.made_at)
