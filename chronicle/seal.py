"""From pending to stored: salt, digests and the chain, in one place for every store.

Guarantees: `content_digest` commits to everything a writer gave, `digest` to that and to the place in
the log (its id, seq, predecessor); an event's words can later be withheld and the chain still verifies.
A section's digest commits to its place, its words and how they were made.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from chronicle import canonical
from chronicle.envelope import PendingEvent, StoredEvent


def seal(
    log_id: str,
    last_seq: int,
    head: str,
    pending: Iterable[tuple[PendingEvent, str]],
    at: datetime,
    source_digest: str = "",
) -> Iterator[StoredEvent]:
    """Yield the stored form of each (event, idempotency key), numbered from last_seq + 1 and chained from `head`."""
    for seq, (event, key) in enumerate(pending, last_seq + 1):
        stored = _seal_one(log_id, seq, head, event, key, at, source_digest)
        head = stored.digest
        yield stored


def _seal_one(
    log_id: str, seq: int, head: str, event: PendingEvent, key: str, at: datetime, source_digest: str
) -> StoredEvent:
    payload = "" if event.payload is None else canonical.dump(event.payload)
    salt = os.urandom(16).hex()
    audience = tuple(sorted(set(event.audience)))
    content = content_digest(salt, event, payload, audience, key, source_digest)
    return StoredEvent(
        seq=seq,
        event_id=event.event_id,
        kind=str(event.kind),
        actor_kind=str(event.actor_kind),
        actor=event.actor,
        content=event.content,
        namespace=event.namespace,
        type=event.type_name,
        schema_version=event.schema_version,
        payload=payload,
        causation=event.causation,
        correlation=event.correlation,
        at=at,
        claimed_at=event.claimed_at,
        audience=audience,
        locator=event.locator,
        text_form=event.text_form,
        idempotency_key=key,
        size=len(event.content.encode()) + len(payload),
        salt=salt,
        content_digest=content,
        digest=entry_digest(log_id, seq, head, str(event.event_id), event.type_name, event.schema_version, at, content),
    )


def content_digest(
    salt: str,
    event: PendingEvent | StoredEvent,
    payload: str,
    audience: tuple[str, ...],
    key: str,
    source_digest: str,
) -> str:
    """Return the salted digest of all that the writer gave; `payload` is the canonical text, "" for none."""
    return canonical.digest(
        canonical.CONTENT_TAG,
        salt,
        str(event.kind),
        str(event.actor_kind),
        event.actor,
        event.text_form,
        event.content,
        payload,
        event.namespace,
        str(event.causation or ""),
        event.correlation,
        moment(event.claimed_at) if event.claimed_at else "",
        canonical.dump(list(audience)),
        key,
        source_digest,
        event.locator,
    )


def entry_digest(
    log_id: str, seq: int, previous: str, event_id: str, type_name: str, version: int, at: datetime, content: str
) -> str:
    """Return the digest that the next event chains to and the log's head carries."""
    return canonical.digest(
        canonical.ENTRY_TAG, log_id, str(seq), previous, event_id, type_name, str(version), moment(at), content
    )


def section_digest(
    log_id: str,
    edition: int,
    slot: str,
    words: tuple[str, str],
    made: tuple[str, str, str, str, str],
    pins: Sequence[str],
    made_at: datetime,
) -> str:
    """Return the digest a section carries: over its place, its words and how they were made.

    `slot` is `L<level>:<from>-<to>#<generation>`, `words` title and prose, `made` origin, summariser, model,
    prompt digest and who made it.
    """
    return canonical.digest(
        canonical.SECTION_TAG, log_id, str(edition), slot, *words, *made, canonical.dump(list(pins)), moment(made_at)
    )


def moment(at: datetime) -> str:
    """Return a time as it is hashed: UTC, always with six digits of the second."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")
