"""What an agent sees of a chronicle: list, open, expand."""

from itertools import pairwise

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chronicle import policies, sections, tool
from chronicle.errors import UnknownAction, UnknownSection
from chronicle.fold import consolidate
from chronicle.log import append
from chronicle.models import Edition, Log
from chronicle.reading import find
from chronicle.sections import NewSection
from tests.builders import bookkeeping, log_of, marker, said, units_of
from tests.summarisers import Noting

pytestmark = pytest.mark.django_db


def told(log: Log) -> Edition:
    consolidate(log, summariser=Noting())
    return sections.current_edition(log)


def rewritten(edition: Edition, ref: str, prose: str = "Better words.") -> str:
    old = find(edition, ref)
    new = NewSection(
        level=old.anchor.level,
        from_seq=old.anchor.from_seq,
        to_seq=old.anchor.to_seq,
        kind=old.anchor.kind,
        event_count=old.anchor.event_count,
        title="Better",
        prose=prose,
    )
    return sections.supersede(edition, old, new).ref


@pytest.mark.promise("S65")
def test_a_list_shows_twenty_at_most_fifty_at_least_one_newest_first() -> None:
    log = units_of(60)
    edition = sections.current_edition(log)
    for start in range(1, 120, 2):
        words = NewSection(
            from_seq=start, to_seq=start + 1, kind="unit", event_count=1, title=f"{start}", prose="Said."
        )
        sections.append_new(edition, words)

    assert [tool.listed(edition, limit=limit).shown for limit in (20, 50, 51, 1, 0, -5)] == [20, 50, 50, 1, 1, 1]
    page = tool.listed(edition)
    assert (page.shown, page.of) == (20, 60)
    assert page.entries[0].id == "119-120"
    assert all(newer.from_seq > older.from_seq for newer, older in pairwise(page.entries))


@pytest.mark.promise("S66", "R1", "DS2", "DS7", "DS8")
def test_a_rollup_is_listed_in_the_place_of_what_it_covers_and_the_counts_say_so() -> None:
    edition = told(units_of(100))
    page = tool.listed(edition)

    spans = sorted((entry.from_seq, entry.to_seq) for entry in page.entries)
    assert spans[0][0] == 1 and spans[-1][1] == 200
    assert all(one[1] + 1 == two[0] for one, two in pairwise(spans))
    assert page.shown == page.of == len(spans) == len(sections.cover_of(edition))
    assert page.header.startswith(f"{page.of} of {page.of} entries")
    rollups = [entry for entry in page.entries if entry.level]
    assert rollups and all(entry.mark == "[rollup] " for entry in rollups)
    assert sum(entry.events for entry in page.entries) == 100


@pytest.mark.promise("DS2")
def test_what_a_rollup_hides_takes_no_place_in_a_short_list() -> None:
    edition = told(units_of(200))
    whole = tool.listed(edition, limit=50)

    assert whole.of > 10
    assert tool.listed(edition, limit=10).entries == whole.entries[:10]
    assert tool.listed(edition, limit=10).of == whole.of


@pytest.mark.promise("S67")
def test_an_empty_list_says_that_everything_is_in_raw_context() -> None:
    log = log_of(5)
    page = tool.listed(sections.current_edition(log))

    assert (page.entries, page.shown, page.of) == ((), 0, 0)
    assert page.header == "No sections yet: everything (events 1 to 5) is still in raw context."


def test_the_header_says_which_events_are_raw_still() -> None:
    log = units_of(2)
    edition = told(log)
    assert tool.listed(edition).header.endswith("events 1 to 4, no event is after them.")
    append(log, [said(), said()])
    assert tool.listed(edition).header.endswith("events 1 to 4, the last 2 events are still in raw context.")


@pytest.mark.promise("S68", "DS7")
def test_an_open_rollup_lists_its_children_with_title_range_and_count() -> None:
    edition = told(units_of(12))
    opened = tool.opened(edition, "L1:1-16")

    assert opened.prose.startswith("Account of 8 sections")
    assert [child.entry.id for child in opened.children] == [f"{n}-{n + 1}" for n in range(1, 16, 2)]
    assert all(child.entry.title and child.entry.events == 1 for child in opened.children)
    assert tool.opened(edition, "17-18").children == ()


def test_a_child_that_was_rewritten_shows_its_current_generation_and_the_one_that_was_read() -> None:
    edition = told(units_of(12))
    rewritten(edition, "3-4")
    opened = tool.opened(edition, "L1:1-16")

    assert opened.entry.stale and opened.entry.mark == "[rollup] [stale] "
    assert [(child.entry.id, child.read) for child in opened.children][1] == ("3-4#2", "3-4")
    assert [entry.stale for entry in tool.listed(edition).entries] == [False] * 4 + [True]


def test_an_exact_id_opens_that_generation_and_says_which_one_stands() -> None:
    edition = told(units_of(3))
    rewritten(edition, "3-4")

    assert [entry.id for entry in tool.listed(edition).entries] == ["5-6", "3-4#2", "1-2"]
    old, new = tool.opened(edition, "3-4"), tool.opened(edition, "3-4#2")
    assert (old.entry.id, old.current, old.is_current) == ("3-4", "3-4#2", False)
    assert old.prose.startswith("Account") and "superseded, 3-4#2 is current" in old.header
    assert (new.prose, new.is_current) == ("Better words.", True)


@pytest.mark.promise("S69", "S62")
def test_what_is_missing_or_unknown_is_told_by_name() -> None:
    edition = told(units_of(3))

    for ask in (tool.opened, tool.expanded):
        with pytest.raises(UnknownSection, match="list shows the ids"):
            ask(edition, "")
        for ref in ("7-9", "3-4#2", "L1:1-4", "nonsense"):
            with pytest.raises(UnknownSection, match=ref):
                ask(edition, ref)
    assert [tool.check_action(action) for action in tool.ACTIONS] == ["list", "open", "expand"]
    with pytest.raises(UnknownAction, match=r"'delete' is no action; there are list, open, expand"):
        tool.check_action("delete")


@pytest.mark.promise("S70", "S71")
@pytest.mark.parametrize(("limit", "pages"), [(100, 3), (5000, 3), (7, 36), (1, 250), (0, 250), (125, 3)])
def test_page_by_page_every_covered_event_is_reached(limit: int, pages: int) -> None:
    policies.set_default(made_by="test", interval_messages=1000)
    edition = told(log_of([*[said(f"{n}") for n in range(249)], marker()]))
    [entry] = tool.listed(edition).entries
    seen, after, count = [], None, 0
    while True:
        page = tool.expanded(edition, entry.id, after=after, limit=limit)
        seen += [event.seq for event in page.events]
        count += 1
        assert ("partial" in page.header) is (page.next_after is not None)
        if page.next_after is None:
            break
        after = page.next_after
    assert seen == list(range(entry.from_seq, entry.to_seq + 1)) and count == pages


@pytest.mark.promise("S70")
def test_a_page_that_ends_where_the_section_ends_is_not_called_partial() -> None:
    edition = told(log_of([*[said(f"{n}") for n in range(9)], marker()]))

    assert tool.expanded(edition, "1-10", limit=10).next_after is None
    assert tool.expanded(edition, "1-10", after=5, limit=5).next_after is None
    assert tool.expanded(edition, "1-10", after=4, limit=5).next_after == 9
    assert tool.expanded(edition, "1-10", after=10).events == ()


@pytest.mark.promise("S71")
def test_a_rollup_expands_to_all_its_events_without_the_bookkeeping() -> None:
    events = [event for n in range(12) for event in (said(f"{n}"), bookkeeping(), marker())]
    edition = told(log_of(events))
    page = tool.expanded(edition, "L1:1-24")

    assert [event.seq for event in page.events] == [seq for seq in range(1, 25) if seq % 3 != 2]
    assert page.of == len(page.events) == 16 and page.next_after is None


@pytest.mark.promise("K26", "K7")
def test_a_reader_gets_public_events_and_those_for_this_reader_and_counts_go_by_that() -> None:
    log = log_of(
        [
            said("for all"),
            said("for Ada", audience=("Ada", "Eve")),
            said("for Bob", audience=("Bob",)),
            said("for a,b", audience=("a", "b")),
            said("for all again"),
            marker(),
        ]
    )
    edition = told(log)

    def seen(reader: str | None) -> tuple[list[int], int, int]:
        page = tool.expanded(edition, "1-6", reader=reader)
        return [event.seq for event in page.events], page.of, tool.listed(edition, reader=reader).entries[0].events

    assert seen(None) == ([1, 2, 3, 4, 5, 6], 6, 5)
    assert seen("Ada") == ([1, 2, 5, 6], 4, 3)
    assert seen("ada") == seen(",") == seen("") == ([1, 5, 6], 3, 2)
    short = tool.expanded(edition, "1-6", limit=2, reader="Bob")
    assert [event.seq for event in short.events] == [1, 3] and short.next_after == 3
    assert tool.expanded(edition, "1-6", after=3, limit=2, reader="Bob").next_after is None


def test_a_long_log_costs_as_few_queries_as_a_short_one() -> None:
    def queries(edition: Edition, ref: str) -> list[int]:
        counts = []
        for ask in (
            lambda: tool.listed(edition, reader="Ada"),
            lambda: tool.opened(edition, ref, reader="Ada"),
            lambda: tool.expanded(edition, ref, reader="Ada"),
        ):
            with CaptureQueriesContext(connection) as captured:
                ask()
            counts.append(len(captured))
        return counts

    assert queries(told(units_of(12)), "L1:1-16") == queries(told(units_of(100)), "L1:1-16")
