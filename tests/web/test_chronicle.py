"""The chronicle: facts, tree, what opens and what is marked."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from chronicle import policies
from chronicle.draws import Draws
from chronicle.envelope import COMPACTION
from chronicle.models import Log
from chronicle.rollups import roll_up
from chronicle.sections import NewSection, append_new, current_edition
from chronicle.summarisers.constant import Constant
from chronicle.web.tree import Node
from tests.builders import log_of, marker, said
from tests.web.conftest import log_with, words


def ask(client: Client, log: Log, query: str = "", status: int = 200):
    response = client.get(f"/logs/{log.public_id}/{query}")
    assert response.status_code == status
    return response


def nodes(entries) -> list[Node]:
    return [entry for entry in entries if isinstance(entry, Node)]


def refs(entries) -> list[str]:
    return [node.ref for node in nodes(entries)]


def spans(entries) -> list[tuple[int, int]]:
    return [(node.section.anchor.from_seq, node.section.anchor.to_seq) for node in nodes(entries)]


def seqs(events) -> list[int]:
    return [row.seq for row in events.page.rows]


@pytest.mark.promise("R1", "K8")
@pytest.mark.parametrize("units", [0, 1, 3, 4, 13, 20])
def test_the_entries_and_the_tail_hold_every_event_once_and_no_entry_stands_beside_its_rollup(page: Client, units: int):
    log = log_with(units)
    context = ask(page, log).context
    entries = spans(context["page"].tree.entries)
    covered = [seq for first, last in entries for seq in range(first, last + 1)]
    tail = range(context["overview"].cover.tail_from, log.last_seq + 1)

    assert [*covered, *tail] == list(range(1, log.last_seq + 1))
    assert context["overview"].cover.whole
    assert f"= {log.last_seq} of {log.last_seq}" in words(ask(page, log).content.decode())
    assert f"{len(entries)} of {len(entries)} entries of the cover" in words(ask(page, log).content.decode())


@pytest.mark.promise("S58", "R1")
def test_a_rollup_opens_to_its_children_oldest_first_and_a_section_to_its_events(page: Client, log: Log):
    top = ask(page, log, "?open=L2:1-63").context["page"].tree
    [opened] = [node for node in top.nodes if node.ref == "L2:1-63"]
    assert refs(opened.children) == ["L1:1-21", "L1:22-42", "L1:43-63"]

    branch = ask(page, log, "?open=L1:1-21").context["page"].branch()
    assert refs(branch.children) == ["1-7", "8-14", "15-21"]

    leaf = ask(page, log, "?open=8-14").context["page"].branch().leaf
    assert leaf.prose == "Redrawn."
    assert seqs(leaf.events) == [8, 9, 10, 11, 13, 14]
    assert (leaf.events.shown.of, leaf.events.shown.bookkeeping, leaf.events.shown.missing) == (7, 1, 0)


@pytest.mark.promise("S58")
def test_down_to_the_events_every_seq_of_every_rollup_is_reached(page: Client, log: Log):
    reached: list[int] = []

    def walk(node: Node) -> None:
        branch = ask(page, log, f"?open={node.ref}").context["page"].branch()
        if branch.leaf:
            reached.extend(row.seq for row in branch.leaf.events.page.rows)
        for child in nodes(branch.children or ()):
            walk(child)

    for node in ask(page, log).context["page"].tree.nodes:
        walk(node)
    reached += seqs(ask(page, log, "?open=tail").context["page"].tail)

    books = set(log.events.filter(kind="bookkeeping").values_list("seq", flat=True))
    assert reached == [seq for seq in range(1, log.last_seq + 1) if seq not in books]


def test_a_seq_opens_all_that_is_folded_over_it_and_is_marked(page: Client, log: Log):
    response = ask(page, log, "?seq=30")
    [rollup] = [node for node in response.context["page"].tree.nodes if node.opened]
    [middle] = [node for node in nodes(rollup.children) if node.opened]
    [section] = [node for node in nodes(middle.children) if node.opened]

    assert (rollup.ref, middle.ref, section.ref) == ("L2:1-63", "L1:22-42", "29-35")
    assert [row.seq for row in section.leaf.events.page.rows if row.sought] == [30]
    assert re.search(r'<tr role="row" id="e30"[^>]* aria-current="true"', response.content.decode())
    assert "Event 30 marked below" in words(response.content.decode())


def test_a_range_opens_every_section_it_touches_and_the_tail(page: Client, log: Log):
    response = ask(page, log, f"?seq=106-{log.last_seq}")
    html = response.content.decode()

    marked = [int(seq) for seq in re.findall(r'id="e(\d+)" data-kind="[a-z_]+" aria-current="true"', html)]
    assert marked == list(range(106, log.last_seq + 1)), "bookkeeping too, when it is looked for"


@pytest.mark.parametrize(("jump", "place"), [("30", "30#e30"), (" 30 - 41 ", "30-41#e30"), ("30-30", "30#e30")])
def test_a_jump_leads_to_the_address_of_the_event(page: Client, log: Log, jump: str, place: str):
    here = f"/logs/{log.public_id}/"

    assert page.get(here, {"jump": jump}).headers["Location"] == f"{here}?seq={place}"


def test_a_jump_to_nowhere_leads_nowhere_and_says_why(page: Client, log: Log):
    html = ask(page, log, "?jump=116", 400).content.decode()

    assert "A seq from 1 to 115, or a range" in html
    assert 'value="116"' in html
    assert ask(page, log, "?jump=").status_code == 200


def test_a_wide_range_opens_the_first_sections_and_says_how_many_are_left(page: Client, log: Log):
    assert "8 further sections hold events of this range" in words(ask(page, log, "?seq=1-112").content.decode())


@pytest.mark.parametrize("seq", ["0", "116", "x", "9-3", "-1", "1-9999999", "99999999999999999999999"])
def test_a_seq_that_is_not_there_is_refused_with_what_one_looks_like(page: Client, log: Log, seq: str):
    assert "A seq from 1 to 115, or a range" in ask(page, log, f"?seq={seq}", 400).content.decode()


@pytest.mark.promise("K9")
@pytest.mark.parametrize(
    ("asked", "status"),
    [("8-14", 200), ("L1:1-21", 200), ("8-13", 404), ("L0:8-14", 400), ("8-14#2", 400), ("14-8", 404), ("first", 400)],
)
def test_an_id_is_its_level_and_range_and_nothing_else(page: Client, log: Log, asked: str, status: int):
    response = page.get(f"/logs/{log.public_id}/", {"open": asked})

    assert response.status_code == status


def test_what_is_opened_and_looked_for_stands_in_the_address_so_it_needs_no_script(page: Client, log: Log):
    html = ask(page, log, "?open=L1:1-21").content.decode()

    assert f'href="/logs/{log.public_id}/?open=8-14#n-8-14"' in html
    assert "Open 8-14, 7 events" in html


def test_the_timeline_marks_what_is_open_below(page: Client, log: Log):
    html = ask(page, log, "?seq=30").content.decode()
    marked = re.findall(r'#n-([^"]*)"[^>]*aria-current="true"><title>', html)

    assert marked == ["L2-1-63", "L1-22-42", "29-35"]


def test_a_stale_rollup_says_which_child_was_redrawn(page: Client, log: Log):
    html = words(ask(page, log, "?open=L2:1-63").content.decode())

    assert "stale: 8-14#2" in html
    assert "stale rollups 1 of 6" in html


def test_a_compaction_has_one_row_beside_what_holds_it_at_the_highest_level_that_it_ends(page: Client, db: None):
    compactions = {10: "inside 6-11", 20: "at the end of L1:1-20", 36: "first of 36-40", 43: "in the tail"}
    kind = {"type": COMPACTION, "payload": {"tokens_before": 31200}}
    log = log_of([marker(**kind) if seq in compactions else said() for seq in range(1, 46)])
    edition = current_edition(log)
    policies.set_for(log, made_by="test", rollup_batch=3, rollup_threshold=4)
    for first, last in ((1, 5), (6, 11), (12, 20), (21, 35), (36, 40)):
        new = NewSection(from_seq=first, to_seq=last, kind="manual", event_count=1, title="Words", prose="Words.")
        append_new(edition, new)
    roll_up(edition, draws=Draws(edition, summariser=Constant()))

    html = ask(page, log, "?open=L1:1-20").content.decode()
    rows = re.findall(r'class="anchor">([^<]+)<|class="seq mono">(\d+)<', html)
    assert [first or second for first, second in rows] == [
        "L1:1-20", "1-5", "6-11", "10", "12-20", "20", "21-35", "36", "36-40", "41-45",
    ]  # fmt: skip
    assert html.count("Compaction at") == 4


def test_a_unit_that_could_not_be_drawn_says_why_and_when_it_is_tried_again(page: Client, small: Log):
    now = timezone.now()
    small.editions.get().failures.create(
        from_seq=15, to_seq=17, attempts=3, last_error="no <words>", last_try=now, next_try=now
    )
    html = ask(page, small).content.decode()

    assert "no &lt;words&gt;" in html
    assert "Not drawn after 3 tries" in words(html)


def test_a_log_without_events_or_sections_has_a_page(page: Client):
    assert "0 of 0 entries of the cover" in words(ask(page, log_of(0)).content.decode())
    assert "none yet" in words(ask(page, log_of(3)).content.decode())


def test_a_long_tail_shows_its_beginning_and_says_how_many_there_are(page: Client):
    html = words(ask(page, log_of(250), "?open=tail").content.decode())

    assert "100 of 250 events shown, 1 to 250" in html
    assert "150 on other pages" in html


def test_at_most_twenty_entries_are_opened_at_once(page: Client, small: Log):
    ask(page, small, "?" + "&".join(["open=1-7"] * 20))
    ask(page, small, "?" + "&".join(["open=1-7"] * 21), 400)
