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
from chronicle.verifier import Slot, holes_between, wrong_slot

type Place = tuple[int, int, int]
type Generation = tuple[int, int, int, int]


@dataclass(slots=True)
class _Kept:
    """An anchor without words: its line, row, and the digests of its sections, (stated, computed)."""

    line: int
    row: shapes.Anchor
    digests: list[tuple[str, str]] = field(default_factory=list)
    children: list[Place] = field(default_factory=list)


class EditionProof:
    """One edition. `digests` are those of its sections so far, by (level, from, to, generation)."""

    def __init__(self, log_id: str, last_seq: int, row: shapes.Edition, content: bytearray) -> None:
        self.row = row
        self.digests: dict[Generation, str] = {}
        self._log_id, self._last_seq = log_id, last_seq
        self._content = content
        self._anchors: dict[Place, _Kept] = {}
        self._read: list[tuple[int, shapes.Section]] = []

    def anchor(self, line: int, row: shapes.Anchor) -> None:
        """Take a slot; whether it joins the others is proven at the end."""
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
        slot = (row.level, row.from_seq, row.to_seq)
        name = shapes.ref(*slot, row.generation)
        kept = self._anchors.get(slot)
        if kept is None:
            refuse(line, f"section {name}: there is no anchor for it")
        self._check_succession(line, name, row, kept)
        if not row.prose.strip() or not row.title.strip():
            refuse(line, f"section {name} has no words")
        if row.replaces_from is not None and row.replaces_from > self._last_seq:
            refuse(line, f"section {name} goes past the end of its log, {self._last_seq} (replaces_from)")
        computed = section_digest(self._log_id, self.row.number, row)
        if computed != row.digest:
            refuse(line, f"section {name}: its words are not what was recorded (digest)", seq=row.from_seq - 1)
        for source in row.sources:
            if tuple(source) not in self.digests:
                refuse(line, f"section {name} read {shapes.ref(*source)}, which does not stand before it (sources)")
        kept.digests.append((row.digest, computed))
        self.digests[*slot, row.generation] = row.digest
        if row.level and not (row.sources == [] and kept.row.kind == "imported"):
            self._read.append((line, row))

    @staticmethod
    def _check_succession(line: int, name: str, row: shapes.Section, kept: _Kept) -> None:
        before = len(kept.digests)
        if row.generation != before + 1:
            refuse(line, f"section {name}: generation {before + 1} is missing")
        if row.supersedes is not None and row.supersedes >= row.generation:
            refuse(line, f"section {name} supersedes generation {row.supersedes}: a cycle (supersedes)")
        if (row.supersedes or 0) != before:
            words = f"generation {row.supersedes}" if row.supersedes else "none"
            refuse(line, f"section {name} supersedes {words}, not the one before it: a fork (supersedes)")

    def end(self, line: int) -> int:
        """Prove what only the whole shows, and return the seq that level 0 covers through."""
        self._stamp()
        slots = [self._slot(kept) for kept in self._anchors.values()]  # by level and range: the order of the rows
        ground = [slot for slot in slots if slot.level == 0]
        counted = {slot.from_seq: self._content.count(1, slot.from_seq - 1, slot.to_seq) for slot in ground}
        holes, through = holes_between(ground)
        ends: dict[int, int] = defaultdict(int)
        for kept, slot in zip(self._anchors.values(), slots, strict=True):
            why = wrong_slot(slot, self._last_seq, ends[slot.level], counted)
            if not why and slot.level == 0 and slot.from_seq != ends[0] + 1:
                why = f"no section covers {ends[0] + 1} to {slot.from_seq - 1}"
            if not why and not kept.digests:
                why = "it has no words: no generation of it is in the file"
            if why:
                refuse(kept.line, f"section {slot.ref}: {why}", seq=slot.from_seq - 1, holes=holes)
            ends[slot.level] = slot.to_seq
        self._check_rollups_read_their_children()
        return through

    def _stamp(self) -> None:
        for place, kept in self._anchors.items():
            if kept.row.rolled_up_into is not None:
                parent = self._anchors.get((place[0] + 1, *kept.row.rolled_up_into))
                if parent is None:
                    into = shapes.ref(place[0] + 1, *kept.row.rolled_up_into)
                    refuse(
                        kept.line, f"section {shapes.ref(*place)} is rolled up into {into}, which is not in the file"
                    )
                parent.children.append(place)

    def _slot(self, kept: _Kept) -> Slot:
        row = kept.row
        children = tuple((*place, self._anchors[place].row.event_count) for place in kept.children)
        name = shapes.ref(row.level, row.from_seq, row.to_seq)
        return Slot(name, row.level, row.from_seq, row.to_seq, row.event_count, children, tuple(kept.digests))

    def _check_rollups_read_their_children(self) -> None:
        for line, row in self._read:
            slot = (row.level, row.from_seq, row.to_seq)
            if [source[:3] for source in row.sources] != self._anchors[slot].children:
                refuse(line, f"section {shapes.ref(*slot, row.generation)} did not read exactly its children (sources)")
        self._read.clear()
