"""Is the site at work? What `/healthz/`, `/healthz/worker` and `up` ask.

Guarantees: the task cluster counts as alive by what it does (the canary of each minute, and jobs taken,
renewed and finished by its workers), never by what its status says; answers hold no data of any log.
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import DatabaseError, connection
from django.db.models import Max, Min
from django.utils import timezone

from chronicle import append_only, conf
from chronicle.jobs import due
from chronicle.models import Heartbeat

logger = logging.getLogger(__name__)

CANARY, WORK = "canary", "work"


def beat(name: str) -> None:
    """Note a sign of life, in one statement, whether it is the first or not."""
    Heartbeat.objects.bulk_create(
        [Heartbeat(name=name, at=timezone.now())],
        update_conflicts=True,
        unique_fields=["name"],
        update_fields=["at"],
    )


def beat_worker() -> None:
    """A worker of the cluster has taken, renewed or finished a job."""
    beat(WORK)


def database_answers() -> bool:
    """Whether the database answers a question now."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            return bool(cursor.fetchone())
    except DatabaseError:
        return False


@dataclass(frozen=True, slots=True)
class WorkerHealth:
    """Seconds since the last sign of life (None: never) and of the oldest due job; `words` for a person.

    `stalled`: the cluster gives no sign, which a restart mends. `behind`: it works, but too slowly.
    """

    stalled: bool
    behind: bool
    silent_for: float | None
    oldest_due: float
    words: str

    @property
    def ok(self) -> bool:
        return not (self.stalled or self.behind)


def worker_health(now: datetime | None = None) -> WorkerHealth:
    """How the task cluster is doing, from our own rows alone."""
    now = now or timezone.now()
    last = Heartbeat.objects.filter(name__in=(CANARY, WORK)).aggregate(at=Max("at"))["at"]
    oldest = due(now).aggregate(at=Min("next_try"))["at"]
    waited = max(now - oldest, timedelta(0)) if oldest else timedelta(0)
    stalled = last is None or now - last > conf.worker_silence()
    behind = waited > conf.queue_age()
    return WorkerHealth(
        stalled=stalled,
        behind=behind,
        silent_for=None if last is None else (now - last).total_seconds(),
        oldest_due=waited.total_seconds(),
        words=_words(None if last is None else now - last, waited, stalled=stalled, behind=behind),
    )


def _words(silent: timedelta | None, waited: timedelta, *, stalled: bool, behind: bool) -> str:
    if silent is None:
        return "The task cluster has not given a sign of life yet; start it with `up` or `qcluster`."
    if stalled:
        return f"The task cluster has given no sign of life for {_span(silent)}; restart it, as `up` does by itself."
    if behind:
        return (
            f"The oldest job has been due for {_span(waited)}; more workers, or a look at the page of jobs, will help."
        )
    return f"The task cluster gave a sign of life {_span(silent)} ago."


def _span(time: timedelta) -> str:
    seconds = int(time.total_seconds())
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"


def warn_of_missing_triggers() -> list[str]:
    """Log the names of triggers that should keep records from being changed and do not; return them.

    For the start of what runs long, and each tick of it. A database that is away or empty is said elsewhere.
    """
    try:
        missing = append_only.missing(connection)
    except DatabaseError:
        return []
    if missing:
        logger.error(
            "%s triggers that keep records from being changed are gone (%s). Run `manage.py migrate`, which installs"
            " them, and `manage.py verify --all`, which says what was changed.",
            len(missing),
            ", ".join(missing[:5]),
        )
    return missing
