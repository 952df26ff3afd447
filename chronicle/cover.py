"""Which sections to roll up: a pure function of the cover and the policy.

Guarantees: a batch is a contiguous stretch of one level, at least two, its oldest; repeated until it
answers None, the cover stays a partition and holds at most max_recent + max_older entries. Only where
no two neighbours are of one level is there nothing left to roll: with the usual bound of 20 not
before a million sections, or where an import brought such a mix.
A run is a maximal contiguous stretch of one level; nothing here relies on there being one run a level.
Refuses: policy values outside their ranges; covers with a hole, an overlap or an inverted range;
children of a rollup that are not whole, contiguous and one level down.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from chronicle.errors import InvalidPolicy, InvalidSection


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a cover: a level and a range, both ends inclusive. `ref` is the caller's own."""

    level: int
    from_seq: int
    to_seq: int
    ref: object = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """`12-31`, or `L1:1-320` above level 0."""
        return f"{f'L{self.level}:' if self.level else ''}{self.from_seq}-{self.to_seq}"


@dataclass(frozen=True, slots=True)
class RollupPolicy:
    """When to roll up: at `threshold` entries of a level, its oldest `batch`; and the bound of the cover."""

    threshold: int = 12
    batch: int = 8
    max_recent: int = 8
    max_older: int = 12

    def __post_init__(self) -> None:
        _check_between("rollup_batch", self.batch, 2, 100)
        _check_between("rollup_threshold", self.threshold, self.batch, 200)
        _check_between("max_recent", self.max_recent, 1, 100)
        _check_between("max_older", self.max_older, 0, 100)

    @property
    def bound(self) -> int:
        """How many entries a cover may hold."""
        return self.max_recent + self.max_older


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries to roll into one, oldest first. `level` is theirs."""

    level: int
    entries: tuple[Entry, ...]

    @property
    def rollup(self) -> Entry:
        """The entry that will stand for them: one level up, over exactly their range."""
        return Entry(self.level + 1, self.entries[0].from_seq, self.entries[-1].to_seq)


def next_rollup(cover: Sequence[Entry], policy: RollupPolicy) -> Batch | None:
    """Return the batch to roll next, or None when the cover needs none. `cover` is in order of from_seq."""
    return next(due_rollups(cover, policy), None)


def due_rollups(cover: Sequence[Entry], policy: RollupPolicy) -> Iterator[Batch]:
    """Yield every batch that is due, first choice first; one that fails does not keep the others back.

    Levels from 0 up, each run that has reached the threshold; and while the cover is over its bound,
    each run of at least two, the fullest first. After one is rolled, ask again.
    """
    runs = runs_of(cover)
    for run in sorted(runs, key=lambda run: run[0].level):
        if len(run) >= policy.threshold:
            yield Batch(run[0].level, run[: policy.batch])
    if len(cover) <= policy.bound:
        return
    for run in sorted(runs, key=lambda run: (-len(run), run[0].level)):
        if 2 <= len(run) < policy.threshold:
            yield Batch(run[0].level, run[: policy.batch])


def runs_of(cover: Sequence[Entry]) -> list[tuple[Entry, ...]]:
    """Return the maximal contiguous stretches of one level, oldest first."""
    runs: list[list[Entry]] = []
    for entry in cover:
        if runs and runs[-1][-1].level == entry.level and _adjoin(runs[-1][-1], entry):
            runs[-1].append(entry)
        else:
            runs.append([entry])
    return [tuple(run) for run in runs]


def rolled(cover: Sequence[Entry], batch: Batch) -> list[Entry]:
    """Return the cover with the batch's rollup in the place of its entries."""
    check_children(batch.entries, batch.rollup)
    start = cover.index(batch.entries[0])
    if tuple(cover[start : start + len(batch.entries)]) != batch.entries:
        raise InvalidSection(f"the entries of {batch.rollup.name} are not in the cover as they were read")
    return [*cover[:start], batch.rollup, *cover[start + len(batch.entries) :]]


def settle(cover: Sequence[Entry], policy: RollupPolicy) -> list[Entry]:
    """Return the cover once nothing is due any more."""
    entries = list(cover)
    while (batch := next_rollup(entries, policy)) is not None:
        entries = rolled(entries, batch)
    return entries


def check_children(children: Sequence[Entry], rollup: Entry) -> None:
    """Raise InvalidSection unless `children` are what `rollup` may stand for, naming what does not fit.

    At least two, all one level down, contiguous, together exactly its range.
    """
    if len(children) < 2:
        raise InvalidSection(f"rollup {rollup.name} needs at least two sections, it has {len(children)}")
    for child in children:
        if child.level != rollup.level - 1:
            raise InvalidSection(f"rollup {rollup.name} reads level {rollup.level - 1}, {child.name} is not of it")
    check_partition(children, rollup.to_seq, first=rollup.from_seq)


def check_partition(entries: Sequence[Entry], last: int, *, first: int = 1) -> None:
    """Raise InvalidSection unless `entries` cover `first` to `last` whole and once, naming the first place."""
    expected = first
    for entry in entries:
        if entry.to_seq < entry.from_seq:
            raise InvalidSection(f"section {entry.name} ends before it starts")
        if entry.from_seq > expected:
            raise InvalidSection(f"no section covers {expected}-{entry.from_seq - 1}, before {entry.name}")
        if entry.from_seq < expected:
            raise InvalidSection(f"section {entry.name} starts at {entry.from_seq}, not at {expected}: it overlaps")
        expected = entry.to_seq + 1
    if expected != last + 1:
        raise InvalidSection(f"the sections end at {expected - 1}, not at {last}")


def crosses(one: Entry, other: Entry) -> bool:
    """True when two ranges overlap and neither holds the other, so that no nesting can place both."""
    first, second = sorted((one, other), key=lambda entry: (entry.from_seq, -entry.to_seq))
    return first.from_seq < second.from_seq <= first.to_seq < second.to_seq


def _adjoin(one: Entry, other: Entry) -> bool:
    return one.to_seq + 1 == other.from_seq


def _check_between(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise InvalidPolicy(f"{name} is {low} to {high}, not {value}", field=name)
