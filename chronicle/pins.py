"""PinLedger: what was drawn for a unit, kept before it is used and promoted into the log with what rests on it.

Guarantees: in one unit an effect runs once per key; a result is plain JSON before it is first used; an effect
that raises leaves nothing; `commit` moves a unit's pins into the log, as bookkeeping events, in the caller's
transaction; `abandon` drops them and leaves one event that says which.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from asgiref.sync import sync_to_async
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from chronicle import canonical
from chronicle.envelope import RESERVED_NAMESPACE, ActorKind, Kind, PendingEvent
from chronicle.log import append
from chronicle.models import Event, Log, Pin, PinScratch

ACTOR = "pin ledger"


class PinLedger:
    """The pins of one log."""

    def __init__(self, log: Log) -> None:
        self.log = log

    def open(self, unit: str) -> "OpenUnit":
        """Return the unit of this name, with what a crash left in it."""
        return OpenUnit(self.log, unit)


class OpenUnit:
    """A resolver whose draws belong to one unit. `keys` are those asked for here, in order, each once."""

    def __init__(self, log: Log, unit: str) -> None:
        self.log = log
        self.unit = unit
        self.keys: list[str] = []

    def resolve(self, key: str, kind: str, effect: Callable[[], Any]) -> Any:
        """Return the kept result of `key`, else run `effect` and keep what it gives."""
        found = self._kept(key)
        return found[0] if found else self._keep(key, kind, effect())

    async def aresolve(self, key: str, kind: str, effect: Callable[[], Awaitable[Any]]) -> Any:
        """As `resolve`, awaiting the effect."""
        found = await sync_to_async(self._kept)(key)
        return found[0] if found else await sync_to_async(self._keep)(key, kind, await effect())

    def commit(self) -> int:
        """Move the unit's pins into the log and clear the scratch, in one transaction; return the last seq."""
        with transaction.atomic():
            kept = list(self._scratch().order_by("pk"))
            if kept:
                self._promote(kept)
                self._scratch().delete()
        return self.log.last_seq

    def abandon(self, reason: str) -> int:
        """Drop the unit's scratch and leave one event that lists it; return the last seq."""
        with transaction.atomic():
            kept = list(self._scratch().order_by("pk"))
            if kept:
                gone = [{"key": pin.key, "kind": pin.kind, "attempts": pin.attempts} for pin in kept]
                payload = {"unit_id": self.unit, "reason": reason, "discarded": gone}
                append(self.log, [_event("PinsAbandoned", payload)])
                self._scratch().delete()
        return self.log.last_seq

    def _scratch(self) -> Any:
        return PinScratch.objects.filter(log=self.log, unit=self.unit)

    def _kept(self, key: str) -> list[Any]:
        if key not in self.keys:
            self.keys.append(key)
        row = self._scratch().filter(key=key).first()
        if row is None:
            return []
        self._scratch().filter(pk=row.pk).update(attempts=F("attempts") + 1)
        return [json.loads(row.result)]

    def _keep(self, key: str, kind: str, result: Any) -> Any:
        text = canonical.dump(result)
        row, _ = PinScratch.objects.get_or_create(
            log=self.log,
            unit=self.unit,
            key=key,
            defaults={"kind": kind, "result": text, "made_at": timezone.now()},
        )
        return json.loads(row.result)

    def _promote(self, kept: Sequence[PinScratch]) -> None:
        payloads = [
            {
                "unit_id": self.unit,
                "key": pin.key,
                "kind": pin.kind,
                "result": json.loads(pin.result),
                "attempts": pin.attempts,
            }
            for pin in kept
        ]
        done = append(self.log, [_event("PinPromoted", payload) for payload in payloads])
        rows = Event.objects.filter(log=self.log, seq__gte=done.first_seq, seq__lte=done.last_seq).order_by("seq")
        Pin.objects.bulk_create(
            Pin(
                log=self.log,
                event=row,
                key=pin.key,
                kind=pin.kind,
                result=pin.result,
                attempts=pin.attempts,
                unit=self.unit,
            )
            for row, pin in zip(rows, kept, strict=True)
        )


def _event(type_: str, payload: dict[str, Any]) -> PendingEvent:
    return PendingEvent(
        kind=Kind.BOOKKEEPING,
        actor_kind=ActorKind.SYSTEM,
        actor=ACTOR,
        namespace=RESERVED_NAMESPACE,
        type=type_,
        payload=payload,
    )
