"""Text of a source made fit to be stored: contents escaped where no database takes them, names cut to length.

Guarantees: an escaped content is marked so and can be restored; two different names stay different
when they are cut; a time is aware or None, never guessed.
"""

import json
from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from chronicle import canonical
from chronicle.envelope import MAX_NAME
from chronicle.importers.protocol import Noted

TITLE = 80
NAMED = 5

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS = 10**11
_EARLIEST = 10**8  # 1973; a smaller number is a year, a date in digits or a count
_LATEST = _SECONDS * 10**9

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
        if moment.tzinfo is None:
            return None
        return moment if 1 < moment.year < 9999 or moment.astimezone(UTC) else None  # at the ends it may overflow
    except (ValueError, OverflowError):
        return None


def moment(given: Any) -> datetime | None:
    """Return a time with a zone: ISO text, or seconds, milli-, micro- or nanoseconds since 1970, as number or digits.

    The unit is told by the size: a count of seconds is under 10^11 until the year 5138.
    """
    if isinstance(given, str):
        return moment(_number(given)) if given[:1].isdigit() and _number(given) is not None else when(given)
    if isinstance(given, bool) or not isinstance(given, int | float) or not _EARLIEST <= given < _LATEST:
        return None
    scale = next(scale for scale in (1, 10**3, 10**6, 10**9) if given < _SECONDS * scale)
    microseconds = given * 10**6 // scale if isinstance(given, int) else round(given * 10**6 / scale)
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return None


def _number(given: str) -> int | float | None:
    """Return a text of digits, with a fraction or without, as a number; None for any other text."""
    if len(given) > 30 or not given.isascii():
        return None
    if given.isdigit():
        return int(given)
    whole, dot, fraction = given.partition(".")
    return float(given) if dot and whole.isdigit() and fraction.isdigit() else None


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
