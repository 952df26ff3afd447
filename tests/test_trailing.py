"""A tail is read backwards no further than the budget goes, and what is given is the same as if all were read."""

import random
from collections.abc import Iterator

import pytest
from django.db.models import QuerySet
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chronicle import brief, receipts, sections, trailing
from chronicle.envelope import PendingEvent, StoredEvent
from chronicle.fold import consolidate
from chronicle.log import append
from chronicle.models import Event, Log
from tests.builders import bookkeeping, log_of, marker, said
from tests.summarisers import Noting

pytestmark = pytest.mark.django_db

ALL_AT_ONCE = 10**9
READERS = (None, "booking", "search")


def anything(seed: int) -> Log:
    """A log of every kind of event: answers near and far from their requests, private ones, books, maybe sections."""
    draw = random.Random(seed)
    events: list[PendingEvent] = []
    for number in range(draw.randint(0, 40)):
        audience = draw.choice([(), (), ("booking",), ("search",)])
        requests = [one for one in events if one.kind == "tool_request"]
        kind = draw.choice(["message", "request", "response", "response", "books", "marker"])
        if kind == "request":
            events.append(said("{}", kind="tool_request", actor_kind="agent", actor="search", audience=audience))
        elif kind == "response" and requests:
            asked = draw.choice(requests).event_id
            events.append(said("ok", kind="tool_response", actor_kind="system", actor="x", causation=asked))
        elif kind == "books":
            events.append(bookkeeping())
        elif kind == "marker" and seed % 2:
            events.append(marker())
        else:
            events.append(said("word " * draw.randint(1, 30) + str(number), audience=audience))
    log = log_of(events)
    consolidate(log, summariser=Noting())
    return log


@pytest.mark.promise("K20", "K33", "K35")
@given(st.integers(0, 10**6))
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
def test_in_steps_of_any_size_the_text_and_the_cut_are_those_of_a_tail_read_at_once(seed: int) -> None:
    log = anything(seed)
    edition = sections.current_edition(log)
    reader, other = READERS[seed % 3], 1 + seed % 700
    for budget in (None, 90, other):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(trailing, "STEP", ALL_AT_ONCE)
            whole = brief.write(edition, budget=budget, reader=reader)
            patch.setattr(trailing, "STEP", 1 + seed % 3)
            assert brief.write(edition, budget=budget, reader=reader) == whole


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seqs of the events that were read for tails."""
    seqs: list[int] = []
    original = trailing.stored

    def noting(rows: QuerySet[Event]) -> Iterator[StoredEvent]:
        for one in original(rows):
            seqs.append(one.seq)
            yield one

    monkeypatch.setattr(trailing, "stored", noting)
    return seqs


@pytest.mark.parametrize("size", [500, 3000])
def test_what_is_read_depends_on_the_budget_and_not_on_the_tail(read: list[int], size: int) -> None:
    log = log_of(size)
    written = brief.write(sections.current_edition(log), budget=200)
    assert written.events > 3
    assert len(read) == trailing.STEP
    assert f"# Events 1-{size} as logged: {written.events} of {size} shown" in written.text
    assert f"1-{size - written.events} not shown, over the budget" in written.text


def test_a_receipt_of_a_cut_tail_is_made_again_from_what_it_shows(read: list[int]) -> None:
    log = log_of(500)
    text, number = _read(log)
    append(log, [said("Later.")])
    read.clear()
    assert receipts.text_of(receipts.receipts_of(log).get(number=number)) == text
    assert len(read) < 40


def _read(log: Log) -> tuple[str, int]:
    given = receipts.read_brief(log, by="concierge", capability="read", budget=200)
    return given.text, given.receipt.number
