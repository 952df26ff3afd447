"""What of a cover is shown, and under which label: a pure function of ranges.

Guarantees: it starts from the cover, a partition, and only ever drops a prefix, the oldest, saying
which seqs; recent and older are decided by coverage, never by when an entry was made, so an entry that
only reaches into the recent stretch is recent and is never left out between the two.
"""

from collections.abc import Sequence
from typing import NamedTuple

from chronicle.cover import Entry


class View(NamedTuple):
    """Entries oldest first: `older` then `recent`; `dropped` is the range of seqs not shown, or None."""

    older: tuple[Entry, ...]
    recent: tuple[Entry, ...]
    dropped: tuple[int, int] | None


def view(cover: Sequence[Entry], *, recent_from: int, max_recent: int, max_older: int) -> View:
    """Label the entries of `cover`, oldest first; those that end at or after `recent_from` are recent.

    At most `max_recent` are called recent (the newest), the rest are older; what is over
    max_recent + max_older in all is dropped from the oldest end.
    """
    recent = [entry for entry in cover if entry.to_seq >= recent_from][-max_recent:]
    older = list(cover[: len(cover) - len(recent)])
    room = max_recent + max_older - len(recent)
    shown = older[len(older) - room :] if len(older) > room else older
    gone = older[: len(older) - len(shown)]
    return View(tuple(shown), tuple(recent), (gone[0].from_seq, gone[-1].to_seq) if gone else None)
