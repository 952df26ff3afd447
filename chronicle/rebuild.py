"""Rebuild: a log's chronicle drawn again into an edition beside the one in force, which it then replaces at once.

Guarantees: nothing of the old edition is touched until the new one mirrors its every anchor; then both change
state in one transaction under the log's lock, so a crash at any point leaves the old one in force. What a
rebuild that was cut off has drawn is gone on with. Sections that no draw can give are taken over word for word.
Every section starts again at generation 1. With replay="strict" no model is ever reached.
Refuses: what is not accepted (GenerativeRebuild, with the bill; nothing is reset); to go on past a slot that
could not be drawn (RebuildHalted, or PinMiss of a strict replay); to replay draws that are not pinned.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from asgiref.sync import sync_to_async
from django.db import transaction
from django.db.models import Max, Q, Sum
from django.utils import timezone

from chronicle import audit, canonical, drawing, editions, failures, policies, rollups, sections
from chronicle.cover import Batch, Entry
from chronicle.draws import Draws, Through
from chronicle.editions import Compared
from chronicle.errors import ChronicleError, GenerativeRebuild, LeaseLost, PinMiss, RebuildHalted, Superseded
from chronicle.fold import NAME, ChronicleFold
from chronicle.log import locked
from chronicle.models import (
    Anchor,
    AuditEntry,
    Edition,
    EditionState,
    FoldPosition,
    Log,
    Pin,
    Policy,
    Section,
    UnitFailure,
)
from chronicle.pins import OpenUnit, recorded
from chronicle.projector import Fence, Projector
from chronicle.reconsolidate import check_reason
from chronicle.replay import ReplayPins
from chronicle.rollups import RolledUp, Slot
from chronicle.sections import NewSection, consolidated_through
from chronicle.summarisers.outline import Outline
from chronicle.summarisers.protocol import Pinnable, Resolver, Summariser

logger = logging.getLogger(__name__)

WHAT = "chronicle.rebuilt"
STRICT, RECORD = "strict", "record"
# How an edition was made is the first word of its reason: what is gone on with must have been begun the same way.
MODES = {None: "rebuilt", STRICT: "replayed", RECORD: "replayed and drawn"}

type Tell = Callable[[int, int, str], None]

bill = editions.bill


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """What a rebuild has made. `calls` counts requests that a model was asked for this edition, not replayed ones."""

    log: str
    edition: int
    replaced: int
    sections: int
    rollups: int
    taken_over: int
    lost: int
    compared: Compared
    calls: int
    tokens_in: int
    tokens_out: int
    mode: str
    reason: str

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain JSON: ids and figures, no prose."""
        return asdict(self) | {"compared": self.compared._asdict(), "words": self.compared.words()}


class _Made(NamedTuple):
    """Model calls of an edition, and their tokens."""

    calls: int
    tokens_in: int
    tokens_out: int


def rebuild(
    log: Log,
    *,
    discard_generated: bool,
    by: str,
    reason: str = "",
    replay: str | None = None,
    summariser: Summariser | None = None,
    fence: Fence | None = None,
    progress: Tell | None = None,
) -> RebuildReport:
    """Draw the log's chronicle again into a new edition and put it in force.

    `replay` gives what the log has pinned instead of asking a model: "strict" stops at the first request that
    is not recorded, "record" draws it. Raises GenerativeRebuild with the bill in `details` unless
    `discard_generated`; RebuildHalted, PinMiss, Superseded, LeaseLost, InvalidPolicy; TypeError for an
    asynchronous summariser, before anything is made.
    """
    run = _Rebuilding(log, by, reason, replay, summariser, fence, progress)
    run.check(accepted=discard_generated)
    run.refuse_asynchronous()
    return drawing.run(run.steps())


async def arebuild(
    log: Log,
    *,
    discard_generated: bool,
    by: str,
    reason: str = "",
    replay: str | None = None,
    summariser: Summariser | None = None,
    fence: Fence | None = None,
    progress: Tell | None = None,
) -> RebuildReport:
    """As `rebuild`, for synchronous and asynchronous summarisers."""

    def prepared() -> _Rebuilding:
        run = _Rebuilding(log, by, reason, replay, summariser, fence, progress)
        run.check(accepted=discard_generated)
        return run

    return await drawing.arun((await sync_to_async(prepared)()).steps())


def check(log: Log, *, accepted: bool, replay: str | None = None) -> None:
    """Refuse what a rebuild would refuse at once: GenerativeRebuild with the bill, PinMiss, InvalidPolicy."""
    _Rebuilding(log, "", "", replay, None, None, None).check(accepted=accepted)


class _Rebuilding:
    """One rebuild, from the edition in force to the one that replaces it."""

    def __init__(
        self,
        log: Log,
        by: str,
        reason: str,
        replay: str | None,
        summariser: Summariser | None,
        fence: Fence | None,
        progress: Tell | None,
    ) -> None:
        check_reason(reason)
        if replay not in MODES:
            raise ValueError(f'replay is None, "{STRICT}" or "{RECORD}", not {replay!r}.')
        self._log, self._by, self._reason, self._replay = log, by, reason, replay
        self._summariser, self._outer, self._progress = summariser, fence, progress
        self._old = sections.current_edition(log)
        self._rows = policies.rows(log)

    def check(self, *, accepted: bool) -> None:
        """Raise GenerativeRebuild for what nobody has accepted; PinMiss for a replay of draws that are not pinned."""
        if not accepted:
            found = editions.bill(self._log, replay=self._replay)
            raise GenerativeRebuild(
                f"Nothing was rebuilt: edition {found.edition} is what its readers saw, and other words would stand in"
                " its place. Accept that to go on.",
                bill=found.as_json(),
            )
        for one in self._summarisers():
            if self._replay and one.name != Outline.name and not isinstance(one, Pinnable):
                raise PinMiss(f"The draws of {one.name} are not pinned, so there is nothing to replay.")

    def refuse_asynchronous(self) -> None:
        """Raise TypeError when only the awaited path can draw; nothing is made or called."""
        for one in self._summarisers():
            drawing.refuse_asynchronous(one)

    def _summarisers(self) -> list[Summariser]:
        return [self._summariser] if self._summariser else [policies.summariser_for(row) for row in self._rows]

    def steps(self) -> drawing.Steps[RebuildReport]:
        """Build until the shadow mirrors the edition in force, and switch."""
        shadow = self._shadow()
        draws = Draws(shadow, summariser=self._summariser, through=self._through(), fence=self._fence)
        while True:
            yield from self._ground(shadow, draws)
            yield from self._above(shadow, draws)
            report = self._switch(shadow)
            if report is not None:
                return report

    def _through(self) -> Through | None:
        if self._replay is None:
            return None

        def through(unit: OpenUnit) -> Resolver:
            slot = unit.unit.partition("/")[2]
            pinned = recorded(self._log, unit=f"{self._old.number}/{slot}")
            return ReplayPins(pinned, on_miss="record", into=unit) if self._replay == RECORD else ReplayPins(pinned)

        return through

    # The shadow

    def _shadow(self) -> Edition:
        """The edition that a rebuild was cut off in, where it fits, else a new one."""
        with transaction.atomic():
            row = locked(self._log.pk)
            self._fence()
            for left in row.editions.filter(state=EditionState.BUILDING).order_by("number"):
                if self._fits(left):
                    self._try_again(left)
                    return left
                _put(left, EditionState.ARCHIVED)
                logger.warning("log %s: edition %s was never finished and is archived", row.pk, left.number)
            last = row.editions.aggregate(last=Max("number"))["last"]
            return Edition.objects.create(
                log=row,
                number=last + 1,
                state=EditionState.BUILDING,
                made_by=self._by,
                reason=f"{MODES[self._replay]}: {self._reason}",
                made_at=timezone.now(),
            )

    def _fits(self, left: Edition) -> bool:
        """True for an edition begun in the same way whose every anchor is one of the old edition's."""
        columns = ("level", "from_seq", "to_seq", "unit_seq", "kind", "event_count")
        there = set(Anchor.objects.filter(edition=left).values_list(*columns))
        mine = left.reason.startswith(f"{MODES[self._replay]}: ")
        return mine and there <= set(Anchor.objects.filter(edition=self._old).values_list(*columns))

    @staticmethod
    def _try_again(left: Edition) -> None:
        for failure in UnitFailure.objects.filter(edition=left):
            failures.try_now(failure)

    # Level 0

    def _ground(self, shadow: Edition, draws: Draws) -> drawing.Steps[None]:
        """Derive and draw units, and take over what cannot be drawn, up to where the old edition stands now."""
        goal = consolidated_through(self._old)
        taken = editions.taken_over(self._old).filter(anchor__from_seq__gt=consolidated_through(shadow))
        for section in taken.filter(anchor__to_seq__lte=goal):
            yield from self._derive(shadow, draws, section.anchor.from_seq - 1)
            self._take_over(shadow, section)
        yield from self._derive(shadow, draws, goal)

    def _derive(self, shadow: Edition, draws: Draws, upto: int) -> drawing.Steps[None]:
        if consolidated_through(shadow) >= upto:
            return
        fold = ChronicleFold(shadow, draws=draws, made_by=self._by, upto=upto)
        projector = Projector(self._log, [fold], fence=lambda: self._step(shadow))
        try:
            yield from projector.steps()
        except LeaseLost as lost:
            lost.details["wasted_tokens"] = fold.drawn_tokens
            raise
        reached = consolidated_through(shadow)
        if reached != upto:
            raise self._halted(fold.error, shadow, reached)

    def _take_over(self, shadow: Edition, section: Section) -> None:
        """Store a first generation as it is; what it read is cited in the new edition."""
        anchor = section.anchor
        read = [
            source.source.anchor for source in section.sources.select_related("source__anchor").order_by("position")
        ]
        with transaction.atomic():
            locked(self._log.pk)
            self._step(shadow)
            sources = [
                sections.current_sections(shadow).get(anchor__level=0, anchor__to_seq=one.to_seq) for one in read
            ]
            sections.append_new(shadow, _as_it_is(section, anchor), sources=sources)

    # Rollups

    def _above(self, shadow: Edition, draws: Draws) -> drawing.Steps[None]:
        """Draw the rollups that the old edition has, from the shadow's own sections, the lower levels first."""
        missing = self._missing(shadow)
        if not missing:
            return
        done: RolledUp = yield from rollups.steps(
            shadow,
            lambda cover: _ready(missing, cover),
            fence=lambda: self._step(shadow),
            draws=draws,
            made_by=self._by,
        )
        if done.error is not None or not done.made:
            raise self._halted(done.error, shadow, consolidated_through(shadow))

    def _missing(self, shadow: Edition) -> list[Slot]:
        """The old edition's rollups that the shadow has not, each under the policy row it was first drawn under."""
        there = set(Anchor.objects.filter(edition=shadow, level__gte=1).values_list("level", "from_seq", "to_seq"))
        found = self._old.anchors.filter(level__gte=1).order_by("level", "from_seq").prefetch_related("children")
        first = Section.objects.filter(anchor__edition=self._old, anchor__level__gte=1, generation=1)
        made_at = dict(first.values_list("anchor", "made_at"))
        missing = [one for one in found if (one.level, one.from_seq, one.to_seq) not in there]
        return [Slot(_batch(one), self._row_at(made_at[one.pk])) for one in missing]

    def _row_at(self, moment: Any) -> Policy:
        """The newest row that was there then; which row a rollup is drawn under depends on when it is drawn."""
        return [row for row in self._rows if row.made_at <= moment or row is self._rows[0]][-1]

    # The switch

    def _switch(self, shadow: Edition) -> RebuildReport | None:
        """Put the shadow in force, or return None when the old edition has grown meanwhile."""
        with transaction.atomic():
            row = locked(self._log.pk)
            self._fence()
            old = row.editions.get(state=EditionState.CURRENT)
            if old.pk != self._old.pk:
                raise Superseded(f"Edition {old.number} came into force meanwhile; nothing was switched.")
            through = consolidated_through(shadow)
            if through != consolidated_through(old) or self._missing(shadow):
                return None
            report = self._report(old, shadow)
            _put(old, EditionState.ARCHIVED)
            _put(shadow, EditionState.CURRENT)
            # What stands after it is looked at again: failed units of the old edition waited there.
            FoldPosition.objects.update_or_create(log=row, fold=NAME, defaults={"seq": through, "seen_seq": 0})
            audit.record(self._by, WHAT, row.public_id, **report.as_json())
        logger.warning("log %s: edition %s replaces edition %s, through %s", row.pk, shadow.number, old.number, through)
        return report

    def _report(self, old: Edition, shadow: Edition) -> RebuildReport:
        anchors = Anchor.objects.filter(edition=shadow)
        calls, tokens_in, tokens_out = self._made(shadow)
        return RebuildReport(
            log=self._log.public_id,
            edition=shadow.number,
            replaced=old.number,
            sections=anchors.filter(level=0).count(),
            rollups=anchors.filter(level__gte=1).count(),
            taken_over=editions.taken_over(shadow).count(),
            lost=Section.objects.filter(anchor__edition=old, generation__gt=1).count(),
            compared=editions.compare(old, shadow),
            calls=calls,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            mode=MODES[self._replay],
            reason=self._reason,
        )

    def _made(self, shadow: Edition) -> _Made:
        """Count the pins that were drawn for the shadow, and the sections of a model whose draws are not pinned."""
        mine = Pin.objects.filter(log=self._log, unit__startswith=f"{shadow.number}/")
        pins = mine.filter(event__at__gte=shadow.made_at)  # an imported unit may have any name
        drawn = Section.objects.filter(anchor__edition=shadow).exclude(origin__in=editions.TAKEN_OVER)
        bare = drawn.filter(pins__isnull=True).exclude(model="")
        paid = drawn.filter(Q(pk__in=bare.values("pk")) | Q(pins__key__in=pins.values("key"))).distinct()
        spent = Section.objects.filter(pk__in=paid.values("pk")).aggregate(
            given=Sum("tokens_in"), got=Sum("tokens_out")
        )
        return _Made(pins.count() + bare.count(), spent["given"] or 0, spent["got"] or 0)

    # What every step does

    def _fence(self) -> None:
        if self._outer is not None:
            self._outer()

    def _step(self, shadow: Edition) -> None:
        """Hold the lease in the transaction that writes; say how far it is."""
        self._fence()
        if self._progress is not None:
            there = Anchor.objects.filter(edition=shadow).count()
            self._progress(there, self._old.anchors.count(), "sections")

    def _halted(self, error: Exception | None, shadow: Edition, reached: int) -> Exception:
        """What a rebuild that cannot go on raises: a strict replay's miss itself, else where it stands."""
        logger.warning("log %s: the rebuild halted at %s of edition %s", self._log.pk, reached, shadow.number)
        if isinstance(error, PinMiss):
            return error
        why = _why(error) if error else "the log's units end elsewhere than its anchors"
        return RebuildHalted(
            f"Edition {shadow.number} stands at {reached}: {why}. Edition {self._old.number} stays in force;"
            " a rebuild that is asked for again goes on from there."
        )


def reports(log: Log) -> list[dict[str, Any]]:
    """Return the reports of the log's rebuilds as the audit trail holds them, newest first, with `by` and `at`."""
    found = AuditEntry.objects.filter(what=WHAT, target=log.public_id).order_by("-pk")
    return [{**canonical.parse(entry.details), "by": entry.who, "at": entry.at} for entry in found]


def _why(error: Exception) -> str:
    """Class and sentence; only our own refusals speak, another error's words may hold what a log holds."""
    said = f": {error}" if isinstance(error, ChronicleError) else ""
    return f"a draw failed, {type(error).__name__}{said}".rstrip(".")


def _put(edition: Edition, state: EditionState) -> None:
    edition.state = state
    edition.save(update_fields=["state"])


def _batch(anchor: Anchor) -> Batch:
    children = sorted(anchor.children.all(), key=lambda child: child.from_seq)
    return Batch(anchor.level - 1, tuple(Entry(child.level, child.from_seq, child.to_seq) for child in children))


def _ready(missing: list[Slot], cover: list[Entry]) -> Iterator[Slot]:
    there = set(cover)
    return (slot for slot in missing if there.issuperset(slot.batch.entries))


def _as_it_is(section: Section, anchor: Anchor) -> NewSection:
    return NewSection(
        from_seq=anchor.from_seq,
        to_seq=anchor.to_seq,
        unit_seq=anchor.unit_seq,
        kind=anchor.kind,
        event_count=anchor.event_count,
        title=section.title,
        prose=section.prose,
        origin=section.origin,
        replaces_from=section.replaces_from,
        summariser=section.summariser,
        model=section.model,
        prompt_digest=section.prompt_digest,
        tokens_in=section.tokens_in,
        tokens_out=section.tokens_out,
        cost=section.cost,
        made_by=section.made_by,
        pins=tuple(section.pins.order_by("position").values_list("key", flat=True)),
    )
