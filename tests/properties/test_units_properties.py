"""Units hold their rules for any log and any policies."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronicle.envelope import CONTENT_KINDS, Kind
from chronicle.units import ALWAYS_CLOSE, UnitEvent, UnitPolicy, closed_units

Rows = list[tuple[Kind, str, int, bool, str]]
TYPES = ("message", "note", "scene.ended", "unit.closed", "compaction")

shapes = st.lists(
    st.tuples(
        st.sampled_from([*Kind, Kind.MESSAGE, Kind.TOOL_REQUEST]),
        st.sampled_from([*TYPES, "message", "message", "message"]),
        st.integers(0, 500),
        st.booleans(),
        st.sampled_from(["", "pressure", "manual"]),
    ),
    max_size=120,
)
any_policy = st.builds(
    UnitPolicy,
    from_seq=st.integers(1, 120),
    boundary=st.sampled_from([(), ("chronicle/note",), ("chronicle/scene.ended", "chronicle/note")]),
    interval_messages=st.integers(1, 50),
    interval_tokens=st.none() | st.integers(1, 2000),
    max_events_per_section=st.integers(1, 60),
)
policy_rows = st.lists(any_policy, max_size=4, unique_by=lambda policy: policy.from_seq)


def events_of(rows: Rows) -> list[UnitEvent]:
    return [
        UnitEvent(seq=seq, kind=kind, type=name, tokens=tokens, public=public, reason=reason)
        for seq, (kind, name, tokens, public, reason) in enumerate(rows, start=1)
    ]


@pytest.mark.promise("A30", "A31", "A33", "A36", "K11")
@given(shapes, policy_rows)
def test_units_are_disjoint_whole_and_in_order(rows: Rows, policies: list[UnitPolicy]) -> None:
    events = events_of(rows)
    expected = 1
    for unit in closed_units(events, policies):
        assert unit.from_seq == expected <= unit.to_seq == unit.unit_seq
        inside = [event for event in events[unit.from_seq - 1 : unit.to_seq] if event.kind in CONTENT_KINDS]
        assert unit.event_count == len(inside)
        assert unit.public_count == sum(event.public for event in inside)
        assert events[unit.to_seq - 1].kind != Kind.BOOKKEEPING
        expected = unit.to_seq + 1


@pytest.mark.promise("A36", "K11")
@given(shapes, policy_rows, st.integers(0, 120))
def test_the_units_of_a_prefix_are_a_prefix_of_the_units(rows: Rows, policies: list[UnitPolicy], length: int) -> None:
    events = events_of(rows)
    whole = closed_units(events, policies)
    part = closed_units(events[:length], policies)
    assert part == whole[: len(part)]
    assert part == [unit for unit in whole if unit.to_seq <= length]


@pytest.mark.promise("A32", "A36")
@given(shapes, policy_rows)
def test_going_on_after_any_unit_gives_the_rest_of_the_units(rows: Rows, policies: list[UnitPolicy]) -> None:
    events = events_of(rows)
    whole = closed_units(events, policies)
    for place, unit in enumerate(whole, start=1):
        assert closed_units(events, policies, since_seq=unit.to_seq) == whole[place:]
        assert closed_units(events[unit.to_seq :], policies, since_seq=unit.to_seq) == whole[place:]


@pytest.mark.promise("K25")
@given(shapes, st.integers(1, 50), st.data())
def test_bookkeeping_changes_no_unit_but_for_where_it_lies(rows: Rows, interval: int, data: st.DataObject) -> None:
    policies = [UnitPolicy(interval_messages=interval)]
    spoken = [row for row in rows if row[0] != Kind.BOOKKEEPING]
    mixed = list(spoken)
    for _ in range(data.draw(st.integers(0, 20))):
        mixed.insert(data.draw(st.integers(0, len(mixed))), (Kind.BOOKKEEPING, "unit.closed", 500, True, "manual"))
    plain, booked = closed_units(events_of(spoken), policies), closed_units(events_of(mixed), policies)
    assert [(unit.kind, unit.event_count) for unit in plain] == [(unit.kind, unit.event_count) for unit in booked]


@pytest.mark.promise("S16", "S23", "K11")
@given(shapes, any_policy)
def test_no_unit_is_larger_than_its_policy_and_none_closes_early(rows: Rows, policy: UnitPolicy) -> None:
    policy = replace(policy, from_seq=1)
    events = events_of(rows)
    for unit in closed_units(events, [policy]):
        inside = [event for event in events[unit.from_seq - 1 : unit.to_seq] if event.kind != Kind.BOOKKEEPING]
        tokens = sum(event.tokens for event in inside if event.kind in CONTENT_KINDS)
        closes = inside[-1].type_name in {*ALWAYS_CLOSE, *policy.boundary}
        full = unit.event_count >= policy.interval_messages or len(inside) >= policy.max_events_per_section
        assert unit.event_count <= policy.interval_messages
        assert len(inside) <= policy.max_events_per_section
        assert closes or full or (policy.interval_tokens is not None and tokens >= policy.interval_tokens)
