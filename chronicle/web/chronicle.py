"""The chronicle of one log: facts, timeline, tree.

Guarantees: what is opened, looked for and shown stands in the address alone, so a link brings back
the same page without a script; a fragment is the inside of one entry. Refuses (400) a seq or an id
that it cannot read and says what one looks like.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from django import forms
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from chronicle.access import log_for, may_redraw
from chronicle.errors import InvalidFilter, UnknownSection
from chronicle.models import Log
from chronicle.web.converters import SectionId
from chronicle.web.editions import Standing, standing
from chronicle.web.overview import Overview
from chronicle.web.ranges import Slice, slice_of
from chronicle.web.respond import respond
from chronicle.web.stale import Stale, stale_of
from chronicle.web.timeline import Span, Timeline, draw
from chronicle.web.tree import Node, Opening, Tree, node_of, tree_of

MAX_OPEN = 20
MAX_SOUGHT = 1000
TAIL = "tail"


class JumpForm(forms.Form):
    """`seq`: one seq, or a range of at most MAX_SOUGHT as `12-31`."""

    seq = forms.CharField(required=False, max_length=40)

    def __init__(self, log: Log, *args: Any, **kwargs: Any) -> None:
        self.log = log
        super().__init__(*args, **kwargs)

    def clean_seq(self) -> range:
        text = self.cleaned_data["seq"].strip()
        if not text:
            return range(0)
        found = re.fullmatch(r"([0-9]{1,18})(?:\s*[-–]\s*([0-9]{1,18}))?", text)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= first <= last <= self.log.last_seq:
            raise forms.ValidationError(f"A seq from 1 to {self.log.last_seq}, or a range such as 12-31.")
        if last - first >= MAX_SOUGHT:
            raise forms.ValidationError(f"A range of at most {MAX_SOUGHT} events; the events page shows longer ones.")
        return range(first, last + 1)


class ChroniclePage:
    """What the template shows, each part made when it is first asked for: a fragment asks for one part only."""

    def __init__(self, log: Log, opening: Opening, standing: Standing) -> None:
        self.log = log
        self.opening = opening
        self.standing = standing
        self.overview = Overview(log, standing.edition)

    @cached_property
    def tree(self) -> Tree:
        if self.overview.edition is None:
            return Tree([])
        return tree_of(self.overview.edition, self.opening, stale=self.overview.stale, marks=self.overview.marks)

    @property
    def fragments(self) -> dict[str, str]:
        """The inside of the one entry that is asked for, by its element's id."""
        inside = {f"in-{str(id).replace(':', '-')}": "inside" for id in self.opening.ids[:1]}
        return {"in-tail": "in-tail"} if self.opening.tail else inside

    def branch(self) -> Node:
        """The one entry that a fragment shows the inside of."""
        edition, ids = self.overview.edition, self.opening.ids
        if edition is None or len(ids) != 1:
            raise UnknownSection("There is no such section.")
        return node_of(edition, ids[0], stale=self.overview.stale, marks=self.overview.marks)

    @cached_property
    def to_redo(self) -> list[Stale]:
        """The stale rollups, each with the price of drawing it again, oldest first."""
        edition = self.overview.edition
        return stale_of(self.log, edition, self.overview.stale) if edition and not self.standing.older else []

    @property
    def folded(self) -> int:
        """How many sections stand under a rollup."""
        return self.overview.sections - len(self.overview.cover.parts)

    @property
    def first_sought(self) -> int:
        return self.opening.sought[0]

    @property
    def sought_words(self) -> str:
        first, last = self.opening.sought[0], self.opening.sought[-1]
        return f" {first}" if first == last else f"s {first} to {last}"

    @cached_property
    def tail(self) -> Slice | None:
        """The tail's events, when they are asked for."""
        first, last = self.overview.through + 1, self.log.last_seq
        sought = self.opening.sought
        asked = self.opening.tail or (bool(sought) and sought[-1] >= first)
        return slice_of(self.log, first, last, sought=sought) if asked and first <= last else None

    @cached_property
    def timeline(self) -> Timeline:
        marks = [mark.seq for mark in self.overview.marks]
        return draw(list(self._spans()), marks, last=self.log.last_seq, through=self.overview.through)

    def _spans(self) -> Iterator[Span]:
        edition = self.overview.edition
        if edition is None:
            return
        anchors = edition.anchors.annotate(generation=Max("sections__generation")).order_by("-level", "from_seq")
        listed = {node.section.anchor_id: node.opened for node in _nodes(self.tree.nodes)}
        columns = ("pk", "level", "from_seq", "to_seq", "rolled_up_into_id", "generation")
        for pk, level, from_seq, to_seq, parent, generation in anchors.values_list(*columns):
            yield Span(
                str(SectionId(level, from_seq, to_seq)),
                level,
                from_seq,
                to_seq,
                generation or 1,
                in_cover=parent is None,
                stale=pk in self.overview.stale,
                listed=pk in listed,
                opened=listed.get(pk, False),
            )


def chronicle(request: HttpRequest, log_id: str) -> HttpResponse:
    """Show the log; `jump` is the form's `seq`, and leads on to the address of the event, its fragment included."""
    log = log_for(request.user, log_id)
    stands = standing(request, log)
    here = reverse("chronicle", args=[log_id])
    ask = f"{here}{stands.ask}"
    jump = request.GET.get("jump")
    form = JumpForm(log, request.GET if jump is None else {"seq": jump})
    valid = form.is_valid()
    if jump is not None and valid and form.cleaned_data["seq"]:
        return redirect(_place(ask, form.cleaned_data["seq"]))
    ids, tail = _asked(request.GET.getlist("open"))
    page = ChroniclePage(log, Opening(ids, tail, form.cleaned_data["seq"] if valid else range(0)), stands)
    context = {
        "log": log,
        "page": page,
        "form": form,
        "overview": page.overview,
        "here": here,
        "ask": ask,
        "standing": stands,
        "may": may_redraw(request.user),
        "node": SimpleLazyObject(page.branch),
    }
    return respond(request, "web/chronicle.html", context, page.fragments, status=200 if valid else 400)


def _place(ask: str, sought: range) -> str:
    first, last = sought[0], sought[-1]
    return f"{ask}seq={first}#e{first}" if first == last else f"{ask}seq={first}-{last}#e{first}"


def _asked(texts: list[str]) -> tuple[tuple[SectionId, ...], bool]:
    """Read the `open` parameters: section ids and the word `tail`."""
    if len(texts) > MAX_OPEN:
        raise InvalidFilter(f"At most {MAX_OPEN} entries can be opened at once.")
    try:
        return tuple(SectionId.parse(text) for text in texts if text != TAIL), TAIL in texts
    except UnknownSection as error:
        raise InvalidFilter(str(error)) from error


def _nodes(nodes: list[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        yield from _nodes([child for child in node.children or () if isinstance(child, Node)])
