"""ChronicleFold: closed units become sections; and `consolidate`, which runs it and rolls up after.

Guarantees: anchors are a pure function of log and policy; a summariser is called with no transaction
open; a unit that fails is kept with its next try and ends the run there, so sections stay in order; a
unit with no public content gets a fixed text and no call; log lines carry ids and ranges, no prose.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple

from django.db import transaction
from django.db.models import F, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from chronicle import audit, drawing, failures, policies, rollups, sections
from chronicle.draws import Drawn, Draws, settle, words_of
from chronicle.envelope import StoredEvent
from chronicle.errors import ChronicleError, LeaseLost, Superseded, UnknownSection
from chronicle.log import read
from chronicle.models import Edition, EditionState, FoldPosition, Log, Origin, Section, UnitFailure
from chronicle.projector import GENERATIVE, Fence, Prepared, Projector
from chronicle.sections import NewSection
from chronicle.story import Told, before, told
from chronicle.story import sources as told_sources
from chronicle.summarisers import span_of
from chronicle.summarisers.protocol import Draft, Summariser
from chronicle.units import Unit, closed_units, iter_units

logger = logging.getLogger(__name__)

NAME = "chronicle"
UNITS_A_BATCH = 25
BATCH_SECONDS = 120  # of drawing, then what is drawn is written: with a slow model 25 units would outlive a task
TRIES_BEFORE_CLOSING = 5
QUIET = timedelta(seconds=30)
WITHOUT_SUMMARY = "This stretch was closed without a summary after {attempts} failed attempts. Its events are below."


class Consolidated(NamedTuple):
    """What a run did. `wasted_tokens`: draws that another worker made superfluous. `through`: see K19 in promises.

    `tokens_in` and `tokens_out` are what the summarisers say that the sections and rollups made here have cost.
    """

    log: str
    sections: int
    rollups: int
    failed: int
    through: int
    wasted_tokens: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


class Forecast(NamedTuple):
    """What a run would do: sections to draw, rollups at least, model calls and an estimate of their tokens."""

    log: str
    sections: int
    rollups: int
    calls: int
    tokens: int
    through: int


class Work(NamedTuple):
    """One unit and what was drawn for it."""

    unit: Unit
    drawn: Drawn
    story: tuple[Told, ...] = ()


class ChronicleFold:
    """Draws level-0 sections of one edition, with `draws` (as the policies say by default), to `upto` at most."""

    determinism = GENERATIVE

    def __init__(
        self,
        edition: Edition,
        *,
        draws: Draws | None = None,
        made_by: str = "",
        limit: int = UNITS_A_BATCH,
        upto: int | None = None,
    ) -> None:
        self.edition = edition
        self.name = NAME if edition.state == EditionState.CURRENT else f"{NAME}/{edition.number}"
        self.written: list[Section] = []
        self.failed = 0
        self.error: Exception | None = None
        self.drawn_tokens = 0
        self._draws = draws or Draws(edition)
        self._made_by = made_by
        self._limit = limit
        self._upto = upto
        self._rows = policies.rows(edition.log)

    def check(self) -> None:
        """Refuse an asynchronous summariser before anything is read or called."""
        self._draws.refuse_asynchronous(self._rows)

    def since(self, position: int) -> int:
        """Go on after the last anchor; imports may have moved it past the position."""
        return max(position, sections.consolidated_through(self.edition))

    def prepare(self, events: Sequence[StoredEvent]) -> drawing.Steps[Prepared]:
        """Draw the closed units of `events`, in order, up to the first that fails or still waits."""
        since = events[0].seq - 1
        units = closed_units(events, policies.for_units(self._rows), since_seq=since)
        if self._upto is not None:
            units = [unit for unit in units if unit.to_seq <= self._upto]
            if not units and events[-1].seq >= self._upto:
                return Prepared(since, [], stop=True)
        work: list[Work] = []
        drawn_before: list[Told] = []
        self.drawn_tokens, began = 0, time.monotonic()
        for unit in units[: self._limit]:
            if work and time.monotonic() - began > BATCH_SECONDS:
                break
            if failures.waits(self.edition, 0, unit.from_seq, unit.to_seq):
                return Prepared(work[-1].unit.to_seq if work else since, work, stop=True)
            row = policies.at(self._rows, unit.to_seq)
            story = before(self.edition, unit.from_seq, row.story_so_far, drawn_before)
            span = span_of(events[unit.from_seq - since - 1 : unit.to_seq - since])
            span = replace(span, story=tuple(one.child for one in story))
            drawn = yield from self._draws.section(f"{unit.from_seq}-{unit.to_seq}", span, row)
            work.append(Work(unit, drawn, story))
            if isinstance(drawn.draft, Exception):
                return Prepared(work[-2].unit.to_seq if len(work) > 1 else since, work, stop=True)
            drawn_before.append(told(unit.from_seq, unit.event_count, drawn.draft))
            self.drawn_tokens += drawn.wasted_tokens()
        return Prepared(work[-1].unit.to_seq if work else since, work)

    def apply(self, work: Sequence[Work]) -> None:
        """Write anchors, sections and pins, or the failure of the last; a replayed unit keeps its row."""
        for unit, drawn, story in work:
            draft = drawn.draft
            if isinstance(draft, Exception):
                failures.keep(self.edition, 0, unit.from_seq, unit.to_seq, draft)
                self.failed, self.error = self.failed + 1, draft
                logger.warning("log %s: unit %s-%s failed", self.edition.log_id, unit.from_seq, unit.to_seq)
                continue
            new = self._new(unit, drawn.name, draft)
            self.written.append(sections.append(self.edition, new, sources=told_sources(story, self.written)))
            drawn.commit()
            failures.clear(self.edition, 0, unit.from_seq, unit.to_seq)
            logger.info("log %s: section %s drawn by %s", self.edition.log_id, new.ref, drawn.name)

    def _new(self, unit: Unit, name: str, draft: Draft) -> NewSection:
        return NewSection(
            from_seq=unit.from_seq,
            to_seq=unit.to_seq,
            unit_seq=unit.unit_seq,
            kind=str(unit.kind),
            event_count=unit.event_count,
            made_by=self._made_by,
            **words_of(name, draft),
        )


def consolidate(
    log: Log, *, fence: Fence | None = None, summariser: Summariser | None = None, made_by: str = "system"
) -> Consolidated:
    """Draw every closed unit of the log, then roll up until nothing is due.

    Raises LeaseLost from the fence, with `details["wasted_tokens"]`, what was drawn for nothing.
    """
    fold, projector = _projector(log, fence, summariser, made_by)
    wasted = 0
    try:
        projector.catch_up()
    except Superseded:
        wasted = _overtaken(log, fold, fence)
    rolled = rollups.roll_up(
        fold.edition, fence=fence, draws=Draws(fold.edition, summariser=summariser, fence=fence), made_by=made_by
    )
    return _finish(log, fold, rolled, wasted, made_by)


async def aconsolidate(
    log: Log, *, fence: Fence | None = None, summariser: Summariser | None = None, made_by: str = "system"
) -> Consolidated:
    """As `consolidate`, for synchronous and asynchronous summarisers."""
    from asgiref.sync import sync_to_async

    fold, projector = await sync_to_async(_projector)(log, fence, summariser, made_by)
    wasted = 0
    try:
        await projector.acatch_up()
    except Superseded:
        wasted = await sync_to_async(_overtaken)(log, fold, fence)
    rolled = await rollups.aroll_up(
        fold.edition, fence=fence, draws=Draws(fold.edition, summariser=summariser, fence=fence), made_by=made_by
    )
    return await sync_to_async(_finish)(log, fold, rolled, wasted, made_by)


def _overtaken(log: Log, fold: ChronicleFold, fence: Fence | None) -> int:
    """Settle a batch that another worker was faster with; return the tokens wasted. Raises LeaseLost from the fence."""
    logger.info("log %s: another worker was first; %s tokens wasted", log.pk, fold.drawn_tokens)
    settle(log)
    if fence is not None:
        fence_outside(fence, fold.drawn_tokens)
    return fold.drawn_tokens


def fence_outside(fence: Fence, wasted_tokens: int) -> None:
    """Check the lease in a transaction of its own: raises LeaseLost, with what was wasted, when it is gone."""
    try:
        with transaction.atomic():
            fence()
    except LeaseLost as lost:
        lost.details["wasted_tokens"] = wasted_tokens
        raise


def _projector(
    log: Log, fence: Fence | None, summariser: Summariser | None, made_by: str
) -> tuple[ChronicleFold, Projector]:
    log.refresh_from_db()
    edition = sections.current_edition(log)
    fold = ChronicleFold(edition, draws=Draws(edition, summariser=summariser, fence=fence), made_by=made_by)
    return fold, Projector(log, [fold], fence=fence)


def _finish(log: Log, fold: ChronicleFold, rolled: rollups.RolledUp, wasted: int, made_by: str) -> Consolidated:
    settle(log)  # a worker that lost a race may have died before it could
    through = sections.consolidated_through(fold.edition)
    done = Consolidated(
        log.public_id,
        len(fold.written),
        len(rolled.made),
        fold.failed + rolled.failed,
        through,
        wasted,
        sum(section.tokens_in or 0 for section in (*fold.written, *rolled.made)),
        sum(section.tokens_out or 0 for section in (*fold.written, *rolled.made)),
    )
    with transaction.atomic():
        if fold.written or rolled.made:
            made = [section.ref for section in (*fold.written, *rolled.made)]
            audit.record(made_by, "chronicle.consolidated", log.public_id, through=through, made=made[:1000])
        FoldPosition.objects.update_or_create(log=log, fold=NAME, defaults={"seen_seq": log.last_seq})
    return done


def forecast(log: Log) -> Forecast:
    """Say what `consolidate` would draw, in calls and estimated tokens, without drawing or writing a section."""
    edition = sections.current_edition(log)
    rows = policies.rows(log)
    since = sections.consolidated_through(edition)
    units = list(iter_units(read(log, since_seq=since), policies.for_units(rows), since_seq=since))
    tokens = 0
    if units:
        found = log.events.filter(seq__gt=since, seq__lte=units[-1].to_seq, audience="").exclude(kind="bookkeeping")
        tokens = -(-(found.aggregate(total=Coalesce(Sum("size"), 0))["total"]) // 4)
    rolls = rollups.forecast(edition, [(unit.from_seq, unit.to_seq) for unit in units], rows)
    calls = sum(1 for unit in units if unit.public_count) + rolls
    return Forecast(log.public_id, len(units), rolls, calls, tokens, since)


def due_logs(*, quiet: timedelta = QUIET) -> QuerySet[Log]:
    """Return logs with events that no fold has looked at, or with a failed unit whose wait is over.

    An ingested log is left alone until it has been quiet for so long: a summary that the rest of its file
    brings must find its range free. Who knows that an ingest has ended gives zero.
    """
    seen = FoldPosition.objects.filter(log=OuterRef("pk"), fold=NAME).values("seen_seq")[:1]
    again = UnitFailure.objects.filter(next_try__lte=timezone.now(), edition__state="current").values("edition__log")
    found = Log.objects.annotate(seen=Coalesce(Subquery(seen), 0))
    settled = Q(source="") | Q(last_activity_at__lte=timezone.now() - quiet)
    return found.filter(settled & Q(last_seq__gt=F("seen")) | Q(pk__in=again)).order_by("pk")


def close_without_summary(failure: UnitFailure, *, by: str) -> Section:
    """Write a section that says there is no summary, after TRIES_BEFORE_CLOSING failed attempts at its unit.

    It is marked as such and never given to a rollup as if it were a summary. Raises ChronicleError.
    """
    if failure.level or failure.attempts < TRIES_BEFORE_CLOSING:
        raise ChronicleError(f"A unit may be closed without summary after {TRIES_BEFORE_CLOSING} failed attempts.")
    edition = failure.edition
    since = sections.consolidated_through(edition)
    events = list(read(edition.log, since_seq=since, upto_seq=failure.to_seq))
    units = closed_units(events, policies.for_units(policies.rows(edition.log)), since_seq=since)
    if not units or (units[0].from_seq, units[0].to_seq) != (failure.from_seq, failure.to_seq):
        raise UnknownSection(f"Unit {failure.from_seq}-{failure.to_seq} is not the next one to be closed.")
    words = WITHOUT_SUMMARY.format(attempts=failure.attempts)
    fold = ChronicleFold(edition, made_by=by)
    new = fold._new(units[0], "", Draft("Closed without summary", words))
    with transaction.atomic():
        section = sections.append_new(edition, replace(new, origin=Origin.CLOSED_WITHOUT_SUMMARY))
        failures.clear(edition, 0, failure.from_seq, failure.to_seq)
        audit.record(by, "section.closed_without_summary", edition.log.public_id, section=section.ref)
    return section
