"""What lands beside the events of a batch, in its transaction: attachments, pins, and the file itself.

Guarantees: each content once, whoever brings it; a pin row for every promoted pin that was added.
"""

from collections.abc import Iterable, Sequence

from django.db import IntegrityError, transaction
from django.utils import timezone

from chronicle.envelope import PROMOTED, RESERVED_NAMESPACE
from chronicle.importers.protocol import Blob, Opened, Read
from chronicle.importers.text import storable
from chronicle.models import Attachment, Event, Log, Pin, Source
from chronicle.pins import pin_values


def keep_source(digest: str, opened: Opened, format: str) -> Source:
    """Return the row of a file, made when its content is new."""
    source, _ = Source.objects.get_or_create(
        digest=digest,
        defaults={
            "name": storable(opened.name)[0][:1000],
            "format": format,
            "size": opened.size,
            "ingested_at": timezone.now(),
        },
    )
    return source


def keep_attachments(blobs: Iterable[Blob]) -> None:
    """Store those of the blobs that are not stored yet."""
    given = {blob.digest: blob for blob in blobs}
    if not given:
        return
    there = set(Attachment.objects.filter(digest__in=given).values_list("digest", flat=True))
    missing = [_row(blob) for digest, blob in given.items() if digest not in there]
    try:
        with transaction.atomic():
            Attachment.objects.bulk_create(missing, batch_size=50)
    except IntegrityError:  # another ingest brought one of them meanwhile
        for row in missing:
            Attachment.objects.get_or_create(
                digest=row.digest, defaults={"media_type": row.media_type, "size": row.size, "data": row.data}
            )


def _row(blob: Blob) -> Attachment:
    return Attachment(digest=blob.digest, media_type=blob.media_type, size=len(blob.data), data=blob.data)


def keep_pins(log: Log, first_seq: int, added: Sequence[Read]) -> None:
    """Store a pin for each promoted pin among the events just added, which stand from `first_seq` on."""
    promoted = {
        first_seq + place: read.event.payload
        for place, read in enumerate(added)
        if read.event.namespace == RESERVED_NAMESPACE and read.event.type == PROMOTED
    }
    if not promoted:
        return
    events = Event.objects.filter(log=log, seq__gte=min(promoted), seq__lte=max(promoted), type=PROMOTED)
    Pin.objects.bulk_create(
        _pin(log, pk, promoted[seq] or {}) for seq, pk in events.values_list("seq", "pk") if seq in promoted
    )


def _pin(log: Log, event_pk: int, payload: dict[str, object]) -> Pin:
    return Pin(log=log, event_id=event_pk, **pin_values(payload))
