"""Events as rows: how a StoredEvent is written in bulk and read back whole.

Guarantees: one multi-row write a batch (executemany on SQLite, COPY on PostgreSQL), and what is read
back is field for field what was sealed.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import connections, models

from chronicle import canonical
from chronicle.envelope import StoredEvent
from chronicle.models import Event

COLUMNS = (
    "log_id",
    "source_id",
    "seq",
    "event_id",
    "kind",
    "actor_kind",
    "actor",
    "content",
    "namespace",
    "type",
    "schema_version",
    "payload",
    "causation",
    "correlation",
    "at",
    "claimed_at",
    "audience",
    "locator",
    "text_form",
    "idempotency_key",
    "size",
    "salt",
    "content_digest",
    "digest",
)
READ = COLUMNS[2:]
_NAMES = ", ".join(f'"{column}"' for column in COLUMNS)


def write(using: str, log_pk: int, events: Iterable[tuple[StoredEvent, int | None]]) -> None:
    """Insert events, each with the key of its source, in one statement's worth of rows, in the caller's transaction."""
    connection = connections[using]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            statement = f"COPY chronicle_event ({_NAMES}) FROM STDIN"
            with connection.wrap_database_errors, cursor.copy(statement) as copy:
                for event, source_pk in events:
                    copy.write_row((log_pk, source_pk, *_values(event)))
        else:
            marks = ", ".join(["%s"] * len(COLUMNS))
            rows = [(log_pk, source_pk, *_values(event, _hex, _naive)) for event, source_pk in events]
            cursor.executemany(f"INSERT INTO chronicle_event ({_NAMES}) VALUES ({marks})", rows)


def _values(
    event: StoredEvent,
    of_id: Callable[[UUID], Any] = lambda one: one,
    of_time: Callable[[datetime], Any] = lambda at: at,
) -> tuple[Any, ...]:
    """Return the columns after the two keys; `of_id` and `of_time` adapt to what a database takes."""
    return (
        event.seq,
        of_id(event.event_id),
        event.kind,
        event.actor_kind,
        event.actor,
        event.content,
        event.namespace,
        event.type,
        event.schema_version,
        event.payload,
        event.causation and of_id(event.causation),
        event.correlation,
        of_time(event.at),
        event.claimed_at and of_time(event.claimed_at),
        canonical.dump(list(event.audience)) if event.audience else "",
        event.locator,
        event.text_form,
        event.idempotency_key or None,
        event.size,
        event.salt,
        event.content_digest,
        event.digest,
    )


def _hex(one: UUID) -> str:
    return one.hex


def _naive(at: datetime) -> str:
    """Return a time as Django keeps it on SQLite: UTC, without a zone."""
    return str(at.astimezone(UTC).replace(tzinfo=None))


def stored(rows: models.QuerySet[Event]) -> Iterator[StoredEvent]:
    """Yield a queryset's events as values, in its order, in chunks of 2,000."""
    for row in rows.values_list(*READ).iterator(chunk_size=2000):
        yield _stored(row)


def stored_with_source(rows: models.QuerySet[Event]) -> Iterator[tuple[StoredEvent, str]]:
    """Yield each event with the digest of the file it was read from, "" for none."""
    for row in rows.values_list(*READ, "source__digest"):
        yield _stored(row[:-1]), row[-1] or ""


def _stored(row: tuple[Any, ...]) -> StoredEvent:
    named = dict(zip(READ, row, strict=True))
    named["audience"] = tuple(json.loads(named["audience"])) if named["audience"] else ()
    named["idempotency_key"] = named["idempotency_key"] or ""
    return StoredEvent(**named)
