"""The cells of the timeline as SVG: in Python, because a page draws some hundreds of them.

Guarantees: every value is escaped by `format_html`; each cell is a link with a title, so it can be
reached by keys and read aloud.
"""

from django import template
from django.utils.html import format_html, format_html_join

from chronicle.web.timeline import CELL, Cell, Span, Timeline

register = template.Library()

_CELL = (
    '<a href="{here}?open={ref}#n-{name}"{state}><title>{words}</title>'
    '<rect class="cell" x="{x}" y="{y}" width="{width}" height="{height}"/>{hatch}{label}</a>\n'
)
_HATCH = '<rect class="hatch" x="{}" y="{}" width="{}" height="{}"/>'
_LABEL = '<text x="{}" y="{}" text-anchor="middle" class="{}">{}{}</text>'


@register.simple_tag
def cells(timeline: Timeline, here: str) -> str:
    """Return the sections as links to the entries of the tree on the page at `here`."""
    return format_html_join("", "{}", ((_cell(cell, here),) for cell in timeline.cells))


def _cell(cell: Cell, here: str) -> str:
    span = cell.span
    return format_html(
        _CELL,
        here=here,
        ref=span.ref,
        name=span.ref.replace(":", "-"),
        state=_state(span),
        words=cell.words,
        x=cell.x,
        y=cell.y,
        width=cell.width,
        height=CELL,
        hatch=format_html(_HATCH, cell.x, cell.y, cell.width, CELL) if span.stale else "",
        label=_label(cell) if cell.label else "",
    )


def _state(span: Span) -> str:
    cover = format_html(' class="{}"', "cover") if span.in_cover else ""
    return format_html("{}{}", cover, format_html(' aria-current="{}"', "true") if span.opened else "")


def _label(cell: Cell) -> str:
    stale = format_html('<tspan class="{}"> stale</tspan>', "full") if cell.span.stale else ""
    classes = f"{cell.shown_from}{' plate' if cell.span.stale else ''}"
    return format_html(_LABEL, cell.middle, cell.text_y, classes, cell.label, stale)
