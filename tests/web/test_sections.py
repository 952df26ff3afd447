"""One section."""

import re

import pytest
from django.test import Client

from chronicle.models import AnchorKind, Log, Origin
from chronicle.sections import NewSection, append_new, current_edition
from tests.builders import bookkeeping, log_of, said
from tests.web.conftest import log_with, redraw, words


def ask(client: Client, log: Log, path: str, status: int = 200):
    response = client.get(f"/logs/{log.public_id}/sections/{path}")
    assert response.status_code == status
    return response


@pytest.mark.promise("K27")
def test_the_facts_of_the_anchor_and_those_of_the_words_stand_apart(page: Client, log: Log):
    anchor, generation = re.findall(r'<dl class="facts">.*?</dl>', ask(page, log, "8-14/").content.decode(), re.S)

    assert "derived from the log alone" in anchor
    assert "range, inclusive 8 to 14, 7 events, 5 of them content" in words(anchor)
    assert "closed at 14 (unit)" in words(anchor)
    assert "in rollup L1:1-21, place 2 of 3" in words(anchor)
    assert not re.search("constant|Other words|Redrawn|estimate|digest", anchor)
    assert "how these words came about" in generation
    assert "generation 2, supersedes 8-14#1" in words(generation)
    assert "an estimate" in generation


@pytest.mark.promise("K9")
def test_every_generation_has_its_address_and_says_whether_it_is_current(page: Client, log: Log):
    current, first = ask(page, log, "8-14/"), ask(page, log, "8-14/1/")

    assert "generation 2 of 2, current" in words(current.content.decode())
    assert "Redrawn." in current.content.decode()
    assert "generation 1 of 2, superseded" in words(first.content.decode())
    assert "Second part." in first.content.decode()
    assert "2 of 2 generations listed" in words(first.content.decode())
    ask(page, log, "8-14/3/", 404)


@pytest.mark.promise("S58")
def test_a_rollup_stands_beside_the_children_that_it_read_and_a_child_names_its_rollup(page: Client, log: Log):
    response = ask(page, log, "L1:1-21/")
    children = [(child.section.ref, child.superseded) for child in response.context["page"].children]

    assert children == [("1-7", False), ("8-14", True), ("15-21", False)]
    assert "stale: 8-14#2" in words(response.content.decode())
    assert "3 of 3 children" in words(response.content.decode())
    assert [over.ref for over in ask(page, log, "8-14/").context["page"].above] == ["L2:1-63", "L1:1-21"]


@pytest.mark.promise("K8", "K25")
def test_beside_a_section_stand_its_events_from_end_to_end_with_n_of_m(page: Client, log: Log):
    response = ask(page, log, "8-14/")

    assert [row.seq for row in response.context["slice"].page.rows] == [8, 9, 10, 11, 13, 14]
    assert "6 of 7 events shown, 8 to 14: 0 hidden by the filter, 1 bookkeeping (show)" in words(
        response.content.decode()
    )
    shown = ask(page, log, "8-14/?bookkeeping=on").context["slice"]
    assert [row.seq for row in shown.page.rows] == list(range(8, 15))


def test_a_long_section_is_paged_and_every_event_is_reached_once(page: Client, db: None):
    log = log_of([said() if number % 50 else bookkeeping() for number in range(1, 301)])
    new = NewSection(from_seq=1, to_seq=300, kind=AnchorKind.MANUAL, event_count=294, title="Long", prose="Words.")
    append_new(current_edition(log), new)
    path, seen = "1-300/", []
    while path:
        part = ask(page, log, path).context["slice"]
        seen += [row.seq for row in part.page.rows]
        path = f"1-300/?after={part.page.after}" if part.page.after else ""

    assert seen == [seq for seq in range(1, 301) if seq % 50]
    assert (
        "100 of 300 events shown, 1 to 300: 0 hidden by the filter, 6 bookkeeping (show), 194 on other pages"
        in words(ask(page, log, "1-300/").content.decode())
    )


def test_neighbours_are_those_of_its_level(page: Client, log: Log):
    before, after = ask(page, log, "22-28/").context["page"].neighbours
    assert (before.ref, after.ref) == ("15-21", "29-35")

    before, after = ask(page, log, "L1:1-21/").context["page"].neighbours
    assert (before, after.ref) == (None, "L1:22-42")


def test_an_imported_section_is_marked_in_words_and_says_what_it_replaces(page: Client, db: None):
    log = log_of(5)
    new = NewSection(
        from_seq=1,
        to_seq=5,
        kind=AnchorKind.IMPORTED,
        event_count=5,
        title="A <b>summary</b>",
        prose="1. One\n2. <i>Two</i>",
        origin=Origin.IMPORTED,
        replaces_from=1,
    )
    append_new(current_edition(log), new)
    html = ask(page, log, "1-5/").content.decode()

    assert "generated #1 · imported" in words(html)
    assert "says it replaces 1 to 5" in words(html)
    assert "A &lt;b&gt;summary&lt;/b&gt;" in html
    assert "1. One\n2. &lt;i&gt;Two&lt;/i&gt;" in html


def test_a_section_that_was_closed_without_summary_says_so(page: Client, db: None):
    log = log_of(5)
    origin = Origin.CLOSED_WITHOUT_SUMMARY
    append_new(
        current_edition(log),
        NewSection(
            from_seq=1, to_seq=5, kind=AnchorKind.UNIT, event_count=5, title="No words", prose="Closed.", origin=origin
        ),
    )

    assert "closed without summary" in words(ask(page, log, "1-5/").content.decode())
    assert "no summary" in words(page.get(f"/logs/{log.public_id}/").content.decode())


@pytest.mark.parametrize("query", ["?after=0", "?after=x", "?after=99999999999999999999999"])
def test_a_place_that_cannot_be_read_is_refused(page: Client, log: Log, query: str):
    ask(page, log, f"8-14/{query}", 400)


def test_generated_words_carry_the_word_on_every_page(page: Client, log: Log):
    redraw(log, "1-7")
    for path in ("", "?open=L2:1-63", "?open=1-7", "sections/1-7/", "sections/L1:1-21/"):
        html = page.get(f"/logs/{log.public_id}/{path}").content.decode()
        titles = len(re.findall(r'class="generated"', html))
        assert titles <= html.count('class="made"')
        assert html.count('class="prose"') <= html.count('class="made"')


def test_the_page_of_a_log_of_the_other_owner_is_not_found(page: Client, db: None):
    foreign = log_with(2, owner="someone else")

    ask(page, foreign, "1-7/", 404)
