"""What a search shows of what it found: where it stands, and a snippet with what was sought marked.

Guarantees: hits stand in the order of their keys; one query for all of them; a snippet is a piece of the recorded
text or the generated prose, of a payload with its escapes of letters read; nothing is left out of it but where
"…" says so. Of a very long text the first 100,000 characters are looked through for the snippet.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F
from django.db.models.functions import Substr

from chronicle import terms
from chronicle.full_text_sql import UPTO
from chronicle.models import EditionState, Event, Section
from chronicle.terms import Piece, Terms
from chronicle.web.rows import SIGNS


@dataclass(frozen=True, slots=True)
class EventHit:
    """An event that was found. `within` says in which part of it the snippet stands."""

    log_id: str
    log_title: str
    seq: int
    sign: str
    word: str
    actor: str
    time: datetime
    claimed: bool
    within: str
    pieces: list[Piece]

    @property
    def place(self) -> str:
        return f"{self.log_id}~{self.seq}"


@dataclass(frozen=True, slots=True)
class SectionHit:
    """A generation that was found; `later` is the one that supersedes it, `archived` an edition not in force."""

    log_id: str
    log_title: str
    section: Section
    edition: int
    archived: bool
    later: int | None
    title: list[Piece]
    pieces: list[Piece]

    @property
    def place(self) -> str:
        return f"{self.log_id}~{self.edition}~{self.section.ref}"


def event_hits(pks: Sequence[int], asked: Terms) -> list[EventHit]:
    """Return a hit for each key."""
    rows = Event.objects.filter(pk__in=pks).values(
        "pk", "seq", "kind", "type", "actor", "at", "claimed_at", "log__public_id", "log__title",
        said=Substr("content", 1, UPTO), given=Substr("payload", 1, UPTO),
    )  # fmt: skip
    found = {row["pk"]: row for row in rows}
    return [_event_hit(found[pk], asked) for pk in pks]


def _event_hit(row: Mapping[str, Any], asked: Terms) -> EventHit:
    within, text = _where(row["said"], row["given"], row["type"], asked)
    sign, word = SIGNS[row["kind"]]
    return EventHit(
        log_id=row["log__public_id"],
        log_title=row["log__title"],
        seq=row["seq"],
        sign=sign,
        word=word,
        actor=row["actor"],
        time=row["claimed_at"] or row["at"],
        claimed=row["claimed_at"] is not None,
        within=within,
        pieces=terms.snippet(text, asked),
    )


def _where(content: str, payload: str, kind: str, asked: Terms) -> tuple[str, str]:
    """Return the part of an event that holds a term, and its text; the first that has one where none is near."""
    if terms.holds(content, asked):
        return "content", content
    if payload and terms.holds(read := legible(payload), asked):
        return "payload", read
    if terms.holds(kind, asked):
        return "type", kind
    return ("content", content) if content else ("payload", legible(payload))


_ESCAPES = re.compile(r"\\\\|(?:\\u[0-9a-fA-F]{4})+")


def legible(payload: str) -> str:
    """Return a payload's JSON with its escapes of letters read; the others stay as they are."""
    return _ESCAPES.sub(lambda found: found[0] if found[0] == "\\\\" else json.loads(f'"{found[0]}"'), payload)


def section_hits(pks: Sequence[int], asked: Terms) -> list[SectionHit]:
    """Return a hit for each key."""
    rows = (
        Section.objects.filter(pk__in=pks)
        .select_related("anchor__edition__log")
        .annotate(later=F("superseded_by__generation"))
    )
    found = {row.pk: row for row in rows}
    return [_section_hit(found[pk], asked) for pk in pks]


def _section_hit(section: Section, asked: Terms) -> SectionHit:
    edition = section.anchor.edition
    return SectionHit(
        log_id=edition.log.public_id,
        log_title=edition.log.title,
        section=section,
        edition=edition.number,
        archived=edition.state != EditionState.CURRENT,
        later=section.later,  # type: ignore[attr-defined]
        title=terms.snippet(section.title, asked),
        pieces=terms.snippet(section.prose[:UPTO], asked),
    )
