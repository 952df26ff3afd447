"""Fitting and the text together, without a database: 1 to 300 sections at every budget that was promised."""

from datetime import timedelta
from itertools import pairwise

import pytest

from chronicle import rendering
from chronicle.fitting import Piece, State, Tail, fit
from chronicle.tokens import estimate

BUDGETS = (1, 50, 120, 140, 300, 2000, 32000)
TAIL = ("Still open.\n", "And this, which is a little longer than that.\n")
SIZE = 3  # events of a section


def entries_of(count: int) -> list[rendering.Entry]:
    """Entries of unequal length, the newest recent."""
    return [
        rendering.Entry(
            f"{place * SIZE + 1}-{place * SIZE + SIZE}",
            place * SIZE + 1,
            place * SIZE + SIZE,
            f"Section {place} " + "of a dinner " * (place % 4),
            "Dina asked for a quiet table for eight. " * (1 + place * 7 % 12),
            recent=place > count - 8,
            stale=place % 5 == 0,
        )
        for place in range(count)
    ]


def fitted(entries: list[rendering.Entry], budget: int) -> tuple[State, str]:
    """Return the state that fits, and the text that it gives."""
    through, last = entries[-1].to_seq, entries[-1].to_seq + len(TAIL)
    facts = rendering.Facts(last, through, "booking", through, len(entries), len(entries), 2, timedelta(days=3))

    def header(state: State) -> str:
        return rendering.header(facts, entries, state.dropped, state.lines, form=state.header, alone=True)

    def heading(state: State) -> str:
        if state.header:
            return ""
        cut = through + state.first if state.first else None
        shown = len(TAIL) - state.first
        return rendering.heading(rendering.TailFacts(through + 1, last, shown, len(TAIL), 0, 0, cut))

    def headings(state: State) -> int:
        labels = rendering.labels(entries[state.dropped :])
        return estimate(header(state)) + sum(map(estimate, labels)) + estimate(heading(state))

    costs = [Piece(estimate(rendering.line(one)), estimate(rendering.full(one))) for one in entries]
    tail = Tail(tuple(map(estimate, TAIL)), (1,))
    state = fit(costs, tail, headings, forms=rendering.FORMS, budget=budget)
    view = rendering.joined(rendering.view(entries, state.dropped, state.lines))
    return state, header(state) + view + heading(state) + "".join(TAIL[state.first :])


@pytest.mark.promise("K35", "S77", "S78")
def test_from_1_to_300_sections_no_budget_is_passed_no_hole_unstated_and_more_never_shows_less() -> None:
    met = 0
    for count in range(1, 301):
        entries = entries_of(count)
        found = [fitted(entries, budget) for budget in BUDGETS]
        for budget, (state, text) in zip(BUDGETS, found, strict=True):
            assert estimate(text) <= budget, (count, budget)
            assert states_its_holes(entries, state, text) or budget < 12, (count, budget)
            met += 1
        for (small, less), (large, more) in pairwise(found):
            assert shown(large, count) >= shown(small, count) and len(more) >= len(less), count
    assert met == 300 * len(BUDGETS)


def shown(state: State, count: int) -> tuple[int, int, int, int]:
    """How much of each kind stands in the text."""
    full = count - state.dropped - state.lines
    return (-state.header, -state.first, count - state.dropped, full)


def states_its_holes(entries: list[rendering.Entry], state: State, text: str) -> bool:
    if state.header:
        return f"Nothing of 1-{entries[-1].to_seq + len(TAIL)} is shown" in text
    gone, through = entries[: state.dropped], entries[-1].to_seq
    there = [f"[{one.ref}" in text for one in entries]
    stated = not gone or f"; 1-{gone[-1].to_seq} not shown" in text
    cut = not state.first or f"; {through + 1}-{through + state.first} not shown, over the budget" in text
    return there == [False] * state.dropped + [True] * (len(entries) - state.dropped) and stated and cut
