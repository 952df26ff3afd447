"""The log: the only door in for events. People and agents come through `Chronicarius`, the worker by `append`."""

from chronicle.log.chronicarius import Chronicarius
from chronicle.log.database import Appended, DatabaseStore, append, create_log, locked, new_log_id, read
from chronicle.log.memory import MemoryStore
from chronicle.log.recording import Item, record_all, record_each
from chronicle.log.restoring import restore, restore_log
from chronicle.log.store import (
    IdempotentStore,
    LogInfo,
    Recorded,
    Store,
    Window,
    with_actor_kinds,
    with_kinds,
    with_last,
)

__all__ = [
    "Appended",
    "Chronicarius",
    "DatabaseStore",
    "IdempotentStore",
    "Item",
    "LogInfo",
    "MemoryStore",
    "Recorded",
    "Store",
    "Window",
    "append",
    "create_log",
    "locked",
    "new_log_id",
    "read",
    "record_all",
    "record_each",
    "restore",
    "restore_log",
    "with_actor_kinds",
    "with_kinds",
    "with_last",
]
