"""Stored events as values, for what reads events and needs no log."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from chronicle.envelope import StoredEvent


def stored(seq: int, **fields: Any) -> StoredEvent:
    """Return an event at `seq`, a public message where nothing else is given."""
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    values: dict[str, Any] = {
        "seq": seq, "event_id": UUID(int=seq), "kind": "message", "actor_kind": "human", "actor": "Ada",
        "content": "words", "namespace": "chronicle", "type": "message", "schema_version": 1, "payload": "",
        "causation": None, "correlation": "", "at": moment, "claimed_at": None, "audience": (), "locator": "",
        "text_form": "plain", "idempotency_key": "", "size": 5, "salt": "", "content_digest": "", "digest": "",
    }  # fmt: skip
    return StoredEvent(**{**values, **fields})
