"""Draws of one edition: which summariser a slot is drawn by, through which pins, and what becomes of them.

Guarantees: level 0, rollups and re-consolidations are drawn the same way; what is drawn is kept in the slot's
unit of the pin ledger before it is used, so a crash costs no second call; `commit` promotes it in the
transaction that writes the section; an answer that cannot be used is abandoned with its reason, and a draw
that was cut off keeps its parts for the next try; `settle` abandons what was drawn for a slot that another
worker has written, and nothing else: who holds the lease goes on with what was drawn before it.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction

from chronicle import drawing, policies
from chronicle.errors import LeaseLost, SummaryFailed
from chronicle.models import Edition, Log, Policy, Section
from chronicle.pins import OpenUnit, PinLedger
from chronicle.summarisers import nothing_public
from chronicle.summarisers.answer import cut_title, fallback_rollup_title, fallback_title
from chronicle.summarisers.protocol import Child, Draft, Pinnable, Resolver, Span, Summariser

type Through = Callable[[OpenUnit], Resolver]
type Fence = Callable[[], None]

OVERTAKEN = "superseded: another worker wrote this section first"
UNIT = re.compile(
    r"(?P<edition>\d+)/(?:L(?P<level>\d+):)?(?P<first>\d+)-(?P<last>\d+)(?:#(?P<generation>\d+))?(?:~.*)?"
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """The words of a slot, or the error that kept them away; `name` is the summariser's."""

    name: str
    draft: Draft | Exception
    unit: OpenUnit | None = None

    def commit(self) -> None:
        """Promote the pins; in the transaction that writes what rests on them, after the section."""
        if self.unit is not None:
            self.unit.commit()

    def give_up(self, reason: str) -> None:
        """Leave one event that says which draws were made for nothing."""
        if self.unit is not None:
            self.unit.abandon(reason)

    def wasted_tokens(self) -> int:
        draft = self.draft
        return (draft.tokens_in or 0) + (draft.tokens_out or 0) if isinstance(draft, Draft) else 0


def words_of(name: str, draft: Draft) -> dict[str, Any]:
    """Return what a NewSection takes of a draft, by field name."""
    return {
        "title": cut_title(draft.title),
        "prose": draft.prose,
        "summariser": name,
        "model": draft.model,
        "prompt_digest": draft.prompt_digest,
        "tokens_in": draft.tokens_in,
        "tokens_out": draft.tokens_out,
        "cost": draft.cost,
        "pins": draft.pins,
    }


def settle(log: Log) -> int:
    """Abandon what is left of draws for slots that are written by now; return how many units. No transaction needed."""
    ledger = PinLedger(log)
    lost = [left.unit for left in ledger.scratch_units() if _written(log, left.unit)]
    for unit in lost:
        ledger.open(unit).abandon(OVERTAKEN)
    return len(lost)


def _written(log: Log, unit: str) -> bool:
    """True when the slot of a unit has its section: whoever wrote it has promoted the pins that it rests on."""
    slot = UNIT.fullmatch(unit)
    if slot is None:
        return False
    found = Section.objects.filter(
        anchor__edition__log=log,
        anchor__edition__number=slot["edition"],
        anchor__level=slot["level"] or 0,
        anchor__from_seq=slot["first"],
        anchor__to_seq=slot["last"],
        generation__gte=slot["generation"] or 1,
    )
    return found.exists()


class Draws:
    """`summariser` overrides what policies name; `through` puts another resolver (a replay) before the ledger.

    `fence` raises LeaseLost when the work is another's by now: then what is drawn is left to that one.
    """

    def __init__(
        self,
        edition: Edition,
        *,
        summariser: Summariser | None = None,
        through: Through | None = None,
        fence: Fence | None = None,
    ) -> None:
        self._edition = edition
        self._ledger = PinLedger(edition.log)
        self._summariser = summariser
        self._through = through
        self._fence = fence

    def summariser(self, row: Policy) -> Summariser:
        """Return the one that a slot under this policy row is drawn by. Raises InvalidPolicy."""
        return self._summariser or policies.summariser_for(row)

    def refuse_asynchronous(self, rows: Sequence[Policy]) -> None:
        """Raise TypeError when only the awaited path can draw under one of these rows; nothing is called."""
        for row in [] if self._summariser else rows:
            drawing.refuse_asynchronous(policies.summariser_for(row))
        if self._summariser:
            drawing.refuse_asynchronous(self._summariser)

    def section(self, slot: str, span: Span, row: Policy) -> drawing.Steps[Drawn]:
        """Draw a span; `slot` is the section's id with its generation. A span with nothing public needs no call."""
        if not span.said:
            return Drawn("fixed", nothing_public())
        return (yield from self._draw(slot, row, lambda one: one.section(span), fallback_title(span.began, span.ended)))

    def rollup(self, slot: str, children: Sequence[Child], row: Policy) -> drawing.Steps[Drawn]:
        """Draw a rollup from what its children say; without any, no call."""
        if not children:
            return Drawn(self.summariser(row).name, nothing_public())
        return (yield from self._draw(slot, row, lambda one: one.rollup(children), fallback_rollup_title(children)))

    def _draw(self, slot: str, row: Policy, ask: Callable[[Summariser], object], fallback: str) -> drawing.Steps[Drawn]:
        summariser, unit, resolver = self.summariser(row), None, None
        name = summariser.name
        if isinstance(summariser, Pinnable):
            unit = self._ledger.open(f"{self._edition.number}/{slot}")
            resolver = self._through(unit) if self._through else unit
            summariser = summariser.pinned(resolver)
        draft = yield lambda: ask(summariser)  # type: ignore[return-value,misc]
        assert draft is not None  # noqa: S101 - the driver answers every draw
        drawn = Drawn(name, _titled(draft, fallback, getattr(resolver, "keys", unit.keys if unit else ())), unit)
        if isinstance(draft, SummaryFailed):
            self._give_up(drawn, draft)
        return drawn

    def _give_up(self, drawn: Drawn, error: SummaryFailed) -> None:
        """Abandon an answer that no next try can use, under the lease: else it is not this worker's to drop."""
        try:
            with transaction.atomic():
                if self._fence is not None:
                    self._fence()
                drawn.give_up(f"{error.name}: {error}"[:500])
        except LeaseLost:
            return


def _titled(draft: Draft | Exception, fallback: str, keys: Sequence[str]) -> Draft | Exception:
    if isinstance(draft, Exception):
        return draft
    title = draft.title if draft.title.strip() else fallback
    return replace(draft, title=cut_title(title), pins=draft.pins or tuple(keys))
