"""What is drawn in Python: nothing stands unescaped, and a row costs little, since a page has hundreds."""

import ast
import cProfile
import pstats
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from django.template import Context, Template

from chronicle.models import Anchor, Origin, Section
from chronicle.templatetags import drawing
from chronicle.web.rows import Row
from chronicle.web.timeline import Span, draw
from chronicle.web.tree import Node

HOSTILE = '<b onclick="x">\'&\u202e{seq}{{ 7|add:7 }}'
AT = datetime(2026, 11, 30, 9, 41, 22, tzinfo=UTC)
ROW = Row(
    seq=3, kind="tool_request", actor_kind="agent", actor="search", text="places", length=6, size=2048,
    answers=None, audience=(), time=AT, claimed=True,
)  # fmt: skip


def entry(**given: object) -> Node:
    anchor = Anchor(level=1, from_seq=1, to_seq=20)
    section = Section(anchor=anchor, generation=2, made_at=AT, **{"title": "Words", "origin": Origin.DRAWN, **given})
    return Node(section, child_count=3)


def calls(function: Callable[[], object]) -> int:
    profile = cProfile.Profile()
    profile.runcall(function)
    return pstats.Stats(profile).total_calls  # type: ignore[attr-defined]


def test_whatever_was_recorded_or_given_is_escaped():
    row = replace(ROW, actor=HOSTILE, text=HOSTILE, audience=(HOSTILE,), kind=HOSTILE, length=900, sought=True)
    row = replace(row, kind="message", answers=2, back=True)
    html = "".join(
        [
            drawing.event_rows([row], "log"),
            drawing.tree_line(entry(title=HOSTILE)),
            drawing.tree_line(replace(entry(), stale=[HOSTILE])),
            drawing.tree_fold(entry(), f"/{HOSTILE}/"),
            drawing.cells(draw([Span(HOSTILE, 0, 1, 9, stale=True)], [], last=9, through=9), f"/{HOSTILE}/"),
        ]
    )

    assert "<b" not in html
    assert 'onclick="' not in html
    assert "\u202e" not in drawing.event_rows([row], "log") + drawing.tree_line(entry(title=HOSTILE))
    assert "{seq}{{ 7|add:7 }}" in html


def test_a_row_has_what_its_event_has_and_no_more():
    bare = drawing.event_rows([replace(ROW, size=0, new_day=False)], "log")
    full = drawing.event_rows([replace(ROW, length=12_000, answers=2, audience=("Dina",), sought=True)], "log")

    assert re.findall(r'href="([^"]*)"', bare) == ["/logs/log/events/3/"]
    assert ">09:41:22</time>" in bare
    assert 'aria-current="true"' in full
    assert '<a class="answers" href="/logs/log/events/2/">to 2</a>' in full
    assert "private to Dina" in full
    assert "whole, 12\u202f000 characters" in full
    assert "2.0 KB" in full


def test_an_entry_says_its_state_in_a_word():
    assert "<span></span>" in drawing.tree_line(entry())
    assert "stale: 8-14#2" in drawing.tree_line(replace(entry(), stale=["8-14#2"]))
    assert "stale: 2 children" in drawing.tree_line(replace(entry(), stale=["1-7#2", "8-14#2"]))
    assert "no summary" in drawing.tree_line(entry(origin=Origin.CLOSED_WITHOUT_SUMMARY))
    assert "3 sections" in drawing.tree_line(entry())


def test_a_tag_writes_what_its_function_draws():
    shown = Template("{% load drawing %}{% event_rows rows id %}").render(Context({"rows": [ROW], "id": "log"}))

    assert shown == drawing.event_rows([ROW], "log")


def test_a_row_an_entry_and_a_cell_cost_few_calls():
    """Counted, not timed: a page of 100 rows, 40 entries and 300 cells stays well below 100 ms."""
    rows = [replace(ROW, seq=seq) for seq in range(1, 101)]
    timeline = draw([Span(f"{seq}-{seq}", 0, seq, seq) for seq in range(1, 301)], [], last=300, through=300)
    one = entry()
    drawing.event_rows(rows[:1], "log")

    assert calls(lambda: drawing.event_rows(rows, "log")) < 150 * 100
    assert calls(lambda: drawing.tree_line(one)) < 200
    assert calls(lambda: drawing.cells(timeline, "/")) < 60 * 300


def test_only_here_a_node_writes_text_as_it_stands():
    house = Path(drawing.__file__).parents[1]
    nodes = {
        path.name
        for path in house.rglob("*.py")
        for cls in ast.walk(ast.parse(path.read_text()))
        if isinstance(cls, ast.ClassDef) and any(ast.unparse(base).endswith("Node") for base in cls.bases)
    }

    assert nodes == {"drawing.py"}
