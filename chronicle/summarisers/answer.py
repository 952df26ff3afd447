"""What a model answered, made into a title and prose; and titles for what has none.

Guarantees: the title is the first line after `TITLE:` only where both it and the rest have words;
otherwise the whole answer is the prose and the title is the fallback. A title holds at most 80
characters. Nothing of an answer is dropped but the blank around it.
Refuses: an answer that is no text or has nothing to read in it (SummaryFailed); nothing stands in its place.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from chronicle.errors import SummaryFailed
from chronicle.summarisers.protocol import Child

MARK = "TITLE:"
MAX_TITLE = 80
UNTITLED = "Untitled span"


@dataclass(frozen=True, slots=True)
class Answer:
    title: str
    prose: str


def parse_answer(text: object, *, fallback: str) -> Answer:
    """Return title and prose of what a model gave. Raises SummaryFailed where there is nothing to read."""
    if not isinstance(text, str):
        raise SummaryFailed(f"the summariser gave {type(text).__name__} instead of text; nothing was stored")
    if not has_words(text):
        raise SummaryFailed("the summariser gave an empty answer; nothing was stored")
    whole = text.strip()
    first, _, rest = whole.partition("\n")
    title, body = first.removeprefix(MARK).strip(), rest.strip()
    if first.startswith(MARK) and has_words(title) and has_words(body):
        return Answer(cut_title(title), body)
    return Answer(cut_title(fallback), whole)


def has_words(text: str) -> bool:
    """True when there is a character to see: not only blank, control and zero-width ones."""
    return any(not char.isspace() and unicodedata.category(char) not in {"Cc", "Cf"} for char in text)


def cut_title(title: str) -> str:
    """Return at most 80 characters: the title, or its first 79 and an ellipsis."""
    return title if len(title) <= MAX_TITLE else f"{title[: MAX_TITLE - 1]}…"


def fallback_title(began: datetime | None, ended: datetime | None) -> str:
    """Return `2026-03-01 09:05–09:40 UTC`, with both dates where the span reaches over midnight.

    A span with one known time has that one; without any it is untitled. Times that run backwards are
    put in order.
    """
    known = sorted(_in_utc(moment) for moment in (began, ended) if moment is not None)
    if not known:
        return UNTITLED
    first, last = known[0], known[-1]
    if first.date() != last.date():
        return f"{first:%Y-%m-%d %H:%M} – {last:%Y-%m-%d %H:%M} UTC"
    if len(known) == 1:
        return f"{first:%Y-%m-%d %H:%M} UTC"
    return f"{first:%Y-%m-%d %H:%M}–{last:%H:%M} UTC"


def fallback_rollup_title(children: Sequence[Child]) -> str:
    """Return first date – last date of the children; without dates, first title – last title."""
    known = sorted(_in_utc(moment) for child in children for moment in (child.began, child.ended) if moment is not None)
    if known:
        ends = [f"{known[0]:%Y-%m-%d}", f"{known[-1]:%Y-%m-%d}"]
    else:
        ends = [child.title for child in (*children[:1], *children[-1:]) if child.title]
    return cut_title(" – ".join(dict.fromkeys(ends))) or UNTITLED


def _in_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC) if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
