"""Where units close: bounds, kinds, what counts and what does not."""

from collections.abc import Iterator
from typing import Any

import pytest

from chronicle import canonical
from chronicle.envelope import Kind
from chronicle.errors import InvalidEvent, InvalidPolicy
from chronicle.units import Unit, UnitCloser, UnitEvent, UnitKind, UnitPolicy, closed_units, iter_units, unit_event
from tests.stored_events import stored

SCENE = "play/scene.ended"
ON_SCENES = (UnitPolicy(boundary=(SCENE,)),)


def message(seq: int, kind: str = Kind.MESSAGE, **fields: Any) -> UnitEvent:
    return UnitEvent(seq=seq, kind=kind, type=str(kind), **fields)


def scene(seq: int) -> UnitEvent:
    return UnitEvent(seq=seq, kind=Kind.MARKER, type="scene.ended", namespace="play")


def cut(seq: int, reason: str) -> UnitEvent:
    return UnitEvent(seq=seq, kind=Kind.MARKER, type="unit.closed", reason=reason)


def messages(first: int, last: int) -> list[UnitEvent]:
    return [message(seq) for seq in range(first, last + 1)]


def bounds(units: list[Unit]) -> list[tuple[int, int]]:
    return [(unit.from_seq, unit.to_seq) for unit in units]


@pytest.mark.promise("A29", "A30")
def test_a_unit_ends_at_the_marker_that_its_policy_names_with_the_marker_inside() -> None:
    units = closed_units([*messages(1, 4), scene(5), *messages(6, 8)], ON_SCENES)
    assert units == [Unit(from_seq=1, to_seq=5, unit_seq=5, kind=UnitKind.UNIT, event_count=4, public_count=4)]


@pytest.mark.promise("A29")
def test_a_marker_is_named_by_namespace_and_type_together() -> None:
    stranger = UnitEvent(seq=2, kind=Kind.MARKER, type="scene.ended", namespace="film")
    assert closed_units([message(1), stranger, message(3)], ON_SCENES) == []


@pytest.mark.promise("A31")
def test_several_markers_in_one_batch_give_disjoint_ranges() -> None:
    events = [*messages(1, 4), scene(5), *messages(6, 8), scene(9), message(10)]
    assert bounds(closed_units(events, ON_SCENES)) == [(1, 5), (6, 9)]


@pytest.mark.promise("A32")
def test_a_boundary_already_covered_gives_no_unit() -> None:
    events = [*messages(1, 4), scene(5), *messages(6, 8), scene(9)]
    assert bounds(closed_units(events, ON_SCENES, since_seq=5)) == [(6, 9)]
    assert closed_units(events, ON_SCENES, since_seq=9) == []


@pytest.mark.promise("A33")
def test_nothing_to_cover_gives_no_unit() -> None:
    assert closed_units([], ON_SCENES) == []
    assert closed_units(messages(1, 39)) == []


@pytest.mark.promise("A34")
def test_two_markers_in_a_row_give_a_unit_of_the_second_marker_alone() -> None:
    units = closed_units([message(1), scene(2), scene(3)], ON_SCENES)
    assert units[1] == Unit(from_seq=3, to_seq=3, unit_seq=3, kind=UnitKind.UNIT, event_count=0, public_count=0)


@pytest.mark.promise("A36", "K11")
def test_the_same_log_gives_the_same_units_in_one_pass_or_in_many() -> None:
    events = [*messages(1, 50), scene(51), *messages(52, 140)]
    whole = closed_units(events, ON_SCENES)
    pieces, through = [], 0
    for last in range(1, 141):
        fresh = closed_units(events[:last], ON_SCENES, since_seq=through)
        pieces += fresh
        through = fresh[-1].to_seq if fresh else through
    assert pieces == whole == closed_units(events, ON_SCENES)
    assert bounds(whole) == [(1, 40), (41, 51), (52, 91), (92, 131)]


@pytest.mark.promise("K11", "S16")
def test_a_unit_ends_at_the_fortieth_content_event_and_not_before() -> None:
    assert closed_units(messages(1, 39)) == []
    assert closed_units(messages(1, 40)) == [Unit(1, 40, 40, UnitKind.INTERVAL, 40, 40)]


@pytest.mark.promise("K11", "S16")
@pytest.mark.parametrize(("tokens", "last"), [(300, 4), (333, 4), (334, 3), (5000, 1), (10, 40)])
def test_a_unit_ends_at_the_interval_or_at_the_tokens_whichever_comes_first(tokens: int, last: int) -> None:
    policy = UnitPolicy(interval_tokens=1000)
    units = closed_units([message(seq, tokens=tokens) for seq in range(1, 41)], [policy])
    assert bounds(units)[0] == (1, last)


@pytest.mark.promise("S23")
def test_no_unit_holds_more_events_than_the_policy_allows_whatever_their_kind() -> None:
    other = [UnitEvent(seq=seq, kind=Kind.MARKER, type="note") for seq in range(1, 1001)]
    assert bounds(closed_units(other)) == [(1, 400), (401, 800)]
    policy = UnitPolicy(interval_messages=1000, max_events_per_section=100)
    assert bounds(closed_units(messages(1, 250), [policy])) == [(1, 100), (101, 200)]


@pytest.mark.promise("K11")
@pytest.mark.parametrize(
    ("reason", "kind"), [("pressure", "pressure"), ("manual", "manual"), ("", "unit"), ("interval", "unit")]
)
def test_the_reserved_marker_always_closes_and_says_why(reason: str, kind: str) -> None:
    (unit,) = closed_units([message(1), cut(2, reason)])
    assert (unit.to_seq, unit.kind) == (2, kind)


@pytest.mark.promise("K11")
def test_a_compaction_marker_always_closes() -> None:
    assert bounds(closed_units([message(1), UnitEvent(seq=2, kind=Kind.MARKER, type="compaction")])) == [(1, 2)]


@pytest.mark.promise("K25", "DA8")
def test_bookkeeping_lies_inside_a_range_but_is_never_counted_and_never_closes() -> None:
    books = [
        UnitEvent(seq=seq, kind=Kind.BOOKKEEPING, type="scene.ended", namespace="play", tokens=9**9)
        for seq in range(3, 903)
    ]
    policy = UnitPolicy(boundary=(SCENE,), interval_tokens=1000)
    assert closed_units([*messages(1, 2), *books], [policy]) == []
    (unit,) = closed_units([*messages(1, 2), *books, scene(903)], [policy])
    assert (unit.from_seq, unit.to_seq, unit.event_count) == (1, 903, 2)


@pytest.mark.promise("K25", "DA8")
def test_pins_promoted_after_a_unit_belong_to_the_next_range_and_change_no_later_bound() -> None:
    pin = UnitEvent(seq=41, kind=Kind.BOOKKEEPING, type="pin.promoted")
    units = closed_units([*messages(1, 40), pin, *messages(42, 81)])
    assert [(unit.from_seq, unit.to_seq, unit.event_count) for unit in units] == [(1, 40, 40), (41, 81, 40)]


@pytest.mark.promise("K11")
def test_the_policy_in_force_for_an_event_is_the_latest_that_has_begun() -> None:
    policies = [UnitPolicy(from_seq=11, interval_messages=5), UnitPolicy(from_seq=1, interval_messages=10)]
    assert bounds(closed_units(messages(1, 20), policies)) == [(1, 10), (11, 15), (16, 20)]


@pytest.mark.promise("K11")
def test_a_policy_that_begins_inside_an_open_unit_decides_from_there_on() -> None:
    policies = [UnitPolicy(interval_messages=40), UnitPolicy(from_seq=8, interval_messages=5)]
    assert bounds(closed_units(messages(1, 14), policies)) == [(1, 8), (9, 13)]


@pytest.mark.promise("K11")
def test_a_policy_that_begins_later_changes_no_unit_before_it() -> None:
    before = closed_units(messages(1, 100), [UnitPolicy()])
    later = closed_units(messages(1, 100), [UnitPolicy(), UnitPolicy(from_seq=81, interval_messages=3)])
    assert later[: len(before)] == before


@pytest.mark.promise("K2")
def test_a_range_is_given_by_its_bounds_where_seqs_are_missing() -> None:
    events = [message(seq) for seq in range(5, 405, 10)]
    assert closed_units(events, since_seq=2) == [Unit(3, 395, 395, UnitKind.INTERVAL, 40, 40)]


@pytest.mark.promise("K26")
def test_who_may_see_an_event_changes_no_bound_but_is_counted() -> None:
    hidden = [message(seq, public=seq % 2 == 0) for seq in range(1, 41)]
    assert closed_units(hidden) == [Unit(1, 40, 40, UnitKind.INTERVAL, 40, 20)]


def test_units_come_as_they_close_and_the_rest_of_the_log_is_not_read() -> None:
    def events() -> Iterator[UnitEvent]:
        yield from messages(1, 40)
        raise AssertionError("read on")

    assert next(iter_units(events())).to_seq == 40


def test_a_stored_event_is_taken_as_it_is() -> None:
    marker = stored(2, kind="marker", type="unit.closed", content="", payload=canonical.dump({"reason": "manual"}))
    (unit,) = closed_units([stored(1, audience=("Ada",)), marker])
    assert (unit.from_seq, unit.to_seq, unit.kind, unit.event_count, unit.public_count) == (1, 2, "manual", 1, 0)


@pytest.mark.parametrize("payload", ["", "{}", '{"reason":["manual"]}', '{"reason":null}'])
def test_a_cut_that_states_no_known_reason_is_a_unit(payload: str) -> None:
    (unit,) = closed_units([stored(1, kind="marker", type="unit.closed", content="", payload=payload)])
    assert unit.kind == "unit"


@pytest.mark.promise("K36")
def test_the_tokens_of_an_event_are_those_of_its_content_and_payload_by_any_counter() -> None:
    event = stored(1, content="ü" * 3, payload='{"a":1}')
    assert unit_event(event).tokens == 2 + 2
    assert unit_event(event, count=len).tokens == 3 + 7


def test_events_out_of_order_are_refused() -> None:
    closer = UnitCloser()
    closer.feed(message(7))
    with pytest.raises(InvalidEvent, match="event 7 comes after event 7"):
        closer.feed(message(7))


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"interval_messages": 0}, "interval_messages"),
        ({"interval_tokens": 0}, "interval_tokens"),
        ({"max_events_per_section": 0}, "max_events_per_section"),
        ({"max_events_per_section": 5001}, "max_events_per_section"),
    ],
)
def test_a_policy_value_outside_its_range_is_refused_by_name(fields: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidPolicy, match=name):
        UnitPolicy(**fields)


def test_two_policies_from_one_seq_are_refused() -> None:
    with pytest.raises(InvalidPolicy, match="from one seq"):
        UnitCloser([UnitPolicy(), UnitPolicy()])
