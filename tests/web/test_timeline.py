"""The geometry of the timeline."""

from hypothesis import given
from hypothesis import strategies as st

from chronicle.web.timeline import LANE, MAX_CELLS, MAX_TICKS, Span, draw


def spans(level: int, count: int, size: int) -> list[Span]:
    return [Span(f"L{level}:{i}", level, i * size + 1, (i + 1) * size) for i in range(count)]


def test_x_and_width_are_percent_of_seq_with_both_ends_included():
    cell = draw([Span("12-31", 0, 12, 31)], [], last=100, through=31).cells[0]

    assert (cell.x, cell.width, cell.middle) == ("11.00%", "20.00%", "21.00%")


def test_every_level_has_a_lane_with_the_highest_on_top():
    timeline = draw([*spans(0, 4, 10), *spans(1, 2, 20), *spans(3, 1, 40)], [], last=40, through=40)

    assert timeline.lanes == ("L3", "L2", "L1", "L0, tail", "marks", "seq")
    assert {cell.span.level: cell.y for cell in timeline.cells} == {3: 0, 1: 2 * LANE, 0: 3 * LANE}
    assert timeline.height == 6 * LANE


def test_an_empty_chronicle_is_all_tail():
    timeline = draw([], [], last=3, through=0)

    assert [mark.seq for mark in timeline.tail] == [1, 2, 3]
    assert not timeline.cells


def test_above_the_limit_the_lowest_levels_are_left_out_unless_in_the_cover_or_the_tree_and_counted():
    ground = spans(0, 1000, 1)
    kept = [
        Span("999-999", 0, 999, 999, in_cover=True),
        Span("5-5", 0, 5, 5, listed=True),
    ]
    timeline = draw([*ground, *kept, *spans(1, 125, 8)], [], last=1000, through=1000)

    assert {cell.span.ref for cell in timeline.cells if not cell.span.level} == {"999-999", "5-5"}
    assert timeline.left_out == 1000


def test_a_long_tail_is_thinned():
    assert len(draw([], [], last=100_000, through=0).tail) <= MAX_TICKS


def test_a_label_is_shown_only_where_it_fits():
    timeline = draw([Span("1-90", 0, 1, 90), Span("91-91", 0, 91, 91)], [], last=100, through=91)

    assert [(cell.label, cell.shown_from) for cell in timeline.cells] == [("1-90", ""), ("", "")]


def test_a_cell_has_the_word_stale_only_where_it_fits_beside_its_range():
    wide, narrow = Span("L1:1-92", 1, 1, 92, stale=True), Span("L1:93-99", 1, 93, 99, stale=True)
    timeline = draw([wide, narrow], [], last=99, through=99)

    assert [(cell.label, cell.says_stale) for cell in timeline.cells] == [("1-92", True), ("93-99", False)]


def test_a_cell_says_in_words_what_it_shows():
    cell = draw([Span("L1:1-9", 1, 1, 9, generation=2, in_cover=True, stale=True)], [], last=9, through=9).cells[0]

    assert cell.words == "Rollup L1:1-9, generation 2, in the cover, stale"


@given(last=st.integers(1, 10**9), data=st.data())
def test_whatever_the_length_places_stay_within_the_drawing(last: int, data: st.DataObject):
    through = data.draw(st.integers(0, last))
    timeline = draw([], [data.draw(st.integers(1, last))], last=last, through=through)
    places = [float(mark.x.rstrip("%")) for mark in (*timeline.tail, *timeline.marks, *timeline.scale)]

    assert all(0 <= place <= 100 for place in places)
    assert len(timeline.scale) <= 10
    assert len({mark.seq for mark in timeline.scale}) == len(timeline.scale)


@given(count=st.integers(0, 3000))
def test_cells_stay_bounded_when_levels_are_nested_by_eight(count: int):
    nested = [span for level in range(4) for span in spans(level, count // 8**level, 8**level)]

    assert len(draw(nested, [], last=max(count, 1), through=count).cells) <= MAX_CELLS
