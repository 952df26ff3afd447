"""Which sentences of a span say most about it: by counting words, without a model.

Guarantees: whole numbers only, so every machine ranks alike; ties go to the earlier sentence; what has
been picked counts for less after, so that two picks do not say the same.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from math import isqrt
from typing import NamedTuple

from chronicle.summarisers.quotes import Place, Quote, quote_at, sentences

_WORD = re.compile(r"[^\W_]{3,}")
_NUMBER = re.compile(r"\d")
_COMMON_WORDS = (
    "about after all also and any are back because been before but can could did does done each for from get got "
    "had has have her here him his how into its just let like look make may more most much need new not now off "
    "one only other our out over please right same see she should some such take than thank thanks that the their "
    "them then there these they this those too use very want was way well were what when where which while who "
    "why will with would yes you your"
)
_TELLING_WORDS = (
    "agree agreed because booked cannot changed chose confirmed could decided decision deleted done error fail "
    "failed fails failing finished fixed found instead issue must never promise promised problem refused rejected "
    "should wrong"
)
_COMMON, _TELLING = frozenset(_COMMON_WORDS.split()), frozenset(_TELLING_WORDS.split())
_UNDER_WAY = re.compile(
    r"(?:ok(?:ay)?|great|good|perfect|now|first|next)?\W*(?:let me|let's|i'll|i will|i need to)\b", re.IGNORECASE
)
_CAP = 40


class Picked(NamedTuple):
    """A quote and the position of the text it was taken from."""

    position: int
    quote: Quote


class Weights:
    """How much each word weighs: in how many of the texts it stands."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._in = Counter(word for text in texts for word in set(_words(text[:8000])))

    def score(self, text: str, place: Place) -> int:
        """Return what a sentence weighs: the words it shares with others, over the root of its length."""
        words = _words(text[place.start : min(place.end, place.start + 400)])
        weight = sum(min(self._in[word], 12) for word in set(words)) * 100
        if place.first:
            weight = weight * 5 // 4
        if any(word in _TELLING for word in words) or _NUMBER.search(text, place.start, place.end):
            weight = weight * 5 // 4
        if _UNDER_WAY.match(text, place.start) or _is_layout(text, place.start):
            weight //= 3
        return weight // isqrt(100 * (len(words) + 4))

    def spend(self, text: str) -> None:
        """Let the words of a text that was picked weigh a quarter from now on."""
        for word in set(_words(text)):
            self._in[word] //= 4


def _is_layout(text: str, start: int) -> bool:
    """True for a heading, and for data rather than words."""
    return text.startswith(("{", "[", "<"), start) or text[max(0, start - 4) : start].rstrip().endswith("#")


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.casefold()) if word not in _COMMON or word in _TELLING]


class Candidate(NamedTuple):
    """The sentence of a text that weighs most and can be quoted."""

    position: int
    place: Place
    quote: Quote


def candidate(position: int, text: str, weights: Weights, limit: int) -> Candidate | None:
    """Return the best sentence of a text, or None where nothing of it can be quoted."""
    places = list(sentences(text))[:_CAP]
    for place in sorted(places, key=lambda place: (-weights.score(text, place), place.start)):
        if (quote := quote_at(text, place.start, limit)) is not None:
            return Candidate(position, place, quote)
    return None


def pick(texts: Sequence[str], weights: Weights, *, count: int, limit: int, always: Sequence[int] = ()) -> list[Picked]:
    """Return the quotes of at most `count` texts, in the order of the texts: `always` first, then by weight."""
    found = (candidate(position, text, weights, limit) for position, text in enumerate(texts))
    left = {one.position: one for one in found if one is not None}
    chosen: list[Picked] = []
    wanted = [left[position] for position in always if position in left]
    while left and len(chosen) < count:
        best = wanted.pop(0) if wanted else max(left.values(), key=lambda one: _rank(texts, weights, one))
        del left[best.position]
        chosen.append(Picked(best.position, best.quote))
        weights.spend(best.quote.text)
    return sorted(chosen, key=lambda picked: picked.position)


def _rank(texts: Sequence[str], weights: Weights, one: Candidate) -> tuple[int, int]:
    return weights.score(texts[one.position], one.place), -one.position
