"""Two generations of one section side by side: how each was made, then sentence against sentence.

Guarantees: what the two share and where they part is said in words and signs, not by colour alone; long prose is
compared up to a bound and the page says how much; what is stale because of the newer one is named, with the price
of drawing it again. A number that is none is 400, a generation that is not there 404.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from chronicle.access import log_for, may_redraw
from chronicle.divergence import named
from chronicle.errors import InvalidFilter, UnknownSection
from chronicle.models import Anchor, AuditEntry, Log, Section
from chronicle.prompts import Texts, texts_of
from chronicle.reconsolidate import WHAT
from chronicle.web.collation import Collation, Pair, collate, word_by_word
from chronicle.web.converters import SectionId
from chronicle.web.editions import Standing, standing
from chronicle.web.events import BIG
from chronicle.web.respond import respond
from chronicle.web.sections import anchor_of
from chronicle.web.stale import Stale, stale_over

PINS = 6


class Generations(forms.Form):
    a = forms.IntegerField(required=False, min_value=1, max_value=BIG)
    b = forms.IntegerField(required=False, min_value=1, max_value=BIG)


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of how the two were made."""

    name: str
    left: str
    right: str

    @property
    def equal(self) -> bool:
        return self.left == self.right


@dataclass(frozen=True, slots=True)
class Accepted:
    """What the audit trail says of a generation: who accepted what was before it, when, why."""

    entry: AuditEntry
    reason: str
    receipts: int


class Comparison:
    """What the page says of two generations of one anchor."""

    def __init__(self, log: Log, anchor: Anchor, a: Section, b: Section, generations: Sequence[int]) -> None:
        self.log = log
        self.anchor = anchor
        self.a, self.b = a, b
        self.generations = generations

    @property
    def current(self) -> int:
        return self.generations[-1]

    @cached_property
    def words(self) -> Collation:
        return collate(self.a.prose, self.b.prose)

    @cached_property
    def titles(self) -> Pair:
        return Pair(0, *word_by_word(self.a.title, self.b.title))

    @cached_property
    def stale(self) -> list[Stale]:
        return stale_over(self.log, self.anchor)

    @cached_property
    def prompt(self) -> Collation | None:
        """The two prompts against each other, where both are known and they differ."""
        a, b = (self._prompts[section.prompt_digest] for section in (self.a, self.b))
        return collate(a.text, b.text) if a and b and a.text != b.text else None

    @cached_property
    def _prompts(self) -> dict[str, Texts | None]:
        digests = {self.a.prompt_digest, self.b.prompt_digest}
        return {digest: texts_of(digest) if digest else None for digest in digests}

    @cached_property
    def accepted(self) -> Accepted | None:
        """Who accepted the divergence of the newer one, where it was drawn on this site."""
        newer = max(self.a, self.b, key=lambda section: section.generation)
        trail = AuditEntry.objects.filter(what=WHAT, target=self.log.public_id, details__contains=f'"{named(newer)}"')
        for entry in trail.order_by("-pk"):
            details = json.loads(entry.details)
            if (details["new"], details["edition"]) == (named(newer), self.anchor.edition.number):
                return Accepted(entry, details["reason"], details["receipts_of"])
        return None

    @property
    def facts(self) -> list[Fact]:
        return [
            Fact(name, left, right) for (name, left), (_, right) in zip(self._of(self.a), self._of(self.b), strict=True)
        ]

    def _of(self, section: Section) -> Iterator[tuple[str, str]]:
        anchor = self.anchor
        yield "anchor", f"{anchor.from_seq} to {anchor.to_seq}, {anchor.event_count} content events"
        yield "made at, by", f"{section.made_at:%Y-%m-%d %H:%M:%S} UTC, {section.made_by or '–'}"
        yield "origin", str(section.origin)
        yield "summariser · model", f"{section.summariser or '–'} · {section.model or 'no model'}"
        yield "prompt", self._prompt_words(section)
        yield "pins", _pin_words([pin.key for pin in section.pins.all()])
        yield "tokens in · out", _token_words(section)
        yield "cost", "not known" if section.cost is None else f"US$ {section.cost.normalize():f}"
        yield "read", ", ".join(named(row.source) for row in section.sources.all()) or "the events themselves"
        yield "digest", section.digest

    def _prompt_words(self, section: Section) -> str:
        if not section.prompt_digest:
            return "none"
        found = self._prompts[section.prompt_digest]
        return f"{found.label if found else 'not one of this site'} · {section.prompt_digest[:8]}…"


def _pin_words(keys: Sequence[str]) -> str:
    if not keys:
        return "none"
    shown = " ".join(f"{key.rpartition(':')[2][:8]}…" for key in keys[:PINS])
    return f"{len(keys)}: {shown}{' and more' if len(keys) > PINS else ''}"


def _token_words(section: Section) -> str:
    if section.tokens_in is None and section.tokens_out is None:
        return f"about {section.token_estimate} in its words, an estimate"
    return f"{section.tokens_in or 0} · {section.tokens_out or 0}"


@require_safe
def compare(request: HttpRequest, log_id: str, section_id: SectionId) -> HttpResponse:
    log = log_for(request.user, log_id)
    form = Generations(request.GET)
    if not form.is_valid():
        raise InvalidFilter("Two generations are compared by their numbers: ?a=1&b=2.")
    stands = standing(request, log)
    page = _comparison(stands, log, section_id, form.cleaned_data["a"], form.cleaned_data["b"])
    may = may_redraw(request.user) and not stands.older
    context: dict[str, Any] = {"log": log, "anchor": page.anchor, "page": page, "may": may, "standing": stands}
    return respond(request, "web/compare.html", context)


def _comparison(stands: Standing, log: Log, section_id: SectionId, a: int | None, b: int | None) -> Comparison:
    anchor = anchor_of(stands, section_id)
    numbers = list(anchor.sections.order_by("generation").values_list("generation", flat=True))
    b = b or numbers[-1]
    a = a or max(b - 1, 1)
    rows = anchor.sections.filter(generation__in=(a, b)).prefetch_related("pins", "sources__source__anchor")
    found = {section.generation: section for section in rows}
    if missing := {a, b} - set(found):
        raise UnknownSection(f"There is no generation {max(missing)} of {section_id}.")
    for section in found.values():
        section.anchor = anchor
    return Comparison(log, anchor, found[a], found[b], numbers)
