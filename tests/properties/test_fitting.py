"""Fitting: whatever the costs, never above the budget, more never shows less, and only the oldest is left out."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronicle.errors import InvalidPolicy
from chronicle.fitting import Piece, State, Tail, fit, states

FORMS = 4

costs = st.integers(1, 400)
pieces = st.lists(st.tuples(costs, costs).map(lambda pair: Piece(pair[0], sum(pair))), max_size=25)


@st.composite
def tails(draw: st.DrawFn) -> Tail:
    events = tuple(draw(st.lists(costs, max_size=30)))
    starts = sorted(draw(st.sets(st.integers(1, len(events) - 1)))) if len(events) > 1 else []
    return Tail(events, tuple(starts), draw(st.integers(0, 50)) if events else 0)


def headings_of(sizes: tuple[int, int]) -> Callable[[State], int]:
    """A header whose first form varies with what is dropped, as digits do."""
    return lambda state: (sizes[0] + len(str(state.dropped)), sizes[1], 1, 0)[state.header]


def cost(state: State, pieces: list[Piece], tail: Tail, headings: Callable[[State], int]) -> int:
    cut = state.dropped + state.lines
    shown = sum(piece.line for piece in pieces[state.dropped : cut]) + sum(piece.full for piece in pieces[cut:])
    return headings(state) + shown + sum(tail.costs[state.first :]) + (0 if state.first else tail.context)


def less(state: State) -> tuple[int, int, int, int]:
    return (state.dropped, state.dropped + state.lines, state.first, state.header)


@pytest.mark.promise("S77", "S78", "K35", "DS4")
@given(pieces, tails(), st.tuples(st.integers(20, 120), st.integers(2, 20)), st.integers(1, 9000))
def test_it_is_never_above_the_budget_and_shows_the_most_that_fits(
    pieces: list[Piece], tail: Tail, sizes: tuple[int, int], budget: int
) -> None:
    headings = headings_of(sizes)
    state = fit(pieces, tail, headings, forms=FORMS, budget=budget)
    assert cost(state, pieces, tail, headings) <= budget
    for richer in states(len(pieces), tail, FORMS):
        if richer == state:
            break
        assert cost(richer, pieces, tail, headings) > budget


@pytest.mark.promise("S77", "K35")
@given(pieces, tails(), st.lists(st.integers(1, 9000), min_size=2, max_size=20))
def test_more_budget_never_shows_less(pieces: list[Piece], tail: Tail, budgets: list[int]) -> None:
    headings = headings_of((60, 12))
    found = [fit(pieces, tail, headings, forms=FORMS, budget=budget) for budget in sorted(budgets)]
    for small, large in pairwise(found):
        assert all(b <= a for a, b in zip(less(small), less(large), strict=True))


@pytest.mark.promise("S76", "K35")
@given(st.integers(1, 25), tails())
def test_the_states_are_one_chain_that_leaves_out_the_oldest_first(count: int, tail: Tail) -> None:
    chain = list(states(count, tail, FORMS))
    assert chain[0] == State(0, 0, 0, 0)
    assert chain[-1] == State(count, 0, len(tail.costs), FORMS - 1)
    for before, after in pairwise(chain):
        assert all(a <= b for a, b in zip(less(before), less(after), strict=True))
    newest_in_full = [state for state in chain if state.dropped + state.lines < count]
    assert State(count - 1, 0, 0, 0) in newest_in_full  # all older lines are gone before the newest loses its text


@pytest.mark.promise("K33")
@given(pieces, tails(), st.integers(1, 4000))
def test_a_cut_tail_starts_where_it_may(pieces: list[Piece], tail: Tail, budget: int) -> None:
    state = fit(pieces, tail, headings_of((60, 12)), forms=FORMS, budget=budget)
    assert state.first in {0, *tail.starts, len(tail.costs)}


def test_without_a_budget_everything_is_shown() -> None:
    assert fit([Piece(1, 900)] * 3, Tail((900,)), headings_of((60, 12)), forms=FORMS, budget=None) == State(0, 0, 0, 0)


def test_a_budget_below_one_is_refused() -> None:
    with pytest.raises(InvalidPolicy, match="1 to 10,000,000 tokens, not 0"):
        fit([], Tail(), headings_of((60, 12)), forms=FORMS, budget=0)
