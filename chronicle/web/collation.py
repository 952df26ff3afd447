"""Two texts side by side: sentence against sentence, and word against word where two sentences differ. Pure.

Guarantees: what is compared is bounded (CHARACTERS and SENTENCES a text), so no text takes longer than a moment,
and what was left out is counted; the words of a side, put together, are that side's sentence, every character.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

CHARACTERS = 30_000
SENTENCES = 600
LONGEST = 600  # characters of what is taken for one sentence

_END = re.compile(r"(?:(?<=[.!?…。])|(?<=[.!?…][”\"’'»)\]]))\s+|\s*\n\s*")
_WORD = re.compile(r"\w+|[^\w\s]|\s+")

SAME, REMOVED, ADDED = "same", "removed", "added"


@dataclass(frozen=True, slots=True)
class Piece:
    """Some words of a sentence: the same on both sides, removed (on the left) or added (on the right)."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence of each side; a side is empty where the other has a sentence more."""

    number: int
    left: tuple[Piece, ...]
    right: tuple[Piece, ...]

    @property
    def equal(self) -> bool:
        return self.left == self.right


@dataclass(frozen=True, slots=True)
class Collation:
    """The pairs in order; of each text how many characters were compared, and how many it has."""

    pairs: tuple[Pair, ...]
    compared: tuple[int, int]
    of: tuple[int, int]
    identical: bool

    @property
    def cut(self) -> bool:
        return self.compared != self.of

    @property
    def same(self) -> int:
        return sum(pair.equal for pair in self.pairs)

    @property
    def differing(self) -> int:
        return len(self.pairs) - self.same

    @property
    def removed(self) -> int:
        return _words(piece for pair in self.pairs for piece in pair.left if piece.kind == REMOVED)

    @property
    def added(self) -> int:
        return _words(piece for pair in self.pairs for piece in pair.right if piece.kind == ADDED)


def collate(left: str, right: str) -> Collation:
    """Compare two texts, or their beginnings where they are long."""
    (before, upto), (after, upto_too) = _sentences(left), _sentences(right)
    pairs = tuple(_pairs(before, after))
    return Collation(pairs, (upto, upto_too), (len(left), len(right)), left == right)


def _sentences(text: str) -> tuple[list[str], int]:
    """Return the sentences of the beginning of a text, and how many of its characters they stand for."""
    found: list[str] = []
    start, end = 0, min(len(text), CHARACTERS)
    while start < end and len(found) < SENTENCES:
        stop = _END.search(text, start, min(end, start + LONGEST))
        last = stop.end() if stop else min(end, start + LONGEST)
        if sentence := text[start : stop.start() if stop else last].strip():
            found.append(sentence)
        start = max(last, start + 1)
    return found, start


def _pairs(left: Sequence[str], right: Sequence[str]) -> Iterator[Pair]:
    number = 0
    for tag, i, j, k, m in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for one, other in zip_longest(left[i:j], right[k:m], fillvalue=""):
            number += 1
            if tag == "equal":
                yield Pair(number, (Piece(SAME, one),), (Piece(SAME, one),))
            else:
                yield Pair(number, *word_by_word(one, other))


def word_by_word(left: str, right: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Return two sentences in pieces: what they share, and what stands on one side alone."""
    one, other = _WORD.findall(left), _WORD.findall(right)
    before, after = [], []
    for tag, i, j, k, m in SequenceMatcher(None, one, other).get_opcodes():
        same = tag == "equal"
        before += [Piece(SAME if same else REMOVED, "".join(one[i:j]))] if j > i else []
        after += [Piece(SAME if same else ADDED, "".join(other[k:m]))] if m > k else []
    return tuple(before), tuple(after)


def _words(pieces: Iterable[Piece]) -> int:
    return sum(len(re.findall(r"\w+", piece.text)) for piece in pieces)
