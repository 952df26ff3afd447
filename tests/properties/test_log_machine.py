"""A log, its sections and its rollups under any sequence of appends, retries, runs and failures."""

from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from chronicle import sections
from chronicle.errors import ConcurrencyError, EventExists
from chronicle.fold import consolidate
from chronicle.log import DatabaseStore, append, create_log, read
from chronicle.models import Anchor, UnitFailure
from chronicle.reading import Anchors
from chronicle.sections import cover_of
from chronicle.verifier import Status
from chronicle.verify import verify_log
from tests.builders import bookkeeping, marker, said
from tests.summarisers import Noting

KINDS = st.sampled_from(["said", "said", "said", "secret", "marker", "bookkeeping"])


def _event(kind: str, number: int) -> Any:
    if kind == "marker":
        return marker()
    if kind == "bookkeeping":
        return bookkeeping()
    return said(f"message {number}", audience=("booking",) if kind == "secret" else ())


class LogMachine(RuleBasedStateMachine):
    """The model is a plain list of contents, in the order of appending."""

    def __init__(self) -> None:
        super().__init__()
        self.block = transaction.atomic()
        self.block.__enter__()
        self.log = create_log("demo")
        self.contents: list[str] = []
        self.keys: dict[str, int] = {}

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.block.__exit__(None, None, None)

    @rule(kinds=st.lists(KINDS, max_size=30))
    def append_a_batch(self, kinds: list[str]) -> None:
        events = [_event(kind, len(self.contents) + place) for place, kind in enumerate(kinds)]
        before = len(self.contents)
        appended = append(self.log, events)
        self.contents += [event.content for event in events]
        assert (appended.first_seq, appended.last_seq) == (before + 1, len(self.contents))

    @rule(count=st.integers(1, 15))
    def close_units(self, count: int) -> None:
        self.append_a_batch(["said", "marker"] * count)

    @rule(
        key=st.sampled_from(["a", "b", "c"]), words=st.text(st.characters(codec="ascii", categories=["L"]), min_size=1)
    )
    def record_under_a_key(self, key: str, words: str) -> None:
        recorded = DatabaseStore().record_once(self.log.public_id, said(words), key)
        assert recorded.replayed == (key in self.keys)
        if not recorded.replayed:
            self.contents.append(words)
            self.keys[key] = len(self.contents)
        assert recorded.event.seq == self.keys[key]
        self.log.refresh_from_db()

    @precondition(lambda self: self.contents)
    @rule()
    def append_what_cannot_be(self) -> None:
        stored = next(read(self.log))
        again = said("again", event_id=stored.event_id)
        for error, events, expected in [
            (EventExists, [said(), again], None),
            (ConcurrencyError, [said()], len(self.contents) + 1),
        ]:
            with pytest.raises(error):
                append(self.log, events, expected_last_seq=expected)

    @rule()
    def consolidate_all(self) -> None:
        UnitFailure.objects.all().delete()  # their waits are over
        consolidate(self.log, summariser=Noting())

    @rule(after=st.integers(1, 6))
    def consolidate_and_fail(self, after: int) -> None:
        consolidate(self.log, summariser=Noting(fails=lambda call: call >= after))

    @invariant()
    def the_log_is_what_was_appended(self) -> None:
        events = list(read(self.log))
        assert [event.content for event in events] == self.contents
        assert [event.seq for event in events] == list(range(1, len(events) + 1))

    @invariant()
    def the_cover_and_the_tail_are_a_partition(self) -> None:
        edition = sections.current_edition(self.log)
        through = 0
        for section in cover_of(edition):
            assert section.anchor.from_seq == through + 1
            through = section.anchor.to_seq
        assert through == sections.consolidated_through(edition) <= len(self.contents)
        assert Anchors(edition).holes() == []

    @invariant()
    def every_rollup_is_the_union_of_its_children(self) -> None:
        for rollup in Anchor.objects.filter(level__gte=1):
            children = list(rollup.children.order_by("from_seq"))
            spans = [seq for child in children for seq in range(child.from_seq, child.to_seq + 1)]
            assert spans == list(range(rollup.from_seq, rollup.to_seq + 1))
            assert {child.level for child in children} == {rollup.level - 1}
            assert sum(child.event_count for child in children) == rollup.event_count

    @invariant()
    def it_verifies(self) -> None:
        assert verify_log(self.log).status is Status.OK


@pytest.mark.promise("A1", "A3", "K2", "K17", "K19", "K20", "S46", "S49", "C25", "K10")
@pytest.mark.django_db
def test_a_log_and_its_chronicle_hold_under_any_sequence() -> None:
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        LogMachine,
        settings=settings(
            max_examples=25, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
