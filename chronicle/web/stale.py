"""Rollups that are out of date, and what to do about each: draw it again, at a price that is said first.

Guarantees: a handful of queries for any number of them; nothing is ever redone by itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chronicle.divergence import Price, price_words, reroll_prices, row_for
from chronicle.models import Anchor, Edition, EditionState, Log
from chronicle.web.overview import superseded_children


@dataclass(frozen=True, slots=True)
class Stale:
    """A stale rollup: the current ids of the children it has not read, and the price of drawing it again."""

    anchor: Anchor
    children: Sequence[str]
    price: Price

    @property
    def price_words(self) -> str:
        return price_words(self.price)


def stale_of(log: Log, edition: Edition, children: Mapping[int, Sequence[str]]) -> list[Stale]:
    """Return the stale rollups among `children` (by anchor, as `superseded_children` gives them), oldest first."""
    if not children:
        return []
    anchors = edition.anchors.filter(pk__in=list(children)).order_by("level", "from_seq")
    prices = reroll_prices(edition, children, row_for(log))
    return [Stale(anchor, children[anchor.pk], prices[anchor.pk]) for anchor in anchors]


def stale_over(log: Log, anchor: Anchor) -> list[Stale]:
    """Return the anchor itself and the rollup right over it, where they are stale."""
    if anchor.edition.state != EditionState.CURRENT:
        return []
    wanted = {anchor.pk, anchor.rolled_up_into_id}
    found = superseded_children(anchor.edition)
    return stale_of(log, anchor.edition, {pk: which for pk, which in found.items() if pk in wanted})
