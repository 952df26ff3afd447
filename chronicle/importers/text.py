"""Text of a source made fit to be stored: contents escaped where no database takes them, names cut to length.

Guarantees: an escaped content is marked so and can be restored; two different names stay different
when they are cut; a time is aware or None, never guessed.
"""

import json
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from typing import Any

from chronicle import canonical
from chronicle.envelope import MAX_NAME
from chronicle.importers.protocol import Noted

TITLE = 80
NAMED = 5

_AS_GIVEN = json.JSONEncoder(ensure_ascii=False)
_ORDERED = json.JSONEncoder(ensure_ascii=False, sort_keys=True)


def storable(content: str) -> tuple[str, str]:
    """Return a content and its text form: as it is and "plain", or escaped and "escaped"."""
    if canonical.unstorable(content) is None:
        return content, "plain"
    return canonical.escape_text(content), "escaped"


def name(text: Any, otherwise: str) -> str:
    """Return a name fit for an actor, a type or a correlation; `otherwise` for what is no text or blank."""
    if not isinstance(text, str) or not text.strip():
        return otherwise
    if len(text) <= MAX_NAME and text.isascii() and text.isprintable():
        return text
    fit = canonical.escape_text(text) if canonical.unstorable(text) is not None else text
    if len(fit) <= MAX_NAME:
        return fit
    return f"{fit[: MAX_NAME - 18]}…{canonical.sha256(fit.encode())[:16]}"


def when(text: Any) -> datetime | None:
    """Return an ISO time with a zone, or None: a time without one is not a moment."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo is not None and moment.astimezone(UTC) else None
    except (ValueError, OverflowError):
        return None


def timeless(lines: Collection[int]) -> Iterator[Noted]:
    """Yield one note for all lines that state a time which cannot be read; nothing where there are none."""
    if not lines:
        return
    first = sorted(lines)[:NAMED]
    named = ", ".join(map(str, first)) + (" and so on" if len(lines) > len(first) else "")
    yield Noted(
        first[0],
        f"{len(lines)} timestamp{'s' if len(lines) > 1 else ''} without a moment that can be read (line {named}): "
        "the events have no claimed time, their payload keeps what stood there",
    )


def readable(value: Any, *, ordered: bool = False) -> str:
    """Return a value as JSON that a person reads: characters as they are, keys in the source's order or sorted."""
    return (_ORDERED if ordered else _AS_GIVEN).encode(value)


def first_line(text: str) -> str:
    """Return the first line with words on it, at most TITLE characters, cut at a word."""
    line = next((" ".join(line.split()) for line in text.splitlines() if line.strip()), "")
    if len(line) <= TITLE:
        return line
    return line[: TITLE - 1].rsplit(" ", 1)[0] + "…"
