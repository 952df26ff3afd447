"""Usage of an answer on its last event, also where a transcript states it in a record of its own.

Guarantees: each count lands on one event; items leave in the order they came; at most WAITING items wait.
Newer versions of Codex state the count behind the items of an answer, older ones before them: the first count
that comes says which. Where the end of a snapshot parts an event from its count, the event goes without.
Refuses nothing. Pure.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from chronicle.envelope import ActorKind
from chronicle.importers.protocol import Item, Read

WAITING = 256


@dataclass(slots=True)
class Trailing:
    """Items on their way out. The first that waits is an agent's event that has no usage yet."""

    waiting: list[Item] = field(default_factory=list)
    ready: list[Item] = field(default_factory=list)
    pending: dict[str, Any] | None = None
    before: bool | None = None  # True where a count stands before the items of its answer

    def passing(self, item: Item) -> Iterator[Item]:
        """Take an item; yield what need not wait any longer."""
        if isinstance(item, Read) and item.event.actor_kind == ActorKind.AGENT:
            self.ready += self.waiting
            self.waiting = [item]
        elif self.waiting:
            self.waiting.append(item)
        else:
            self.ready.append(item)
        if len(self.waiting) > WAITING:
            self._close()
        yield from self._left()

    def counted(self, usage: dict[str, Any]) -> None:
        """Take a count: it belongs to the event that waits, or to those that come."""
        if self.before is None:
            self.before = not self.waiting
        if self.before:
            self._close()
            self.pending = _sum(self.pending, usage)
        else:
            self.pending = _sum(self.pending, usage)
            self._close()

    def rest(self) -> Iterator[Item]:
        """Yield all that waits, the first with the usage that is known."""
        self._close()
        yield from self._left()

    def _close(self) -> None:
        if self.waiting and self.pending is not None and isinstance(first := self.waiting[0], Read):
            self.waiting[0] = with_usage(first, self.pending)
            self.pending = None
        self.ready += self.waiting
        self.waiting = []

    def _left(self) -> Iterator[Item]:
        left, self.ready = self.ready, []
        yield from left


def with_usage(read: Read, usage: dict[str, Any]) -> Read:
    """Return an event with a usage in its payload."""
    return replace(read, event=replace(read.event, payload=(read.event.payload or {}) | {"usage": usage}))


def _sum(one: dict[str, Any] | None, other: dict[str, Any]) -> dict[str, Any]:
    """Return two counts as one: an answer that gave no event leaves its count to the next."""
    if one is None:
        return other
    return one | {key: _added(one.get(key), value) for key, value in other.items()}


def _added(one: Any, other: Any) -> Any:
    both = type(one) in (int, float) and type(other) in (int, float)
    return one + other if both else other
