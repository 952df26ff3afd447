"""The audit trail: who did what, on what, when; each entry names its predecessor's digest.

Guarantees: one chain, never a fork (the predecessor is unique in the database, and one writer at a
time holds the trail until its transaction ends), and an entry is written in the transaction of what it tells about.
"""

from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from chronicle import canonical
from chronicle.models import AuditEntry
from chronicle.seal import moment

TAG = "anagrapheus/audit/1"
FIRST = canonical.digest(TAG)


def record(who: str, what: str, target: str, **details: Any) -> AuditEntry:
    """Write an entry. `what` is a dotted name (`section.drawn`); details hold ids, ranges, figures; no prose."""
    at, words = timezone.now(), canonical.dump(details)
    with transaction.atomic():
        _lock()
        last = AuditEntry.objects.order_by("-pk").first()
        previous = last.digest if last else FIRST
        return AuditEntry.objects.create(
            who=who,
            what=what,
            target=target,
            at=at,
            details=words,
            previous=previous,
            digest=canonical.digest(TAG, previous, who, what, target, moment(at), words),
        )


def _lock() -> None:
    """Keep other writers out until the transaction ends; on SQLite the IMMEDIATE transaction does."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("LOCK TABLE chronicle_auditentry IN SHARE ROW EXCLUSIVE MODE")
