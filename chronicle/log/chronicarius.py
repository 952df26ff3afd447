"""Chronicarius: the owner-checking door to a store.

Guarantees: checks come in a fixed order (owner, event, idempotency, ownership) before anything is
read or written; "not yours" and "does not exist" are one answer; a log that does not exist is created
for the owner by its first record; the event_id is always made here.
Does not prove who the caller is: that stays with the application.
"""

from dataclasses import replace
from uuid import uuid4

from chronicle import canonical
from chronicle.envelope import MAX_NAME, PendingEvent, StoredEvent, check_owner, validate
from chronicle.errors import IdempotencyUnsupported, InvalidEvent, LogExists, LogNotFound
from chronicle.log.store import IdempotentStore, LogInfo, Option, Recorded, Store, Window


class Chronicarius:
    """Records into and reads from the logs of one owner at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def record(self, log_id: str, owner: str, event: PendingEvent, *, idempotency_key: str = "") -> Recorded:
        """Store `event` at the end of the log and return it whole.

        Raises OwnerEmpty, InvalidEvent (naming the first thing wrong), IdempotencyUnsupported, LogNotFound.
        """
        check_owner(owner)
        _check_log_id(log_id)
        validate(event)
        if event.payload is not None:
            canonical.dump(event.payload)
        if idempotency_key and not isinstance(self._store, IdempotentStore):
            raise IdempotencyUnsupported("This store keeps no idempotency keys; record without one.")
        self._own_or_create(log_id, owner)
        event = replace(event, event_id=uuid4())
        if idempotency_key and isinstance(self._store, IdempotentStore):
            return self._store.record_once(log_id, event, idempotency_key)
        return Recorded(self._store.record(log_id, event))

    def window(self, log_id: str, owner: str, *options: Option) -> list[StoredEvent]:
        """Return the events that pass the options, oldest first. Raises OwnerEmpty, InvalidFilter, LogNotFound."""
        self.get(log_id, owner)
        window = Window()
        for option in options:
            window = option(window)
        return self._store.window(log_id, window)

    def get(self, log_id: str, owner: str) -> LogInfo:
        """Return the log when it is this owner's. Raises OwnerEmpty, LogNotFound."""
        check_owner(owner)
        info = self._store.get(log_id)
        if info.owner != owner:
            raise LogNotFound
        return info

    def _own_or_create(self, log_id: str, owner: str) -> None:
        try:
            self.get(log_id, owner)
        except LogNotFound:
            try:
                self._store.create(log_id, owner)
            except LogExists:
                self.get(log_id, owner)


def _check_log_id(log_id: str) -> None:
    if not log_id.strip():
        raise InvalidEvent("a log id must be given", field="log_id")
    if len(log_id) > MAX_NAME or canonical.unstorable(log_id) is not None:
        raise InvalidEvent(f"a log id is at most {MAX_NAME} characters that a database takes", field="log_id")
