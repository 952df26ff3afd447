"""The verifier: proves a log and its chronicle against themselves, from values alone, without a database.

Guarantees: names the first thing that does not fit and at which seq; says what it was checked
against. It proves that the records agree with each other; that nobody rewrote all of them needs a
checkpoint kept outside, so the answer says "chain only" and never more.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from chronicle import canonical
from chronicle.envelope import StoredEvent, is_bookkeeping
from chronicle.seal import content_digest, entry_digest

CHAIN_ONLY = "its own chain only: no checkpoint from outside was given"


class Status(StrEnum):
    OK = "OK"
    BROKEN = "BROKEN"
    TRUNCATED = "TRUNCATED"


class Head(NamedTuple):
    """What the log's row says of itself."""

    log_id: str
    last_seq: int
    head: str


class Sourced(NamedTuple):
    """An event, and the digest of the file it was read from ("" for none)."""

    event: StoredEvent
    source_digest: str


@dataclass(frozen=True, slots=True)
class Slot:
    """An anchor with its children's ranges and counts, as stored. `digests` are (stated, computed) of its sections."""

    ref: str
    level: int
    from_seq: int
    to_seq: int
    event_count: int
    children: tuple[tuple[int, int, int, int], ...]  # level, from, to, count
    digests: tuple[tuple[str, str], ...]


class Cited(NamedTuple):
    """A receipt: its number, the seq it was read at, why it does not stand (""), whether its text was made again."""

    number: int
    upto_seq: int
    why: str
    proven: bool


class Verdict(NamedTuple):
    """`seq`: how far all is well; `why` names what does not fit and the field; `tail` counts unconsolidated events.

    `receipts` counts those that were looked at, `unproven` those of them whose text this version cannot make.
    """

    status: Status
    seq: int
    why: str
    sections: int
    tail: int
    holes: list[tuple[int, int]]
    against: str = CHAIN_ONLY
    receipts: int = 0
    unproven: int = 0


class _Chain(NamedTuple):
    status: Status
    seq: int
    why: str
    counted: dict[int, int]


class _Receipts(NamedTuple):
    looked_at: int
    unproven: int
    wrong: tuple[int, str] | None


def verify(head: Head, events: Iterable[Sourced], slots: Iterable[Slot], receipts: Iterable[Cited] = ()) -> Verdict:
    """Walk the chain, then the sections, then the receipts; answer OK, BROKEN at a seq, or TRUNCATED."""
    slots = sorted(slots, key=lambda slot: (slot.level, slot.from_seq))
    ground = [slot for slot in slots if slot.level == 0]
    holes, through = holes_between(ground)
    chain = _walk(head, events, ground)
    sections = sum(len(slot.digests) for slot in slots)
    tail = max(head.last_seq - through, 0)
    status, seq, why = chain.status, chain.seq, chain.why
    if status is Status.OK:
        found = _first_wrong_section(slots, head.last_seq, holes, chain.counted)
        if found is not None:
            status, seq, why = Status.BROKEN, found[0], found[1]
    read = _Receipts(0, 0, None)
    if status is Status.OK:
        read = _read(receipts, head.last_seq)
        if read.wrong is not None:
            status, seq, why = Status.BROKEN, read.wrong[0], read.wrong[1]
    return Verdict(status, seq, why, sections, tail, holes, receipts=read.looked_at, unproven=read.unproven)


def _read(receipts: Iterable[Cited], last_seq: int) -> _Receipts:
    """Count the receipts up to the first that does not stand: their numbers have no gap, each is what it says."""
    count = unproven = 0
    for receipt in receipts:
        before = min(max(receipt.upto_seq - 1, 0), last_seq)
        if receipt.number != count + 1:
            gap = f"receipt {count + 1}: missing; the next one there is {receipt.number}"
            return _Receipts(count, unproven, (before, gap))
        if receipt.why:
            return _Receipts(count, unproven, (before, f"receipt {receipt.number}: {receipt.why}"))
        count, unproven = count + 1, unproven + (not receipt.proven)
    return _Receipts(count, unproven, None)


def _walk(head: Head, events: Iterable[Sourced], ground: list[Slot]) -> _Chain:
    previous, seq, counted = canonical.genesis(head.log_id), 0, {slot.from_seq: 0 for slot in ground}
    ahead = iter(ground)
    slot = next(ahead, None)
    for event, source_digest in events:
        why = wrong_event(head, event, source_digest, seq, previous)
        if why:
            return _Chain(Status.BROKEN, seq, f"event {seq + 1}: {why}", counted)
        previous, seq = event.digest, event.seq
        while slot is not None and seq > slot.to_seq:
            slot = next(ahead, None)
        if slot is not None and slot.from_seq <= seq and event.kind != "marker" and not is_bookkeeping(event.kind):
            counted[slot.from_seq] += 1
    if seq < head.last_seq:
        return _Chain(Status.TRUNCATED, seq, f"the log says {head.last_seq} events, {seq} are there", counted)
    if previous != head.head:
        return _Chain(Status.BROKEN, seq, "the log's head is not the last event's digest", counted)
    return _Chain(Status.OK, seq, "", counted)


def wrong_event(head: Head, event: StoredEvent, source_digest: str, seq: int, previous: str) -> str:
    """Return why an event does not stand behind the one at `seq` with the digest `previous`, or ""."""
    if event.seq != seq + 1:
        return f"missing; the next one there is {event.seq}"
    content = content_digest(event.salt, event, event.payload, event.audience, event.idempotency_key, source_digest)
    if content != event.content_digest:
        return "its content is not what was recorded (content_digest)"
    if event.size != len(event.content.encode()) + len(event.payload):
        return "its size is not that of its content and payload (size)"
    sealed = entry_digest(
        head.log_id, event.seq, previous, str(event.event_id), event.type, event.schema_version, event.at, content
    )
    return "" if sealed == event.digest else "it does not follow its predecessor (digest)"


def holes_between(ground: list[Slot]) -> tuple[list[tuple[int, int]], int]:
    """Return the ranges that no level-0 slot covers, and the end of the last slot."""
    holes, through = [], 0
    for slot in ground:
        if slot.from_seq > through + 1:
            holes.append((through + 1, slot.from_seq - 1))
        through = max(through, slot.to_seq)
    return holes, through


def _first_wrong_section(
    slots: list[Slot], last_seq: int, holes: list[tuple[int, int]], counted: dict[int, int]
) -> tuple[int, str] | None:
    if holes:
        return holes[0][0] - 1, f"no section covers {holes[0][0]} to {holes[0][1]}"
    ends: dict[int, int] = {}
    for slot in slots:
        why = wrong_slot(slot, last_seq, ends.get(slot.level, 0), counted)
        if why:
            return slot.from_seq - 1, f"section {slot.ref}: {why}"
        ends[slot.level] = slot.to_seq
    return None


def wrong_slot(slot: Slot, last_seq: int, before: int, counted: Mapping[int, int]) -> str:
    """Return why a slot does not stand behind one of its level that ends at `before`, or "".

    `counted` maps the first seq of each level-0 slot to the content events in it.
    """
    if slot.from_seq <= before:
        return "it overlaps the one before"
    if slot.to_seq > last_seq:
        return "it goes past the end of the log"
    if any(stated != computed for stated, computed in slot.digests):
        return "its words are not what was recorded (digest)"
    if slot.level == 0:
        return "" if counted.get(slot.from_seq) == slot.event_count else "its count of events is wrong (event_count)"
    return _wrong_children(slot)


def _wrong_children(slot: Slot) -> str:
    children = sorted(slot.children, key=lambda child: child[1])
    expected = slot.from_seq
    for level, first, last, _ in children:
        if level != slot.level - 1 or first != expected:
            return "its children are not a contiguous run one level down"
        expected = last + 1
    if expected != slot.to_seq + 1 or len(children) < 2:
        return "it is not the union of its children"
    return "" if sum(child[3] for child in children) == slot.event_count else "its count is not its children's sum"
