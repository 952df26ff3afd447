"""Quoting: stretches of what was said, exactly as it was said, and names as prose may carry them.

Guarantees: a quote is a substring of its source, of one line, cut only between words; an ellipsis
stands at each end where its source goes on; it never holds the mark that closes it, so quoted and own
words can be told apart. Control characters are kept as they are. A name that could pass for prose is
quoted like speech.
Refuses: to cut inside a word; where a text has no place to cut there is no quote (None).
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

SCANNED_HEAD, SCANNED_TAIL = 8000, 2000
MAX_NAME = 40
FULL_STOPS = ".!?…。！？؟۔।:;"
MARKS = (("“", "”"), ("«", "»"))

_SENTENCE_END = re.compile(r"[.!?…。！？؟۔।]+[)\"'”»*`]*(?=\s|$)|[。！？]+")
_ANY_WORD = re.compile(r"\w")
_SEEN = re.compile(r"\S")
_LEAD = re.compile(r"[\s>#*+\-–—•|]*(?:\d{1,3}[.)]\s+)?[\s>#*•|]*")
_LAYOUT = re.compile(r"[\s>#*+\-–—•|`_]*")
_PLAIN_NAME = re.compile(r"[^\W\d_][\w.@/:+-]*(?: [\w.@/:+-]+){0,2}")
_ROLES = frozenset({"user", "assistant", "human", "agent", "system", "model", "tool"})


@dataclass(frozen=True, slots=True)
class Quote:
    """A stretch of a source: `text` exactly; whether the source has more before (layout apart) and after it."""

    text: str
    more_before: bool
    more_after: bool

    def __str__(self) -> str:
        opening, closing = _marks(self.text)
        return f"{opening}{'… ' if self.more_before else ''}{self.text}{' …' if self.more_after else ''}{closing}"

    @property
    def ends_a_sentence(self) -> bool:
        return self.more_after or self.text[-1] in FULL_STOPS


class Place(NamedTuple):
    """A sentence in a text: where it starts, where it ends, and whether it is the text's first."""

    start: int
    end: int
    first: bool


def sentences(text: str) -> Iterator[Place]:
    """Yield the sentences of a text's prose lines, code fences left out; of a huge text its head and tail."""
    first, fenced = True, False
    for start, end in _lines(text):
        if text[start:end].lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            for place in _in_line(text, start, end):
                yield Place(*place, first)
                first = False


def _lines(text: str) -> Iterator[tuple[int, int]]:
    yield from _runs(text[:SCANNED_HEAD], 0)
    if len(text) > SCANNED_HEAD:
        start = max(SCANNED_HEAD, len(text) - SCANNED_TAIL)
        yield from list(_runs(text[start:], start))[1:]  # the first may begin inside a word


def _runs(text: str, offset: int) -> Iterator[tuple[int, int]]:
    for line in text.splitlines(keepends=True):
        yield offset, offset + len(line)
        offset += len(line)


def _in_line(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    lead = _LEAD.match(text, start, end)
    start = lead.end() if lead else start
    while start < end:
        found = _SENTENCE_END.search(text, start, end)
        stop = found.end() if found else end
        if _ANY_WORD.search(text, start, stop):
            yield start, stop
        blank = _SEEN.search(text, stop, end)
        start = blank.start() if blank else end


def quote_at(text: str, start: int, limit: int) -> Quote | None:
    """Return at most `limit` characters from `start` to the end of its line; None where there is no place to cut."""
    line = text[start : start + 4 * limit].splitlines()
    piece = line[0].rstrip() if line else ""
    goes_on = len(piece) > limit
    end = start + (_cut(piece, limit) if goes_on else len(piece))
    end = start + _before_foreign_marks(text[start:end])
    piece = text[start:end].rstrip()
    if not _ANY_WORD.search(piece):
        return None
    end = start + len(piece)
    return Quote(piece, _LAYOUT.fullmatch(text, 0, start) is None, _SEEN.search(text, end) is not None)


def first_words(text: str, limit: int) -> Quote | None:
    """Return a quote of the first line that can be quoted."""
    quotes = (quote_at(text, place.start, limit) for place in sentences(text))
    return next((quote for quote in quotes if quote is not None), None)


def last_words(text: str, limit: int) -> Quote | None:
    """Return a quote of the last sentence that can be quoted."""
    for place in reversed(list(sentences(text))):
        if (quote := quote_at(text, place.start, limit)) is not None:
            return quote
    return None


def _cut(piece: str, limit: int) -> int:
    """Where to cut: after the last sentence that fills most of the room, else after the last whole word."""
    ends = [found.end() for found in _SENTENCE_END.finditer(piece, 0, limit) if found.end() >= limit * 6 // 10]
    if ends:
        return ends[-1]
    return next((place for place in range(limit, 0, -1) if _between_words(piece, place)), 0)


def _between_words(piece: str, place: int) -> bool:
    if place >= len(piece) or piece[place].isspace() or piece[place - 1].isspace():
        return True
    if unicodedata.combining(piece[place]):
        return False
    return any(unicodedata.east_asian_width(char) in {"W", "F"} for char in piece[place - 1 : place + 1])


def _marks(piece: str) -> tuple[str, str]:
    return MARKS[1] if any(mark in piece for mark in MARKS[0]) else MARKS[0]


def _before_foreign_marks(piece: str) -> int:
    """The length to keep so that one pair of marks is free to stand around the piece."""
    if not all(any(mark in piece for mark in pair) for pair in MARKS):
        return len(piece)
    return max(min(piece.index(mark) for mark in pair if mark in piece) for pair in MARKS)


def named(name: str) -> str:
    """Return an actor's or a tool's name: as it is where it is plain, with an article for a bare role, else quoted."""
    if name in _ROLES:
        return f"the {name}"
    if len(name) <= MAX_NAME and _PLAIN_NAME.fullmatch(name):
        return name
    quote = first_words(name, MAX_NAME)
    return str(quote) if quote is not None else "someone"


def listed(parts: Sequence[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    return " and ".join(part for part in (", ".join(parts[:-1]), *parts[-1:]) if part)


def times(count: int) -> str:
    """Return `once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def closed(sentence: str, last: Quote | None = None) -> str:
    """Return the sentence with its first letter large and a full stop, unless its last quote has one."""
    whole = sentence[:1].upper() + sentence[1:] if sentence.startswith("the ") else sentence
    return whole if last is not None and last.ends_a_sentence else f"{whole}."
