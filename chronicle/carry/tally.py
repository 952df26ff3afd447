"""What became of a carry's rows, by kind: landed, there already, or there with other words, with ids of the last."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from chronicle.carry import shapes

NAMED = 1000


class Tally:
    """Counts for one log. What is there with other words was kept as it stands; `ids` names it, NAMED at most."""

    def __init__(self) -> None:
        self.landed: Counter[str] = Counter()
        self.there: Counter[str] = Counter()
        self.other: Counter[str] = Counter()
        self.ids: dict[str, list[str]] = {}

    def land(self, kind: str, number: int = 1) -> None:
        """Count rows that were not here."""
        if number:
            self.landed[kind] += number

    def meet(self, kind: str, number: int = 1) -> None:
        """Count rows that are here as the file has them."""
        if number:
            self.there[kind] += number

    def differ(self, kind: str, name: str) -> None:
        """Count a row that is here with other words."""
        self.other[kind] += 1
        if self.other[kind] <= NAMED:
            self.ids.setdefault(kind, []).append(name)

    def as_json(self) -> dict[str, Any]:
        """Return the counts by kind; kinds without any row are left out."""
        met = [kind for kind in shapes.KINDS if self.landed[kind] or self.there[kind] or self.other[kind]]
        return {
            kind: {
                "landed": self.landed[kind],
                "there": self.there[kind],
                "other": self.other[kind],
                "other_ids": self.ids.get(kind, []),
            }
            for kind in met
        }


def total(tallies: Iterable[Tally], name: str) -> int:
    """Return how many rows landed, were there, or were there with other words (`name`), of every kind."""
    return sum(sum(getattr(tally, name).values()) for tally in tallies)
