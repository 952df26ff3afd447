"""Which rows hold what is looked for: by the words of the full text index, or by the text as it is written.

Guarantees: the scope is inside the query, so a row outside of it is never found and never counted; pages are cut
after a row, by the order that holds now, never by offset; nothing of a query is syntax. Both databases find the
same rows. As written means: the case of the letters a to z does not matter, other letters are tried in their
usual forms; a payload is ASCII with escapes, so it is looked through for the escaped text. No index holds texts as
they are written, so a page of them looks through LOOKED_THROUGH rows at most and says where it stopped.
Refuses nothing.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import F, Func, Model, Q, QuerySet, TextField, Value
from django.db.models.expressions import Combinable, RawSQL
from django.db.models.functions import StrIndex
from django.db.models.lookups import GreaterThan

from chronicle import canonical
from chronicle.full_text import EVENTS, SECTIONS, Index
from chronicle.models import Event, Section
from chronicle.terms import Terms, begins, plain

ESCAPED = "payload"
LOOKED_THROUGH = 50_000


@dataclass(frozen=True, slots=True)
class Matched:
    """The keys of a page of rows, best first; `of` counts all that match in the scope; `more` follow the page.

    `every_term` is False where no row holds all that was asked for, so that these hold some of it. `stopped` is the
    key of the last row that was looked through where older ones were not: `of` counts from the page's beginning to it.
    """

    pks: tuple[int, ...] = ()
    of: int = 0
    more: bool = False
    every_term: bool = True
    stopped: int | None = None


def index_of[M: Model](within: QuerySet[M]) -> Index:
    """Return the index of the rows of a queryset: events or sections."""
    return {Event: EVENTS, Section: SECTIONS}[within.model]  # type: ignore[index]


def as_written[M: Model](
    within: QuerySet[M], text: str, *, limit: int, after: int | None = None, order: tuple[str, ...] = ("-pk",)
) -> Matched:
    """Match rows that hold `text`, the newest first; a page begins after the row of key `after`."""
    return _looked_through(within, holding(within, text), limit, after, order)


def _looked_through[M: Model](
    within: QuerySet[M], holds: Q, limit: int, after: int | None, order: tuple[str, ...]
) -> Matched:
    """Look at row after row, the newest first: at all of a scope, or at LOOKED_THROUGH from the page's beginning on."""
    page = within if after is None else within.filter(pk__lt=after)
    if _last_within_reach(within) is None:
        pks = tuple(page.filter(holds).order_by(*order).values_list("pk", flat=True)[: limit + 1])
        return Matched(pks[:limit], within.filter(holds).count(), len(pks) > limit)
    stopped = _last_within_reach(page)
    reached = page if stopped is None else page.filter(pk__gte=stopped)
    pks = tuple(reached.filter(holds).order_by(*order).values_list("pk", flat=True))
    return Matched(pks[:limit], len(pks), len(pks) > limit, stopped=stopped)


def _last_within_reach[M: Model](rows: QuerySet[M]) -> int | None:
    """Return the key of the last row that a page may look at; None where it may look at all."""
    keys = list(rows.order_by("-pk").values_list("pk", flat=True)[LOOKED_THROUGH - 1 : LOOKED_THROUGH + 1])
    return keys[0] if len(keys) == 2 else None


def by_words[M: Model](
    within: QuerySet[M],
    terms: Terms,
    *,
    limit: int,
    after: int | None = None,
    every_term: bool | None = None,
    order: tuple[str, ...] = ("-pk",),
) -> Matched:
    """Match rows by the terms of a query, best first, the newest first among equals.

    Where no row holds every term, those that hold some word are matched; `every_term` fixes which of the two.
    """
    holds = Q()
    for sign in terms.signs:
        holds &= _any_column(within, F, sign)
    if not terms.words:
        return _looked_through(within, holds, limit, after, order) if terms.signs else Matched()
    within = within.filter(holds)
    found = Matched()
    for every in (True, False)[: len(terms.words)] if every_term is None else (every_term,):
        found = _ranked(within, terms, limit, after, every)
        if found.of:
            break
    return found


def holding[M: Model](within: QuerySet[M], text: str) -> Q:
    """Match rows that hold `text` as it is written."""
    forms = {text} if text.isascii() else {text, text.lower(), text.upper(), text.title(), text.capitalize()}
    found = Q()
    for form in sorted(forms):
        found |= _any_column(within, AsciiLower, _lowered(form))
    return found


def _any_column[M: Model](within: QuerySet[M], read: Callable[[str], Combinable], text: str) -> Q:
    """Match where any column of the index, read in a way, holds a text."""
    found = Q()
    for column in index_of(within).columns:
        if column == ESCAPED:
            found |= Q(GreaterThan(StrIndex(read(column), Value(json.dumps(text)[1:-1])), 0))
        elif canonical.unstorable(text) is None:  # what no database takes is not in it either
            found |= Q(GreaterThan(StrIndex(read(column), Value(text)), 0))
    return found


class AsciiLower(Func):
    """A text with A to Z lowered and nothing else: what LOWER means on SQLite, and in PostgreSQL's "C" collation."""

    function = "LOWER"
    output_field = TextField()

    def as_postgresql(self, compiler: Any, connection: Any, **given: Any) -> tuple[str, Any]:
        return self.as_sql(compiler, connection, template='LOWER(%(expressions)s COLLATE "C")', **given)


def _lowered(text: str) -> str:
    return "".join(one.lower() if one.isascii() else one for one in text)


def _ranked[M: Model](within: QuerySet[M], terms: Terms, limit: int, after: int | None, every_term: bool) -> Matched:
    """Ask the index: what it holds for the words is made once, narrowed to the scope, counted, sorted and cut."""
    connection, index = connections[within.db], index_of(within)
    mine = within.filter(pk=RawSQL("matching.id", ())).order_by().values("pk")
    try:
        inside, params = mine.query.get_compiler(within.db).as_sql()
    except EmptyResultSet:
        return Matched(every_term=every_term)
    beyond = "" if after is None else "WHERE (rank, -id) > (SELECT rank, -id FROM matching WHERE id = %s)"
    query = (
        f"SELECT id, of_all FROM (WITH matching AS MATERIALIZED ({index.matching(connection.vendor)}), counted AS ("
        f"SELECT id, rank, COUNT(*) OVER () AS of_all FROM matching WHERE EXISTS ({inside}))"
        f" SELECT id, rank, of_all FROM counted {beyond}) AS found ORDER BY rank, id DESC LIMIT %s"
    )
    asked = _asked(connection.vendor, terms, every_term)
    with connection.cursor() as cursor:
        cursor.execute(query, [asked, *params, *([] if after is None else [after]), limit + 1])
        rows = cursor.fetchall()
    if not rows and after is not None:  # after the last of all
        return Matched(of=_ranked(within, terms, 1, None, every_term).of, every_term=every_term)
    return Matched(tuple(pk for pk, _ in rows[:limit]), rows[0][1] if rows else 0, len(rows) > limit, every_term)


def _asked(vendor: str, terms: Terms, every_term: bool) -> str:
    """Return the words in the index's language, each quoted; words hold letters, digits and marks alone."""
    if vendor == "sqlite":
        return (" AND " if every_term else " OR ").join(f'"{word}"' + "*" * begins(word) for word in terms.words)
    words = [word for word in map(plain, terms.words) if word]
    return (" & " if every_term else " | ").join(f"'{word}'" + ":*" * begins(word) for word in words)
