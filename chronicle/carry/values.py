"""Between a carry's rows and the values of the log: times, events, and what a section says of itself.

Guarantees: `event_row` and `event_of` undo each other. Refuses: a date that does not exist (ValueError).
"""

from datetime import datetime
from typing import Any
from uuid import UUID

from chronicle import seal
from chronicle.carry import shapes
from chronicle.envelope import StoredEvent

moment = seal.moment

# The columns of a receipt that are carried as they stand.
RECEIPT = (
    "number",
    "what",
    "reader",
    "capability",
    "upto_seq",
    "tail_from",
    "tail_to",
    "filters",
    "budget",
    "renderer",
    "token_estimate",
    "size",
    "text_digest",
    "digest",
)


def event_row(event: StoredEvent, source_digest: str) -> shapes.Event:
    """Return an event as a row."""
    return shapes.Event(
        seq=event.seq,
        event_id=str(event.event_id),
        kind=event.kind,  # type: ignore[arg-type]
        actor_kind=event.actor_kind,  # type: ignore[arg-type]
        actor=event.actor,
        content=event.content,
        namespace=event.namespace,
        type=event.type,
        schema_version=event.schema_version,
        payload=event.payload,
        causation=str(event.causation) if event.causation else None,
        correlation=event.correlation,
        at=moment(event.at),
        claimed_at=moment(event.claimed_at) if event.claimed_at else None,
        audience=list(event.audience),
        source=source_digest or None,
        locator=event.locator,
        text_form=event.text_form,  # type: ignore[arg-type]
        key=event.idempotency_key or None,
        size=event.size,
        salt=event.salt,
        content_digest=event.content_digest,
        digest=event.digest,
    )


def event_of(row: shapes.Event) -> StoredEvent:
    """Return a row as an event. Raises ValueError for a time that does not exist."""
    return StoredEvent(
        seq=row.seq,
        event_id=UUID(row.event_id),
        kind=row.kind,
        actor_kind=row.actor_kind,
        actor=row.actor,
        content=row.content,
        namespace=row.namespace,
        type=row.type,
        schema_version=row.schema_version,
        payload=row.payload,
        causation=UUID(row.causation) if row.causation else None,
        correlation=row.correlation,
        at=datetime.fromisoformat(row.at),
        claimed_at=datetime.fromisoformat(row.claimed_at) if row.claimed_at else None,
        audience=tuple(row.audience),
        locator=row.locator,
        text_form=row.text_form,
        idempotency_key=row.key or "",
        size=row.size,
        salt=row.salt,
        content_digest=row.content_digest,
        digest=row.digest,
    )


def receipt_values(row: shapes.Receipt) -> dict[str, Any]:
    """Return what a receipt's row says, but for its log, edition and parts."""
    return {"at": datetime.fromisoformat(row.at), **{name: getattr(row, name) for name in RECEIPT}}


def section_digest(log_id: str, edition: int, row: shapes.Section) -> str:
    """Return the digest that a section's row must state."""
    slot = f"L{row.level}:{row.from_seq}-{row.to_seq}#{row.generation}"
    made = (row.origin, row.summariser, row.model, row.prompt_digest, row.made_by)
    at = datetime.fromisoformat(row.made_at)
    return seal.section_digest(log_id, edition, slot, (row.title, row.prose), made, row.pins, at)
