"""A query taken apart, and where its terms stand in a text: pure, the same for every index.

Guarantees: words are runs of letters and digits, lowered; signs are what no index parts into words (scripts without
spaces, emoji) and are looked for as written; nothing of a query is a pattern or syntax. The pieces of a snippet
are the text's own, in order; what was sought is found whatever its case and accents, at the beginnings of words.
Refuses nothing: a query without a term finds nothing.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

MOST_TERMS, LONGEST_TERM, WHOLE_BELOW = 32, 100, 3
AROUND = 90
FOLDED_UPTO = 50_000

# Scripts that put no space between words: Thai to Burmese, Khmer, kana, CJK, Yi; a run of them is one term.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\ua000-\ua4cf\uf900-\ufaff\U00020000-\U0003ffff]"
)
_JOINERS = "\u200d\ufe0e\ufe0f"
_IN_A_WORD = r"[^\W_]"


class Terms(NamedTuple):
    """A query taken apart: words for the index, signs that are looked for as written, how many were too many."""

    words: tuple[str, ...]
    signs: tuple[str, ...]
    unused: int = 0


class Piece(NamedTuple):
    """A piece of a snippet, as it stands in the text; `sought` where it is what was asked for."""

    text: str
    sought: bool


def terms_of(query: str) -> Terms:
    """Take a query apart; each term once, 32 at most, each cut at 100 characters."""
    found = list(dict.fromkeys(_terms(query)))
    kept = found[:MOST_TERMS]
    words = tuple(term for sign, term in kept if not sign)
    return Terms(words, tuple(term for sign, term in kept if sign), len(found) - len(kept))


def as_written(text: str) -> Terms:
    """Return the terms of a text that is looked for as it stands."""
    return Terms((), (text,) if text else ())


def plain(word: str) -> str:
    """Return a word without accents."""
    parted = unicodedata.normalize("NFD", word)
    return "".join(character for character in parted if not "\u0300" <= character <= "\u036f")


def begins(word: str) -> bool:
    """True for a word that is found at the beginning of others too."""
    return len(word) >= WHOLE_BELOW


def holds(text: str, terms: Terms) -> bool:
    """True where any of the terms is found in the text."""
    return bool(_places(text, terms))


def snippet(text: str, terms: Terms) -> list[Piece]:
    """Return what stands around the first term in a text, or its beginning, with "…" where it is cut."""
    places = _places(text, terms)
    first, last = places[0] if places else (0, 0)
    begin, end = max(first - AROUND, 0), min(last + 2 * AROUND, len(text))
    return [
        *([Piece("…", False)] * (begin > 0)),
        *_pieces(text, begin, end, places),
        *([Piece("…", False)] * (end < len(text))),
    ]


def _pieces(text: str, begin: int, end: int, places: list[tuple[int, int]]) -> Iterator[Piece]:
    at = begin
    for first, last in places:
        if at <= first < last <= end:
            if first > at:
                yield Piece(text[at:first], False)
            yield Piece(text[first:last], True)
            at = last
    if at < end:
        yield Piece(text[at:end], False)


def _places(text: str, terms: Terms) -> list[tuple[int, int]]:
    """Return where the terms stand: as they are written, or, where none is, without regard to accents."""
    found = [one.span() for one in _pattern(terms).finditer(text)]
    if found or not terms.words:
        return found
    folded, at = _folded(text[:FOLDED_UPTO])
    without = terms._replace(words=tuple(plain(word) for word in terms.words))
    return [(at[one.start()], at[one.end()]) for one in _pattern(without).finditer(folded)]


def _pattern(terms: Terms) -> re.Pattern[str]:
    words = [
        rf"(?<!{_IN_A_WORD}){re.escape(word)}" + ("" if begins(word) else rf"(?!{_IN_A_WORD})")
        for word in sorted(terms.words, key=len, reverse=True)
        if word
    ]
    return re.compile("|".join([*words, *map(re.escape, terms.signs)]) or "(?!)", re.IGNORECASE)


def _folded(text: str) -> tuple[str, list[int]]:
    """Return a text without accents, and for each place in it (and its end) the place in the text."""
    parts = [plain(character) for character in text]
    at = [place for place, part in enumerate(parts) for _ in part]
    return "".join(parts), [*at, len(text)]


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
