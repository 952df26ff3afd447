"""Editions of a log: what a rebuild would cost, and how two editions compare.

Guarantees: made by reading alone; the bill names every section that is drawn again, every generation that is
lost and every receipt that cites the edition; figures of tokens are estimates. Two editions are compared by
what their anchors are, and by their words, character for character. No prose leaves this module.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple

from django.db.models import Count, Max, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from chronicle import canonical, policies
from chronicle.divergence import Price, price_words
from chronicle.envelope import CONTENT_KINDS
from chronicle.models import Anchor, Edition, Event, Log, Origin, Policy, Receipt, RollupSource, Section
from chronicle.sections import current_edition, current_sections
from chronicle.summarisers.outline import Outline
from chronicle.tokens import BYTES_PER_TOKEN

# Nothing can draw these again: their words are part of the record and are taken over as they are.
TAKEN_OVER = (Origin.IMPORTED, Origin.CLOSED_WITHOUT_SUMMARY)


@dataclass(frozen=True, slots=True)
class RebuildBill:
    """What a rebuild draws, takes over, and loses. `reconsolidated` counts generations after the first."""

    log: str
    edition: int
    sections: int
    rollups: int
    taken_over: int
    reconsolidated: int
    receipts: int
    price: Price
    stops_at: str = ""  # a strict replay has no draw for this rollup

    def as_json(self) -> dict[str, Any]:
        """Return the bill as plain JSON."""
        return asdict(self) | {"price": self.price._asdict(), "runs_diverge": True}

    def words(self) -> dict[str, str]:
        """Return the bill as sentences, by what each is about."""
        drawn = f"{_many(self.sections, 'section')} and {_many(self.rollups, 'rollup')}"
        stops = f"It will stop at {self.stops_at}, which was drawn from a later generation than a rebuild has."
        return ({"stops": stops} if self.stops_at else {}) | {
            "does": f"Draws {drawn} again, into a new edition beside edition {self.edition}, and puts it in force.",
            "taken": f"{_many(self.taken_over, 'section')} came with the log or were closed without summary: their"
            " words are taken over as they are.",
            "lost": f"{_many(self.reconsolidated, 're-consolidation')} will not be in it: every section starts again at"
            " generation 1.",
            "receipts": f"{_many(self.receipts, 'receipt')} cite edition {self.edition}, which stays readable.",
            "price": f"The draws: {price_words(self.price)}.",
            "diverges": f"Runs that read edition {self.edition} diverge from here on.",
        }


class Compared(NamedTuple):
    """Of the old edition's anchors, how many are the same, and how many have their first, their current words again."""

    anchors_of: int
    anchors: int
    prose_first: int
    prose_current: int

    def words(self) -> str:
        """Return the comparison as a sentence."""
        of = self.anchors_of
        return (
            f"{self.anchors} of {of} anchors identical; {self.prose_first} of {of} word for word as generation 1,"
            f" {self.prose_current} of {of} as the generation that was current."
        )


class EditionLine(NamedTuple):
    """One edition of a log, with how much stands in it."""

    number: int
    state: str
    made_at: datetime
    made_by: str
    reason: str
    sections: int
    rollups: int
    generations: int


class Ranged(NamedTuple):
    """An anchor as the price of its draw goes by it."""

    from_seq: int
    to_seq: int
    row: Policy
    tokens: int


def bill(log: Log, *, replay: str | None = None) -> RebuildBill:
    """Return what a rebuild of the log's chronicle would cost and lose; nothing is drawn or written to it.

    With `replay` "strict" no model is asked; with "record" the price is the most that it may come to.
    """
    edition = current_edition(log)
    counted = Anchor.objects.filter(edition=edition).aggregate(
        ground=Count("pk", filter=Q(level=0)), rollups=Count("pk", filter=Q(level__gte=1))
    )
    taken = taken_over(edition).count()
    cited = Receipt.objects.filter(Q(edition=edition) | Q(parts__section__anchor__edition=edition))
    return RebuildBill(
        log=log.public_id,
        edition=edition.number,
        sections=counted["ground"] - taken,
        rollups=counted["rollups"],
        taken_over=taken,
        reconsolidated=Section.objects.filter(anchor__edition=edition, generation__gt=1).count(),
        receipts=cited.distinct().count(),
        price=Price(0, 0, 0) if replay == "strict" else _price(edition),
        stops_at=_stops_at(edition) if replay == "strict" else "",
    )


def _stops_at(edition: Edition) -> str:
    """Return the first rollup that was drawn when one of its children had been re-consolidated; "" where there is none.

    A rebuild has first generations alone, so it asks something else for such a rollup, and nothing is pinned for that.
    """
    found = RollupSource.objects.filter(
        section__anchor__edition=edition, section__generation=1, section__anchor__level__gte=1, source__generation__gt=1
    )
    first = (
        found.select_related("section__anchor").order_by("section__anchor__level", "section__anchor__from_seq").first()
    )
    return first.section.ref if first else ""


def taken_over(edition: Edition) -> QuerySet[Section]:
    """Return the first generations that no draw can give again, oldest first."""
    found = Section.objects.filter(anchor__edition=edition, anchor__level=0, generation=1, origin__in=TAKEN_OVER)
    return found.select_related("anchor").order_by("anchor__from_seq")


def compare(old: Edition, new: Edition) -> Compared:
    """Compare two editions by anchors (range, level, unit, kind, count) and by the digests of their words."""
    before, after = _anchors(old), _anchors(new)
    same = before.keys() & {slot for slot, anchor in after.items() if before.get(slot) == anchor}
    words = _words(Section.objects.filter(anchor__edition=new, generation=1))
    first = _words(Section.objects.filter(anchor__edition=old, generation=1))
    current = _words(Section.objects.filter(anchor__edition=old, superseded_by__isnull=True))
    return Compared(
        len(before),
        len(same),
        sum(words.get(slot) == digest for slot, digest in first.items()),
        sum(words.get(slot) == digest for slot, digest in current.items()),
    )


def lines(log: Log) -> list[EditionLine]:
    """Return the log's editions, newest first, in three queries for any number of them."""
    found = list(log.editions.order_by("-number"))
    anchors = Anchor.objects.filter(edition__in=found).order_by().values("edition")
    counted = anchors.annotate(ground=Count("pk", filter=Q(level=0)), above=Count("pk", filter=Q(level__gte=1)))
    counts = {row["edition"]: (row["ground"], row["above"]) for row in counted}
    newest = Section.objects.filter(anchor__edition__in=found).order_by().values("anchor__edition")
    generations = {row["anchor__edition"]: row["most"] for row in newest.annotate(most=Max("generation"))}
    return [
        EditionLine(
            one.number,
            one.state,
            one.made_at,
            one.made_by,
            one.reason,
            *counts.get(one.pk, (0, 0)),
            generations.get(one.pk, 0),
        )
        for one in found
    ]


def _anchors(edition: Edition) -> dict[tuple[int, int, int], tuple[int, str, int]]:
    columns = ("level", "from_seq", "to_seq", "unit_seq", "kind", "event_count")
    found = Anchor.objects.filter(edition=edition).values_list(*columns)
    return {(level, first, last): (unit, kind, count) for level, first, last, unit, kind, count in found}


def _words(found: QuerySet[Section]) -> dict[tuple[int, int, int], str]:
    columns = ("anchor__level", "anchor__from_seq", "anchor__to_seq", "title", "prose")
    return {
        (level, first, last): canonical.sha256(f"{title}\n{prose}".encode())
        for level, first, last, title, prose in found.values_list(*columns).iterator(chunk_size=500)
    }


def _price(edition: Edition) -> Price:
    """What the draws come to: units by their events, rollups by their children's words."""
    rows = policies.rows(edition.log)
    calls = tokens_in = tokens_out = 0
    ground = [one for one in _ground(edition, rows) if not _offline(one.row)]
    if ground:
        calls, tokens_in = len(ground), -(-_size(edition.log, ground) // BYTES_PER_TOKEN)
        tokens_out = sum(one.tokens for one in ground)
    if not _offline(rows[-1]):
        now = current_sections(edition).order_by()
        above = now.filter(anchor__level__gte=1).aggregate(count=Count("pk"), out=Coalesce(Sum("token_estimate"), 0))
        read = now.filter(anchor__rolled_up_into__isnull=False).aggregate(tokens=Coalesce(Sum("token_estimate"), 0))
        calls, tokens_in, tokens_out = calls + above["count"], tokens_in + read["tokens"], tokens_out + above["out"]
    return Price(calls, tokens_in, tokens_out)


def _ground(edition: Edition, rows: Sequence[Policy]) -> Iterator[Ranged]:
    """The level-0 slots that a summariser is asked for; one without public content needs no call."""
    found = current_sections(edition).filter(anchor__level=0).exclude(summariser="fixed").exclude(origin__in=TAKEN_OVER)
    columns = ("anchor__from_seq", "anchor__to_seq", "token_estimate")
    for first, last, tokens in found.order_by("anchor__from_seq").values_list(*columns):
        yield Ranged(first, last, policies.at(list(rows), last), tokens)


def _size(log: Log, ground: Sequence[Ranged]) -> int:
    """Bytes of public content in these ranges; neighbours are asked for together."""
    starts = [ground[0].from_seq, *(b.from_seq for a, b in pairwise(ground) if a.to_seq + 1 != b.from_seq)]
    ends = [*(a.to_seq for a, b in pairwise(ground) if a.to_seq + 1 != b.from_seq), ground[-1].to_seq]
    public = Event.objects.filter(log=log, audience="", kind__in=[str(kind) for kind in CONTENT_KINDS])
    stretches = zip(starts, ends, strict=True)
    return sum(
        public.filter(seq__gte=first, seq__lte=last).aggregate(size=Coalesce(Sum("size"), 0))["size"]
        for first, last in stretches
    )


def _offline(row: Policy) -> bool:
    return policies.summariser_name(row) == Outline.name


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
