"""The store in the database: gapless seq under the log's row lock, one chain, bulk writes.

Guarantees: a batch lands whole or not at all, seq is last_seq + 1 … in one transaction, commit order
equals seq order inside a log (a reader that has read up to n never finds a smaller one later), another
log is never waited for. The lock is taken first, always; on SQLite the whole transaction is IMMEDIATE.
"""

import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from django.db import IntegrityError, transaction
from django.utils import timezone

from chronicle import canonical
from chronicle.envelope import PendingEvent, StoredEvent, check_owner, validate
from chronicle.errors import ConcurrencyError, EventExists, LogExists, LogNotFound
from chronicle.log import rows
from chronicle.log.memory import differs
from chronicle.log.store import LogInfo, Recorded, Window
from chronicle.models import Event, Log, Source
from chronicle.seal import seal

# No look-alikes (0 O 1 l I), no dash that a command line could take for an option: 22 of 57 are 128 bits.
ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


class Appended(NamedTuple):
    """What an append wrote; for an empty batch first_seq is last_seq + 1 and events is empty."""

    first_seq: int
    last_seq: int
    events: tuple[StoredEvent, ...]


def new_log_id() -> str:
    """Return a log id nobody can guess: 22 characters, 128 random bits."""
    return "".join(secrets.choice(ALPHABET) for _ in range(22))


def create_log(
    owner: str, *, public_id: str | None = None, title: str = "", source: str = "", source_session: str = ""
) -> Log:
    """Create an empty log.

    Raises OwnerEmpty or InvalidEvent for the owner, LogExists when the id, or the owner's ingested session,
    has one already.
    """
    check_owner(owner)
    now = timezone.now()
    public_id = public_id or new_log_id()
    try:
        with transaction.atomic():
            return Log.objects.create(
                public_id=public_id,
                owner=owner,
                title=title[:300],
                source=source,
                source_session=source_session,
                head=canonical.genesis(public_id),
                started_at=now,
                last_activity_at=now,
            )
    except IntegrityError as error:
        raise LogExists("There is a log with this id, or of this session, already.") from error


def locked(log_pk: int) -> Log:
    """Return the log's row, locked until the caller's transaction ends. Raises LogNotFound."""
    found = Log.objects.select_for_update().filter(pk=log_pk).first()
    if found is None:
        raise LogNotFound
    return found


def append(
    log: Log,
    events: Sequence[PendingEvent],
    *,
    keys: Sequence[str | None] | None = None,
    source: Source | None = None,
    expected_last_seq: int | None = None,
) -> Appended:
    """Append events in one transaction and return what was written; an empty batch writes nothing.

    `keys` are idempotency keys, position by position. Raises InvalidEvent, ConcurrencyError (the log is
    not at `expected_last_seq`: a defect tripwire, not to be retried), EventExists (an event_id or key
    is in the log already); then nothing is written.
    """
    for event in events:
        validate(event)
    pending = list(zip(events, [key or "" for key in keys] if keys else [""] * len(events), strict=True))
    with transaction.atomic():
        row = locked(log.pk)
        if expected_last_seq is not None and row.last_seq != expected_last_seq:
            raise ConcurrencyError(
                f"The log is at seq {row.last_seq}, not at {expected_last_seq}.",
                expected=expected_last_seq,
                found=row.last_seq,
            )
        written = append_locked(row, pending, source)
    log.last_seq, log.head, log.last_activity_at = row.last_seq, row.head, row.last_activity_at
    return Appended(row.last_seq - len(written) + 1, row.last_seq, written)


def append_locked(
    row: Log, pending: Sequence[tuple[PendingEvent, str]], source: Source | None
) -> tuple[StoredEvent, ...]:
    """Write events, each with its key, after a row that the caller holds locked. Raises EventExists."""
    if not pending:
        return ()
    digest = source.digest if source else ""
    sealed = tuple(seal(row.public_id, row.last_seq, row.head, pending, timezone.now(), digest))
    try:
        with transaction.atomic():
            source_pk = source.pk if source else None
            rows.write("default", row.pk, [(event, source_pk) for event in sealed])
    except IntegrityError as error:
        raise EventExists("An event with this id or key is in the log already; nothing was written.") from error
    row.last_seq, row.head = sealed[-1].seq, sealed[-1].digest
    row.last_activity_at = max(row.last_activity_at, sealed[-1].at)
    row.save(update_fields=["last_seq", "head", "last_activity_at"])
    return sealed


def read(
    log: Log,
    *,
    since_seq: int = 0,
    upto_seq: int | None = None,
    limit: int | None = None,
    where: Callable[[StoredEvent], bool] | None = None,
) -> Iterator[StoredEvent]:
    """Yield events with since_seq < seq ≤ upto_seq in seq order; `where` filters before `limit` counts.

    `where` sees the stored envelope before any upcast, so an excluded event can never fail a read.
    """
    found = Event.objects.filter(log=log, seq__gt=since_seq).order_by("seq")
    if upto_seq is not None:
        found = found.filter(seq__lte=upto_seq)
    if limit is not None and where is None:
        found = found[: max(limit, 0)]
    passed = 0
    for event in rows.stored(found):
        if limit is not None and passed >= limit:
            return
        if where is None or where(event):
            passed += 1
            yield event


class DatabaseStore:
    """Logs in the site's database; passes the suites of `chronicle.conformance`."""

    def create(self, log_id: str, owner: str) -> LogInfo:
        return _info(create_log(owner, public_id=log_id))

    def record(self, log_id: str, event: PendingEvent) -> StoredEvent:
        return append(self._log(log_id), [event]).events[0]

    def record_once(self, log_id: str, event: PendingEvent, key: str) -> Recorded:
        with transaction.atomic():
            row = locked(self._log(log_id).pk)
            first = next(rows.stored(Event.objects.filter(log=row, idempotency_key=key)), None)
            if first is not None:
                return Recorded(first, replayed=True, payload_differs=differs(first, event))
            validate(event)
            return Recorded(append_locked(row, [(event, key)], None)[0])

    def window(self, log_id: str, window: Window) -> list[StoredEvent]:
        found = Event.objects.filter(log=self._log(log_id))
        if window.kinds:
            found = found.filter(kind__in=window.kinds)
        if window.actor_kinds:
            found = found.filter(actor_kind__in=window.actor_kinds)
        if not window.last:
            return list(rows.stored(found.order_by("seq")))
        newest = found.order_by("-seq")[: window.last]  # newest first inside, turned round outside: one query
        return list(rows.stored(Event.objects.filter(pk__in=newest.values("pk")).order_by("seq")))

    def get(self, log_id: str) -> LogInfo:
        return _info(self._log(log_id))

    def _log(self, log_id: str) -> Log:
        found = Log.objects.filter(public_id=log_id).first()
        if found is None:
            raise LogNotFound
        return found


def _info(log: Log) -> LogInfo:
    return LogInfo(log.public_id, log.owner, log.started_at, log.last_activity_at, log.last_seq)
