"""The one door for anchors and sections, and the two grades of reading."""

from typing import Any

import pytest

from chronicle import sections
from chronicle.brief import Brief
from chronicle.errors import ChronicleFork, InvalidSection, SectionCollision, Superseded, UnknownSection
from chronicle.models import Anchor, Edition, Log, Section, SectionPin
from chronicle.reading import Anchors, AnchorView, Prose, ProseView, find, parse_ref
from chronicle.sections import NewSection
from tests.builders import bookkeeping, log_of, said

pytestmark = pytest.mark.django_db


def new(from_seq: int, to_seq: int, **given: Any) -> NewSection:
    words = {
        "title": f"Title of {from_seq}-{to_seq}",
        "prose": f"Dina asked for a table, {from_seq} to {to_seq}.",
        "kind": "unit",
        "event_count": to_seq - from_seq + 1,
    }
    return NewSection(**{**words, "from_seq": from_seq, "to_seq": to_seq, **given})


@pytest.fixture
def edition() -> Edition:
    return sections.current_edition(log_of(40))


def filled(edition: Edition, *ends: int) -> list[Section]:
    start, made = 1, []
    for end in ends:
        made.append(sections.append_new(edition, new(start, end)))
        start = end + 1
    return made


def rollup(edition: Edition, children: list[Section], **given: Any) -> Section:
    first, last = children[0].anchor, children[-1].anchor
    words = {
        "level": first.level + 1,
        "kind": "rollup",
        "event_count": sum(child.anchor.event_count for child in children),
    }
    return sections.append_rollup(edition, new(first.from_seq, last.to_seq, **{**words, **given}), children)


@pytest.mark.promise("A30", "A35", "K8", "K9", "S4")
def test_a_section_stands_under_its_range_both_ends_inclusive(edition: Edition) -> None:
    first, second = filled(edition, 11, 31)
    assert (first.ref, second.ref) == ("1-11", "12-31")
    assert second.anchor.from_seq == first.anchor.to_seq + 1
    again = sections.supersede(edition, second, new(12, 31, prose="Other words."))
    assert again.ref == "12-31#2"
    assert rollup(edition, [first, again]).ref == "L1:1-31"


@pytest.mark.promise("DA1", "A57")
@pytest.mark.parametrize(("from_seq", "to_seq"), [(9, 3), (0, 3), (-2, 3)])
def test_an_inverted_or_zero_range_is_refused(edition: Edition, from_seq: int, to_seq: int) -> None:
    with pytest.raises(InvalidSection):
        sections.append_new(edition, new(from_seq, to_seq))
    assert not Anchor.objects.exists()


@pytest.mark.promise("DA2", "DA3", "S7", "A33")
def test_a_section_past_the_end_or_after_a_hole_is_refused(edition: Edition) -> None:
    with pytest.raises(InvalidSection, match="past the end of its log, 40"):
        sections.append_new(edition, new(1, 41))
    with pytest.raises(InvalidSection, match="leaves events 1 to 3 in no section"):
        sections.append_new(edition, new(4, 9))
    assert not Anchor.objects.exists()
    assert sections.consolidated_through(edition) == 0


@pytest.mark.promise("DA4", "K10")
@pytest.mark.parametrize("words", [{"prose": ""}, {"prose": " \n"}, {"title": ""}, {"prose": None}, {"prose": "a\x00"}])
def test_empty_or_unstorable_words_are_refused(edition: Edition, words: dict[str, Any]) -> None:
    with pytest.raises(InvalidSection):
        sections.append_new(edition, new(1, 9, **words))
    assert not Section.objects.exists()


@pytest.mark.promise("A56", "A43", "S8")
def test_append_keeps_the_row_on_a_collision_and_append_new_raises(edition: Edition) -> None:
    (first,) = filled(edition, 9)
    with pytest.raises(SectionCollision):
        sections.append_new(edition, new(1, 9, prose="Other words."))
    kept = sections.append(edition, new(1, 9, prose="Other words."))
    assert (kept.pk, kept.prose) == (first.pk, first.prose)
    assert Section.objects.count() == 1


@pytest.mark.promise("A57", "S6")
def test_an_overlap_is_a_fork(edition: Edition) -> None:
    filled(edition, 9, 20)
    for from_seq, to_seq in [(1, 20), (5, 9), (20, 30), (10, 19)]:
        with pytest.raises(ChronicleFork):
            sections.append_new(edition, new(from_seq, to_seq))
    assert Anchor.objects.count() == 2


@pytest.mark.promise("A57", "A58", "A59", "A60")
def test_a_generation_has_one_successor_over_the_same_range(edition: Edition) -> None:
    first, second = filled(edition, 9, 20)
    again = sections.supersede(edition, first, new(1, 9, prose="Second words."))
    with pytest.raises(ChronicleFork) as caught:
        sections.supersede(edition, first, new(1, 9, prose="Third words."))
    assert caught.value.details["current"] == "1-9#2"
    with pytest.raises(ChronicleFork, match="another range"):
        sections.supersede(edition, second, new(10, 19))
    with pytest.raises(UnknownSection):
        sections.supersede(edition, Section(pk=10**6, anchor=first.anchor), new(1, 9))
    with pytest.raises(SectionCollision):  # the collision comes before the fork
        sections.append_new(edition, new(1, 9))
    current = {section.pk for section in sections.current_sections(edition)}
    assert current == {again.pk, second.pk}


@pytest.mark.promise("K17", "R10", "S49", "S50", "S51", "S58", "S46")
def test_a_rollup_is_the_union_of_its_children_and_stamps_them(edition: Edition) -> None:
    children = filled(edition, 5, 10, 20)
    made = rollup(edition, children)
    assert (made.ref, made.anchor.event_count, made.anchor.kind) == ("L1:1-20", 20, "rollup")
    assert {anchor.rolled_up_into_id for anchor in Anchor.objects.filter(level=0)} == {made.anchor_id}
    anchors = Anchors(edition)
    assert [child.id for child in anchors.children("L1:1-20")] == ["1-5", "6-10", "11-20"]
    parent = anchors.parent("6-10")
    assert parent is not None
    assert (parent.id, parent.children) == ("L1:1-20", 3)
    assert [source.source_id for source in made.sources.order_by("position")] == [child.pk for child in children]
    assert Section.objects.get(pk=children[0].pk).prose == children[0].prose


@pytest.mark.promise("K17", "R10", "S52", "S53", "S54")
def test_a_rollup_whose_children_do_not_fit_writes_and_stamps_nothing(edition: Edition) -> None:
    a, b, c, d = filled(edition, 5, 10, 20, 30)
    level_one = rollup(edition, [c, d])
    before = (Anchor.objects.count(), Section.objects.count())
    wrong: list[tuple[type[Exception], list[Section], dict[str, Any]]] = [
        (InvalidSection, [a], {}),
        (InvalidSection, [], {"from_seq": 1, "to_seq": 5, "level": 1, "event_count": 5}),
        (Superseded, [b, c], {}),
        (InvalidSection, [a, level_one], {"level": 1}),
        (InvalidSection, [a, b], {"to_seq": 20}),
        (InvalidSection, [a, b], {"event_count": 3}),
        (InvalidSection, [a, b], {"level": 2}),
        (Superseded, [b, a], {"from_seq": 1, "to_seq": 10}),
    ]
    for error, children, given in wrong:
        with pytest.raises(error):
            first = children[0].anchor if children else a.anchor
            last = children[-1].anchor if children else a.anchor
            words = {"level": 1, "kind": "rollup", "event_count": sum(x.anchor.event_count for x in children)}
            given = {"from_seq": first.from_seq, "to_seq": last.to_seq, **words, **given}
            sections.append_rollup(edition, new(**given), children)
    assert (Anchor.objects.count(), Section.objects.count()) == before
    assert Anchor.objects.filter(rolled_up_into__isnull=False).count() == 2


@pytest.mark.promise("R10", "S52", "K17")
def test_children_of_another_log_or_a_superseded_child_are_refused(edition: Edition) -> None:
    a, b = filled(edition, 5, 10)
    other = sections.current_edition(log_of(10))
    x, y = filled(other, 5, 10)
    with pytest.raises(Superseded):
        rollup(edition, [x, y])
    with pytest.raises(Superseded):
        rollup(edition, [a, y])
    sections.supersede(edition, b, new(6, 10, prose="Second words."))
    with pytest.raises(Superseded):
        rollup(edition, [a, b])
    assert not Anchor.objects.filter(rolled_up_into__isnull=False).exists()


@pytest.mark.promise("K19", "A61")
def test_rollups_never_move_consolidated_through_and_there_are_no_holes(edition: Edition) -> None:
    children = filled(edition, 5, 10, 20)
    anchors = Anchors(edition)
    assert anchors.consolidated_through() == 20
    rollup(edition, children)
    assert anchors.consolidated_through() == 20
    assert anchors.holes() == []


@pytest.mark.promise("K19")
def test_a_hole_written_behind_the_door_is_seen(edition: Edition) -> None:
    filled(edition, 5, 10)
    slot = {"edition": edition, "level": 0, "unit_seq": 1, "kind": "unit", "event_count": 1}
    Anchor.objects.create(**slot, from_seq=13, to_seq=20)
    assert Anchors(edition).holes() == [(11, 12)]
    assert sections.consolidated_through(edition) == 10


@pytest.mark.promise("A60", "A61", "A62", "K27")
def test_reading_gives_current_sections_oldest_first_and_superseded_ones_by_id(edition: Edition) -> None:
    first, _, _ = filled(edition, 5, 10, 20)
    sections.supersede(edition, first, new(1, 5, prose="Second words.", pins=("p1:model_call:aa",)))
    prose, anchors = Prose(edition), Anchors(edition)
    assert [one.id for one in prose.sections(10)] == ["1-5#2", "6-10"]
    assert [one.id for one in anchors.anchors(19)] == ["1-5", "6-10"]
    assert (anchors.anchors()[0].generation, anchors.anchors()[0].supersedes) == (2, 1)
    assert prose.section("1-5").text == first.prose
    assert prose.section("1-5#2").pins == ("p1:model_call:aa",)
    covering = prose.covering(3)
    assert covering is not None
    assert covering.id == "1-5#2"
    assert prose.covering(21) is None
    for bad in ("1-6", "1-5#3", "L1:1-5", "rubbish", "0-5", "1-5#0", "1-5; DROP", "L0:1-5"):
        with pytest.raises(UnknownSection):
            prose.section(bad)


@pytest.mark.promise("A76", "K27")
def test_neither_grade_reaches_the_other(edition: Edition) -> None:
    filled(edition, 5)
    (anchor,) = Anchors(edition).anchors()
    (prose,) = Prose(edition).sections()
    words = {"title", "prose", "text", "summariser", "model"}
    assert not words & set(AnchorView.__slots__)
    assert not {"from_seq", "to_seq", "unit_seq", "event_count", "generation"} & set(ProseView.__slots__)
    assert not words & {name for name in dir(Anchors) if not name.startswith("_")}
    for value in (anchor, prose):
        assert all(not hasattr(getattr(value, slot), "_meta") for slot in type(value).__slots__)


@pytest.mark.promise("DA10")
def test_a_point_question_reads_one_row_and_no_prose(
    edition: Edition,
) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    filled(edition, 5, 10, 20)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert [Anchors(edition).covers(seq) for seq in (1, 5, 20, 21)] == [True, True, True, False]
    assert len(queries) == 4
    assert not any("prose" in query["sql"] or "chronicle_section" in query["sql"] for query in queries)


@pytest.mark.promise("A77", "A78", "A79", "A80", "DA7", "K20")
def test_sections_and_tail_cover_every_event_once_at_any_seq() -> None:
    log = log_of([bookkeeping() if number % 7 == 0 else said(str(number)) for number in range(1, 31)])
    edition = sections.current_edition(log)
    filled(edition, 5, 12, 20)
    brief = Brief(edition)
    for upto in range(1, 31):
        split = brief.split(upto)
        spans = [parse_ref(section.id) for section in split.sections]
        covered = [seq for ref in spans for seq in range(ref.from_seq, ref.to_seq + 1)]
        tail = [event.seq for event in brief.tail(since_seq=split.tail_from - 1, upto_seq=upto)]
        assert covered + tail == list(range(1, upto + 1))
    assert [one.id for one in brief.depth(19)] == ["1-5", "6-12"]
    admitted = brief.tail(since_seq=20, admit=lambda event: event.kind != "bookkeeping")
    assert [event.seq for event in admitted] == [22, 23, 24, 25, 26, 27, 29, 30]
    with pytest.raises(TypeError):
        brief.tail()  # type: ignore[call-arg]


@pytest.mark.promise("S10")
def test_nothing_cites_by_running_numbers(edition: Edition) -> None:
    (first,) = filled(edition, 5)
    assert find(edition, "1-5").pk == first.pk
    assert parse_ref("L12:1-320#4") == (12, 1, 320, 4)


def test_pins_keep_their_order(edition: Edition) -> None:
    section = sections.append_new(edition, new(1, 5, pins=("b", "a", "b")))
    assert list(SectionPin.objects.filter(section=section).order_by("position").values_list("key", flat=True)) == [
        "b",
        "a",
        "b",
    ]


@pytest.mark.promise("A68")
def test_a_refused_check_leaves_the_callers_transaction_usable(edition: Edition) -> None:
    with pytest.raises(InvalidSection):
        sections.append_new(edition, new(4, 9))
    assert Log.objects.count() == 1
    filled(edition, 5)
    assert Section.objects.count() == 1


@pytest.mark.promise("K9")
def test_each_log_has_one_current_edition() -> None:
    log = log_of(3)
    first = sections.current_edition(log)
    assert sections.current_edition(log) == first
    assert (first.number, first.state) == (1, "current")
