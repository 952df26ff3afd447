"""The door for events that were recorded elsewhere: verbatim, behind what the log holds, proven once more.

Guarantees: what is written is what another database wrote, digests and times included; each event is proven to
stand behind the one before it, from the log's locked row on; a log so made is as one that was recorded here.
Refuses: an event that does not follow (ConcurrencyError) and an id or key that the log has (EventExists).
"""

from collections.abc import Sequence
from datetime import datetime

from django.db import IntegrityError, transaction

from chronicle import canonical
from chronicle.envelope import StoredEvent
from chronicle.errors import ConcurrencyError, EventExists, LogExists
from chronicle.log import rows
from chronicle.log.database import locked
from chronicle.models import Log, Source
from chronicle.verifier import Head, wrong_event


def restore_log(
    public_id: str,
    owner: str,
    *,
    title: str,
    source: str,
    source_session: str,
    started_at: datetime,
    last_activity_at: datetime,
) -> Log:
    """Create a log as it was elsewhere, empty; `restore` moves it forward. Raises LogExists."""
    try:
        with transaction.atomic():
            return Log.objects.create(
                public_id=public_id,
                owner=owner,
                title=title,
                source=source,
                source_session=source_session,
                head=canonical.genesis(public_id),
                started_at=started_at,
                last_activity_at=last_activity_at,
            )
    except IntegrityError as error:
        raise LogExists("There is a log with this id, or of this session, already.") from error


def restore(log: Log, events: Sequence[tuple[StoredEvent, Source | None]]) -> None:
    """Append events as they were recorded elsewhere, each with the file it was read from, in one transaction."""
    with transaction.atomic():
        row = locked(log.pk)
        head, previous, seq = Head(row.public_id, row.last_seq, row.head), row.head, row.last_seq
        for event, source in events:
            why = wrong_event(head, event, source.digest if source else "", seq, previous)
            if why:
                raise ConcurrencyError(f"Event {event.seq} does not follow the log's {seq}: {why}.", found=seq)
            seq, previous = event.seq, event.digest
        if events:
            _write(row, events)
    log.last_seq, log.head, log.last_activity_at = row.last_seq, row.head, row.last_activity_at


def _write(row: Log, events: Sequence[tuple[StoredEvent, Source | None]]) -> None:
    try:
        with transaction.atomic():
            rows.write("default", row.pk, [(event, source.pk if source else None) for event, source in events])
    except IntegrityError as error:
        raise EventExists("An event with this id or key is in the log already; nothing was written.") from error
    row.last_seq, row.head = events[-1][0].seq, events[-1][0].digest
    row.last_activity_at = max(row.last_activity_at, *(event.at for event, _ in events))
    row.save(update_fields=["last_seq", "head", "last_activity_at"])
