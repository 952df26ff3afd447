"""Jobs: our own rows decide who works on what; a task cluster only kicks.

Guarantees: one open job per key; work starts by one conditional UPDATE that takes a lease and counts
the attempt before anything is done; whatever is written under a lease is written in a transaction in
which `Held.fence` holds the job's row, so a worker that was taken over writes nothing; a job whose
work (or worker) dies three times without a durable step is parked with its error, until it is retried.
Refuses: a late write, progress or finish under a lease that is lost (LeaseLost).
"""

import logging
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from django.db import DatabaseError, IntegrityError, connection, connections, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from chronicle import conf
from chronicle.errors import BrokenFile, ChronicleError, LeaseLost, LogNotFound, UnknownFormat
from chronicle.models import Job, JobState, Log

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
FIRST_WAIT = timedelta(minutes=1)
LONGEST_WAIT = timedelta(hours=6)
KEPT_DONE = timedelta(days=30)
OPEN = (JobState.QUEUED, JobState.RUNNING, JobState.PARKED)
# Trying again cannot help these: the job fails at once and frees its key.
FINAL = (BrokenFile, LogNotFound, UnknownFormat)
REPORTS = ("ingest", "ingest_path")  # what was taken in, and what was refused of it, stays to be read
FINAL_FOR: dict[str, tuple[type[Exception], ...]] = {}  # more of them by kind, filled with HANDLERS


def wait_after(attempts: int) -> timedelta:
    """How long to wait after the n-th failed attempt: 1 minute, doubled each time, at most 6 hours."""
    return min(FIRST_WAIT * (1 << min(max(attempts, 1) - 1, 20)), LONGEST_WAIT)


@dataclass(frozen=True, slots=True)
class Held:
    """A job under this worker's lease. Every method raises LeaseLost once the lease is another's or over."""

    job_id: int
    kind: str
    target: str
    args: Mapping[str, Any]
    made_by: str
    attempt: int
    token: UUID
    lease: timedelta

    def fence(self) -> None:
        """Hold the job's row until the caller's transaction ends; call it before the first write in there."""
        self._fence()

    def step(self) -> None:
        """A fence around what the next attempt will not do again: attempts are counted anew from here."""
        self._fence(attempts=1)

    def _fence(self, **values: int) -> None:
        if not connection.in_atomic_block:
            raise transaction.TransactionManagementError("a fence guards a transaction and needs one that is open")
        self._change(lease_until=timezone.now() + self.lease, **values)

    def renew(self) -> None:
        """Keep the lease for another term."""
        self._change(lease_until=timezone.now() + self.lease)

    def progress(self, done: int, of: int | None, what: str) -> None:
        """Say how far the work is (`of` is None where nobody knows the whole); renews the lease."""
        self._change(lease_until=timezone.now() + self.lease, progress={"done": done, "of": of, "what": what[:200]})

    def spent(self, *, calls: int = 0, tokens_in: int = 0, tokens_out: int = 0, wasted_tokens: int = 0) -> None:
        """Add to the job's cost. Spent under a lease that is another's by now, all of it counts as wasted."""
        with transaction.atomic():
            job = Job.objects.select_for_update().get(pk=self.job_id)
            if job.lease_token != self.token:
                tokens_in, tokens_out, wasted_tokens = 0, 0, tokens_in + tokens_out + wasted_tokens
            more = {"calls": calls, "tokens_in": tokens_in, "tokens_out": tokens_out, "wasted_tokens": wasted_tokens}
            cost = {name: job.cost.get(name, 0) + amount for name, amount in more.items()}
            Job.objects.filter(pk=self.job_id).update(cost=cost)

    def finish(self, result: Mapping[str, Any]) -> None:
        """The job is done. In the caller's transaction, what it wrote and the state change together."""
        self._change(
            state=JobState.DONE,
            result=dict(result),
            finished_at=timezone.now(),
            lease_token=None,
            lease_until=None,
            last_error="",
        )

    def give_back(self) -> None:
        """Let go of work that was interrupted, so that the next worker need not wait for the lease to end."""
        self._change(state=JobState.QUEUED, lease_token=None, lease_until=None, next_try=timezone.now())

    def _change(self, **values: Any) -> None:
        mine = Job.objects.filter(pk=self.job_id, state=JobState.RUNNING, lease_token=self.token)
        if not mine.filter(lease_until__gte=timezone.now()).update(**values):
            raise LeaseLost(f"The lease on job {self.job_id} was taken over or has ended; nothing was written.")


Handler = Callable[[Held], Mapping[str, Any]]
HANDLERS: dict[str, Handler] = {}  # filled in one place, chronicle.handlers


def enqueue(kind: str, target: str, *, key: str, args: Mapping[str, Any] | None = None, made_by: str = "") -> Job:
    """Return the open job of this key, or a new one. A parked job stays parked: `retry` wakes it."""
    if kind not in HANDLERS:
        raise ChronicleError(f"There is no job of kind {kind!r}; there are {', '.join(sorted(HANDLERS))}.")
    now = timezone.now()
    while True:
        found = Job.objects.filter(key=key, state__in=OPEN).first()
        if found is not None:
            return found
        try:
            with transaction.atomic():
                return Job.objects.create(
                    kind=kind, target=target, key=key, args=dict(args or {}), made_by=made_by, made_at=now, next_try=now
                )
        except IntegrityError:
            continue  # another was first; its job is open, or was and the next turn makes ours


def consolidation(log: Log, *, made_by: str) -> Job:
    """Return the open job that consolidates this log, or a new one: there is never more than one."""
    return enqueue("consolidate", log.public_id, key=f"consolidate:{log.pk}", made_by=made_by)


def take(job_id: int, *, lease: timedelta) -> Held | None:
    """Take the lease and count the attempt, in one UPDATE; None when there is nothing to take."""
    now, token = timezone.now(), uuid4()
    free = Q(state=JobState.QUEUED, next_try__lte=now) | Q(state=JobState.RUNNING, lease_until__lt=now)
    taken = Job.objects.filter(free, pk=job_id, attempts__lt=MAX_ATTEMPTS).update(
        state=JobState.RUNNING, lease_token=token, lease_until=now + lease, attempts=F("attempts") + 1
    )
    if not taken:
        return None
    job = Job.objects.get(pk=job_id)
    return Held(job.pk, job.kind, job.target, job.args, job.made_by, job.attempts, token, lease)


def run(job_id: int, *, alive: Callable[[], None] = lambda: None) -> Job | None:
    """Do a job if it can be taken and return it as it is then; None when another has it or it is not due.

    `alive` is called when the work starts, whenever its lease is renewed, and at the end.
    """
    held = take(job_id, lease=conf.job_lease())
    if held is None:
        return None
    logger.info("job %s: %s %s, attempt %s", held.job_id, held.kind, held.target, held.attempt)
    with _kept(held, alive):
        _work(held)
    return Job.objects.get(pk=job_id)


def retry(job_id: int, *, by: str) -> Job:
    """Queue a parked, failed or waiting job to be tried now, its attempts counted anew; others are left alone."""
    waiting = (JobState.PARKED, JobState.FAILED, JobState.QUEUED)
    again: dict[str, Any] = {"state": JobState.QUEUED, "attempts": 0, "next_try": timezone.now(), "finished_at": None}
    try:
        with transaction.atomic():
            changed = Job.objects.filter(pk=job_id, state__in=waiting).update(**again)
    except IntegrityError:  # a failed job freed its key and another took it
        return Job.objects.get(key=Job.objects.get(pk=job_id).key, state__in=OPEN)
    if changed:
        logger.info("job %s: retried by %s", job_id, by)
    return Job.objects.get(pk=job_id)


class Swept(NamedTuple):
    """How many jobs of lost workers were queued again, parked, and how many old ones were cleared away."""

    requeued: int
    parked: int
    cleared: int


def sweep(now: datetime) -> Swept:
    """Queue jobs whose lease has ended, park those that lost their worker three times, clear old ones but reports."""
    lost = Job.objects.filter(state=JobState.RUNNING, lease_until__lt=now)
    free = {"lease_token": None, "lease_until": None, "next_try": now}
    parked = lost.filter(attempts__gte=MAX_ATTEMPTS).update(
        state=JobState.PARKED, last_error=f"WorkerLost: the worker died in each of {MAX_ATTEMPTS} attempts.", **free
    )
    requeued = lost.update(
        state=JobState.QUEUED, last_error="WorkerLost: the worker died, or was held up past its lease.", **free
    )
    over = Job.objects.filter(state=JobState.DONE, finished_at__lt=now - KEPT_DONE)
    cleared, _ = over.exclude(kind__in=REPORTS).delete()
    if requeued or parked:
        logger.warning("swept: %s jobs of lost workers queued again, %s parked", requeued, parked)
    return Swept(requeued, parked, cleared)


def due(now: datetime) -> QuerySet[Job]:
    """Queued jobs whose time has come, the longest waiting first."""
    return Job.objects.filter(state=JobState.QUEUED, next_try__lte=now).order_by("next_try", "id")


def _work(held: Held) -> None:
    try:
        held.finish(HANDLERS[held.kind](held))
    except LeaseLost:
        logger.warning("job %s: lease lost in attempt %s, nothing written", held.job_id, held.attempt)
    except KeyboardInterrupt:
        held.give_back()
        raise
    except (Exception, SystemExit) as error:  # the task cluster's time limit comes as a SystemExit
        _failed(held, error)
        if isinstance(error, SystemExit):
            raise


def _failed(held: Held, error: BaseException) -> None:
    logger.error("job %s: %s\n%s", held.job_id, _sentence(error), "".join(traceback.format_tb(error.__traceback__)))
    attempts = Job.objects.values_list("attempts", flat=True).get(pk=held.job_id)
    if isinstance(error, (*FINAL, *FINAL_FOR.get(held.kind, ()))):
        state = JobState.FAILED
    else:
        state = JobState.PARKED if attempts >= MAX_ATTEMPTS else JobState.QUEUED
    now = timezone.now()
    try:
        held._change(
            state=state,
            last_error=_sentence(error),
            next_try=now + wait_after(attempts),
            finished_at=now if state == JobState.FAILED else None,
            lease_token=None,
            lease_until=None,
        )
    except LeaseLost:
        logger.warning("job %s: lease lost in attempt %s", held.job_id, held.attempt)


def _sentence(error: BaseException) -> str:
    """Class and sentence. Only our own refusals speak; another error's words may hold what a log holds."""
    name = type(error).__name__
    if isinstance(error, ChronicleError):
        return f"{name}: {error}"
    if isinstance(error, OSError) and error.strerror:
        return f"{name}: {error.strerror}"
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else "an unknown place"
    return f"{name} in {place}; the site's log has the rest."


@contextmanager
def _kept(held: Held, alive: Callable[[], None]) -> Iterator[None]:
    """Renew the lease from a thread, so that a slow draw keeps it and only a dead or stopped process loses it."""
    over = Event()
    thread = Thread(target=_keep, args=(held, over, alive), daemon=True, name=f"lease of job {held.job_id}")
    thread.start()
    alive()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=5)
    alive()


def _keep(held: Held, over: Event, alive: Callable[[], None]) -> None:
    while not over.wait(held.lease.total_seconds() / 3):
        try:
            held.renew()
            alive()
        except LeaseLost:
            return
        except DatabaseError:
            logger.warning("job %s: the lease could not be renewed, trying again", held.job_id)
        finally:
            connections.close_all()  # this thread's own
