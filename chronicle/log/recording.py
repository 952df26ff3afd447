"""Recording as agents do it: one lock and one write for any number of events, each with its key and its cause.

Guarantees: a key that is in the log already, or earlier in the batch, answers with the first event, `replayed`;
a tool_response names its request, by event_id or seq, or is joined to the newest request of its correlation, in
the log or earlier in the batch; what is stored is in the order given. `record_all` stores all or nothing.
Refuses, per event: what `validate` refuses, a cause that is not in the log, a response without a request.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from chronicle import canonical
from chronicle.envelope import Kind, PendingEvent, StoredEvent, validate
from chronicle.errors import ChronicleError, ConcurrencyError, InvalidEvent
from chronicle.log import rows
from chronicle.log.database import append_locked, locked
from chronicle.log.memory import differs
from chronicle.log.store import Recorded
from chronicle.models import Event, Log

NO_REQUEST = (
    "a tool_response names its request: give causation (the event_id or seq of a tool_request of this log),"
    " or the correlation that its tool_request has"
)


class Item(NamedTuple):
    """An event to record, its idempotency key ("" for none), and its cause as the writer names it."""

    event: PendingEvent
    key: str = ""
    cause: UUID | int | None = None


class _New(NamedTuple):
    """The place in the batch that is written, and what an item that came to it again said, if it did."""

    place: int
    again: PendingEvent | None = None


type Outcome = Recorded | ChronicleError
type _Slot = Recorded | ChronicleError | _New


def record_each(log: Log, items: Sequence[Item], *, expected_last_seq: int | None = None) -> list[Outcome]:
    """Store what can be stored; each item answers with its event or with why it was refused. Raises ConcurrencyError.

    `expected_last_seq` is asked of a batch that has something new to write; a retry has not.
    """
    return _record(log, items, expected_last_seq, whole=False)


def record_all(log: Log, items: Sequence[Item], *, expected_last_seq: int | None = None) -> list[Recorded]:
    """Store every item, or none: raises the first refusal, with `details["item"]`, counted from 1."""
    found = _record(log, items, expected_last_seq, whole=True)
    return [one for one in found if isinstance(one, Recorded)]


def _record(log: Log, items: Sequence[Item], expected: int | None, *, whole: bool) -> list[Outcome]:
    refused = {place: error for place, item in enumerate(items) if (error := _invalid(item.event))}
    _raise_first(refused, whole)
    with transaction.atomic():
        row = locked(log.pk)
        batch = _Batch(row, items)
        slots = [refused.get(place) or batch.take(item) for place, item in enumerate(items)]
        _raise_first({place: slot for place, slot in enumerate(slots) if isinstance(slot, ChronicleError)}, whole)
        if batch.new and expected is not None and row.last_seq != expected:
            raise ConcurrencyError(
                f"The log is at seq {row.last_seq}, not at {expected}.", expected=expected, found=row.last_seq
            )
        written = append_locked(row, batch.new, None)
    log.last_seq, log.head, log.last_activity_at = row.last_seq, row.head, row.last_activity_at
    return [_outcome(slot, written) for slot in slots]


def _invalid(event: PendingEvent) -> ChronicleError | None:
    try:
        validate(event)
        canonical.dump(event.payload)
    except ChronicleError as error:
        return error
    return None


def _raise_first(refused: dict[int, ChronicleError], whole: bool) -> None:
    if whole and refused:
        place = min(refused)
        refused[place].details["item"] = place + 1
        raise refused[place]


def _outcome(slot: _Slot, written: tuple[StoredEvent, ...]) -> Outcome:
    if not isinstance(slot, _New):
        return slot
    event = written[slot.place]
    return Recorded(event) if slot.again is None else Recorded(event, True, differs(event, slot.again))


class _Batch:
    """What is to be written, decided under the lock, with two queries for the whole batch."""

    def __init__(self, row: Log, items: Sequence[Item]) -> None:
        self.new: list[tuple[PendingEvent, str]] = []
        keys = {item.key for item in items} - {""}
        held = Event.objects.filter(log=row, idempotency_key__in=keys) if keys else Event.objects.none()
        self._held = {event.idempotency_key: event for event in rows.stored(held)}
        self._mine: dict[str, int] = {}
        self._causes = _Causes(row, items)

    def take(self, item: Item) -> _Slot:
        if item.key in self._held:
            first = self._held[item.key]
            return Recorded(first, True, differs(first, item.event))
        if item.key in self._mine:
            return _New(self._mine[item.key], item.event)
        try:
            event = replace(item.event, causation=self._causes.of(item))
        except InvalidEvent as error:
            return error
        place = len(self.new)
        self.new.append((event, item.key))
        self._causes.learn(event)
        if item.key:
            self._mine[item.key] = place
        return _New(place)


class _Causes:
    """What items may name as their cause: events of the log, and requests earlier in the batch."""

    def __init__(self, row: Log, items: Sequence[Item]) -> None:
        self._kinds: dict[UUID, str] = {}
        self._seqs: dict[int, UUID] = {}
        self._requests: dict[str, UUID] = {}
        named = [item.cause for item in items]
        ids, seqs = [one for one in named if isinstance(one, UUID)], [one for one in named if isinstance(one, int)]
        joined = [item.event.correlation for item in items if _joins(item)]
        for wanted in _wanted(ids, seqs, joined):
            found = Event.objects.filter(wanted, log=row).order_by("seq")
            for seq, event_id, kind, correlation in found.values_list("seq", "event_id", "kind", "correlation"):
                self._seqs[seq] = event_id
                self._add(event_id, kind, correlation)

    def of(self, item: Item) -> UUID | None:
        """Return the event_id of an item's cause. Raises InvalidEvent."""
        cause = self._seqs.get(item.cause) if isinstance(item.cause, int) else item.cause
        if _joins(item):
            cause = self._requests.get(item.event.correlation)
        kind = self._kinds.get(cause) if cause else None
        if item.cause is not None and kind is None:
            raise InvalidEvent(f"causation {item.cause} is no event of this log", field="causation")
        if item.event.kind == Kind.TOOL_RESPONSE and kind != Kind.TOOL_REQUEST:
            raise InvalidEvent(NO_REQUEST, field="causation")
        return cause

    def learn(self, event: PendingEvent) -> None:
        self._add(event.event_id, str(event.kind), event.correlation)

    def _add(self, event_id: UUID, kind: str, correlation: str) -> None:
        self._kinds[event_id] = kind
        if kind == Kind.TOOL_REQUEST and correlation:
            self._requests[correlation] = event_id


def _joins(item: Item) -> bool:
    return item.cause is None and item.event.kind == Kind.TOOL_RESPONSE and bool(item.event.correlation)


def _wanted(ids: list[UUID], seqs: list[int], joined: list[str]) -> Iterator[Q]:
    """One question for each way of naming a cause that the batch uses, each answered by an index."""
    if ids:
        yield Q(event_id__in=ids)
    if seqs:
        yield Q(seq__in=seqs)
    if joined:
        yield Q(correlation__in=joined, kind=str(Kind.TOOL_REQUEST)) & ~Q(correlation="")
