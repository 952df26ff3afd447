"""Builders that go through the public doors only."""

from collections.abc import Sequence
from typing import Any

from chronicle.envelope import PendingEvent
from chronicle.log import append, create_log
from chronicle.models import Log


def said(content: str = "Eight of us on Friday.", **given: Any) -> PendingEvent:
    """A public message of a person, unless told otherwise."""
    return PendingEvent(**{"kind": "message", "actor_kind": "human", "actor": "Dina", "content": content, **given})


def marker(reason: str = "turn", **given: Any) -> PendingEvent:
    """A `unit.closed` marker."""
    return PendingEvent(
        **{
            "kind": "marker",
            "actor_kind": "system",
            "actor": "concierge",
            "type": "unit.closed",
            "payload": {"reason": reason},
            **given,
        }
    )


def bookkeeping(**given: Any) -> PendingEvent:
    """The ledger's word that a unit's draws were given up: bookkeeping that promises no row elsewhere."""
    return PendingEvent(
        **{
            "kind": "bookkeeping",
            "actor_kind": "system",
            "actor": "ledger",
            "namespace": "anagrapheus",
            "type": "PinsAbandoned",
            "payload": {"unit_id": "1/1-2", "reason": "given up", "discarded": []},
            **given,
        }
    )


def log_of(events: Sequence[PendingEvent] | int = (), *, owner: str = "demo", **given: Any) -> Log:
    """A log with these events, or with so many messages."""
    log = create_log(owner, **given)
    if isinstance(events, int):
        events = [said(f"message {number}") for number in range(1, events + 1)]
    append(log, events)
    return log


def units_of(count: int, *, size: int = 2, owner: str = "demo") -> Log:
    """A log of `count` closed units of `size` events each, the marker included."""
    events = []
    for number in range(1, count + 1):
        events += [said(f"message {number}.{place}") for place in range(1, size)]
        events.append(marker())
    return log_of(events, owner=owner)
