"""The events of a range, as a section or the tail shows them.

Guarantees: both ends are inclusive; shown, bookkeeping, before, after and missing add up to the whole
range; what is missing is counted from the range itself, not assumed to be nothing.
"""

from dataclasses import dataclass

from django.db.models import Count, Q

from chronicle.envelope import Kind
from chronicle.models import Log
from chronicle.web.paging import Page, Shown, page_of
from chronicle.web.rows import PAGE

CONTEXT = 20


@dataclass(frozen=True, slots=True)
class Slice:
    """One page of the events from `from_seq` to `to_seq`."""

    from_seq: int
    to_seq: int
    page: Page
    shown: Shown

    @property
    def words(self) -> str:
        return f"{self.from_seq} to {self.to_seq}"


def slice_of(
    log: Log, from_seq: int, to_seq: int, *, after: int | None = None, sought: range = range(0), books: bool = False
) -> Slice:
    """Return a page of a range's events after `after`; where a seq is sought, the page that holds it.

    Bookkeeping is hidden unless `books` says otherwise or it is itself what is sought.
    """
    events = log.events.filter(seq__gte=from_seq, seq__lte=to_seq)
    asked = Q(seq__gte=sought[0], seq__lte=sought[-1]) if sought else Q(pk__in=())
    hidden = Q(pk__in=()) if books else Q(kind=Kind.BOOKKEEPING) & ~asked
    counts = events.aggregate(held=Count("pk"), hidden=Count("pk", filter=hidden))
    if after is None and meets(sought, from_seq, to_seq) and sought[0] >= from_seq + PAGE:
        after = sought[0] - CONTEXT
    page = page_of(events.exclude(hidden), after=after, sought=sought)
    whole = to_seq - from_seq + 1
    shown = Shown(len(page.rows), whole, bookkeeping=counts["hidden"], missing=whole - counts["held"])
    return Slice(from_seq, to_seq, page, shown)


def meets(sought: range, from_seq: int, to_seq: int) -> bool:
    """Say whether any sought seq lies in the range, both ends included."""
    return bool(sought) and max(sought[0], from_seq) <= min(sought[-1], to_seq)
