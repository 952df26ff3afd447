"""A store in memory: for tests, examples and scripts. Keeps every law, keeps nothing after the process ends."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from chronicle import canonical
from chronicle.envelope import PendingEvent, StoredEvent
from chronicle.errors import LogExists, LogNotFound
from chronicle.log.store import LogInfo, Recorded, Window
from chronicle.seal import seal


@dataclass(slots=True)
class _Kept:
    info: LogInfo
    events: list[StoredEvent] = field(default_factory=list)
    keys: dict[str, StoredEvent] = field(default_factory=dict)


class MemoryStore:
    """Logs in a dict behind one lock. `clock` returns an aware time."""

    def __init__(self, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._logs: dict[str, _Kept] = {}
        self._lock = threading.Lock()
        self._clock = clock

    def create(self, log_id: str, owner: str) -> LogInfo:
        with self._lock:
            if log_id in self._logs:
                raise LogExists(f"There is a log {log_id!r} already.")
            now = self._clock()
            self._logs[log_id] = _Kept(LogInfo(log_id, owner, now, now))
            return self._logs[log_id].info

    def record(self, log_id: str, event: PendingEvent) -> StoredEvent:
        with self._lock:
            return self._append(self._kept(log_id), event, "")

    def record_once(self, log_id: str, event: PendingEvent, key: str) -> Recorded:
        with self._lock:
            kept = self._kept(log_id)
            first = kept.keys.get(key)
            if first is not None:
                return Recorded(first, replayed=True, payload_differs=differs(first, event))
            kept.keys[key] = self._append(kept, event, key)
            return Recorded(kept.keys[key])

    def window(self, log_id: str, window: Window) -> list[StoredEvent]:
        with self._lock:
            passed = [event for event in self._kept(log_id).events if window.passes(event.kind, event.actor_kind)]
        return passed[-window.last :] if window.last else passed

    def get(self, log_id: str) -> LogInfo:
        with self._lock:
            return self._kept(log_id).info

    def _kept(self, log_id: str) -> _Kept:
        if log_id not in self._logs:
            raise LogNotFound
        return self._logs[log_id]

    def _append(self, kept: _Kept, event: PendingEvent, key: str) -> StoredEvent:
        info, events = kept.info, kept.events
        head = events[-1].digest if events else canonical.genesis(info.id)
        (stored,) = seal(info.id, len(events), head, [(event, key)], self._clock())
        events.append(stored)
        newest = max(stored.at, info.last_activity_at)
        kept.info = replace(info, last_activity_at=newest, last_seq=stored.seq)
        return stored


def differs(first: StoredEvent, again: PendingEvent) -> bool:
    """True when a retry says something else than what was stored under its key."""
    payload = "" if again.payload is None else canonical.dump(again.payload)
    was = (first.kind, first.actor_kind, first.actor, first.content, first.payload)
    return was != (again.kind, again.actor_kind, again.actor, again.content, payload)
