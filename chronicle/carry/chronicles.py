"""One edition of a carry, proven: its anchors are a partition, its sections one line of generations each.

Guarantees: level-0 ranges join from seq 1 without a hole and end inside the log; a rollup is the union of the slots
that bear its stamp, one level down; generations count from 1, each supersedes the one before it, over one slot; the
digest of each fits its words; what a generation read stands in the file, and a rollup read exactly its children.
Refuses (CarryRefused, naming line and section): the first that does not fit.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from chronicle.carry import shapes
from chronicle.carry.file import refuse
from chronicle.carry.values import section_digest
from chronicle.unseen import blank
from chronicle.verifier import Slot, holes_between, wrong_slot

type Place = tuple[int, int, int]
type Generation = tuple[int, int, int, int]


@dataclass(slots=True)
class _Kept:
    """An anchor without words: its line, its row, how many generations it has so far, and what bears its stamp."""

    line: int
    row: shapes.Anchor
    generations: int = 0
    children: list[Place] = field(default_factory=list)


class EditionProof:
    """One edition. `digests` are those of its sections so far, by (level, from, to, generation)."""

    def __init__(self, log_id: str, last_seq: int, row: shapes.Edition, content: bytearray) -> None:
        self.row = row
        self.through = 0
        self.digests: dict[Generation, str] = {}
        self._log_id, self._last_seq = log_id, last_seq
        self._content = content
        self._anchors: dict[Place, _Kept] = {}
        self._joined = False

    def anchor(self, line: int, row: shapes.Anchor) -> None:
        """Take a slot; whether it joins the others is proven when all are there."""
        place = shapes.ref(row.level, row.from_seq, row.to_seq)
        if row.to_seq < row.from_seq:
            refuse(line, f"section {place}: its range runs backwards (to_seq)")
        if row.to_seq > self._last_seq or row.unit_seq > self._last_seq:
            refuse(line, f"section {place} goes past the end of its log, {self._last_seq}")
        if (row.kind == "rollup" and not row.level) or (row.level and row.kind not in ("rollup", "imported")):
            refuse(line, f"section {place}: a {row.kind} does not stand at level {row.level} (kind)")
        self._anchors[row.level, row.from_seq, row.to_seq] = _Kept(line, row)

    def section(self, line: int, row: shapes.Section) -> None:
        """Prove a generation against those before it."""
        self._join()
        slot = (row.level, row.from_seq, row.to_seq)
        name = shapes.ref(*slot, row.generation)
        kept = self._anchors.get(slot)
        if kept is None:
            refuse(line, f"section {name}: there is no anchor for it")
        self._check_succession(line, name, row, kept.generations)
        if blank(row.prose) or blank(row.title):
            refuse(line, f"section {name} has no words")
        if row.replaces_from is not None and row.replaces_from > self._last_seq:
            refuse(line, f"section {name} goes past the end of its log, {self._last_seq} (replaces_from)")
        if section_digest(self._log_id, self.row.number, row) != row.digest:
            refuse(line, f"section {name}: its words are not what was recorded (digest)", seq=row.from_seq - 1)
        self._check_sources(line, name, row, kept)
        kept.generations += 1
        self.digests[*slot, row.generation] = row.digest

    @staticmethod
    def _check_succession(line: int, name: str, row: shapes.Section, before: int) -> None:
        if row.generation != before + 1:
            refuse(line, f"section {name}: generation {before + 1} is missing")
        if row.supersedes is not None and row.supersedes >= row.generation:
            refuse(line, f"section {name} supersedes generation {row.supersedes}: a cycle (supersedes)")
        if (row.supersedes or 0) != before:
            words = f"generation {row.supersedes}" if row.supersedes else "none"
            refuse(line, f"section {name} supersedes {words}, not the one before it: a fork (supersedes)")

    def _check_sources(self, line: int, name: str, row: shapes.Section, kept: _Kept) -> None:
        for source in row.sources:
            if source not in self.digests:
                refuse(line, f"section {name} read {shapes.ref(*source)}, which does not stand before it (sources)")
        imported = kept.row.kind == "imported" and not row.sources
        if row.level and not imported and [source[:3] for source in row.sources] != kept.children:
            refuse(line, f"section {name} did not read exactly its children (sources)")

    def end(self) -> None:
        """Prove that no slot is without words."""
        self._join()
        for place, kept in self._anchors.items():
            if not kept.generations:
                refuse(kept.line, f"section {shapes.ref(*place)} has no words: no generation of it is in the file")

    def _join(self) -> None:
        """Prove, once, that the slots are a partition, level by level."""
        if self._joined:
            return
        self._joined = True
        self._stamp()
        slots = [self._slot(kept) for kept in self._anchors.values()]  # by level and range: the order of the rows
        ground = [slot for slot in slots if slot.level == 0]
        counted = {slot.from_seq: self._content.count(1, slot.from_seq - 1, slot.to_seq) for slot in ground}
        holes, self.through = holes_between(ground)
        ends: dict[int, int] = defaultdict(int)
        for kept, slot in zip(self._anchors.values(), slots, strict=True):
            why = wrong_slot(slot, self._last_seq, ends[slot.level], counted)
            if not why and slot.level == 0 and slot.from_seq != ends[0] + 1:
                why = f"no section covers {ends[0] + 1} to {slot.from_seq - 1}"
            if why:
                refuse(kept.line, f"section {slot.ref}: {why}", seq=slot.from_seq - 1, holes=holes)
            ends[slot.level] = slot.to_seq

    def _stamp(self) -> None:
        for place, kept in self._anchors.items():
            if kept.row.rolled_up_into is not None:
                parent = self._anchors.get((place[0] + 1, *kept.row.rolled_up_into))
                if parent is None:
                    into, name = shapes.ref(place[0] + 1, *kept.row.rolled_up_into), shapes.ref(*place)
                    refuse(kept.line, f"section {name} is rolled up into {into}, which is not in the file")
                parent.children.append(place)

    def _slot(self, kept: _Kept) -> Slot:
        row = kept.row
        children = tuple((*place, self._anchors[place].row.event_count) for place in kept.children)
        name = shapes.ref(row.level, row.from_seq, row.to_seq)
        return Slot(name, row.level, row.from_seq, row.to_seq, row.event_count, children, ())
