"""The events of a tail as they are given, read from the newest back, no further than is asked for.

Guarantees: positions count from the oldest event of the whole tail, however much of it was read; what is read is
the same whatever the steps; an event that answers names its request when the reader may see that one. The size
is counted, never read. Bookkeeping is left out. Refuses nothing.
"""

from functools import cached_property
from uuid import UUID

from django.db.models import QuerySet

from chronicle import fitting, rendering
from chronicle.envelope import Kind, StoredEvent
from chronicle.log.rows import stored
from chronicle.models import Event
from chronicle.tokens import Counter

STEP = 64  # events in the first step; each further one takes twice as many


class Trail:
    """The events above `through` of those that a reader may see (`visible`, up to a seq)."""

    def __init__(self, visible: QuerySet[Event], through: int) -> None:
        self._visible = visible
        self._shown = visible.filter(seq__gt=through).exclude(kind=Kind.BOOKKEEPING)
        self._events: list[StoredEvent] = []
        self._lines: list[str] = []
        self._requests: dict[UUID, StoredEvent] = {}

    @cached_property
    def size(self) -> int:
        """How many events the whole tail has."""
        return self._shown.count()

    @property
    def unread(self) -> int:
        """How many of the oldest were not read yet: the position of the first that was."""
        return self.size - len(self._events)

    def lines(self, first: int = 0) -> list[str]:
        """The events from a position on, as they are given."""
        self._read(self.unread - first)
        return self._lines[first - self.unread :]

    def seq(self, position: int) -> int:
        """The seq of the event at a position."""
        self._read(self.unread - position)
        return self._events[position - self.unread].seq

    @property
    def context(self) -> list[StoredEvent]:
        """The requests of the responses that open the whole tail; they are told of in a section."""
        self._read(self.unread)
        found: dict[UUID, StoredEvent] = {}
        for one in self._events:
            if one.kind != Kind.TOOL_RESPONSE:
                break
            if one.causation in self._requests:
                found[one.causation] = self._requests[one.causation]
        return sorted(found.values(), key=lambda one: one.seq)

    def costs(self, count: Counter, budget: int) -> fitting.Tail:
        """What the newest events cost, until they are over the budget, and at which of them a cut tail may start.

        It may start at none whose request it would leave out.
        """
        costs: list[int] = []
        step = STEP
        while self.unread and sum(costs) <= budget:
            read = len(self._lines)
            self._read(step)
            costs = [*map(count, self._lines[: len(self._lines) - read]), *costs]
            step *= 2
        context = 0 if self.unread else count(self.context_text)
        return fitting.Tail(tuple(costs), self._starts(), context, self.unread)

    @property
    def context_text(self) -> str:
        return "".join(rendering.event(one, {}, context=True) for one in self.context)

    def _starts(self) -> tuple[int, ...]:
        return tuple(
            place
            for place, one in enumerate(self._events, start=self.unread)
            if place and not (one.kind == Kind.TOOL_RESPONSE and one.causation in self._requests)
        )

    def _read(self, more: int) -> None:
        """Read so many events before those that were read."""
        if more <= 0 or not self.unread:
            return
        older = self._shown.filter(seq__lt=self._events[0].seq) if self._events else self._shown
        found = list(stored(older.order_by("-seq")[:more]))[::-1]
        self._requests |= self._asked(found)
        seqs = {event_id: one.seq for event_id, one in self._requests.items()}
        self._lines = [rendering.event(one, seqs) for one in found] + self._lines
        self._events = found + self._events

    def _asked(self, found: list[StoredEvent]) -> dict[UUID, StoredEvent]:
        """The requests among these events, and those that they answer as far as the reader may see them."""
        here = {one.event_id: one for one in found if one.kind == Kind.TOOL_REQUEST}
        asked = {one.causation for one in found if one.kind == Kind.TOOL_RESPONSE and one.causation}
        missing = asked - here.keys() - self._requests.keys()
        if not missing:
            return here
        earlier = self._visible.filter(event_id__in=missing, kind=Kind.TOOL_REQUEST)
        return here | {one.event_id: one for one in stored(earlier)}
