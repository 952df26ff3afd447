"""A title from the words that were said.

Guarantees: a sentence of the span as it stands, or its beginning up to a whole word with an ellipsis;
at most 80 characters. A person's words, and what was said first, count for more.
"""

import re
from collections.abc import Sequence

from chronicle.envelope import ActorKind
from chronicle.summarisers.answer import MAX_TITLE
from chronicle.summarisers.protocol import Said
from chronicle.summarisers.quotes import FULL_STOPS
from chronicle.summarisers.salience import Candidate, Weights, candidate

ROOM = MAX_TITLE - 2
SHORT = 20

_ADDRESSED = re.compile(r"@[\w.-]+[:,]?\s+(?=\S)")


def best_title(said: Sequence[Said]) -> str:
    """Return the sentence that says most, "" where none can be quoted."""
    texts = [_ADDRESSED.sub("", one.content, count=1) if one.content.startswith("@") else one.content for one in said]
    weights = Weights(texts)
    found = [one for place, text in enumerate(texts) if (one := candidate(place, text, weights, ROOM)) is not None]
    if not found:
        return ""
    first = {one.actor_kind: place for place, one in reversed(list(enumerate(said)))}
    best = max(found, key=lambda one: (_score(said, texts, weights, one, first), -one.position))
    return _as_title(texts[best.position], best)


def _score(said: Sequence[Said], texts: Sequence[str], weights: Weights, one: Candidate, first: dict[str, int]) -> int:
    score = weights.score(texts[one.position], one.place)
    kind = said[one.position].actor_kind
    score = score * 5 // 4 if kind == ActorKind.HUMAN else score
    return score * 3 // 2 if first[kind] == one.position else score


def _as_title(text: str, best: Candidate) -> str:
    sentence = text[best.place.start : best.place.end].rstrip()
    if SHORT <= len(sentence) <= len(best.quote.text):
        return sentence
    rest = text[best.place.start + len(best.quote.text) :].split("\n", 1)[0]
    cut = rest.strip() and best.quote.text[-1] not in FULL_STOPS
    return f"{best.quote.text} …" if cut else best.quote.text
