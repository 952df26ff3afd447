"""The tree of a chronicle: the cover, rollups that open to what they read, sections that open to their events.

Guarantees: an entry stands once, under the rollup that stands for it (never beside it); ranges are
inclusive; only what is opened is loaded, with a number of queries that depends on how much is
opened and never on how much there is. Each compaction of the agent's own context has one row, at
the end of what it closed.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Count, Q, QuerySet

from chronicle.errors import UnknownSection
from chronicle.models import Edition, Log, Section
from chronicle.sections import current_sections
from chronicle.web.converters import SectionId
from chronicle.web.ranges import Slice, meets, slice_of
from chronicle.web.rows import Row

MAX_LEAVES = 8
WORDS = 4000  # characters of a section's words in the tree; its own page has the rest
Stale = Mapping[int, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Opening:
    """What to open: sections by id, the tail, and the seqs that are looked for."""

    ids: tuple[SectionId, ...] = ()
    tail: bool = False
    sought: range = range(0)


@dataclass(frozen=True, slots=True)
class Leaf:
    """An opened section: the beginning of its words, their whole length, and the events under them."""

    prose: str
    length: int
    events: Slice

    @property
    def cut(self) -> bool:
        return len(self.prose) < self.length


@dataclass(frozen=True, slots=True)
class Node:
    """One section in the tree. `children` and `leaf` are None while it is folded and not loaded."""

    section: Section
    child_count: int
    stale: Sequence[str] = ()
    children: "list[Node | Row] | None" = None
    leaf: Leaf | None = None
    sought: bool = False

    @property
    def ref(self) -> str:
        return self.section.anchor.ref

    @property
    def name(self) -> str:
        """The ref as part of an element's id."""
        return self.ref.replace(":", "-")

    @property
    def opened(self) -> bool:
        return self.children is not None or self.leaf is not None

    @property
    def covers(self) -> tuple[int, str]:
        anchor = self.section.anchor
        if anchor.level and self.child_count:
            return self.child_count, "section" if anchor.level == 1 else "rollup"
        return anchor.to_seq - anchor.from_seq + 1, "event"


@dataclass(frozen=True, slots=True)
class Tree:
    """The entries of the cover, each a Node or a compaction's Row."""

    entries: "list[Node | Row]"
    leaves_left_out: int = 0

    @property
    def nodes(self) -> list[Node]:
        return [entry for entry in self.entries if isinstance(entry, Node)]


@dataclass(slots=True)
class _Loaded:
    """What the queries brought, by the anchor it stands under."""

    log: Log
    under: dict[int | None, list[Section]] = field(default_factory=lambda: defaultdict(list))
    opened: set[int] = field(default_factory=set)
    leaves: dict[int, Leaf] = field(default_factory=dict)
    stale: Stale = field(default_factory=dict)
    marks: Sequence[Row] = ()
    sought: range = range(0)


def tree_of(edition: Edition, opening: Opening, *, stale: Stale, marks: Sequence[Row]) -> Tree:
    """Return the whole tree of `edition`, opened as asked."""
    opened, leaves, left_out = _opened(edition, opening)
    loaded = _Loaded(edition.log, opened=opened, stale=stale, marks=marks, sought=opening.sought)
    for section in current(edition).filter(
        Q(anchor__rolled_up_into__isnull=True) | Q(anchor__rolled_up_into__in=opened)
    ):
        loaded.under[section.anchor.rolled_up_into_id].append(section)
    _load_leaves(loaded, edition, leaves)
    return Tree(_entries(loaded, None, None), left_out)


def node_of(edition: Edition, section_id: SectionId, *, stale: Stale, marks: Sequence[Row]) -> Node:
    """Return one opened section with what is directly under it. Raises UnknownSection."""
    section = current(edition).filter(anchor_at(section_id)).first()
    if section is None:
        raise UnknownSection(f"There is no section {section_id}.")
    anchor = section.anchor
    loaded = _Loaded(edition.log, opened={anchor.pk}, stale=stale, marks=marks)
    if anchor.level:
        loaded.under[anchor.pk] = list(current(edition).filter(anchor__rolled_up_into=anchor))
    if not loaded.under[anchor.pk]:
        _load_leaves(loaded, edition, [anchor.pk])
    return _node(loaded, section)


def current(edition: Edition) -> QuerySet[Section]:
    """The current generation of every anchor of `edition` in seq order, without its prose."""
    return current_sections(edition).defer("prose").annotate(child_count=Count("anchor__children"))


def anchor_at(section_id: SectionId) -> Q:
    level, from_seq, to_seq = section_id
    return Q(anchor__level=level, anchor__from_seq=from_seq, anchor__to_seq=to_seq)


def _opened(edition: Edition, opening: Opening) -> tuple[set[int], list[int], int]:
    """Return the anchors to open (with all above them), those of them that are leaves, and how many were left."""
    wanted = Q(pk__in=())
    for level, from_seq, to_seq in opening.ids:
        wanted |= Q(level__gte=level, from_seq__lte=from_seq, to_seq__gte=to_seq)
    if opening.sought:
        wanted |= Q(from_seq__lte=opening.sought[-1], to_seq__gte=opening.sought[0])
    anchors = edition.anchors.filter(wanted).annotate(child_count=Count("children")).order_by("from_seq")
    rows = list(anchors.values_list("pk", "child_count", "level", "from_seq", "to_seq"))
    if unknown := set(opening.ids) - {SectionId(*row[2:]) for row in rows}:
        raise UnknownSection(f"There is no section {', '.join(sorted(map(str, unknown)))}.")
    leaves = [row[0] for row in rows if not row[1]]
    kept = leaves[:MAX_LEAVES]
    return {row[0] for row in rows if row[1]} | set(kept), kept, len(leaves) - len(kept)


def _load_leaves(loaded: _Loaded, edition: Edition, pks: Sequence[int]) -> None:
    for section in current(edition).filter(anchor__in=pks).defer(None) if pks else ():
        anchor = section.anchor
        events = slice_of(loaded.log, anchor.from_seq, anchor.to_seq, sought=loaded.sought)
        loaded.leaves[anchor.pk] = Leaf(section.prose[:WORDS], len(section.prose), events)


def _entries(loaded: _Loaded, parent: Section | None, parent_pk: int | None) -> "list[Node | Row]":
    nodes = [_node(loaded, section) for section in loaded.under[parent_pk]]
    return list(_with_marks(nodes, loaded.marks, parent))


def _node(loaded: _Loaded, section: Section) -> Node:
    anchor = section.anchor
    opened = anchor.pk in loaded.opened and anchor.pk in loaded.under
    return Node(
        section=section,
        child_count=getattr(section, "child_count", 0),
        stale=loaded.stale.get(anchor.pk, ()),
        children=_entries(loaded, section, anchor.pk) if opened and loaded.under[anchor.pk] else None,
        leaf=loaded.leaves.get(anchor.pk),
        sought=anchor.level == 0 and meets(loaded.sought, anchor.from_seq, anchor.to_seq),
    )


def _with_marks(nodes: Iterable[Node], marks: Sequence[Row], parent: Section | None) -> "Iterable[Node | Row]":
    """Yield the nodes, with each compaction before or after the one that it belongs to in this list."""
    for node in nodes:
        placed = [(mark, _side(node, mark.seq, parent)) for mark in marks]
        yield from (mark for mark, side in placed if side == "before")
        yield node
        yield from (mark for mark, side in placed if side == "after")


def _side(node: Node, seq: int, parent: Section | None) -> str:
    """Say on which side of `node` the mark at `seq` has its row; "" when another list shows it.

    A mark at an end of a rollup stands beside the rollup, one inside it beside the section that holds it.
    """
    anchor = node.section.anchor
    if not anchor.from_seq <= seq <= anchor.to_seq:
        return ""
    if parent is not None and seq in {parent.anchor.from_seq, parent.anchor.to_seq}:
        return ""
    if seq == anchor.to_seq or (not node.child_count and seq != anchor.from_seq):
        return "after"
    return "before" if seq == anchor.from_seq else ""
