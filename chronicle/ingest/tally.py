"""What a file holds, counted over the items of its importer: sessions with their events by kind, and what is odd.

Guarantees: pure counting, nothing is read or written here; the memory does not grow with the events, and what is told
names lines, kinds, titles and ids, never a text. Events = new + there already + come again in the file + refused.
"""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

from chronicle.envelope import COMPACTION, Kind, PendingEvent
from chronicle.importers.protocol import Ignored, Item, Noted, Read, ReadSection, Refused, Session
from chronicle.importers.text import storable
from chronicle.ingest.report import FileReport

SESSIONS_TOLD = 100
LINES_TOLD = 50


@dataclass(slots=True)
class SessionTally:
    """One session. `log` is the log that holds it already; of the `new` events `grown` and `conflicts` have known ids.

    `repeats` come again in the file and add nothing; `summaries` become sections.
    """

    session: str
    title: str = ""
    log: str = ""
    events: int = 0
    new: int = 0
    held: int = 0
    repeats: int = 0
    refused: int = 0
    grown: int = 0
    conflicts: int = 0
    compactions: int = 0
    summaries: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    first: datetime | None = None
    last: datetime | None = None

    def count(self, event: PendingEvent) -> None:
        self.events += 1
        self.kinds[str(event.kind)] += 1
        self.compactions += _is_compaction(event)
        if (at := event.claimed_at) is not None and at.tzinfo is not None:
            self.first = min(self.first or at, at)
            self.last = max(self.last or at, at)

    def as_json(self) -> dict[str, Any]:
        told = {name: getattr(self, name) for name in _COUNTS}
        return {
            "session": storable(self.session)[0],
            "title": storable(self.title)[0][:300],
            "log": self.log,
            **told,
            "kinds": _ordered(self.kinds),
            "first": self.first and self.first.isoformat(),
            "last": self.last and self.last.isoformat(),
        }


_COUNTS = ("events", "new", "held", "repeats", "refused", "grown", "conflicts", "compactions", "summaries")


@dataclass(slots=True)
class Tally:
    """One file: its report, as far as reading makes one, and its sessions in the order in which they come."""

    report: FileReport
    size: int = 0
    sessions: dict[str, SessionTally] = field(default_factory=dict)

    def count(self, item: Item) -> None:
        """Count one item of the importer."""
        match item:
            case Read():
                self.report.count_read(item)
                self.of(item.session).count(item.event)
            case ReadSection():
                self.report.count_summary(item)
                self.of(item.session).summaries += 1
            case Session():
                one = self.of(item.id)
                one.title = item.title or one.title
            case Ignored():
                self.report.count_ignored(item)
            case Refused():
                self.report.count_refused(item)
            case Noted():
                self.report.note(item.line, item.words)

    def of(self, session: str) -> SessionTally:
        return self.sessions.setdefault(session, SessionTally(session))

    def total(self, name: str) -> int:
        """Add up one of the counts over all sessions."""
        return sum(getattr(one, name) for one in self.sessions.values())

    def kinds(self) -> dict[str, int]:
        """Return how many events there are of each kind."""
        return _ordered(sum((one.kinds for one in self.sessions.values()), Counter()))

    def as_json(self) -> dict[str, Any]:
        """Return the preview of the file; of sessions, refusals and notes the first, and how many there are."""
        told = self.report.as_json()
        names = ("path", "format", "skipped", "refusals", "ignored", "records")
        return {
            **{name: told[name] for name in names},
            "size": self.size,
            **{name: self.total(name) for name in _COUNTS},
            "kinds": self.kinds(),
            "sessions": [one.as_json() for one in islice(self.sessions.values(), SESSIONS_TOLD)],
            "sessions_all": len(self.sessions),
            "refused_lines": told["refused"][:LINES_TOLD],
            "notes": told["notes"][:LINES_TOLD],
            "notes_all": len(told["notes"]),
        }


def _is_compaction(event: PendingEvent) -> bool:
    return event.kind == Kind.MARKER and (event.type == COMPACTION or event.type.endswith(f".{COMPACTION}"))


def _ordered(kinds: Counter[str]) -> dict[str, int]:
    return {str(kind): kinds[str(kind)] for kind in Kind if kinds[str(kind)]}
