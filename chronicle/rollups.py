"""Rollups: the oldest sections of a level become one entry a level up, at every level, until nothing is due.

Guarantees: which sections are rolled is decided by `cover` from ranges alone; a rollup reads its
children's prose, never raw events, and this is the one summary of summaries; insert and stamp are one
step; a draw that fails writes nothing, stamps nothing, keeps its next try and holds no other batch back.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from django.db import transaction

from chronicle import drawing, failures, policies, sections
from chronicle.cover import Batch, Entry, due_rollups, next_rollup, rolled
from chronicle.draws import Drawn, Draws, settle, words_of
from chronicle.errors import LeaseLost, Superseded
from chronicle.models import Anchor, AnchorKind, Edition, Event, Log, Origin, Policy, RollupSource, Section
from chronicle.projector import Fence
from chronicle.sections import NewSection, current_sections
from chronicle.summarisers.protocol import Child, Draft

logger = logging.getLogger(__name__)


class RolledUp(NamedTuple):
    """What a run made, oldest first, how many batches failed, and the last error of those."""

    made: tuple[Section, ...]
    failed: int
    error: Exception | None = None


class Slot(NamedTuple):
    """A batch to roll up, and the policy row it is drawn under."""

    batch: Batch
    row: Policy


type Choose = Callable[[list[Entry]], Iterable[Slot]]


def steps(
    edition: Edition, choose: Choose, *, fence: Fence | None = None, draws: Draws | None = None, made_by: str = "system"
) -> drawing.Steps[RolledUp]:
    """As `roll_up`, of the slots that `choose` gives for a cover, first choice first, instead of those that are due."""
    return _Rolling(edition, fence, draws, made_by, choose).steps()


def roll_up(
    edition: Edition, *, fence: Fence | None = None, draws: Draws | None = None, made_by: str = "system"
) -> RolledUp:
    """Roll up until nothing is due. Raises TypeError for an asynchronous summariser, LeaseLost from the fence."""
    return drawing.run(_Rolling(edition, fence, draws, made_by).steps())


async def aroll_up(
    edition: Edition, *, fence: Fence | None = None, draws: Draws | None = None, made_by: str = "system"
) -> RolledUp:
    """As `roll_up`, awaiting draws."""
    from asgiref.sync import sync_to_async

    rolling = await sync_to_async(_Rolling)(edition, fence, draws, made_by)
    return await drawing.arun(rolling.steps())


def forecast(edition: Edition, coming: Sequence[tuple[int, int]], rows: list[Policy]) -> int:
    """Return how many rollups will be due once level-0 sections over `coming` are there."""
    cover = [*cover_entries(edition), *(Entry(0, first, last) for first, last in coming)]
    policy, count = policies.for_rollups(rows[-1]), 0
    while (batch := next_rollup(cover, policy)) is not None:
        cover, count = rolled(cover, batch), count + 1
    return count


def cover_entries(edition: Edition) -> list[Entry]:
    """Return the cover as ranges, oldest first; no prose is read."""
    found = Anchor.objects.filter(edition=edition, rolled_up_into__isnull=True).order_by("from_seq")
    return [Entry(*row) for row in found.values_list("level", "from_seq", "to_seq")]


def stale_rollups(edition: Edition) -> set[int]:
    """Return the ids of current rollup sections that read a generation which is superseded by now."""
    found = RollupSource.objects.filter(
        section__anchor__edition=edition,
        section__anchor__level__gte=1,
        section__superseded_by__isnull=True,
        source__superseded_by__isnull=False,
    )
    return set(found.values_list("section_id", flat=True))


def children_of(log: Log, sections: Sequence[Section]) -> list[Child]:
    """Return what a rollup is drawn from, oldest first; a unit closed without summary has no words to give."""
    ends = {seq for section in sections for seq in (section.anchor.from_seq, section.anchor.to_seq)}
    found = Event.objects.filter(log=log, seq__in=ends).values_list("seq", "at", "claimed_at")
    times = {seq: claimed or at for seq, at, claimed in found}
    return [
        Child(
            section.title,
            section.prose,
            section.anchor.event_count,
            times.get(section.anchor.from_seq),
            times.get(section.anchor.to_seq),
        )
        for section in sections
        if section.origin != Origin.CLOSED_WITHOUT_SUMMARY
    ]


class _Rolling:
    """One run over one edition."""

    def __init__(
        self,
        edition: Edition,
        fence: Fence | None,
        draws: Draws | None,
        made_by: str,
        choose: Choose | None = None,
    ) -> None:
        self._edition = edition
        self._fence = fence
        self._made_by = made_by
        self._row = policies.rows(edition.log)[-1]
        self._policy = policies.for_rollups(self._row)
        self._draws = draws or Draws(edition, fence=fence)
        self._draws.summariser(self._row)  # a policy that names none is refused before anything is drawn
        self._passed_over: set[str] = set()
        self._failures = 0
        self._error: Exception | None = None
        self._choose = choose or self._due

    def steps(self) -> drawing.Steps[RolledUp]:
        made: list[Section] = []
        cover = cover_entries(self._edition)
        while (chosen := self._next(cover)) is not None:
            batch, row = chosen
            children = self._children(batch)
            given = children_of(self._edition.log, children)
            drawn = yield from self._draws.rollup(batch.rollup.name, given, row)
            if isinstance(drawn.draft, Exception):
                self._fail(batch, drawn.draft)
                continue
            try:
                made.append(self._write(batch, children, drawn, drawn.draft))
                cover = rolled(cover, batch)
            except LeaseLost as lost:
                settle(self._edition.log)
                lost.details["wasted_tokens"] = drawn.wasted_tokens()
                raise
            except Superseded as error:
                settle(self._edition.log)
                logger.info("log %s: rollup %s superseded: %s", self._edition.log_id, batch.rollup.name, error)
                self._passed_over.add(batch.rollup.name)
                cover = cover_entries(self._edition)
        return RolledUp(tuple(made), self._failures, self._error)

    def _due(self, cover: list[Entry]) -> Iterable[Slot]:
        return (Slot(batch, self._row) for batch in due_rollups(cover, self._policy))

    def _next(self, cover: list[Entry]) -> Slot | None:
        for chosen in self._choose(cover):
            slot = chosen.batch.rollup
            waits = failures.waits(self._edition, slot.level, slot.from_seq, slot.to_seq)
            if slot.name not in self._passed_over and not waits:
                return chosen
        return None

    def _children(self, batch: Batch) -> list[Section]:
        first, last = batch.entries[0], batch.entries[-1]
        found = current_sections(self._edition).filter(
            anchor__level=batch.level, anchor__from_seq__gte=first.from_seq, anchor__to_seq__lte=last.to_seq
        )
        return list(found)

    def _fail(self, batch: Batch, error: Exception) -> None:
        slot = batch.rollup
        self._passed_over.add(slot.name)
        self._failures, self._error = self._failures + 1, error
        failures.keep(self._edition, slot.level, slot.from_seq, slot.to_seq, error)
        logger.warning("log %s: rollup %s failed", self._edition.log_id, slot.name)

    def _write(self, batch: Batch, children: list[Section], drawn: Drawn, draft: Draft) -> Section:
        slot = batch.rollup
        new = NewSection(
            level=slot.level,
            from_seq=slot.from_seq,
            to_seq=slot.to_seq,
            kind=AnchorKind.ROLLUP,
            event_count=sum(child.anchor.event_count for child in children),
            made_by=self._made_by,
            **words_of(drawn.name, draft),
        )
        with transaction.atomic():
            if self._fence is not None:
                self._fence()
            made = sections.append_rollup(self._edition, new, children)
            drawn.commit()
            failures.clear(self._edition, slot.level, slot.from_seq, slot.to_seq)
        logger.info("log %s: rollup %s drawn from %s sections", self._edition.log_id, new.ref, len(children))
        return made
