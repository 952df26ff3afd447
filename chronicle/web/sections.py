"""One section: its anchor, one generation of its words, and beside them what it stands for.

Guarantees: the facts of the anchor and those of the words stand apart; beside a rollup stand the
children it read, in the generation it read; beside a section its events, with N of M. An id that is
no section of the current edition, or a generation that is not there, is a 404.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django import forms
from django.db.models import Count, Max, Q
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from chronicle import receipts
from chronicle.access import log_for, may_redraw
from chronicle.errors import InvalidFilter, UnknownSection
from chronicle.models import Anchor, Edition, EditionState, Log, ReceiptPart, Section
from chronicle.web.converters import SectionId
from chronicle.web.editions import Standing, standing
from chronicle.web.event import WHOLE
from chronicle.web.events import BIG
from chronicle.web.overview import superseded_children
from chronicle.web.ranges import Slice, slice_of
from chronicle.web.respond import respond
from chronicle.web.stale import Stale, stale_of

READERS = 20


class CutForm(forms.Form):
    """Where the page of events under a section is cut."""

    after = forms.IntegerField(required=False, min_value=1, max_value=BIG)
    bookkeeping = forms.BooleanField(required=False)


@dataclass(frozen=True, slots=True)
class Child:
    """A child of a rollup: the generation that the rollup read, and the number of the current one."""

    section: Section
    newest: int

    @property
    def superseded(self) -> bool:
        return self.section.generation < self.newest


@dataclass(frozen=True, slots=True)
class Place:
    """Where an anchor stands among the children of its rollup."""

    number: int
    of: int


class SectionPage:
    """What the page says of one generation of one anchor."""

    def __init__(self, log: Log, edition: Edition, anchor: Anchor, section: Section) -> None:
        self.log = log
        self.edition = edition
        self.anchor = anchor
        self.section = section

    @cached_property
    def generations(self) -> list[Section]:
        return list(self.anchor.sections.defer("prose").order_by("-generation"))

    @property
    def length(self) -> int:
        return self.anchor.to_seq - self.anchor.from_seq + 1

    @property
    def is_current(self) -> bool:
        return self.section.generation == self.generations[0].generation

    @property
    def prose(self) -> str:
        return self.section.prose[:WHOLE]

    @cached_property
    def above(self) -> list[Anchor]:
        """The rollups over it, highest first."""
        anchor = self.anchor
        over = self.edition.anchors.filter(
            level__gt=anchor.level, from_seq__lte=anchor.from_seq, to_seq__gte=anchor.to_seq
        )
        return list(over.order_by("-level"))

    @property
    def rollup(self) -> Anchor | None:
        return next((anchor for anchor in self.above if anchor.pk == self.anchor.rolled_up_into_id), None)

    @cached_property
    def place(self) -> Place:
        siblings = self.edition.anchors.filter(rolled_up_into=self.anchor.rolled_up_into_id)
        before = Count("pk", filter=Q(from_seq__lte=self.anchor.from_seq))
        found = siblings.aggregate(number=before, of=Count("pk"))
        return Place(found["number"], found["of"])

    @cached_property
    def neighbours(self) -> tuple[Anchor | None, Anchor | None]:
        """The sections of its level that end before it and begin after it."""
        beside = Q(to_seq=self.anchor.from_seq - 1) | Q(from_seq=self.anchor.to_seq + 1)
        found = list(self.edition.anchors.filter(beside, level=self.anchor.level).order_by("from_seq"))
        before = next((anchor for anchor in found if anchor.from_seq < self.anchor.from_seq), None)
        return before, next((anchor for anchor in found if anchor.from_seq > self.anchor.from_seq), None)

    @property
    def children(self) -> list[Child]:
        """What a rollup read."""
        return self.read if self.anchor.level else []

    @cached_property
    def read(self) -> list[Child]:
        """The sections this generation read, oldest first: a rollup's children, an imported one's predecessors."""
        rows = self.section.sources.select_related("source__anchor").defer("source__prose")
        newest = Max("source__anchor__sections__generation")
        return [Child(row.source, row.newest) for row in rows.annotate(newest=newest).order_by("position")]

    @property
    def child_count(self) -> int:
        return self.anchor.children.count()

    @cached_property
    def all_stale(self) -> dict[int, Sequence[str]]:
        return superseded_children(self.edition)

    @property
    def stale(self) -> tuple[str, ...]:
        """The ids of the children that this rollup's current generation has not read."""
        return tuple(self.all_stale.get(self.anchor.pk, ())) if self.anchor.level and self.is_current else ()

    @cached_property
    def to_redo(self) -> list[Stale]:
        """This rollup and the one over it, where they are stale, with the price of drawing them again."""
        if self.edition.state != EditionState.CURRENT:
            return []
        wanted = {self.anchor.pk, self.anchor.rolled_up_into_id}
        which = {pk: children for pk, children in self.all_stale.items() if pk in wanted}
        return stale_of(self.log, self.edition, which)

    @property
    def stale_ids(self) -> set[int]:
        return set(self.all_stale)

    @cached_property
    def readers(self) -> list[ReceiptPart]:
        """Where this generation was given or dropped, newest first, at most READERS of them."""
        return list(receipts.readers_of(self.section).order_by("-receipt__number", "position")[:READERS])

    @cached_property
    def reader_count(self) -> int:
        return self.section.read_in.count()

    def events(self, after: int | None, *, books: bool) -> Slice:
        return slice_of(self.log, self.anchor.from_seq, self.anchor.to_seq, after=after, books=books)


def section(request: HttpRequest, log_id: str, section_id: SectionId, number: int | None = None) -> HttpResponse:
    log = log_for(request.user, log_id)
    stands = standing(request, log)
    page = _page(stands, log, section_id, number)
    form = CutForm(request.GET)
    if not form.is_valid():
        raise InvalidFilter("A page of events is cut after a seq: ?after=31.")
    here = reverse("generation" if number else "section", args=[log_id, section_id, *([number] if number else [])])
    context: dict[str, Any] = {"log": log, "page": page, "section": page.section, "anchor": page.anchor, "here": here}
    context |= {"may": may_redraw(request.user) and not stands.older, "standing": stands, "ask": f"{here}{stands.ask}"}
    context["books_url"] = f"{stands.ask}bookkeeping=on"
    if not page.children:
        context["slice"] = page.events(form.cleaned_data["after"], books=form.cleaned_data["bookkeeping"])
    return respond(request, "web/section.html", context, ("beside",))


def anchor_of(stands: Standing, section_id: SectionId) -> Anchor:
    """Return the anchor of this id in the edition that is shown. Raises UnknownSection."""
    level, from_seq, to_seq = section_id
    found = Anchor.objects.filter(edition=stands.edition)
    anchor = found.filter(level=level, from_seq=from_seq, to_seq=to_seq).select_related("edition").first()
    if anchor is None:
        raise UnknownSection(f"There is no section {section_id}.")
    return anchor


def _page(stands: Standing, log: Log, section_id: SectionId, number: int | None) -> SectionPage:
    anchor = anchor_of(stands, section_id)
    generations = anchor.sections.order_by("-generation")
    found = (generations.filter(generation=number) if number else generations).first()
    if found is None:
        raise UnknownSection(f"There is no generation {number} of {section_id}.")
    return SectionPage(log, anchor.edition, anchor, found)
