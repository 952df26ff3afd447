"""Who said what in a span: sentences that quote each voice, in the order in which voices were first heard.

Guarantees: each quote stands with the name of who said it and in the order in which it was said; how
often someone spoke is stated where not all of it is quoted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from chronicle.summarisers.protocol import Said
from chronicle.summarisers.quotes import Quote, closed, listed, named, times
from chronicle.summarisers.salience import Weights, pick

MOST_VOICES = 3


@dataclass(frozen=True, slots=True)
class Room:
    """How much there is room for: voices, quotes in all, characters a quote."""

    voices: int
    quotes: int
    limit: int


@dataclass(frozen=True, slots=True)
class Voice:
    """What one speaker said, in order."""

    name: str
    said: tuple[Said, ...]


def voices_of(said: Sequence[Said]) -> list[Voice]:
    """Return what was said by speaker, those who were heard first coming first."""
    by_name: dict[str, list[Said]] = {}
    for one in said:
        by_name.setdefault(one.actor, []).append(one)
    return [Voice(name, tuple(words)) for name, words in by_name.items()]


def tell(said: Sequence[Said], weights: Weights, room: Room, *, verb: str = "said", ends: tuple[int, ...] = ()) -> str:
    """Return sentences that quote the speakers; `ends` are the positions (0, -1) of words to quote before others."""
    voices = voices_of(said)
    shown = sorted(voices, key=lambda voice: -len(voice.said))[: room.voices]
    shown = [voice for voice in voices if voice in shown]
    told = [_voice(voice, weights, room, _share(room.quotes, len(shown), place), verb, ends)
            for place, voice in enumerate(shown)]  # fmt: skip
    others = [voice for voice in voices if voice not in shown]
    if others:
        count = "1 other" if len(others) == 1 else f"{len(others):,} others"
        told.append(f"{count} spoke {times(sum(len(voice.said) for voice in others))}.")
    return " ".join(told)


def _share(quotes: int, voices: int, place: int) -> int:
    return max(1, quotes // voices + (place < quotes % voices))


def _voice(voice: Voice, weights: Weights, room: Room, count: int, verb: str, ends: tuple[int, ...]) -> str:
    texts = [said.content for said in voice.said]
    always = dict.fromkeys(place % len(texts) for place in ends)
    picked = pick(texts, weights, count=count, limit=room.limit, always=list(always))
    quotes = [one.quote for one in picked]
    if not quotes:
        return _unquoted(voice)
    if len(quotes) == len(texts):
        return closed(f"{named(voice.name)} {_one_by_one(texts, quotes, verb)}", quotes[-1])
    spoke = f"{named(voice.name)} spoke {times(len(texts))} and said, among other things,"
    return closed(f"{spoke} {listed([str(quote) for quote in quotes])}", quotes[-1])


def _unquoted(voice: Voice) -> str:
    size = sum(len(said.content) for said in voice.said)
    return closed(f"{named(voice.name)} spoke {times(len(voice.said))}, {size:,} characters without a place to quote")


def _one_by_one(texts: Sequence[str], quotes: Sequence[Quote], verb: str) -> str:
    parts, before = [], ""
    for text, quote in zip(texts, quotes, strict=True):
        word = "asked" if "?" in text else verb
        parts.append(f"{word} {quote}" if word != before else str(quote))
        before = word
    return parts[0] + "".join(f", then {part}" for part in parts[1:])
