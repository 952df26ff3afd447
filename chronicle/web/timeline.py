"""The timeline: levels of sections over the seqs of a log, as places in a drawing. Pure.

Guarantees: x and width are percent of seq, (from − 1) / last, y is in pixels, so the drawing narrows
without shrinking its type; a lane for each level there is, the highest on top; at most about
MAX_CELLS cells: above that the lowest levels are left out unless in the cover or in the tree, and how
many are left out is said.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MAX_CELLS = 400
LANE = 28
CELL = 24
CHARACTER = 6.8
MAX_TICKS = 60
# Width of the drawing in pixels from which a label is shown: always, from 45rem, from 70rem on.
WIDTHS = ((250, ""), (640, "wide"), (1030, "full"))


@dataclass(frozen=True, slots=True)
class Span:
    """A section as the timeline sees it. What is `listed` in the tree below is drawn at whatever level."""

    ref: str
    level: int
    from_seq: int
    to_seq: int
    generation: int = 1
    in_cover: bool = False
    stale: bool = False
    listed: bool = False
    opened: bool = False

    @property
    def range(self) -> str:
        return f"{self.from_seq}-{self.to_seq}"


@dataclass(frozen=True, slots=True)
class Cell:
    """A drawn section: places in percent and pixels, its label and from which width on that is shown.

    `says_stale` is true where the word has room beside the label on a wide page; the hatching shows it anyway.
    """

    span: Span
    x: str
    width: str
    y: int
    middle: str
    label: str
    shown_from: str
    says_stale: bool = False

    @property
    def text_y(self) -> int:
        return self.y + 16

    @property
    def words(self) -> str:
        noun = "Rollup" if self.span.level else "Section"
        states = [f"generation {self.span.generation}", "in the cover" if self.span.in_cover else "rolled up"]
        return ", ".join([f"{noun} {self.span.ref}", *states, *(["stale"] if self.span.stale else [])])


@dataclass(frozen=True, slots=True)
class Mark:
    """A place on the marks' lane or the axis."""

    x: str
    seq: int
    anchor: str = "middle"
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Timeline:
    lanes: tuple[str, ...]
    cells: tuple[Cell, ...]
    tail: tuple[Mark, ...]
    tail_y: int
    marks: tuple[Mark, ...]
    scale: tuple[Mark, ...]
    left_out: int

    @property
    def height(self) -> int:
        return len(self.lanes) * LANE

    @property
    def marks_y(self) -> int:
        return self.height - 2 * LANE

    @property
    def axis_y(self) -> int:
        return self.height - LANE + 2

    @property
    def axis_tick(self) -> int:
        return self.axis_y + 6

    @property
    def axis_text_y(self) -> int:
        return self.axis_y + 19

    @property
    def tail_bottom(self) -> int:
        return self.tail_y + 20


def draw(spans: Sequence[Span], marks: Iterable[int], *, last: int, through: int) -> Timeline:
    """Place `spans`, compaction `marks` (seqs) and the tail (`through` + 1 … `last`) on a log of `last` events."""
    kept = _kept(spans)
    top = max((span.level for span in spans), default=0)
    names = [f"L{level}" for level in range(top, 0, -1)]
    tail_lane = top * LANE
    return Timeline(
        lanes=(*names, "L0, tail", "marks", "seq"),
        cells=tuple(_cell(span, last, (top - span.level) * LANE) for span in kept),
        tail=tuple(_tail(through, last)),
        tail_y=tail_lane + 2,
        marks=tuple(Mark(percent(seq - 0.5, last), seq) for seq in marks),
        scale=tuple(_scale(last)),
        left_out=len(spans) - len(kept),
    )


def percent(seqs: float, last: int) -> str:
    """Return so many seqs as percent of `last`, with two digits."""
    return f"{100 * seqs / max(last, 1):.2f}%"


def _kept(spans: Sequence[Span]) -> list[Span]:
    lowest = 0
    while sum(span.level >= lowest for span in spans) > MAX_CELLS:
        lowest += 1
    return [span for span in spans if span.level >= lowest or span.in_cover or span.listed]


def _cell(span: Span, last: int, y: int) -> Cell:
    count = span.to_seq - span.from_seq + 1
    share = count / max(last, 1)
    label, shown_from = _label(span, share)
    return Cell(
        span=span,
        x=percent(span.from_seq - 1, last),
        width=percent(count, last),
        y=y,
        middle=percent(span.from_seq - 1 + count / 2, last),
        label=label,
        shown_from=shown_from,
        says_stale=span.stale and _fits(f"{span.range} stale", share * WIDTHS[-1][0]),
    )


def _label(span: Span, share: float) -> tuple[str, str]:
    """Return the range and from which width of the page on it fits; no label when it never does."""
    for width, name in WIDTHS:
        if _fits(span.range, share * width):
            return span.range, name
    return "", ""


def _fits(text: str, width: float) -> bool:
    return width >= len(text) * CHARACTER + 6


def _tail(through: int, last: int) -> Iterable[Mark]:
    """Yield a stroke for each tail event, or for every nth where there are more than MAX_TICKS."""
    step = -(-(last - through) // MAX_TICKS) or 1
    for number, seq in enumerate(range(through + 1, last + 1, step)):
        yield Mark(percent(seq - 0.5, last), seq, wide=bool(number % 3))


def _scale(last: int) -> Iterable[Mark]:
    """Yield the axis's numbers: 1, round steps, the last; every second only where there is room."""
    step = _step(last)
    yield Mark("0%", 1, "start")
    for number, seq in enumerate(range(max(step, 2), last - step // 2, step)):
        yield Mark(percent(seq - 0.5, last), seq, wide=not number % 2)
    if last > 1:
        yield Mark("100%", last, "end")


def _step(last: int) -> int:
    """Return 1, 2 or 5 times a power of ten, so that at most eight steps make up `last`."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power * 8 >= last:
                return factor * power
        power *= 10
