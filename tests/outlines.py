"""What tests know of an outline's prose: its quotes, its own words, and where they came from."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from chronicle.summarisers.protocol import Child, Draft, Said

_OWN = """
    a after all among an and answer answered answers asked at aloud before beginning both call called calls came
    characters place error errors for from given had in it last longest made more no nobody none note notes nothing of
    once one other others end ended said saying speak spoke span system that the then these things this thought times to
    tool tools twice was were what which with without words quote else user assistant human agent model someone stretch
    events sections section began title
"""
OWN_WORDS = frozenset(_OWN.split())
_WORD = re.compile(r"[^\W_]+")


def prose_and_quotes(prose: str) -> tuple[list[str], str]:
    """Return the quotes of a prose and what stands outside of them, a mark closing what it opened."""
    quotes, outside, place = [], [], 0
    for found in re.finditer(r"“[^“”]*”|«[^«»]*»", prose):
        if found.start() >= place:
            outside.append(prose[place : found.start()])
            quotes.append(found.group()[1:-1])
            place = found.end()
    return quotes, " ".join([*outside, prose[place:]])


def sources(said: Iterable[Said]) -> list[str]:
    """Return every text a quote may be from: contents, names, and the values of payloads."""
    found: list[str] = []
    for one in said:
        found += [one.content, one.actor, *_texts(json.loads(one.payload) if one.payload else None)]
        found += _texts(_object_in(one.content))
    return found


def _object_in(content: str) -> Any:
    """The JSON object that a request's content holds, after the tool's name or by itself."""
    try:
        return json.loads(content[content.index("{") :])
    except ValueError:
        return None


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in _texts(part)]


def misquoted(prose: str, said: Sequence[Said]) -> list[str]:
    """Return the quotes that stand in no event as quoted, or are cut inside a word."""
    texts = sources(said)
    return [quote for quote in prose_and_quotes(prose)[0] if not any(_is_from(quote, text) for text in texts)]


def _is_from(quote: str, text: str) -> bool:
    bare = quote.removeprefix("… ").removesuffix(" …")
    place = text.find(bare)
    while place >= 0:
        before, after = text[:place][-1:], text[place + len(bare) :][:1]
        whole = not (_narrow(before) and _narrow(bare[:1])) and not (_narrow(bare[-1:]) and _narrow(after))
        to_the_end = not text[place + len(bare) :].strip() or before == after == '"'  # of the text, or of a value in it
        if whole and (quote.endswith(" …") or to_the_end):
            return True
        place = text.find(bare, place + 1)
    return False


def _narrow(char: str) -> bool:
    return char.isalnum() and ord(char) < 0x2E80


def invented_words(prose: str, said: Sequence[Said]) -> set[str]:
    """Return the words outside of quotes that are neither fixed words, numbers, nor part of a name."""
    names = " ".join([*(one.actor for one in said), *(text for one in said for text in sources([one])[2:])])
    known = OWN_WORDS | {word.casefold() for word in _WORD.findall(names)}
    outside = prose_and_quotes(prose)[1]
    return {word for word in _WORD.findall(outside) if word.casefold() not in known and not word.isdigit()}


def own_words_of_a_rollup(draft: Draft, children: Sequence[Child]) -> set[str]:
    """Return the words of a rollup that are neither its children's nor fixed."""
    texts = " ".join(text for child in children for text in (child.title, child.prose))
    known = OWN_WORDS | {word.casefold() for word in _WORD.findall(texts)}
    return {word for word in _WORD.findall(draft.prose) if word.casefold() not in known and not word.isdigit()}
