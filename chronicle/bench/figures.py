"""Figures: a median, its unit, and what it is measured against."""

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """One measurement. `against` names the yardstick, `ratio` is value over the yardstick's (1 is as fast)."""

    name: str
    db: str
    value: float
    unit: str
    against: str = ""
    ratio: float | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured. `quick` proves that it runs; only the whole run gives figures worth quoting."""

    singles: int = 200
    batch: int = 1000
    batches: int = 7
    lines: int = 4000
    events: int = 10_000
    sections: tuple[int, ...] = (500, 5_000, 50_000)
    visits: int = 9


QUICK = Size(singles=5, batch=20, batches=2, lines=120, events=400, sections=(20, 200), visits=2)


def seconds(work: Callable[[], object], times: int) -> float:
    """The median time of `times` calls."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def compare(name: str, value: float, *, unit: str, scale: float, against: str, yardstick: float) -> Figure:
    """A figure of `value` seconds in `unit` (`scale` of them a second), beside the seconds of a yardstick."""
    ratio = round(value / yardstick, 2) if yardstick else None
    return Figure(name, "sqlite", round(value * scale, 3), unit, against, ratio)
