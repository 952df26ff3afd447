"""What a reader is given at a seq: whole sections up to it, then the log's own events.

Guarantees: sections and tail cover every event from 1 to upto_seq exactly once, also when upto_seq
lies inside a section; the tail is never chronicle text; if the chronicle is behind, the tail is longer.
The assembled text under a budget, with its receipt, is not here yet.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from chronicle.envelope import StoredEvent
from chronicle.log import read
from chronicle.models import Edition
from chronicle.reading import Anchors, Prose, ProseView


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
