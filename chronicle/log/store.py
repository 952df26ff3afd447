"""What a store of logs is: four methods, and an extension for idempotency keys.

Guarantees asked of a store (the laws are in `chronicle.conformance`): order is the order of
recording, filters run before the limit, last_activity_at never moves back, an event comes back whole.
A store takes no owner and checks none: all access goes through `Chronicarius`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple, Protocol, runtime_checkable

from chronicle.envelope import ActorKind, Kind, PendingEvent, StoredEvent
from chronicle.errors import InvalidFilter


@dataclass(frozen=True, slots=True)
class LogInfo:
    """A log without its events; times are UTC and aware."""

    id: str
    owner: str
    started_at: datetime
    last_activity_at: datetime
    last_seq: int = 0


@dataclass(frozen=True, slots=True)
class Window:
    """Which events to return: empty sets let everything through, `last` 0 means no limit."""

    kinds: frozenset[str] = frozenset()
    actor_kinds: frozenset[str] = frozenset()
    last: int = 0

    def passes(self, kind: str, actor_kind: str) -> bool:
        return (not self.kinds or kind in self.kinds) and (not self.actor_kinds or actor_kind in self.actor_kinds)


Option = Callable[[Window], Window]


def with_kinds(*kinds: str) -> Option:
    """Let only these kinds through. Raises InvalidFilter for one that does not exist."""
    return lambda window: replace(window, kinds=_known(kinds, Kind, "kind"))


def with_actor_kinds(*kinds: str) -> Option:
    """Let only these actor kinds through. Raises InvalidFilter for one that does not exist."""
    return lambda window: replace(window, actor_kinds=_known(kinds, ActorKind, "actor_kind"))


def with_last(count: int) -> Option:
    """Keep the newest `count` of what passed; zero or less means no limit, and clears an earlier one."""
    return lambda window: replace(window, last=max(count, 0))


def _known(given: Iterable[str], known: Iterable[str], name: str) -> frozenset[str]:
    names = list(known)
    for one in given:
        if one not in names:
            raise InvalidFilter(f"{name} {one!r} is none of {', '.join(names)}", field=name)
    return frozenset(given)


class Recorded(NamedTuple):
    """A stored event, and whether this call was a retry; `payload_differs`: its words were other words."""

    event: StoredEvent
    replayed: bool = False
    payload_differs: bool = False


class Store(Protocol):
    """Create raises LogExists on a taken id; the others raise LogNotFound for an unknown one."""

    def create(self, log_id: str, owner: str) -> LogInfo: ...

    def record(self, log_id: str, event: PendingEvent) -> StoredEvent: ...

    def window(self, log_id: str, window: Window) -> list[StoredEvent]: ...

    def get(self, log_id: str) -> LogInfo: ...


@runtime_checkable
class IdempotentStore(Store, Protocol):
    """A store that keeps keys: a second call with one key returns the first event and writes nothing."""

    def record_once(self, log_id: str, event: PendingEvent, key: str) -> Recorded: ...
