"""Reading a chronicle in two grades: `Anchors` are safe to decide on, `Prose` is not.

Guarantees: an anchor carries range, level, unit, kind, counts, children, generation and supersession,
prose carries words and how they were made; neither is reachable from the other; a point question
never reads prose. A section is current exactly when no other section names it.
Refuses: an id that is not one, or is not stored, is UnknownSection.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db.models import Count, F, Max, Min, Q, QuerySet, Subquery

from chronicle.envelope import CONTENT_KINDS
from chronicle.errors import UnknownEdition, UnknownSection
from chronicle.models import Anchor, Edition, EditionState, Event, Log, Section
from chronicle.sections import consolidated_through, current_edition

_REF = re.compile(r"(?:L([1-9]\d{0,3}):)?([1-9]\d{0,17})-([1-9]\d{0,17})(?:#([1-9]\d{0,8}))?")


class Ref(NamedTuple):
    """A section id taken apart; generation None asks for the current one (`12-31`), in ids it stands for 1."""

    level: int
    from_seq: int
    to_seq: int
    generation: int | None


def parse_ref(text: str) -> Ref:
    """Take `[L<level>:]<from>-<to>[#generation]` apart. Raises UnknownSection for anything else."""
    found = _REF.fullmatch(text)
    if found is None:
        raise UnknownSection(f"{text!r} is no section id; one looks like 12-31, L1:1-320 or 12-31#2.")
    level, from_seq, to_seq, generation = (int(part) if part else None for part in found.groups())
    return Ref(level or 0, from_seq or 0, to_seq or 0, generation)


@dataclass(frozen=True, slots=True)
class AnchorView:
    """The deterministic half of a section. `id` has no generation; `supersedes` is a generation or None."""

    id: str
    level: int
    from_seq: int
    to_seq: int
    unit_seq: int
    kind: str
    event_count: int
    children: int
    generation: int
    supersedes: int | None


@dataclass(frozen=True, slots=True)
class ProseView:
    """The generated half: words, how they came about, what they rest on."""

    id: str
    title: str
    text: str
    origin: str
    summariser: str
    model: str
    prompt_digest: str
    token_estimate: int
    made_at: datetime
    pins: tuple[str, ...]


def _starting_last(edition: Edition, level: int, seq: int) -> Subquery:
    """The anchor that starts last at or before `seq`, one step into the index; no other of its level can hold `seq`."""
    ground = Anchor.objects.filter(edition=edition, level=level, from_seq__lte=seq)
    return Subquery(ground.order_by("-from_seq").values("pk")[:1])


def edition_of(log: Log, number: int | None = None) -> Edition:
    """Return the edition of this number, else the one in force. One that was never in force is UnknownEdition."""
    if number is None:
        return current_edition(log)
    read = log.editions.exclude(state=EditionState.BUILDING)
    found = read.filter(number=number).select_related("log").first()
    if found is None:
        there = ", ".join(str(one) for one in read.order_by("number").values_list("number", flat=True))
        raise UnknownEdition(f"There is no edition {number} of this log; there are {there or 'none yet'}.")
    return found


class Anchors:
    """Ranges, units and supersession of one edition; no way to prose. Level 0 unless `level` says otherwise."""

    def __init__(self, edition: Edition) -> None:
        self._edition = edition

    def anchors(self, upto_seq: int | None = None, *, level: int = 0) -> list[AnchorView]:
        """Return anchors whose to_seq ≤ upto_seq, oldest first."""
        found = self._current().filter(anchor__level=level)
        if upto_seq is not None:
            found = found.filter(anchor__to_seq__lte=upto_seq)
        return [self._view(row) for row in found]

    def consolidated_through(self) -> int:
        """Return the end of the gapless run of level-0 anchors; rollups never move it."""
        return consolidated_through(self._edition)

    def covering(self, seq: int, *, level: int = 0) -> AnchorView | None:
        """Return the anchor whose range holds `seq`, or None."""
        found = self._current().filter(anchor=_starting_last(self._edition, level, seq), anchor__to_seq__gte=seq)
        row = found.first()
        return self._view(row) if row else None

    def covers(self, seq: int) -> bool:
        """Answer the point question from the index alone."""
        ground = Anchor.objects.filter(edition=self._edition, level=0, from_seq__lte=seq)
        last = ground.order_by("-from_seq").values_list("to_seq", flat=True).first()
        return last is not None and last >= seq

    def children(self, ref: str) -> list[AnchorView]:
        """Return what a rollup covers one level down, oldest first."""
        level, from_seq, to_seq, _ = parse_ref(ref)
        found = self._current().filter(
            anchor__rolled_up_into__level=level,
            anchor__rolled_up_into__from_seq=from_seq,
            anchor__rolled_up_into__to_seq=to_seq,
        )
        return [self._view(row) for row in found]

    def parent(self, ref: str) -> AnchorView | None:
        """Return the rollup that covers this anchor, or None."""
        level, from_seq, to_seq, _ = parse_ref(ref)
        found = self._current().filter(
            anchor__children__level=level, anchor__children__from_seq=from_seq, anchor__children__to_seq=to_seq
        )
        row = found.first()
        return self._view(row) if row else None

    def holes(self) -> list[tuple[int, int]]:
        """Return ranges below the highest level-0 end that no anchor covers: always empty in a sound database."""
        holes, through = [], 0
        ground = Anchor.objects.filter(edition=self._edition, level=0).order_by("from_seq")
        for from_seq, to_seq in ground.values_list("from_seq", "to_seq"):
            if from_seq > through + 1:
                holes.append((through + 1, from_seq - 1))
            through = max(through, to_seq)
        return holes

    def _current(self) -> QuerySet[Section]:
        return (
            Section.objects.filter(anchor__edition=self._edition, superseded_by__isnull=True)
            .select_related("anchor", "supersedes")
            .defer("prose", "title", "supersedes__prose", "supersedes__title")
            .annotate(children=Count("anchor__children"))
            .order_by("anchor__from_seq", F("anchor__level").desc())
        )

    def _view(self, row: Section) -> AnchorView:
        anchor = row.anchor
        return AnchorView(
            id=anchor.ref,
            level=anchor.level,
            from_seq=anchor.from_seq,
            to_seq=anchor.to_seq,
            unit_seq=anchor.unit_seq,
            kind=anchor.kind,
            event_count=anchor.event_count,
            children=row.children,  # type: ignore[attr-defined]
            generation=row.generation,
            supersedes=row.supersedes.generation if row.supersedes else None,
        )


class Prose:
    """Words of one edition; says nothing that may be decided on."""

    def __init__(self, edition: Edition) -> None:
        self._edition = edition

    def sections(self, upto_seq: int | None = None, *, level: int = 0) -> list[ProseView]:
        """Return the current sections whose to_seq ≤ upto_seq, oldest first."""
        found = self._all().filter(anchor__level=level, superseded_by__isnull=True)
        if upto_seq is not None:
            found = found.filter(anchor__to_seq__lte=upto_seq)
        return [self._view(row) for row in found.order_by("anchor__from_seq")]

    def section(self, ref: str) -> ProseView:
        """Return one generation, a superseded one too; an id without `#n` is generation 1. Raises UnknownSection."""
        return self._view(find(self._edition, ref, generation=parse_ref(ref).generation or 1))

    def covering(self, seq: int) -> ProseView | None:
        """Return the current level-0 section whose range holds `seq`, or None."""
        found = self._all().filter(anchor=_starting_last(self._edition, 0, seq), anchor__to_seq__gte=seq)
        found = found.filter(superseded_by__isnull=True)
        row = found.first()
        return self._view(row) if row else None

    def _all(self) -> QuerySet[Section]:
        return Section.objects.filter(anchor__edition=self._edition).select_related("anchor").prefetch_related("pins")

    def _view(self, row: Section) -> ProseView:
        return ProseView(
            id=row.ref,
            title=row.title,
            text=row.prose,
            origin=row.origin,
            summariser=row.summariser,
            model=row.model,
            prompt_digest=row.prompt_digest,
            token_estimate=row.token_estimate,
            made_at=row.made_at,
            pins=tuple(pin.key for pin in sorted(row.pins.all(), key=lambda pin: pin.position)),
        )


class Figures(NamedTuple):
    """A log in figures: current sections in all, at level 0 and above; content events; first and last time; the tail.

    `after` counts content events after the newest level-0 section; times are the log's own, None when it is empty.
    """

    sections: int
    ground: int
    rollups: int
    events: int
    first_at: datetime | None
    last_at: datetime | None
    after: int


def figures(edition: Edition) -> Figures:
    """Return a log's figures in a handful of queries; bookkeeping and markers are not counted as events."""
    through = consolidated_through(edition)
    anchors = Anchor.objects.filter(edition=edition).aggregate(
        all=Count("pk"), ground=Count("pk", filter=Q(level=0)), rollups=Count("pk", filter=Q(level__gte=1))
    )
    content = Q(kind__in=[str(kind) for kind in CONTENT_KINDS])
    events = Event.objects.filter(log=edition.log).aggregate(
        content=Count("pk", filter=content),
        first=Min("at"),
        last=Max("at"),
        after=Count("pk", filter=content & Q(seq__gt=through)),
    )
    return Figures(
        anchors["all"],
        anchors["ground"],
        anchors["rollups"],
        events["content"],
        events["first"],
        events["last"],
        events["after"],
    )


def find(edition: Edition, ref: str, *, generation: int | None = None) -> Section:
    """Return the section of an id: the generation asked for, else the one in the id, else the current one."""
    level, from_seq, to_seq, named = parse_ref(ref)
    found = Section.objects.filter(
        anchor__edition=edition, anchor__level=level, anchor__from_seq=from_seq, anchor__to_seq=to_seq
    ).select_related("anchor", "anchor__edition")
    wanted = generation or named
    found = found.filter(generation=wanted) if wanted else found.filter(superseded_by__isnull=True)
    section = found.first()
    if section is None:
        raise UnknownSection(f"There is no section {ref} here.")
    return section
