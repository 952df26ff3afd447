"""Where units close: a pure function of a log's events and the policies in force.

Guarantees: one event at a time, in memory that does not grow with the log; the units of a prefix are
a prefix of the units; ranges are given by their bounds, both inclusive, the closing event inside.
Bookkeeping lies inside a range but is never counted and never closes one. Who may see an event
changes no bound.
Refuses: events out of order, policy values outside their ranges, two policies from one seq.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from chronicle import tokens
from chronicle.envelope import COMPACTION, CONTENT_KINDS, NAMESPACE, UNIT_CLOSED, StoredEvent, is_bookkeeping
from chronicle.errors import InvalidEvent, InvalidPolicy

CLOSED_TYPE = f"{NAMESPACE}/{UNIT_CLOSED}"
COMPACTION_TYPE = f"{NAMESPACE}/{COMPACTION}"
ALWAYS_CLOSE = frozenset({CLOSED_TYPE, COMPACTION_TYPE})


class UnitKind(StrEnum):
    """Why a unit closed: at a marker, by its size, or at a marker that says it was cut."""

    UNIT = "unit"
    INTERVAL = "interval"
    PRESSURE = "pressure"
    MANUAL = "manual"


CUTS = {kind.value: kind for kind in (UnitKind.PRESSURE, UnitKind.MANUAL)}


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitEvent:
    """What bounds depend on. `tokens` is an estimate; `reason` is what a `unit.closed` event states."""

    seq: int
    kind: str
    type: str
    namespace: str = NAMESPACE
    tokens: int = 0
    public: bool = True
    reason: str = ""

    @property
    def type_name(self) -> str:
        """`namespace/type`, the form in which a policy names its boundary."""
        return f"{self.namespace}/{self.type}"


def unit_event(stored: StoredEvent, *, count: tokens.Counter = tokens.estimate) -> UnitEvent:
    """Return what bounds depend on of a stored event; its tokens are those of content and payload."""
    reason = ""
    if stored.type == UNIT_CLOSED and stored.namespace == NAMESPACE:
        payload = stored.data()
        reason = str(payload.get("reason", "")) if isinstance(payload, dict) else ""
    return UnitEvent(
        seq=stored.seq,
        kind=stored.kind,
        type=stored.type,
        namespace=stored.namespace,
        tokens=count(stored.content) + count(stored.payload),
        public=stored.public,
        reason=reason,
    )


@dataclass(frozen=True, slots=True)
class UnitPolicy:
    """When units close, for events from `from_seq` on; `boundary` names marker types as `namespace/type`."""

    from_seq: int = 1
    boundary: tuple[str, ...] = ()
    interval_messages: int = 40
    interval_tokens: int | None = None
    max_events_per_section: int = 400

    def __post_init__(self) -> None:
        if self.interval_messages < 1:
            raise InvalidPolicy("interval_messages starts at 1", field="interval_messages")
        if self.interval_tokens is not None and self.interval_tokens < 1:
            raise InvalidPolicy("interval_tokens starts at 1; None counts no tokens", field="interval_tokens")
        if not 1 <= self.max_events_per_section <= 5000:
            raise InvalidPolicy("max_events_per_section is 1 to 5,000", field="max_events_per_section")


@dataclass(frozen=True, slots=True)
class Unit:
    """A closed stretch of a log. `unit_seq` is the seq of the event that closed it.

    `event_count` counts content events, `public_count` those of them that everyone may see: at 0
    there is nothing that a summariser may be given.
    """

    from_seq: int
    to_seq: int
    unit_seq: int
    kind: UnitKind
    event_count: int
    public_count: int


class UnitCloser:
    """Is fed a log's events in order and gives each unit as it closes.

    `since_seq` is how far the log is consolidated: events up to it are passed over, and the first
    unit starts right after it. Before the first policy's `from_seq` the defaults hold.
    """

    def __init__(self, policies: Sequence[UnitPolicy] = (), *, since_seq: int = 0) -> None:
        self._policies = sorted(policies, key=lambda policy: policy.from_seq)
        self._starts = [policy.from_seq for policy in self._policies]
        if len(set(self._starts)) != len(self._starts):
            raise InvalidPolicy("two policies hold from one seq; give each its own from_seq", field="from_seq")
        self._default = UnitPolicy()
        self._since = self._seen = self._closed_through = since_seq
        self._start_over()

    @property
    def closed_through(self) -> int:
        """The last seq of the last unit; the open unit starts at the next."""
        return self._closed_through

    def feed(self, event: UnitEvent) -> Unit | None:
        """Take the next event; return the unit that it closes, if it does. Raises InvalidEvent out of order."""
        if event.seq <= self._since:
            return None
        if event.seq <= self._seen:
            raise InvalidEvent(f"event {event.seq} comes after event {self._seen}; give events by seq", field="seq")
        self._seen = event.seq
        if is_bookkeeping(event.kind):
            return None
        self._count(event)
        kind = self._closed_by(event, self._policy_at(event.seq))
        return self._close(event.seq, kind) if kind else None

    def _start_over(self) -> None:
        self._events = self._content = self._public = self._tokens = 0

    def _policy_at(self, seq: int) -> UnitPolicy:
        place = bisect_right(self._starts, seq)
        return self._policies[place - 1] if place else self._default

    def _count(self, event: UnitEvent) -> None:
        self._events += 1
        if event.kind in CONTENT_KINDS:
            self._content += 1
            self._public += event.public
            self._tokens += event.tokens

    def _closed_by(self, event: UnitEvent, policy: UnitPolicy) -> UnitKind | None:
        name = event.type_name
        if name in ALWAYS_CLOSE or name in policy.boundary:
            return CUTS.get(event.reason, UnitKind.UNIT) if name == CLOSED_TYPE else UnitKind.UNIT
        return UnitKind.INTERVAL if self._is_full(event, policy) else None

    def _is_full(self, event: UnitEvent, policy: UnitPolicy) -> bool:
        if self._events >= policy.max_events_per_section:
            return True
        if event.kind not in CONTENT_KINDS:
            return False
        enough = policy.interval_tokens is not None and self._tokens >= policy.interval_tokens
        return enough or self._content >= policy.interval_messages

    def _close(self, seq: int, kind: UnitKind) -> Unit:
        unit = Unit(self._closed_through + 1, seq, seq, kind, self._content, self._public)
        self._closed_through = seq
        self._start_over()
        return unit


def iter_units(
    events: Iterable[UnitEvent | StoredEvent], policies: Sequence[UnitPolicy] = (), *, since_seq: int = 0
) -> Iterator[Unit]:
    """Yield the closed units of `events` after `since_seq`, each as soon as it closes."""
    closer = UnitCloser(policies, since_seq=since_seq)
    for event in events:
        unit = closer.feed(unit_event(event) if isinstance(event, StoredEvent) else event)
        if unit is not None:
            yield unit


def closed_units(
    events: Iterable[UnitEvent | StoredEvent], policies: Sequence[UnitPolicy] = (), *, since_seq: int = 0
) -> list[Unit]:
    """Return the closed units of `events` after `since_seq`, oldest first."""
    return list(iter_units(events, policies, since_seq=since_seq))
