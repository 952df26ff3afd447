"""Units and rollups that could not be drawn: kept with attempts, last error and next try; the waits grow.

Guarantees: no placeholder, empty text or error text is ever stored as prose; what failed stays in the
tail (or un-rolled) and is tried again when its wait is over; nothing else stops.
"""

from datetime import datetime, timedelta

from django.utils import timezone

from chronicle.models import Edition, UnitFailure

FIRST_WAIT = timedelta(minutes=1)
LONGEST_WAIT = timedelta(hours=6)


def waits(edition: Edition, level: int, from_seq: int, to_seq: int) -> bool:
    """True while the next try of this slot lies ahead."""
    return UnitFailure.objects.filter(
        edition=edition, level=level, from_seq=from_seq, to_seq=to_seq, next_try__gt=timezone.now()
    ).exists()


def keep(edition: Edition, level: int, from_seq: int, to_seq: int, error: Exception) -> UnitFailure:
    """Count one more failed attempt and set the next try."""
    now = timezone.now()
    row, _ = UnitFailure.objects.get_or_create(
        edition=edition,
        level=level,
        from_seq=from_seq,
        to_seq=to_seq,
        defaults={"last_try": now, "next_try": now},
    )
    row.attempts += 1
    row.last_error = f"{type(error).__name__}: {error}"[:500]
    row.last_try, row.next_try = now, next_try(now, row.attempts)
    row.save()
    return row


def next_try(now: datetime, attempts: int) -> datetime:
    """Return when to try again after so many attempts: 1, 2, 4 … minutes, six hours at most."""
    doublings: int = 2 ** min(attempts - 1, 20)
    return now + min(FIRST_WAIT * doublings, LONGEST_WAIT)


def clear(edition: Edition, level: int, from_seq: int, to_seq: int) -> None:
    """Forget the failures of a slot that has been drawn."""
    UnitFailure.objects.filter(edition=edition, level=level, from_seq=from_seq, to_seq=to_seq).delete()


def try_now(failure: UnitFailure) -> None:
    """Let the next consolidation of the log try this slot at once; its attempts stay counted."""
    UnitFailure.objects.filter(pk=failure.pk).update(next_try=timezone.now())
