"""The summariser that works offline: it quotes who said what, counts tools, and gives a title.

Guarantees: the same span gives the same words on every machine; every word of the prose is quoted
from the span, names who spoke or which tool was called, counts them, or is one of a few fixed words;
2 to 5 paragraphs without headings or lists, about 1,200 characters however long the span.
Refuses: nothing; a span without public content has a fixed text that says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from chronicle.summarisers import arc
from chronicle.summarisers.answer import MAX_TITLE, fallback_title
from chronicle.summarisers.calls import Call, counted, given, last_answer, names_of, outcome, tool_counts
from chronicle.summarisers.parts import Parts, parts_of
from chronicle.summarisers.protocol import Child, Draft, Said, Span
from chronicle.summarisers.quotes import Quote, closed, first_words, listed, named
from chronicle.summarisers.salience import Weights, candidate
from chronicle.summarisers.span import nothing_public
from chronicle.summarisers.titles import best_title
from chronicle.summarisers.voices import Room, tell

LENGTH = 1200
HEADING = 3  # words: a first line this short says nothing by itself


@dataclass(frozen=True, slots=True)
class Scale:
    """How much of each part to tell; tried from generous to spare until the prose is short enough."""

    people: Room
    agents: Room
    tools: int
    given: int
    limit: int


SCALES = (
    Scale(Room(4, 6, 220), Room(4, 6, 200), tools=6, given=4, limit=200),
    Scale(Room(3, 3, 200), Room(3, 3, 180), tools=5, given=3, limit=160),
    Scale(Room(3, 3, 150), Room(3, 3, 130), tools=4, given=2, limit=120),
    Scale(Room(3, 2, 120), Room(3, 2, 110), tools=3, given=1, limit=100),
    Scale(Room(2, 2, 90), Room(2, 2, 80), tools=3, given=0, limit=70),
    Scale(Room(1, 1, 60), Room(1, 1, 60), tools=2, given=0, limit=40),
)


class Outline:
    """The summariser."""

    name = "outline"

    def section(self, span: Span) -> Draft:
        """Return title and prose of a closed unit."""
        if not span.said:
            return nothing_public()
        parts = parts_of(span)
        told = (_told(parts, scale) for scale in SCALES)
        prose = next((prose for prose in told if len(prose) <= LENGTH), None) or _told(parts, SCALES[-1])
        return Draft(_title(parts) or fallback_title(span.began, span.ended), prose)

    def rollup(self, children: Sequence[Child]) -> Draft:
        """Return the arc of sections from their titles and prose alone: the first, what came between, the last."""
        return arc.rollup(children)


def _told(parts: Parts, scale: Scale) -> str:
    weights = parts.weights()
    paragraphs = (
        _people(parts, weights, scale),
        _agents(parts, weights, scale),
        _tools(parts.calls, scale),
        _end(parts, scale),
    )
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def _people(parts: Parts, weights: Weights, scale: Scale) -> str:
    return tell(parts.people, weights, scale.people, ends=(0, -1)) if parts.people else ""


def _agents(parts: Parts, weights: Weights, scale: Scale) -> str:
    if not parts.spoken:
        return tell(parts.thoughts, weights, scale.agents, verb="thought") if not parts.calls else ""
    ends = (-1,) if parts.last_is_a_persons else ()
    said = [tell(parts.agents, weights, scale.agents, ends=ends)] if parts.agents else []
    if parts.notes:
        said.append(_notes(parts.notes, scale.limit))
    return " ".join(said)


def _notes(notes: Sequence[Said], limit: int) -> str:
    """A sentence on what neither a person nor an agent said; the longest is the one with news in it."""
    names = listed([named(name) for name in list(dict.fromkeys(note.actor for note in notes))[:3]])
    count = "1 note" if len(notes) == 1 else f"{len(notes):,} notes"
    quote = first_words(max(notes, key=lambda note: len(note.content)).content, limit)
    which = "" if len(notes) == 1 else "the longest "
    if quote is None:
        return closed(f"{count} came from {names}")
    return closed(f"{count} came from {names}, {which}beginning {quote}", quote)


def _tools(calls: Sequence[Call], scale: Scale) -> str:
    if not calls:
        return ""
    counts, sentences = tool_counts(calls), []
    if counts:
        callers = list(dict.fromkeys(call.request.actor for call in calls if call.request is not None))
        sentences.append(closed(f"{_names(callers)} called {counted(counts, scale.tools)}"))
    sentences += [_given(calls, scale), outcome(calls, scale.limit), _answer(calls, scale.limit)]
    return " ".join(sentence for sentence in sentences if sentence)


def _names(names: Sequence[str]) -> str:
    rest = len(names) - 3
    others = [] if rest <= 0 else ["1 other" if rest == 1 else f"{rest:,} others"]
    return listed([*(named(name) for name in names[:3]), *others])


def _given(calls: Sequence[Call], scale: Scale) -> str:
    """A sentence on what tools were given: what was given most often, then what came last."""
    asked = [(call.tool, given(call, scale.limit)) for call in calls if call.request is not None]
    told = [f"{named(tool)} with {quote}" for tool, quote in asked if quote is not None]
    distinct = list(dict.fromkeys(told))
    ranked = sorted(distinct, key=lambda words: (-told.count(words), -distinct.index(words)))[: scale.given]
    if not ranked:
        return ""
    if len(asked) == 1:
        return closed(f"It was given {asked[0][1]}", asked[0][1])
    opening = "These were" if len(ranked) == len(distinct) and len(told) == len(asked) else "Among these were"
    return closed(f"{opening} {listed([words for words in distinct if words in ranked])}")


def _answer(calls: Sequence[Call], limit: int) -> str:
    quote = last_answer(calls, limit)
    return closed(f"The last answer ended with {quote}", quote) if quote is not None else ""


def _end(parts: Parts, scale: Scale) -> str:
    sentences = [_last_words(parts, scale.limit)]
    if parts.spoken and parts.calls_after:
        count = "1 more call was" if parts.calls_after == 1 else f"{parts.calls_after:,} more calls were"
        sentences.append(f"After these words {count} made.")
    if not parts.calls:
        sentences.append("No tool was called.")
    return " ".join(sentence for sentence in sentences if sentence)


def _last_words(parts: Parts, limit: int) -> str:
    last = parts.last
    if last is None:
        return "Nothing was said aloud in this span."
    if parts.spoken == 1:
        return "Nothing else was said in this span."
    quotes = _closing_quotes(last.content, parts.weights(), limit)
    if not quotes:
        return f"The last to speak was {named(last.actor)}."
    verb = "asked" if "?" in quotes[-1].text else "said"
    words = closed(f"At the end {named(last.actor)} {verb} {listed([str(quote) for quote in quotes])}", quotes[-1])
    return f"{words} Nobody answered in this span." if parts.last_is_a_persons and verb == "asked" else words


def _closing_quotes(text: str, weights: Weights, limit: int) -> list[Quote]:
    """The first words of a closing message, and the sentence that weighs most where it is another."""
    first, best = first_words(text, limit), candidate(0, text, weights, limit)
    quotes = [quote for quote in (first, best.quote if best is not None else None) if quote is not None]
    if len(quotes) < 2 or quotes[0].text in quotes[1].text or quotes[1].text in quotes[0].text:
        return quotes[:1]
    return quotes if len(quotes[0].text.split()) > HEADING else quotes[1:]


def _title(parts: Parts) -> str:
    closing = (parts.last,) if parts.last is not None else ()
    for said in ((*parts.people, *parts.agents, *closing), parts.notes):
        if title := best_title(said):
            return title
    return _tool_title(parts.calls) if parts.calls else best_title(parts.thoughts)


def _tool_title(calls: Sequence[Call]) -> str:
    names = names_of(calls)
    asked = (given(call, MAX_TITLE - 2 - len(names)) for call in calls)
    quote = next((quote for quote in asked if quote is not None), None) if len(names) < MAX_TITLE // 2 else None
    return f"{names}: {quote.text}" if quote is not None else names
