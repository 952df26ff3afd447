"""The arc of a stretch: what a rollup by `outline` says, from the titles and prose of its sections.

Guarantees: reads sections, never events; every title stands in quotes, and what is quoted of a
section's prose is a stretch of it (of a quoting prose, what it quotes); counts are the sections' own;
about 1,500 characters however many sections there are.
"""

import re
from collections.abc import Sequence

from chronicle.summarisers.answer import MAX_TITLE, UNTITLED, cut_title
from chronicle.summarisers.protocol import Child, Draft
from chronicle.summarisers.quotes import MARKS, Quote, closed, last_words, quote_at
from chronicle.summarisers.span import NOTHING_PUBLIC

LENGTH = 1500
LIMITS = ((8, 100), (8, 70), (8, 45), (8, 0), (4, 60), (4, 0))
BETWEEN = " – "

_ADDRESSED = re.compile(r"^@\S+\s+")
_QUOTED = re.compile("|".join(f"{opening}([^{opening}{closing}]+){closing}" for opening, closing in MARKS))


def rollup(children: Sequence[Child]) -> Draft:
    """Return title and prose of a rollup over `children`, oldest first."""
    told = (_told(children, shown, limit) for shown, limit in LIMITS)
    prose = next((prose for prose in told if len(prose) <= LENGTH), None) or _told(children, *LIMITS[-1])
    return Draft(_title(children), prose)


def _told(children: Sequence[Child], shown: int, limit: int) -> str:
    events = sum(child.event_count for child in children)
    size = f"{events:,} events in {len(children):,} sections"
    paragraphs = [
        _sentence(f"The stretch of {size} began with", children[:1], limit),
        _between(children[1:-1], shown - 2, limit),
        _sentence("It ended with", children[1:][-1:], 2 * limit),
    ]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def _between(children: Sequence[Child], shown: int, limit: int) -> str:
    """The sections between, all of them or some spread evenly, and how many are left out."""
    count = min(shown, len(children))
    chosen = [children[place * len(children) // count] for place in range(count)]
    left = len(children) - count
    return _sentence("Then came", chosen, limit, rest=f"{left:,} more" if left else "")


def _sentence(opening: str, children: Sequence[Child], limit: int, *, rest: str = "") -> str:
    if not children:
        return ""
    told = [_child(child, limit) for child in children]
    names = [words for words, _ in told] + ([rest] if rest else [])
    joined = "; ".join([*names[:-1], f"and {names[-1]}"]) if len(names) > 1 else names[0]
    return closed(f"{opening} {joined}", None if rest else told[-1][1])


def _child(child: Child, limit: int) -> tuple[str, Quote | None]:
    title = quote_at(child.title, 0, MAX_TITLE)
    named = str(title) if title is not None else "a section without a title"
    words = _closing(child, limit) if limit and child.prose != NOTHING_PUBLIC else None
    return (f"{named}, with {words}", words) if words is not None else (named, title)


def _closing(child: Child, limit: int) -> Quote | None:
    """What a section came to: the longest quote of its last paragraph that quotes speech, else its last sentence.

    What its title says already is passed over.
    """
    for paragraph in reversed(child.prose.split("\n\n")):
        if " called " in _QUOTED.sub("", paragraph):
            continue
        quoted = [first or second for first, second in _QUOTED.findall(paragraph)]
        news = [words for words in quoted if not _repeats(words, child.title)]
        if news:
            return quote_at(max(news, key=len), 0, limit)
    return None if _QUOTED.search(child.prose) else last_words(child.prose, limit)


def _repeats(words: str, title: str) -> bool:
    words, title = (_ADDRESSED.sub("", text.strip("… ")).casefold() for text in (words, title))
    return words[:30] == title[:30]


def _title(children: Sequence[Child]) -> str:
    """The first section's title (of a rollup, its first half) and the last one's (its last half), on one line."""
    first, last = (" ".join(child.title.split()) for child in (children[0], children[-1]))
    first, last = first.split(BETWEEN)[0], last.split(BETWEEN)[-1]
    if first == last:
        return cut_title(first) or UNTITLED
    room = MAX_TITLE - len(BETWEEN)
    first = _short(first, max(room // 2, room - len(last)))
    return f"{first}{BETWEEN}{_short(last, room - len(first))}"


def _short(title: str, limit: int) -> str:
    if len(title) <= limit:
        return title
    kept = title[: limit - 1]
    return f"{kept[: kept.rfind(' ')] if ' ' in kept else kept}…"
