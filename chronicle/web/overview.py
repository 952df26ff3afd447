"""What the chronicle page says of a log as a whole: counts, the cover's sum, what is stale, what failed.

Guarantees: each figure is asked of the database when the page first shows it and only then, in one
query; the cover's sum is added up, not assumed, so a gap or an overlap would show.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.db.models import Count, Max, OuterRef, Subquery

from chronicle.envelope import COMPACTION, Kind
from chronicle.models import Edition, Event, Log, RollupSource, Section, UnitFailure
from chronicle.sections import consolidated_through
from chronicle.web.rows import Row, rows_of

MAX_MARKS = 500
NEAR = 200  # events at each end of a log in which a source's own time is looked for


@dataclass(frozen=True, slots=True)
class Cover:
    """The parts that stand for the log now. `covered` counts each event as often as a part holds it."""

    parts: tuple[str, ...]
    tail_from: int
    last: int
    covered: int

    @property
    def tail(self) -> int:
        return self.last - self.tail_from + 1

    @property
    def whole(self) -> bool:
        return self.covered == self.last


class Overview:
    """One log and one edition of it (None until something was consolidated)."""

    def __init__(self, log: Log, edition: Edition | None) -> None:
        self.log = log
        self.edition = edition

    @cached_property
    def levels(self) -> list[tuple[int, int]]:
        """How many anchors each level has, lowest level first."""
        if self.edition is None:
            return []
        counted = self.edition.anchors.values("level").annotate(count=Count("pk")).order_by("level")
        return [(row["level"], row["count"]) for row in counted]

    @property
    def sections(self) -> int:
        return sum(count for _, count in self.levels)

    @property
    def rollups(self) -> int:
        return sum(count for level, count in self.levels if level)

    @cached_property
    def generations(self) -> int:
        return Section.objects.filter(anchor__edition=self.edition).count() if self.edition else 0

    @cached_property
    def bookkeeping(self) -> int:
        return self.log.events.filter(kind=Kind.BOOKKEEPING).count()

    @cached_property
    def stated(self) -> tuple[datetime | None, datetime | None]:
        """The first and the last time that the source states, near the ends of the log."""
        return stated_by_the_sources([self.log.pk]).get(self.log.pk, (None, None))

    @cached_property
    def stale(self) -> dict[int, Sequence[str]]:
        """By anchor: the children whose current generation the rollup's current generation has not read."""
        return superseded_children(self.edition) if self.edition else {}

    @cached_property
    def failures(self) -> list[UnitFailure]:
        return list(self.edition.failures.order_by("from_seq")) if self.edition else []

    @cached_property
    def marks(self) -> list[Row]:
        """The compactions of the agent's own context, in seq order, at most MAX_MARKS."""
        return rows_of(self.log.events.filter(kind=Kind.MARKER, type=COMPACTION).order_by("seq")[:MAX_MARKS])

    @cached_property
    def through(self) -> int:
        """The end of the gapless run of level-0 sections: the tail begins after it."""
        return consolidated_through(self.edition) if self.edition else 0

    @cached_property
    def cover(self) -> Cover:
        anchors = self.edition.anchors.filter(rolled_up_into__isnull=True).order_by("from_seq") if self.edition else ()
        parts = [(anchor.ref, anchor.to_seq - anchor.from_seq + 1) for anchor in anchors]
        last = self.log.last_seq
        covered = sum(count for _, count in parts) + last - self.through
        return Cover(tuple(ref for ref, _ in parts), self.through + 1, last, covered)


def stated_by_the_sources(logs: Sequence[int]) -> dict[int, tuple[datetime | None, datetime | None]]:
    """Return, by log, the times that its source states for its first and its last events: one query for all.

    Looked for by seq among the first and the last NEAR events, so a log that states none costs no walk through it.
    """
    events = Event.objects.filter(log=OuterRef("pk"), claimed_at__isnull=False).values("claimed_at")
    first = events.filter(seq__lte=NEAR).order_by("seq")[:1]
    last = events.filter(seq__gt=OuterRef("last_seq") - NEAR).order_by("-seq")[:1]
    found = Log.objects.filter(pk__in=logs).annotate(first=Subquery(first), last=Subquery(last))
    return {pk: (first, last) for pk, first, last in found.values_list("pk", "first", "last")}


def superseded_children(edition: Edition) -> dict[int, Sequence[str]]:
    """Return, by anchor, the ids (`179-196#2`) of children that were superseded since the rollup read them."""
    superseded = RollupSource.objects.filter(
        section__anchor__edition=edition,
        section__anchor__level__gte=1,
        section__superseded_by__isnull=True,
        source__superseded_by__isnull=False,
    ).select_related("source__anchor")
    found: dict[int, list[str]] = defaultdict(list)
    newest = Max("source__anchor__sections__generation")
    for row in superseded.annotate(now=newest, reader=Max("section__anchor")).order_by("section", "position"):
        found[row.reader].append(f"{row.source.anchor.ref}#{row.now}")
    return dict(found)
