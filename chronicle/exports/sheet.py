"""Events as CSV, for spreadsheets: marked lossy, and safe to open in one.

Guarantees: RFC 4180 quoting, UTF-8; a cell that would run as a formula begins with an apostrophe, and the column
`altered` names it, so that the text can be had back. NUL and lone surrogates
stand as recorded, in the log's escaped form.
"""

import csv
import io
from collections.abc import Iterator

from chronicle.exports.taken import Taken
from chronicle.models import Event
from chronicle.seal import moment

COLUMNS = (
    "seq", "kind", "actor_kind", "actor", "content", "text_form", "type", "namespace", "at", "claimed_at",
    "correlation", "causation", "audience", "payload", "locator", "event_id", "digest", "altered",
)  # fmt: skip
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def write(taken: Taken) -> Iterator[str]:
    """Yield the rows, the columns' names first."""
    yield _line(COLUMNS)
    for event in taken.events():
        yield _line(_cells(event))


def _cells(event: Event) -> list[str]:
    times = {"at": moment(event.at), "claimed_at": moment(event.claimed_at) if event.claimed_at else ""}
    plain = {name: times[name] if name in times else _text(getattr(event, name)) for name in COLUMNS[:-1]}
    altered = [name for name, text in plain.items() if text.startswith(FORMULA)]
    return [f"'{text}" if name in altered else text for name, text in plain.items()] + [" ".join(altered)]


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _line(cells: list[str] | tuple[str, ...]) -> str:
    out = io.StringIO(newline="")
    csv.writer(out).writerow(cells)
    return out.getvalue()
