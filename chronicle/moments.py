"""What an agent had in front of it at a seq, and the seqs at which that changed.

Guarantees: `at` accounts for every event from 1 to the seq once: by a section, by the log's own events, or as
stated to be left out. It is exact where a brief was given at that very seq (the newest of them counts); anywhere
else it is reconstructed and says so: for a log that was imported, the imported summaries in force and the events
since; for others the cover at that seq under the policy in force there and the tail, as who sees everything.
Refuses: a seq that the log does not have (InvalidFilter).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from django.db.models import F, QuerySet

from chronicle import brief, receipts
from chronicle.access import events_for
from chronicle.canonical import parse
from chronicle.envelope import COMPACTION, Kind
from chronicle.errors import InvalidFilter
from chronicle.models import Anchor, Edition, EditionState, Form, Log, Origin, Receipt, Section, What

BIG = 10**18 - 1


class How(StrEnum):
    """How it is known: a receipt says so, or it is put together from imported summaries or by the policy."""

    EXACT = "exact"
    IMPORTED = "imported"
    POLICY = "policy"


class Span(NamedTuple):
    """A stretch of the log, both ends inclusive: a section in a form, or without one the log's own events.

    The form DROPPED says that nothing in the context stood for it.
    """

    from_seq: int
    to_seq: int
    section: Section | None = None
    form: str = str(Form.FULL)
    stale: bool = False

    @property
    def dropped(self) -> bool:
        return self.form == Form.DROPPED

    @property
    def ref(self) -> str:
        return f"{self.section.anchor.ref}#{self.section.generation}" if self.section else ""


@dataclass(frozen=True, slots=True)
class Had:
    """What the agent had at a seq: the spans, oldest first.

    `receipt` is the brief that was given there; `last_brief` the newest one before, where there is none there.
    `unsummarised` are compactions among the events shown: what they left of the context is not known here.
    """

    seq: int
    how: How
    spans: tuple[Span, ...]
    receipt: Receipt | None = None
    last_brief: Receipt | None = None
    unsummarised: int = 0

    @property
    def exact(self) -> bool:
        return self.how is How.EXACT

    @property
    def tail(self) -> Span | None:
        """The events at the end, verbatim."""
        last = self.spans[-1] if self.spans else None
        return last if last and last.section is None and not last.dropped else None

    @property
    def not_shown(self) -> tuple[tuple[int, int], ...]:
        return tuple((span.from_seq, span.to_seq) for span in self.spans if span.dropped)


class Moments(NamedTuple):
    """The seqs around one at which what an agent had changed; `number` of `of` came up to it."""

    first: int | None
    previous: int | None
    next: int | None
    last: int | None
    number: int
    of: int


def at(log: Log, seq: int) -> Had:
    """Return what the agent had once the event `seq` was logged. Raises InvalidFilter."""
    log.refresh_from_db()
    if not 1 <= seq <= log.last_seq:
        raise InvalidFilter(f"This log has the seqs 1 to {log.last_seq}; {seq} is none of them.", field="seq")
    newest = _briefs(log).filter(upto_seq__lte=seq).order_by("-upto_seq", "-number").first()
    if newest is not None and newest.upto_seq == seq:
        return Had(seq, How.EXACT, tuple(_of_receipt(newest)), receipt=newest)
    edition = _imported_edition(log)
    if edition is not None or log.source_session:
        spans = tuple(_of_imported(_imported(edition) if edition else [], seq))
        return Had(seq, How.IMPORTED, spans, last_brief=newest, unsummarised=_unsummarised(log, spans))
    return Had(seq, How.POLICY, tuple(_of_policy(log, seq)), last_brief=newest)


def others_at(log: Log, seq: int) -> QuerySet[Receipt]:
    """Return everything that was read at a seq, newest first."""
    return log.receipts.filter(upto_seq=seq).order_by("-number")


def around(log: Log, seq: int) -> Moments:
    """Return the moments of change before and after a seq."""
    changes = _Changes(log)
    upto, after = changes.count(upto=seq), changes.count(after=seq)
    return Moments(
        changes.first(),
        changes.last(upto=seq - 1),
        changes.first(after=seq),
        changes.last(),
        upto,
        upto + after,
    )


class _Changes:
    """The seqs, each once, at which a section ends, a compaction stands or a brief was given."""

    def __init__(self, log: Log) -> None:
        self._log = log
        imported = _imported_edition(log)
        edition = imported or _edition(log)
        ends = Anchor.objects.filter(edition=edition, level=0)
        if imported or log.source_session:
            ends = ends.filter(sections__origin=Origin.IMPORTED)
        self._ends = ends.order_by().values(seq=F("to_seq")) if edition else ends.none().values(seq=F("to_seq"))

    def _seqs(self, after: int, upto: int) -> QuerySet[Any, Any]:
        marks = self._log.events.filter(kind=Kind.MARKER, type=COMPACTION, seq__gt=after, seq__lte=upto)
        briefs = _briefs(self._log).filter(upto_seq__gt=after, upto_seq__lte=upto)
        return self._ends.filter(to_seq__gt=after, to_seq__lte=upto).union(
            marks.order_by().values("seq"), briefs.order_by().values(seq=F("upto_seq"))
        )

    def count(self, *, after: int = 0, upto: int = BIG) -> int:
        return self._seqs(after, upto).count()

    def first(self, *, after: int = 0) -> int | None:
        return self._end(after, BIG, "seq")

    def last(self, *, upto: int = BIG) -> int | None:
        return self._end(0, upto, "-seq")

    def _end(self, after: int, upto: int, order: str) -> int | None:
        found = self._seqs(after, upto).order_by(order)[:1]
        return next((row["seq"] for row in found), None)


def _edition(log: Log) -> Edition | None:
    """The edition in force; none is made by looking."""
    return log.editions.filter(state=EditionState.CURRENT).select_related("log").first()


def _briefs(log: Log) -> QuerySet[Receipt]:
    return receipts.receipts_of(log).filter(what=What.BRIEF, upto_seq__gte=1)


def _of_receipt(receipt: Receipt) -> Iterator[Span]:
    for part in receipts.parts_of(receipt):
        anchor = part.section.anchor
        yield Span(anchor.from_seq, anchor.to_seq, part.section, part.form, part.stale)
    if receipt.tail_from is not None and receipt.tail_to is not None:
        yield from _tail(receipt, receipt.tail_from, receipt.tail_to)


def _tail(receipt: Receipt, from_seq: int, to_seq: int) -> Iterator[Span]:
    """The tail of a brief, the part of it apart that the budget left out."""
    how = parse(receipt.filters)
    first = from_seq
    if how["first"]:
        events = events_for(receipt.log.events.filter(seq__gte=from_seq, seq__lte=to_seq), how["reader"])
        shown = events.exclude(kind=Kind.BOOKKEEPING).order_by("seq").values_list("seq", flat=True)
        first = next(iter(shown[how["first"] : how["first"] + 1]), to_seq + 1)
        yield Span(from_seq, first - 1, form=str(Form.DROPPED))
    if first <= to_seq:
        yield Span(first, to_seq)


def _imported_edition(log: Log) -> Edition | None:
    """The edition that holds the imported summaries: the one in force, else the newest that has any."""
    held = log.editions.filter(anchors__level=0, anchors__sections__origin=Origin.IMPORTED)
    editions = list(held.exclude(state=EditionState.BUILDING).select_related("log").distinct().order_by("-number"))
    current = (edition for edition in editions if edition.state == EditionState.CURRENT)
    return next(current, editions[0] if editions else None)


def _imported(edition: Edition) -> list[Section]:
    """The imported summaries of an edition by their end, each slot in its newest imported generation."""
    rows = Section.objects.filter(anchor__edition=edition, anchor__level=0, origin=Origin.IMPORTED)
    found = rows.select_related("anchor__edition").order_by("anchor__to_seq", "generation")
    return list({section.anchor_id: section for section in found}.values())


def _of_imported(summaries: Sequence[Section], seq: int) -> Iterator[Span]:
    """What summaries were in force, each for what it claims to replace, and the events that none replaces."""
    found: list[Span] = []
    rest, upto = list(summaries), seq
    while upto:
        while rest and rest[-1].anchor.to_seq > upto:
            rest.pop()
        if not rest:
            found.append(Span(1, upto))
            break
        section = rest.pop()
        anchor = section.anchor
        if anchor.to_seq < upto:
            found.append(Span(anchor.to_seq + 1, upto))
        claim = section.replaces_from or anchor.from_seq
        found.append(Span(claim, anchor.to_seq, section))
        upto = claim - 1
    return reversed(found)


def _unsummarised(log: Log, spans: Sequence[Span]) -> int:
    """How many compactions stand among the events that are shown as they were logged."""
    marks = log.events.filter(kind=Kind.MARKER, type=COMPACTION).values_list("seq", flat=True)
    shown = [span for span in spans if span.section is None]
    if not shown:
        return 0
    seqs = marks.filter(seq__gte=shown[0].from_seq, seq__lte=shown[-1].to_seq)
    return sum(any(span.from_seq <= seq <= span.to_seq for span in shown) for seq in seqs)


def _of_policy(log: Log, seq: int) -> Iterator[Span]:
    edition, through = _edition(log), 0
    if edition is not None and edition.anchors.filter(to_seq__lte=seq).exists():
        planned = brief.plan(edition, upto_seq=seq)
        through = planned.material.through
        for one, form in planned.material.parts(planned.cut):
            anchor = one.section.anchor
            yield Span(anchor.from_seq, anchor.to_seq, one.section, form, one.stale)
    if through < seq:
        yield Span(through + 1, seq)
