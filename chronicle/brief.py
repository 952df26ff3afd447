"""What a reader is given at a seq: whole sections up to it, then the log's own events.

Guarantees: sections and tail cover every event from 1 to upto_seq exactly once, also when upto_seq
lies inside a section; the tail is never chronicle text; if the chronicle is behind, the tail is longer. What a
budget or the reader's filter leaves out is counted in the text. All of it depends on what is stored alone:
"now" is the time of the event at upto_seq, so the same question has the same answer, byte for byte.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import NamedTuple

from django.db.models import Q

from chronicle import fitting, policies, rendering
from chronicle.cover import Entry
from chronicle.envelope import StoredEvent
from chronicle.errors import InvalidFilter
from chronicle.log import read
from chronicle.material import Cut, Given, Material, Written
from chronicle.models import Anchor, Edition, Event, Policy
from chronicle.reading import Anchors, Prose, ProseView
from chronicle.rollups import stale_rollups
from chronicle.sections import current_sections
from chronicle.tokens import Counter, estimate
from chronicle.view import View, view


class Split(NamedTuple):
    """Where the sections end and the tail begins; an empty tail has tail_from = upto_seq + 1."""

    sections: tuple[ProseView, ...]
    tail_from: int
    upto_seq: int


class Brief:
    """Depth and tail of one edition's log."""

    def __init__(self, edition: Edition) -> None:
        self._edition = edition

    def depth(self, upto_seq: int | None = None) -> list[ProseView]:
        """Return the level-0 sections that end at or before `upto_seq`, oldest first."""
        return Prose(self._edition).sections(upto_seq)

    def tail(
        self, *, since_seq: int, upto_seq: int | None = None, admit: Callable[[StoredEvent], bool] | None = None
    ) -> Iterator[StoredEvent]:
        """Yield the log's events above `since_seq`; nothing is left out unless `admit` says so."""
        return read(self._edition.log, since_seq=since_seq, upto_seq=upto_seq, where=admit)

    def split(self, upto_seq: int | None = None) -> Split:
        """Return the partition at `upto_seq` (the log's last seq by default)."""
        upto = self._edition.log.last_seq if upto_seq is None else upto_seq
        anchors = Anchors(self._edition).anchors(upto)
        return Split(tuple(self.depth(upto)), anchors[-1].to_seq + 1 if anchors else 1, upto)

    def view(self, upto_seq: int | None = None) -> View:
        """Return the cover at `upto_seq`, its entries labelled recent or older, and which oldest seqs are not shown.

        A rollup that reaches past `upto_seq` gives way to its children; recent is what holds an event of
        the policy's recent window before the event at `upto_seq`, by coverage, whenever its section was made.
        """
        log = self._edition.log
        upto = log.last_seq if upto_seq is None else upto_seq
        return view_of(self._edition, upto, policies.at(policies.rows(log), max(upto, 1)), self._cover(upto))

    def _cover(self, upto_seq: int) -> list[Entry]:
        found = Anchor.objects.filter(_stands_at(upto_seq), edition=self._edition, to_seq__lte=upto_seq)
        return [Entry(*row) for row in found.order_by("from_seq").values_list("level", "from_seq", "to_seq")]


def _stands_at(upto_seq: int, anchor: str = "") -> Q:
    """What is in the cover at a seq: rolled up by nothing, or by what reaches past it."""
    return Q(**{f"{anchor}rolled_up_into": None}) | Q(**{f"{anchor}rolled_up_into__to_seq__gt": upto_seq})


def view_of(edition: Edition, upto_seq: int, row: Policy, cover: Sequence[Entry]) -> View:
    """Label a cover as a policy row says, as of the event at `upto_seq`."""
    events = Event.objects.filter(log=edition.log, seq__lte=upto_seq)
    now = events.order_by("-seq").values_list("at", flat=True).first()
    lately = events.filter(at__gte=now - timedelta(hours=row.recent_window_hours)) if now else events
    return view(
        cover,
        recent_from=lately.order_by("seq").values_list("seq", flat=True).first() or upto_seq + 1,
        max_recent=row.max_recent,
        max_older=row.max_older,
    )


def write(
    edition: Edition,
    *,
    upto_seq: int | None = None,
    budget: int | None = None,
    reader: str | None = None,
    count: Counter = estimate,
) -> Written:
    """Return the brief at a seq (the log's last by default) for a reader; None sees every event.

    A `budget` bounds the whole text, tail included. Without one the policy's token_budget bounds header and cover,
    and the tail is given whole. `count` is how tokens are counted. Raises InvalidFilter, InvalidPolicy.
    """
    planned = plan(edition, upto_seq=upto_seq, budget=budget, reader=reader, count=count)
    return planned.material.written(planned.cut, budget=planned.budget, count=count)


class Plan(NamedTuple):
    """What a brief is made of, and what its budget leaves of it."""

    material: Material
    cut: Cut
    budget: int


def plan(
    edition: Edition,
    *,
    upto_seq: int | None = None,
    budget: int | None = None,
    reader: str | None = None,
    count: Counter = estimate,
) -> Plan:
    """Decide what a brief shows, as `write` does. Without a `budget` no event of the tail is read."""
    upto = _upto(edition, upto_seq)
    row = policies.at(policies.rows(edition.log), max(upto, 1))
    given, cap = given_at(edition, upto, row)
    material, whole = Material(edition, upto, reader, given), budget is not None
    most = row.token_budget if budget is None else budget
    state = _fitted(material, cap, most, count, whole=whole)
    return Plan(material, Cut(cap + state.dropped, state.lines, state.header, state.first, whole), most)


def given_at(edition: Edition, upto_seq: int, row: Policy) -> tuple[list[Given], int]:
    """Return the cover at a seq, labelled and marked, and how many of its oldest are over the policy's bound."""
    found = current_sections(edition).filter(_stands_at(upto_seq, "anchor__"), anchor__to_seq__lte=upto_seq)
    sections, stale = list(found.order_by("anchor__from_seq")), stale_rollups(edition)
    cover = [Entry(one.anchor.level, one.anchor.from_seq, one.anchor.to_seq) for one in sections]
    seen = view_of(edition, upto_seq, row, cover)
    older = len(sections) - len(seen.recent)
    given = [Given(one, place >= older, one.pk in stale) for place, one in enumerate(sections)]
    return given, older - len(seen.older)


def _fitted(material: Material, cap: int, budget: int, count: Counter, *, whole: bool) -> fitting.State:
    entries = material.entries[cap:]
    costs = [fitting.Piece(count(rendering.line(one)), count(rendering.full(one))) for one in entries]
    tail = material.trail.costs(count, budget) if whole else fitting.Tail()

    def headings(state: fitting.State) -> int:
        cut = Cut(cap + state.dropped, state.lines, state.header, state.first, whole)
        labels = sum(count(label) for label in rendering.labels(entries[state.dropped :]))
        over_tail = count(material.heading(cut)) if whole else 0
        return count(material.header(cut)) + labels + over_tail

    return fitting.fit(costs, tail, headings, forms=rendering.FORMS, budget=budget)


def _upto(edition: Edition, upto_seq: int | None) -> int:
    edition.log.refresh_from_db()
    last = edition.log.last_seq
    if upto_seq is not None and not 1 <= upto_seq <= last:
        raise InvalidFilter(f"This log has the seqs 1 to {last}; {upto_seq} is none of them.", field="upto")
    return last if upto_seq is None else upto_seq
