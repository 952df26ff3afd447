"""The only door in for anchors and sections; the partition rules, once, for every level.

Guarantees: level-0 ranges join without a hole from seq 1 and never pass the end of the log; ranges of
one level do not overlap; a rollup's range is the union of its children's, which are contiguous, one
level down and not covered by another; a generation has one successor, over the same range; check and
insert are one step under the log's row lock, and the database's own constraints stand behind them.
Refuses: inverted ranges, empty prose, holes, forks, collisions (each by its own error, nothing written).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import pairwise

from django.db import IntegrityError, transaction
from django.db.models import Max, QuerySet, Sum
from django.utils import timezone

from chronicle import canonical, seal
from chronicle.errors import ChronicleFork, InvalidSection, SectionCollision, Superseded, UnknownSection
from chronicle.log import locked
from chronicle.models import Anchor, AnchorKind, Edition, EditionState, Log, Origin, RollupSource, Section, SectionPin
from chronicle.tokens import estimate
from chronicle.unseen import blank

TITLE = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSection:
    """A section before it is stored: its slot and its words. `pins` are keys in the order drawn."""

    from_seq: int
    to_seq: int
    kind: str
    event_count: int
    title: str
    prose: str
    origin: str = Origin.DRAWN
    level: int = 0
    unit_seq: int | None = None
    replaces_from: int | None = None
    summariser: str = ""
    model: str = ""
    prompt_digest: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: Decimal | None = None
    made_by: str = ""
    pins: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        return f"{f'L{self.level}:' if self.level else ''}{self.from_seq}-{self.to_seq}"


def current_edition(log: Log) -> Edition:
    """Return the edition in force; the first is made when there is none yet."""
    found = Edition.objects.filter(log=log, state=EditionState.CURRENT).select_related("log").first()
    if found is not None:
        return found
    with transaction.atomic():
        row = locked(log.pk)
        made, _ = Edition.objects.get_or_create(
            log=row, state=EditionState.CURRENT, defaults={"number": 1, "made_at": timezone.now()}
        )
    return made


def consolidated_through(edition: Edition) -> int:
    """Return the end of the gapless run of level-0 anchors from seq 1; 0 when there is none."""
    ground = Anchor.objects.filter(edition=edition, level=0)
    totals = ground.aggregate(last=Max("to_seq"), starts=Sum("from_seq"), ends=Sum("to_seq"))
    last = totals["last"] or 0
    count = ground.count() if last else 0
    if not last or totals["ends"] - totals["starts"] + count == last:
        return last
    through = 0  # something was written behind the door: walk to the first hole
    for from_seq, to_seq in ground.order_by("from_seq").values_list("from_seq", "to_seq"):
        if from_seq != through + 1:
            break
        through = to_seq
    return through


def current_sections(edition: Edition) -> QuerySet[Section]:
    """Return the current generation of every anchor, oldest first. Current: no other section names it."""
    return (
        Section.objects.filter(anchor__edition=edition, superseded_by__isnull=True)
        .select_related("anchor")
        .order_by("anchor__from_seq", "-anchor__level")
    )


def cover_of(edition: Edition) -> list[Section]:
    """Return the current sections that no rollup stands for: with the tail, a partition of the log."""
    return list(current_sections(edition).filter(anchor__rolled_up_into__isnull=True))


def append_new(edition: Edition, new: NewSection, *, sources: Sequence[Section] = ()) -> Section:
    """Store a level-0 section with its anchor. `sources` are the sections it read, where it read any.

    Raises InvalidSection, SectionCollision (the id is taken), ChronicleFork (it overlaps), Superseded.
    """
    with transaction.atomic():
        log = _check(edition, new, level=0)
        if Anchor.objects.filter(edition=edition, level=0, from_seq=new.from_seq, to_seq=new.to_seq).exists():
            raise SectionCollision(f"Section {new.ref} is stored already.")
        _check_joins(new, consolidated_through(edition))
        return _insert(log, edition, new, sources)


def append(edition: Edition, new: NewSection, *, sources: Sequence[Section] = ()) -> Section:
    """As `append_new`, but where the id is stored already, keep that row and its prose and return it."""
    try:
        return append_new(edition, new, sources=sources)
    except SectionCollision:
        kept = current_sections(edition).filter(anchor__level=0, anchor__from_seq=new.from_seq)
        return kept.get(anchor__to_seq=new.to_seq)


def append_rollup(edition: Edition, new: NewSection, children: Sequence[Section]) -> Section:
    """Store a rollup and stamp its children in one step; the children are read again inside it.

    Raises Superseded when a child has a rollup or another current generation by now, InvalidSection
    when the children are not a contiguous run one level down whose union is the rollup's range.
    """
    with transaction.atomic():
        log = _check(edition, new, level=new.level)
        anchors = _children_again(edition, new, children)
        rollup = _insert(log, edition, new, children)
        stamped = Anchor.objects.filter(pk__in=[anchor.pk for anchor in anchors], rolled_up_into__isnull=True)
        if stamped.update(rolled_up_into=rollup.anchor) != len(anchors):
            raise Superseded(f"Rollup {new.ref}: a child was rolled up meanwhile.")
        return rollup


def supersede(edition: Edition, old: Section, new: NewSection, *, sources: Sequence[Section] = ()) -> Section:
    """Store the next generation over the same anchor. Raises UnknownSection, ChronicleFork, InvalidSection."""
    with transaction.atomic():
        log = _check(edition, new, level=old.anchor.level)
        stored = Section.objects.filter(pk=old.pk, anchor__edition=edition).select_related("anchor").first()
        if stored is None:
            raise UnknownSection(f"Section {old.ref} is not stored, so nothing can supersede it.")
        anchor = stored.anchor
        if (anchor.from_seq, anchor.to_seq) != (new.from_seq, new.to_seq):
            raise ChronicleFork(f"{new.ref} covers another range than {stored.ref}, which it would supersede.")
        successor = Section.objects.filter(supersedes=stored).select_related("anchor").first()
        if successor is not None:
            raise ChronicleFork(f"{stored.ref} is superseded already, by {successor.ref}.", current=successor.ref)
        return _write(log, anchor, new, stored, sources)


def _check(edition: Edition, new: NewSection, *, level: int) -> Log:
    """Lock the log and refuse what no section may be, before anything is written."""
    if new.level != level:
        raise InvalidSection(f"Section {new.ref} is at level {new.level}, not {level}.")
    if not 1 <= new.from_seq <= new.to_seq:
        raise InvalidSection(f"Section {new.ref}: a range goes from 1 upwards, both ends inclusive.")
    if not isinstance(new.prose, str) or blank(new.prose) or blank(new.title):
        raise InvalidSection(f"Section {new.ref} has no words; a unit without prose stays in the tail.")
    if canonical.unstorable(new.prose) is not None or canonical.unstorable(new.title) is not None:
        raise InvalidSection(f"Section {new.ref} holds a character no database takes.")
    log = locked(edition.log_id)
    if Edition.objects.filter(pk=edition.pk, state=EditionState.ARCHIVED).exists():
        raise Superseded(f"Section {new.ref}: edition {edition.number} is archived, another is in force.")
    if new.to_seq > log.last_seq:
        raise InvalidSection(f"Section {new.ref} goes past the end of its log, {log.last_seq}.")
    return log


def _check_joins(new: NewSection, through: int) -> None:
    if new.from_seq <= through:
        raise ChronicleFork(f"Section {new.ref} overlaps what is consolidated through {through}.", through=through)
    if new.from_seq > through + 1:
        raise InvalidSection(f"Section {new.ref} leaves events {through + 1} to {new.from_seq - 1} in no section.")


def _children_again(edition: Edition, new: NewSection, children: Sequence[Section]) -> list[Anchor]:
    if len(children) < 2:
        raise InvalidSection(f"Rollup {new.ref} needs two children at least.")
    ids = [child.pk for child in children]
    again = list(
        Section.objects.filter(pk__in=ids, anchor__edition=edition, superseded_by__isnull=True)
        .select_related("anchor")
        .order_by("anchor__from_seq")
    )
    if [section.pk for section in again] != ids:
        raise Superseded(f"Rollup {new.ref}: its children are not the current ones any more.")
    anchors = [section.anchor for section in again]
    if any(anchor.rolled_up_into_id for anchor in anchors):
        raise Superseded(f"Rollup {new.ref}: a child has a rollup already.")
    if any(anchor.level != new.level - 1 for anchor in anchors):
        raise InvalidSection(f"Rollup {new.ref}: its children are not all at level {new.level - 1}.")
    joins = all(a.to_seq + 1 == b.from_seq for a, b in pairwise(anchors))
    if not joins or (anchors[0].from_seq, anchors[-1].to_seq) != (new.from_seq, new.to_seq):
        raise InvalidSection(f"Rollup {new.ref} is not exactly the union of its children.")
    if sum(anchor.event_count for anchor in anchors) != new.event_count:
        raise InvalidSection(f"Rollup {new.ref}: its count is not the sum of its children's.")
    return anchors


def _insert(log: Log, edition: Edition, new: NewSection, sources: Sequence[Section]) -> Section:
    try:
        with transaction.atomic():
            anchor = Anchor.objects.create(
                edition=edition,
                level=new.level,
                from_seq=new.from_seq,
                to_seq=new.to_seq,
                unit_seq=new.unit_seq or new.to_seq,
                kind=new.kind if new.level == 0 else AnchorKind.ROLLUP,
                event_count=new.event_count,
            )
    except IntegrityError as error:
        raise Superseded(f"Section {new.ref}: its slot was taken meanwhile.") from error
    return _write(log, anchor, new, None, sources)


def _write(log: Log, anchor: Anchor, new: NewSection, old: Section | None, sources: Iterable[Section]) -> Section:
    made_at = timezone.now()
    generation = old.generation + 1 if old else 1
    section = Section.objects.create(
        anchor=anchor,
        generation=generation,
        supersedes=old,
        title=new.title if len(new.title) <= TITLE else new.title[: TITLE - 1] + "…",
        prose=new.prose,
        origin=new.origin,
        replaces_from=new.replaces_from,
        summariser=new.summariser,
        model=new.model,
        prompt_digest=new.prompt_digest,
        tokens_in=new.tokens_in,
        tokens_out=new.tokens_out,
        cost=new.cost,
        token_estimate=estimate(new.prose),
        made_by=new.made_by,
        made_at=made_at,
        digest=section_digest(log.public_id, anchor, generation, new, made_at),
    )
    SectionPin.objects.bulk_create(
        SectionPin(section=section, position=place, key=key) for place, key in enumerate(new.pins)
    )
    RollupSource.objects.bulk_create(
        RollupSource(section=section, position=place, source=source) for place, source in enumerate(sources)
    )
    return section


def section_digest(log_id: str, anchor: Anchor, generation: int, new: NewSection, made_at: datetime) -> str:
    """Return the digest a section carries: over its place, its words and how they were made."""
    title = new.title if len(new.title) <= TITLE else new.title[: TITLE - 1] + "…"
    made = (str(new.origin), new.summariser, new.model, new.prompt_digest, new.made_by)
    slot = f"L{anchor.level}:{anchor.from_seq}-{anchor.to_seq}#{generation}"
    return seal.section_digest(log_id, anchor.edition.number, slot, (title, new.prose), made, new.pins, made_at)
