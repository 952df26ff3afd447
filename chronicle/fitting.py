"""How a brief is fitted to a budget: a pure function of what each piece costs.

Guarantees: the states a brief can be in are one chain, from everything to nothing: the oldest entries become
a line, then the oldest lines are dropped, then the newest entry becomes a line, then the oldest events of the
tail are left out, then that line goes, then the header is shortened. The first state that costs no more than
the budget is taken, so more budget never shows less, and nothing is ever above it. What is left out is
always the oldest of its kind. A tail that is cut starts where no request is missing at its start.
Refuses: a budget below 1 or above MAX_BUDGET.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from chronicle.errors import InvalidPolicy

MAX_BUDGET = 10_000_000  # tokens


class Piece(NamedTuple):
    """Tokens of an entry of the cover: as a line, and in full."""

    line: int
    full: int


@dataclass(frozen=True, slots=True)
class Tail:
    """Tokens of each event of a tail, oldest first; `starts` are the positions at which it may start when cut.

    `context` is what the requests cost that only a whole tail brings along. `before` counts older events whose cost
    is not known, because those after them are over the budget by themselves; positions count them.
    """

    costs: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()
    context: int = 0
    before: int = 0

    @property
    def size(self) -> int:
        return self.before + len(self.costs)


class State(NamedTuple):
    """What is shown: `dropped` entries are not, the next `lines` are a line each, the others in full.

    `first` is the position of the first event of the tail that is shown; `header` counts how often the header
    was shortened; a shortened header stands alone.
    """

    dropped: int
    lines: int
    first: int
    header: int


def fit(
    pieces: Sequence[Piece], tail: Tail, headings: Callable[[State], int], *, forms: int, budget: int | None
) -> State:
    """Return the first state whose cost is within the budget; without a budget, everything is shown.

    `headings` is what headers and labels cost in a state; `forms` is how many forms the header has, the last of
    which costs nothing. A tail that is given whole, beside the budget, is an empty one here.
    """
    if budget is not None and not 1 <= budget <= MAX_BUDGET:
        raise InvalidPolicy(f"A budget is 1 to {MAX_BUDGET:,} tokens, not {budget}.", field="budget")
    lines = [0, *accumulate(piece.line for piece in pieces)]
    full = [0, *accumulate(piece.full for piece in pieces)]
    events = [0, *accumulate(tail.costs)]
    for state in states(len(pieces), tail, forms):
        cut = state.dropped + state.lines
        cost = lines[cut] - lines[state.dropped] + full[-1] - full[cut]
        cost += events[-1] - events[max(state.first - tail.before, 0)] + (0 if state.first else tail.context)
        if budget is None or (cost <= budget and cost + headings(state) <= budget):
            return state
    raise InvalidPolicy("The last form of a header must cost nothing.")


def states(pieces: int, tail: Tail, forms: int) -> Iterator[State]:
    """Yield every state, from the one that shows most to the one that shows least."""
    for lines in range(max(pieces, 1)):
        yield State(0, lines, 0, 0)
    for dropped in range(1, pieces):
        yield State(dropped, pieces - 1 - dropped, 0, 0)
    last = State(max(pieces - 1, 0), min(pieces, 1), 0, 0)
    if pieces:
        yield last
    for first in (*tail.starts, tail.size) if tail.size else ():
        last = last._replace(first=first)
        yield last
    for header in range(forms):
        yield State(pieces, 0, tail.size, header)
