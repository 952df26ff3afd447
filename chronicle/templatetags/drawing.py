"""The cells of the timeline, the lines of the tree and the rows of a list of events: a page draws hundreds of them.

Guarantees: every value is escaped, either here or by the filter of `recorded` that shows it; each cell is a
link with a title, so it can be reached by keys and read aloud. A node writes what its function draws as it
stands, so a function that forgot to escape would be a hole: hostile values are among its tests.
"""

from collections.abc import Callable, Sequence
from html import escape

from django import template
from django.template.base import FilterExpression, Parser, Token
from django.urls import reverse

from chronicle.models import Origin
from chronicle.templatetags.recorded import grouped, made, moment, plural, size, visible
from chronicle.web.rows import Row
from chronicle.web.timeline import CELL, Cell, Span, Timeline
from chronicle.web.tree import Node

LONG = 32  # characters of actor and audience

register = template.Library()


class Drawn(template.Node):
    """What a function draws from the values that the tag names."""

    def __init__(self, draw: Callable[..., str], values: Sequence[FilterExpression]) -> None:
        self.draw = draw
        self.values = values

    def render(self, context: template.Context) -> str:
        return self.draw(*(value.resolve(context) for value in self.values))


def _drawn(draw: Callable[..., str]) -> Callable[[Parser, Token], Drawn]:
    return lambda parser, token: Drawn(draw, [parser.compile_filter(bit) for bit in token.split_contents()[1:]])


def cells(timeline: Timeline, ask: str) -> str:
    """Return the sections as links to the entries of the tree; `ask` is the page's address, open for a parameter."""
    return "".join([_cell(cell, escape(ask)) for cell in timeline.cells])


def _cell(cell: Cell, ask: str) -> str:
    ref = escape(cell.span.ref)
    place = f'x="{cell.x}" y="{cell.y}" width="{cell.width}" height="{CELL}"'
    hatch = f'<rect class="hatch" {place}/>' if cell.span.stale else ""
    return (
        f'<a href="{ask}open={ref}#n-{ref.replace(":", "-")}"{_state(cell.span)}><title>{escape(cell.words)}</title>'
        f'<rect class="cell" {place}/>{hatch}{_label(cell) if cell.label else ""}</a>\n'
    )


def _state(span: Span) -> str:
    return (' class="cover"' if span.in_cover else "") + (' aria-current="true"' if span.opened else "")


def _label(cell: Cell) -> str:
    stale = '<tspan class="full"> stale</tspan>' if cell.says_stale else ""
    classes = f"{cell.shown_from}{' plate' if cell.span.stale else ''}"
    return (
        f'<text x="{cell.middle}" y="{cell.text_y}" text-anchor="middle" class="{classes}">{escape(cell.label)}{stale}'
        "</text>"
    )


def tree_line(node: Node) -> str:
    """Return what stands on the one line of an entry of the tree."""
    section = node.section
    return (
        f'<span class="anchor">{escape(node.ref)}</span>\n{made(section)}\n'
        f'<span class="generated">{visible(section.title)}</span>\n'
        f'<span class="count num mono">{plural(*node.covers)}</span>\n{_line_state(node)}\n'
        f'<span class="mono num when">{moment(section.made_at, "%Y-%m-%d %H:%M")}</span>\n'
    )


def _line_state(node: Node) -> str:
    if node.stale:
        which = f"{len(node.stale)} children" if len(node.stale) > 1 else escape(node.stale[0])
        return f'<span class="state" data-state="stale">stale: {which}</span>'
    if node.section.origin == Origin.CLOSED_WITHOUT_SUMMARY:
        return '<span class="state" data-state="late">no summary</span>'
    return "<span></span>"


def tree_fold(node: Node, ask: str) -> str:
    """Return the place of what is under an entry that is folded: a link, which a script opens in place."""
    opened = f"{escape(ask)}open={escape(node.ref)}"
    return (
        f'<div id="in-{escape(node.name)}" class="leaf" hx-get="{opened}"'
        ' hx-trigger="toggle once from:closest details" hx-swap="outerHTML">'
        f'<a href="{opened}#n-{escape(node.name)}">Open {escape(node.ref)}, {plural(*node.covers)}</a></div>'
    )


def event_rows(rows: Sequence[Row], log_id: str) -> str:
    """Return a table row for each of `rows`, with links into the log of this id."""
    events = escape(reverse("events", args=[log_id]))
    return "\n".join([_event_row(row, f"{events}{row.seq}/", events) for row in rows])


def _event_row(row: Row, here: str, events: str) -> str:
    current = ' aria-current="true"' if row.sought else ""
    return (
        f'<tr role="row" id="e{row.seq}" data-kind="{escape(row.kind)}"{current}>\n'
        f'<th role="rowheader" scope="row" class="seq"><a href="{here}">{row.seq}</a></th>\n'
        f'<td role="cell" class="kind"><span class="sign" aria-hidden="true">{row.sign}</span>{row.word}</td>\n'
        f'<td role="cell" class="actor"{_long(row)}>{visible(row.actor)}{_private(row)}</td>\n'
        f'<td role="cell" class="content"><span id="c{row.seq}">{_answers(row, events)}'
        f'<span class="text" hx-disable>{visible(row.text)}</span>{_whole(row, here)}</span></td>\n'
        f'<td role="cell" class="size">{_size(row, here)}</td>\n'
        f'<td role="cell" class="at">{_time(row)}</td>\n'
        "</tr>"
    )


def _long(row: Row) -> str:
    """Names of a usual length stand on one line; longer ones may break."""
    return " data-long" if len(row.actor) + sum(map(len, row.audience)) > LONG else ""


def _private(row: Row) -> str:
    if not row.audience:
        return ""
    return f' <span class="private">private to {", ".join([visible(name) for name in row.audience])}</span>'


def _answers(row: Row, events: str) -> str:
    return f'<a class="answers" href="{events}{row.answers}/">to {row.answers}</a>' if row.answers else ""


def _whole(row: Row, here: str) -> str:
    if not row.cut:
        return ""
    swap = "" if row.joined else f' hx-get="{here}" hx-target="#c{row.seq}" hx-swap="outerHTML"'
    return (
        f'… <a class="chip" href="{here}"{swap}'
        f' aria-label="the whole of event {row.seq}, {row.length} characters">'
        f"whole, {grouped(row.length)} characters</a>"
    )


def _size(row: Row, here: str) -> str:
    if not row.size:
        return ""
    label = f"payload of event {row.seq}, {size(row.size)}"
    return f'<a class="chip" href="{here}#payload" aria-label="{label}">{size(row.size)}</a>'


def _time(row: Row) -> str:
    time = moment(row.time) if row.new_day else moment(row.time, "%H:%M:%S")
    return f'{time} <span class="state" data-state="late">back</span>' if row.back else time


register.tag("cells", _drawn(cells))
register.tag("tree_line", _drawn(tree_line))
register.tag("tree_fold", _drawn(tree_fold))
register.tag("event_rows", _drawn(event_rows))
