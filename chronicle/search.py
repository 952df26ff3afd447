"""Finding sections by their words: a port that returns sections, a ranked implementation and a plain one.

Guarantees: only current sections are found, of editions in force; every filter runs before the limit and before
the count; case does not matter; nothing of a query is a pattern or syntax, so no query is an error. `Ranked`
looks words up in the database's full text index (`full_text`), beginnings of words too, best first, a title
counting more than prose; scripts without spaces and signs such as emoji, which no index parts into words, are
looked for as written. `Substring` is the plain one: as written, newest first.
Refuses nothing. What a section says is generated: it is found, never decided on.
"""

from dataclasses import dataclass
from typing import Protocol

from django.db.models import Q, QuerySet

from chronicle import matching, terms
from chronicle.matching import Matched
from chronicle.models import Edition, EditionState, Log, Section
from chronicle.terms import Piece, Terms, terms_of

FOUND, MOST_FOUND = 20, 50
NEWEST = ("-anchor__from_seq", "-pk")


@dataclass(frozen=True, slots=True)
class Found:
    """The best sections, with anchor, edition and log at hand. `of` counts all that match, `shown` or not.

    `every_term` is False where no section holds all that was asked for, so that these hold some of it.
    """

    sections: tuple[Section, ...]
    of: int
    terms: Terms
    every_term: bool = True

    @property
    def shown(self) -> int:
        return len(self.sections)


class Retriever(Protocol):
    """Finds the sections of a scope (see `scope`) that answer a query, best first; "best" is the retriever's own."""

    def retrieve(self, within: QuerySet[Section], query: str, *, limit: int = FOUND) -> Found: ...


def scope(logs: QuerySet[Log] | Edition, *, rollups: bool = False) -> QuerySet[Section]:
    """Return the current sections to look among: of one edition, or of the editions in force of these logs."""
    if isinstance(logs, Edition):
        editions = Q(anchor__edition=logs)
    else:
        editions = Q(anchor__edition__state=EditionState.CURRENT, anchor__edition__log__in=logs)
    found = Section.objects.filter(editions, superseded_by__isnull=True)
    return found if rollups else found.filter(anchor__level=0)


class Ranked:
    """The default: full text of the database, best first, the newest first among equals."""

    def retrieve(self, within: QuerySet[Section], query: str, *, limit: int = FOUND) -> Found:
        asked = terms_of(query)
        return _found(matching.by_words(within, asked, limit=_limit(limit), order=NEWEST), asked)


class Substring:
    """The plain one: title or prose holds the query as it is written, whatever its case; newest first."""

    def retrieve(self, within: QuerySet[Section], query: str, *, limit: int = FOUND) -> Found:
        return _found(matching.as_written(within, query, limit=_limit(limit), order=NEWEST), terms.as_written(query))


def snippet(section: Section, asked: Terms) -> list[Piece]:
    """Return what stands around the first term in the prose, or its beginning, with "…" where it is cut."""
    return terms.snippet(section.prose, asked)


def _found(matched: Matched, asked: Terms) -> Found:
    rows = Section.objects.select_related("anchor__edition__log").in_bulk(matched.pks)
    return Found(tuple(rows[pk] for pk in matched.pks), matched.of, asked, matched.every_term)


def _limit(limit: int) -> int:
    return min(max(limit, 1), MOST_FOUND)
