"""PinLedger: what was drawn for a unit, kept before it is used and promoted into the log with what rests on it.

Guarantees: in one unit an effect runs once per key, and whoever loses a race takes what is kept; a result is
plain JSON before it is first used; an effect that raises leaves nothing, a stream that breaks off leaves what
arrived, marked; `commit` moves a unit's pins into the log, as bookkeeping events, in the caller's transaction;
`abandon` drops them and leaves one event that says which.
Refuses: a result that is not JSON, before it is kept; names longer than they can be kept, before anything is drawn.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from asgiref.sync import sync_to_async
from django.db import transaction
from django.db.models import Case, Count, F, IntegerField, Min, Q, QuerySet, Value, When
from django.utils import timezone

from chronicle import canonical
from chronicle.envelope import ABANDONED, DIVERGED, PROMOTED, RESERVED_NAMESPACE, ActorKind, Kind, PendingEvent
from chronicle.log import append, locked
from chronicle.models import Event, Log, Pin, PinScratch
from chronicle.replay import chunks_of, joined

ACTOR = "pin ledger"
KEY, KIND, UNIT = 200, 100, 100

WIDTHS = {"key": 200, "kind": 100, "unit": 100}

type OnKey = Callable[[str], None]


class LeftOpen(NamedTuple):
    """A unit whose draws are neither promoted nor abandoned: how many, and since when."""

    unit: str
    pins: int
    since: datetime


class PinLedger:
    """The pins of one log."""

    def __init__(self, log: Log) -> None:
        self.log = log

    def open(self, unit: str, *, on_key: OnKey | None = None) -> "OpenUnit":
        """Return the unit of this name, with what a crash left in it; `on_key` is told the key of every request."""
        return OpenUnit(self.log, unit, on_key)

    def scratch_units(self) -> list[LeftOpen]:
        """Return the units left open, oldest first."""
        found = PinScratch.objects.filter(log=self.log).values("unit")
        rows = found.annotate(pins=Count("pk"), since=Min("made_at"), first=Min("pk")).order_by("since", "first")
        return [LeftOpen(row["unit"], row["pins"], row["since"]) for row in rows]


def recorded(log: Log, *, unit: str = "") -> Mapping[str, Any]:
    """Return the log's pins as a mapping of key to result, each looked up when it is asked for; the later pin wins.

    `unit` (`<edition>/<slot>`) asks on behalf of a slot: two slots whose events say the same ask under one key, and a
    model may have answered each in its own words. What that unit drew comes first, then what the same slot drew in
    another edition, then what any drew.
    """
    return _Recorded(log, unit)


class _Recorded(Mapping[str, Any]):
    def __init__(self, log: Log, unit: str = "") -> None:
        self._pins = Pin.objects.filter(log=log)
        slot = f"/{unit.partition('/')[2]}"
        own = Q(unit=unit) | Q(unit__startswith=f"{unit}~")  # a draw that was tried again has `~` and its number
        same = Q(unit__endswith=slot) | Q(unit__contains=f"{slot}~")
        ranks = (When(own, then=Value(0)), When(same, then=Value(1)))
        # Without a unit there is nothing to rank: a bare constant to order by would be read as a column's number.
        self._order = [Case(*ranks, default=Value(2), output_field=IntegerField())] if unit else []

    def __getitem__(self, key: str) -> Any:
        pins = self._pins.filter(key=key).order_by(*self._order, "-event__seq")
        found = pins.values_list("result", flat=True).first()
        if found is None:
            raise KeyError(key)
        return json.loads(found)

    def __iter__(self) -> Iterator[str]:
        return self._pins.order_by("key").values_list("key", flat=True).distinct().iterator()

    def __len__(self) -> int:
        return self._pins.values("key").distinct().count()


class OpenUnit:
    """A resolver whose draws belong to one unit. `keys` are those asked for here, in order, each once."""

    def __init__(self, log: Log, unit: str, on_key: OnKey | None = None) -> None:
        if not 0 < len(unit) <= UNIT:
            raise ValueError(f"The name of a unit has 1 to {UNIT} characters.")
        self.log = log
        self.unit = unit
        self.keys: list[str] = []
        self._on_key = on_key
        self._given: dict[str, PinScratch] = {}  # what was used here, should another worker abandon it meanwhile
        self._diverged: tuple[str, str] | None = None
        self._announced: PendingEvent | None = None
        self._drawing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def resolve(self, key: str, kind: str, effect: Callable[[], Any]) -> Any:
        """Return the kept result of `key`, else run `effect` and keep what it gives. Raises InvalidPayload."""
        found = self._asked(key, kind)
        return found[0] if found else self._keep(key, kind, effect())

    async def aresolve(self, key: str, kind: str, effect: Callable[[], Awaitable[Any]]) -> Any:
        """As `resolve`, awaiting the effect; who asks for a key that is being drawn waits for it."""
        async with self._drawing.setdefault(key, asyncio.Lock()):
            found = await sync_to_async(self._asked)(key, kind)
            return found[0] if found else await sync_to_async(self._keep)(key, kind, await effect())

    def stream(self, key: str, kind: str, effect: Callable[[], Iterable[Any]]) -> Iterator[Any]:
        """Yield the chunks of `effect` as they come and keep the whole, or what arrived until it broke off.

        What is kept already comes without a call: in one piece, or as the list it is.
        """
        found = self._asked(key, kind)
        if found:
            yield from chunks_of(found[0])
            return
        arrived, whole = [], False
        try:
            for chunk in effect():
                arrived.append(chunk)
                yield chunk
            whole = True
        finally:
            if whole or arrived:
                self._keep(key, kind, joined(arrived, whole=whole))

    async def astream(self, key: str, kind: str, effect: Callable[[], AsyncIterator[Any]]) -> AsyncIterator[Any]:
        """As `stream`, awaiting the chunks; who asks for a key that is being drawn waits for it."""
        async with self._drawing.setdefault(key, asyncio.Lock()):
            found = await sync_to_async(self._asked)(key, kind)
            for chunk in chunks_of(found[0]) if found else ():
                yield chunk
            if found:
                return
            arrived, whole = [], False
            try:
                async for chunk in effect():
                    arrived.append(chunk)
                    yield chunk
                whole = True
            finally:
                if whole or arrived:
                    await sync_to_async(self._keep)(key, kind, joined(arrived, whole=whole))

    def adopt(self, key: str, kind: str, result: Any) -> Any:
        """Keep a result that was drawn elsewhere, unless one is kept; return the one that is, as plain JSON."""
        found = self._asked(key, kind)
        return found[0] if found else self._keep(key, kind, result)

    def diverged(self, key: str, kind: str) -> None:
        """Announce, with the pins that `commit` promotes, that a replay missed; the first miss counts."""
        if self._diverged is None or self._told():
            self._diverged, self._announced = (key, kind), None

    def commit(self) -> int:
        """Move the unit's pins into the log and clear the scratch, in one transaction; return the last seq."""
        with transaction.atomic():
            kept = self._kept_whole()
            if pins := [*kept, *self._dropped(kept)]:
                self._promote(pins)
                self._clear(kept)
        return self._last_seq()

    def abandon(self, reason: str) -> int:
        """Drop the unit's scratch and leave one event that lists it; return the last seq."""
        with transaction.atomic():
            if kept := self._kept_whole():
                gone = [{"key": pin.key, "kind": pin.kind, "attempts": pin.attempts} for pin in kept]
                append(self.log, [_event(ABANDONED, unit_id=self.unit, reason=reason, discarded=gone)])
                self._clear(kept)
        self._diverged = None
        self._given = {}
        return self._last_seq()

    def _scratch(self) -> QuerySet[PinScratch]:
        return PinScratch.objects.filter(log=self.log, unit=self.unit)

    def _kept_whole(self) -> list[PinScratch]:
        """Return the scratch as no other commit can have it, oldest first."""
        if not self._given and not self._scratch().exists():
            return []
        locked(self.log.pk)
        return list(self._scratch().order_by("pk"))

    def _dropped(self, kept: Sequence[PinScratch]) -> list[PinScratch]:
        """Return what was used here and is in the scratch no more, nor in the log: what rests on it needs it."""
        missing = self._given.keys() - {pin.key for pin in kept}
        if missing:
            missing -= set(Pin.objects.filter(log=self.log, unit=self.unit).values_list("key", flat=True))
        return [pin for key, pin in self._given.items() if key in missing]

    def _clear(self, kept: Sequence[PinScratch]) -> None:
        """Delete what was seen, not what another worker has drawn since."""
        self._scratch().filter(pk__in=[pin.pk for pin in kept]).delete()

    def _last_seq(self) -> int:
        return Log.objects.values_list("last_seq", flat=True).get(pk=self.log.pk)

    def _asked(self, key: str, kind: str) -> list[Any]:
        if not 0 < len(key) <= KEY or not 0 < len(kind) <= KIND:
            raise ValueError(f"A pin's key has 1 to {KEY} characters and its kind 1 to {KIND}.")
        if self._on_key is not None:
            self._on_key(key)
        if key not in self.keys:
            self.keys.append(key)
        return [self._reused(row) for row in self._scratch().filter(key=key)]

    def _reused(self, row: PinScratch) -> Any:
        self._scratch().filter(pk=row.pk).update(attempts=F("attempts") + 1)
        return self._used(row)

    def _used(self, row: PinScratch) -> Any:
        self._given.setdefault(row.key, row)
        return json.loads(row.result)

    def _keep(self, key: str, kind: str, result: Any) -> Any:
        text = canonical.dump(result)
        given = {"kind": kind, "result": text, "made_at": timezone.now()}
        row, new = PinScratch.objects.get_or_create(log=self.log, unit=self.unit, key=key, defaults=given)
        return self._used(row) if new else self._reused(row)

    def _promote(self, kept: Sequence[PinScratch]) -> None:
        first = self._divergence()
        done = append(self.log, [*first, *(_promoted(pin) for pin in kept)])
        since = done.first_seq + len(first)
        events = Event.objects.filter(log=self.log, seq__gte=since, seq__lte=done.last_seq).order_by("seq")
        Pin.objects.bulk_create(
            Pin(
                log=self.log,
                event_id=event,
                key=pin.key,
                kind=pin.kind,
                result=pin.result,
                attempts=pin.attempts,
                unit=self.unit,
            )
            for event, pin in zip(events.values_list("pk", flat=True), kept, strict=True)
        )

    def _divergence(self) -> list[PendingEvent]:
        """The event that says which request was missed first; again, where a rollback took it back."""
        if self._diverged is None or self._told():
            return []
        key, kind = self._diverged
        self._announced = _event(DIVERGED, unit_id=self.unit, missed_key=key, kind=kind)
        return [self._announced]

    def _told(self) -> bool:
        told = self._announced
        return told is not None and Event.objects.filter(log=self.log, event_id=told.event_id).exists()


def _promoted(pin: PinScratch) -> PendingEvent:
    result = json.loads(pin.result)
    return _event(PROMOTED, unit_id=pin.unit, key=pin.key, kind=pin.kind, result=result, attempts=pin.attempts)


def _event(type_: str, **payload: Any) -> PendingEvent:
    return PendingEvent(
        kind=Kind.BOOKKEEPING,
        actor_kind=ActorKind.SYSTEM,
        actor=ACTOR,
        namespace=RESERVED_NAMESPACE,
        type=type_,
        payload=payload,
    )


def pin_values(payload: dict[str, Any]) -> dict[str, Any]:
    """Return what a pin's row says, from the payload of the event that promoted it."""
    attempts = payload.get("attempts")
    named = {"key": payload.get("key"), "kind": payload.get("kind"), "unit": payload.get("unit_id")}
    return {
        "result": canonical.dump(payload.get("result")),
        "attempts": attempts if type(attempts) is int and 0 < attempts < 2**31 else 1,
        **{name: str(value or "")[: WIDTHS[name]] for name, value in named.items()},
    }
