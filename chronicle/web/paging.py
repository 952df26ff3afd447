"""N of M: how many a list shows, of how many, and where the others are.

Guarantees: what is shown, hidden by filter, hidden as bookkeeping and on other pages adds up to all;
pages are cut by key (a seq), never by offset.
"""

from dataclasses import dataclass

from django.db.models import QuerySet

from chronicle.models import Event
from chronicle.web.rows import PAGE, Row, in_time, rows_of


@dataclass(frozen=True, slots=True)
class Shown:
    """The sentence under every list. `missing` are seqs of the range that the log does not hold."""

    shown: int
    of: int
    what: str = "event"
    hidden: int = 0
    bookkeeping: int = 0
    missing: int = 0

    @property
    def elsewhere(self) -> int:
        return self.of - self.shown - self.hidden - self.bookkeeping - self.missing


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of one page, and the seqs that the neighbouring pages are cut at (None at an end)."""

    rows: list[Row]
    before: int | None
    after: int | None


def page_of(
    events: QuerySet[Event], *, after: int | None = None, before: int | None = None, sought: range = range(0)
) -> Page:
    """Return at most PAGE rows of `events` with seq > `after`, or the last of those with seq < `before`."""
    if before is not None:
        rows = rows_of(events.filter(seq__lt=before).order_by("-seq")[: PAGE + 1], sought=sought)
        kept = list(in_time(rows[:PAGE][::-1]))
        return Page(kept, before=kept[0].seq if len(rows) > PAGE else None, after=kept[-1].seq if kept else None)
    rows = rows_of(events.filter(seq__gt=after or 0).order_by("seq")[: PAGE + 1], sought=sought)
    kept = list(in_time(rows[:PAGE]))
    return Page(kept, before=kept[0].seq if after and kept else None, after=kept[-1].seq if len(rows) > PAGE else None)
