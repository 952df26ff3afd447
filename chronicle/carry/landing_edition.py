"""One edition: its anchors and sections, compared with those that are here, and written beside them.

Guarantees: an anchor that is here has the same range, kind and count; a stamp is only ever added; a section that is
here with other words is kept as it stands and counted; what lands rests on what is here as the file has it.
Refuses (CarryRefused, naming the line): anchors that overlap or differ, a stamp elsewhere, a generation behind one
that has other words here, a rollup that read one (forks).
"""

from bisect import bisect_right
from collections import defaultdict
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from chronicle import canonical
from chronicle.carry import shapes
from chronicle.carry.file import refuse
from chronicle.carry.rows import anchor_row
from chronicle.carry.tally import Tally
from chronicle.models import Anchor, Edition, RollupSource, Section, SectionPin

PAGE = 200

type Place = tuple[int, int, int]
type Generation = tuple[int, int, int, int]


class Known(NamedTuple):
    """A generation that is here, or lands: its key (0 while nothing is written), and whether its words are others."""

    pk: int
    other: bool = False


class _Slot(NamedTuple):
    pk: int
    row: shapes.Anchor


class EditionLanding:
    """One edition of a log. `edition` is None where there is none yet and nothing is written."""

    def __init__(self, edition: Edition | None, row: shapes.Edition, tally: Tally, *, write: bool) -> None:
        self.row = row
        self.known: dict[Generation, Known] = {}
        self.landing_upto = 0  # where the last level-0 anchor that lands ends
        self.here_upto = self.file_upto = 0
        self.anchored = False
        self._edition, self._tally, self._write = edition, tally, write
        self._slots: dict[Place, _Slot] = {}
        self._words: dict[Generation, tuple[int, str]] = {}
        self._new: list[tuple[int, shapes.Anchor]] = []
        self._stamps: dict[Place, list[int]] = defaultdict(list)
        self._page: list[tuple[int, shapes.Section]] = []
        if edition is not None:
            self._read(edition)
        self._ranges = _ranges(self._slots)

    def _read(self, edition: Edition) -> None:
        for anchor in Anchor.objects.filter(edition=edition).select_related("rolled_up_into").iterator(chunk_size=2000):
            place = (anchor.level, anchor.from_seq, anchor.to_seq)
            self._slots[place] = _Slot(anchor.pk, anchor_row(anchor, upto=shapes.BIG))
            if anchor.level == 0:
                self.here_upto = max(self.here_upto, anchor.to_seq)
        names = ("anchor__level", "anchor__from_seq", "anchor__to_seq", "generation", "pk", "title", "prose")
        found = Section.objects.filter(anchor__edition=edition).values_list(*names)
        for level, first, last, generation, pk, title, prose in found.iterator(chunk_size=PAGE):
            self._words[level, first, last, generation] = (pk, _words(title, prose))

    def anchor(self, line: int, row: shapes.Anchor) -> None:
        """Take an anchor."""
        place = (row.level, row.from_seq, row.to_seq)
        if row.level == 0:
            self.file_upto = row.to_seq
        here = self._slots.get(place)
        if here is None:
            self._refuse_overlap(line, place)
            self._new.append((line, row))
            self._tally.land("anchor")
            if row.level == 0:
                self.landing_upto = row.to_seq
            return
        self._compare(line, row, here)
        self._tally.meet("anchor")

    def _refuse_overlap(self, line: int, place: Place) -> None:
        starts, ends = self._ranges.get(place[0], ([], []))
        at = bisect_right(starts, place[2]) - 1
        if at >= 0 and ends[at] >= place[1]:
            there = shapes.ref(place[0], starts[at], ends[at])
            refuse(line, f"section {shapes.ref(*place)} overlaps {there}, which is here (a fork)")

    def _compare(self, line: int, row: shapes.Anchor, here: _Slot) -> None:
        name = shapes.ref(row.level, row.from_seq, row.to_seq)
        was = here.row
        if (row.unit_seq, row.kind, row.event_count) != (was.unit_seq, was.kind, was.event_count):
            refuse(line, f"section {name} closed another way here: unit, kind or count differ")
        into = row.rolled_up_into
        if into is not None and was.rolled_up_into is None:
            self._stamps[row.level + 1, *into].append(here.pk)
        elif into is not None and was.rolled_up_into != into:
            refuse(line, f"section {name} is rolled up into another rollup here (a fork)")

    def end_anchors(self) -> None:
        """Write the anchors that land, parents first so that their stamps can name them; then stamps on those here."""
        self.anchored = True
        if not self._write:
            self._new = []
        for level in sorted({row.level for _, row in self._new}, reverse=True):
            rows = [row for _, row in self._new if row.level == level]
            made = Anchor.objects.bulk_create([self._anchor_of(row) for row in rows], batch_size=500)
            for row, anchor in zip(rows, made, strict=True):
                self._slots[row.level, row.from_seq, row.to_seq] = _Slot(anchor.pk, row)
        for parent, children in self._stamps.items() if self._write else ():
            for start in range(0, len(children), 500):
                some = Anchor.objects.filter(pk__in=children[start : start + 500], rolled_up_into__isnull=True)
                some.update(rolled_up_into=self._slots[parent].pk)
        self._new, self._stamps = [], defaultdict(list)

    def _anchor_of(self, row: shapes.Anchor) -> Anchor:
        into = row.rolled_up_into
        return Anchor(
            edition=self._edition,
            level=row.level,
            from_seq=row.from_seq,
            to_seq=row.to_seq,
            unit_seq=row.unit_seq,
            kind=row.kind,
            event_count=row.event_count,
            rolled_up_into_id=self._slots[row.level + 1, *into].pk if into else None,
        )

    def section(self, line: int, row: shapes.Section) -> None:
        """Take a section; a full page is written."""
        key = (row.level, row.from_seq, row.to_seq, row.generation)
        here = self._words.get(key)
        if here is not None:
            other = here[1] != _words(row.title, row.prose)
            self.known[key] = Known(here[0], other)
            if other:
                self._tally.differ("section", f"edition {self.row.number}: {shapes.ref(*key)}")
            else:
                self._meet(row)
            return
        self._refuse_what_rests_on_others(line, row)
        self.known[key] = Known(0)
        self._page.append((line, row))
        self._tally.land("section")
        self._tally.land("section_pin", len(row.pins))
        self._tally.land("section_source", len(row.sources))
        if len(self._page) >= PAGE:
            self.flush()

    def _meet(self, row: shapes.Section) -> None:
        self._tally.meet("section")
        self._tally.meet("section_pin", len(row.pins))
        self._tally.meet("section_source", len(row.sources))

    def _refuse_what_rests_on_others(self, line: int, row: shapes.Section) -> None:
        slot = (row.level, row.from_seq, row.to_seq)
        name = shapes.ref(*slot, row.generation)
        before = (*slot, row.generation - 1)
        if row.generation > 1 and self.known[before].other:
            refuse(line, f"section {name} supersedes {shapes.ref(*before)}, which has other words here (a fork)")
        for source in row.sources:
            if self.known[source].other:
                refuse(line, f"section {name} read {shapes.ref(*source)}, which has other words here")

    def flush(self) -> None:
        """Write the sections taken, a generation at a time, then what each rests on."""
        if self._write:
            for generation in sorted({row.generation for _, row in self._page}):
                self._insert([row for _, row in self._page if row.generation == generation])
            self._rest([row for _, row in self._page])
        self._page = []

    def _insert(self, rows: list[shapes.Section]) -> None:
        made = Section.objects.bulk_create([self._section_of(row) for row in rows], batch_size=50)
        for row, section in zip(rows, made, strict=True):
            self.known[row.level, row.from_seq, row.to_seq, row.generation] = Known(section.pk)

    def _section_of(self, row: shapes.Section) -> Section:
        slot = (row.level, row.from_seq, row.to_seq)
        names = ("generation", "title", "prose", "origin", "replaces_from", "summariser", "model", "prompt_digest")
        more = ("tokens_in", "tokens_out", "token_estimate", "made_by", "digest")
        return Section(
            anchor_id=self._slots[slot].pk,
            supersedes_id=self.known[*slot, row.supersedes].pk if row.supersedes else None,
            cost=None if row.cost is None else Decimal(row.cost),
            made_at=datetime.fromisoformat(row.made_at),
            **{name: getattr(row, name) for name in (*names, *more)},
        )

    def _rest(self, rows: list[shapes.Section]) -> None:
        pins: list[SectionPin] = []
        sources: list[RollupSource] = []
        for row in rows:
            pk = self.known[row.level, row.from_seq, row.to_seq, row.generation].pk
            pins += [SectionPin(section_id=pk, position=place, key=key) for place, key in enumerate(row.pins)]
            sources += [
                RollupSource(section_id=pk, position=place, source_id=self.known[source].pk)
                for place, source in enumerate(row.sources)
            ]
        SectionPin.objects.bulk_create(pins, batch_size=500)
        RollupSource.objects.bulk_create(sources, batch_size=500)


def _words(title: str, prose: str) -> str:
    return canonical.digest("words", title, prose)


def _ranges(slots: dict[Place, _Slot]) -> dict[int, tuple[list[int], list[int]]]:
    """Return the starts and ends of each level's ranges, in order."""
    found: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for level, first, last in sorted(slots):
        found[level][0].append(first)
        found[level][1].append(last)
    return found
