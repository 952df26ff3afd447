"""What a reader is given at a seq: whole sections up to it, then the log's own events.

Guarantees: sections and tail cover every event from 1 to upto_seq exactly once, also when upto_seq
lies inside a section; the tail is never chronicle text; if the chronicle is behind, the tail is longer.
The assembled text under a budget, with its receipt, is not here yet.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import NamedTuple

from django.db.models import Q
from django.utils import timezone

from chronicle import policies
from chronicle.cover import Entry
from chronicle.envelope import StoredEvent
from chronicle.log import read
from chronicle.models import Anchor, Edition, Event
from chronicle.reading import Anchors, Prose, ProseView
from chronicle.view import View, view


class Split(NamedTuple):
    """Where the sections end and the tail begins; an empty tail has tail_from = upto_seq + 1."""

    sections: tuple[ProseView, ...]
    tail_from: int
    upto_seq: int


class Brief:
    """Depth and tail of one edition's log."""

    def __init__(self, edition: Edition) -> None:
        self._edition = edition

    def depth(self, upto_seq: int | None = None) -> list[ProseView]:
        """Return the level-0 sections that end at or before `upto_seq`, oldest first."""
        return Prose(self._edition).sections(upto_seq)

    def tail(
        self, *, since_seq: int, upto_seq: int | None = None, admit: Callable[[StoredEvent], bool] | None = None
    ) -> Iterator[StoredEvent]:
        """Yield the log's events above `since_seq`; nothing is left out unless `admit` says so."""
        return read(self._edition.log, since_seq=since_seq, upto_seq=upto_seq, where=admit)

    def split(self, upto_seq: int | None = None) -> Split:
        """Return the partition at `upto_seq` (the log's last seq by default)."""
        upto = self._edition.log.last_seq if upto_seq is None else upto_seq
        anchors = Anchors(self._edition).anchors(upto)
        return Split(tuple(self.depth(upto)), anchors[-1].to_seq + 1 if anchors else 1, upto)

    def view(self, upto_seq: int | None = None) -> View:
        """Return the cover at `upto_seq`, its entries labelled recent or older, and which oldest seqs are not shown.

        A rollup that reaches past `upto_seq` gives way to its children; recent is what holds an event of
        the policy's recent window, by coverage, whenever its section was made.
        """
        log = self._edition.log
        upto = log.last_seq if upto_seq is None else upto_seq
        row = policies.at(policies.rows(log), max(upto, 1))
        since = timezone.now() - timedelta(hours=row.recent_window_hours)
        lately = Event.objects.filter(log=log, at__gte=since, seq__lte=upto).order_by("seq")
        return view(
            self._cover(upto),
            recent_from=lately.values_list("seq", flat=True).first() or upto + 1,
            max_recent=row.max_recent,
            max_older=row.max_older,
        )

    def _cover(self, upto_seq: int) -> list[Entry]:
        found = Anchor.objects.filter(
            Q(rolled_up_into=None) | Q(rolled_up_into__to_seq__gt=upto_seq), edition=self._edition, to_seq__lte=upto_seq
        )
        return [Entry(*row) for row in found.order_by("from_seq").values_list("level", "from_seq", "to_seq")]
