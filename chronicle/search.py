"""Finding sections by their words: a port that returns sections, a ranked implementation and a plain one.

Guarantees: only current sections are found, of editions in force; every filter runs before the limit and before
the count; case does not matter; nothing of a query is a pattern or syntax, so no query is an error. `Ranked`
looks words up in the database's full text index (`full_text`), beginnings of words too, best first, a title
counting more than prose; scripts without spaces and signs such as emoji, which no index parts into words, are
looked for as written. `Substring` is the plain one: as written, newest first.
Refuses nothing. What a section says is generated: it is found, never decided on.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import Q, QuerySet, Value
from django.db.models.functions import StrIndex

from chronicle.full_text import TABLE, TITLE_WEIGHT
from chronicle.models import Edition, EditionState, Log, Section

FOUND, MOST_FOUND = 20, 50
MOST_TERMS, LONGEST_TERM, WHOLE_BELOW = 32, 100, 3
AROUND = 90


class Terms(NamedTuple):
    """A query taken apart: words for the index, signs that are looked for as written, how many were too many."""

    words: tuple[str, ...]
    signs: tuple[str, ...]
    unused: int = 0


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


def terms_of(query: str) -> Terms:
    """Take a query apart; each term once, 32 at most, each cut at 100 characters."""
    found = list(dict.fromkeys(_terms(query)))
    kept = found[:MOST_TERMS]
    words = tuple(term for sign, term in kept if not sign)
    return Terms(words, tuple(term for sign, term in kept if sign), len(found) - len(kept))


class Ranked:
    """The default: full text of the database, best first, the newest first among equals."""

    def retrieve(self, within: QuerySet[Section], query: str, *, limit: int = FOUND) -> Found:
        terms = terms_of(query)
        for sign in terms.signs:
            places = {"in_title": StrIndex("title", Value(sign)), "in_prose": StrIndex("prose", Value(sign))}
            within = within.alias(**places).filter(Q(in_title__gt=0) | Q(in_prose__gt=0))
        if not terms.words:
            return _newest(within if terms.signs else within.none(), terms, limit)
        for every_term in (True, False)[: len(terms.words)]:
            found = _ranked(within, terms, limit, every_term)
            if found.of:
                break
        return found


class Substring:
    """The plain one: title or prose holds the query as it is written, whatever its case; newest first."""

    def retrieve(self, within: QuerySet[Section], query: str, *, limit: int = FOUND) -> Found:
        needle = query.casefold()
        rows = within.order_by("-anchor__from_seq", "-pk").values_list("pk", "title", "prose")
        pks = [pk for pk, title, prose in rows.iterator() if needle in title.casefold() or needle in prose.casefold()]
        return Found(_in_order(pks[: _limit(limit)]), len(pks), Terms((query,), ()))


class Piece(NamedTuple):
    """A piece of a snippet, as it stands in the prose; `sought` where it is what was asked for."""

    text: str
    sought: bool


def snippet(section: Section, terms: Terms) -> list[Piece]:
    """Return what stands around the first term in the prose, or its beginning, with "…" where it is cut."""
    sought = [re.escape(term) for term in sorted((*terms.words, *terms.signs), key=len, reverse=True)]
    pattern = re.compile("|".join(sought) or "(?!)", re.IGNORECASE)
    first = pattern.search(section.prose)
    begin = max(first.start() - AROUND, 0) if first else 0
    end = min((first.end() if first else 0) + 2 * AROUND, len(section.prose))
    return [
        *([Piece("…", False)] * (begin > 0)),
        *_pieces(section.prose[begin:end], pattern),
        *([Piece("…", False)] * (end < len(section.prose))),
    ]


def _pieces(text: str, pattern: re.Pattern[str]) -> Iterator[Piece]:
    at = 0
    for found in pattern.finditer(text):
        if found.start() > at:
            yield Piece(text[at : found.start()], False)
        yield Piece(found.group(), True)
        at = found.end()
    if at < len(text):
        yield Piece(text[at:], False)


# Scripts that put no space between words: Thai to Burmese, Khmer, kana, CJK, Yi; a run of them is one term.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\ua000-\ua4cf\uf900-\ufaff\U00020000-\U0003ffff]"
)
_JOINERS = "\u200d\ufe0e\ufe0f"


def _terms(query: str) -> Iterator[tuple[bool, str]]:
    """Yield (sign?, term): runs of letters and digits lowered, runs of signs as they are."""
    run, kind = "", ""
    for character in unicodedata.normalize("NFC", _storable(query)) + " ":
        here = _kind(character)
        if run and (here != kind or len(run) == LONGEST_TERM):
            yield kind == "sign", run if kind == "sign" else run.lower()
            run = ""
        kind = here
        run += character if here else ""


def _kind(character: str) -> str:
    if _UNSPACED.match(character) or unicodedata.category(character) == "So":
        return "sign"
    return "word" if unicodedata.category(character)[0] in "LNM" and character not in _JOINERS else ""


def _storable(query: str) -> str:
    return query.encode(errors="replace").decode()


def _newest(within: QuerySet[Section], terms: Terms, limit: int) -> Found:
    pks = within.order_by("-anchor__from_seq", "-pk").values_list("pk", flat=True)
    return Found(_in_order(list(pks[: _limit(limit)])), pks.count(), terms)


def _ranked(within: QuerySet[Section], terms: Terms, limit: int, every_term: bool) -> Found:
    """Ask the index: what it holds for the words is made once, narrowed to the scope, counted, sorted and cut."""
    connection = connections[within.db]
    try:
        inside, params = within.order_by().values("pk").query.get_compiler(within.db).as_sql()
    except EmptyResultSet:
        return Found((), 0, terms, every_term)
    matching, asked = (
        _SQLITE if connection.vendor == "sqlite" else _POSTGRESQL,
        _asked(connection.vendor, terms, every_term),
    )
    query = (
        f"WITH matching AS MATERIALIZED ({matching}) SELECT id, COUNT(*) OVER () FROM matching"
        f" WHERE id IN ({inside}) ORDER BY rank, id DESC LIMIT %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(query, [asked, *params, _limit(limit)])
        rows = cursor.fetchall()
    return Found(_in_order([pk for pk, _ in rows]), rows[0][1] if rows else 0, terms, every_term)


_SQLITE = f'SELECT rowid AS id, bm25("{TABLE}", {TITLE_WEIGHT}, 1.0) AS rank FROM "{TABLE}" WHERE "{TABLE}" MATCH %s'
_POSTGRESQL = f"""
SELECT section_id AS id, -ts_rank('{{0.1, 0.2, 0.4, 1.0}}', words, asked, 1) AS rank
FROM "{TABLE}", to_tsquery('simple', %s) AS asked WHERE words @@ asked
"""


def _asked(vendor: str, terms: Terms, every_term: bool) -> str:
    """Return the words in the index's language, each quoted; words hold letters, digits and marks alone."""
    if vendor == "sqlite":
        return (" AND " if every_term else " OR ").join(f'"{word}"' + "*" * _begins(word) for word in terms.words)
    plain = [word for word in map(_plain, terms.words) if word]
    return (" & " if every_term else " | ").join(f"'{word}'" + ":*" * _begins(word) for word in plain)


def _plain(word: str) -> str:
    """Return a word without accents, as `full_text` keeps them on PostgreSQL; FTS5 does so by itself."""
    parted = unicodedata.normalize("NFD", word)
    return "".join(character for character in parted if not "\u0300" <= character <= "\u036f")


def _begins(word: str) -> bool:
    return len(word) >= WHOLE_BELOW


def _in_order(pks: list[int]) -> tuple[Section, ...]:
    rows = Section.objects.select_related("anchor__edition__log").in_bulk(pks)
    return tuple(rows[pk] for pk in pks)


def _limit(limit: int) -> int:
    return min(max(limit, 1), MOST_FOUND)
