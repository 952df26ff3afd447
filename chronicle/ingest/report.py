"""What an ingest says about a file: per log what was added, and every line that was refused, with its reason.

Guarantees: records read = those that gave events (or a summary) + ignored + refused; events read = added + replayed +
refused, log by log. Reasons name lines and ids, never a text of the source.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from chronicle.importers.protocol import Ignored, Noted, Read, ReadSection, Refused


@dataclass(slots=True)
class LogReport:
    """One session of a file. `replayed` counts events that the log held already; `sections` those added."""

    log: str
    owner: str
    session: str
    added: int = 0
    replayed: int = 0
    refused: int = 0
    sections: int = 0
    sections_present: int = 0
    last_seq: int = 0
    through: int = 0

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class FileReport:
    """One file. `format` is empty where none is known, and `digest` where nothing was read."""

    path: str
    format: str = ""
    digest: str = ""
    logs: list[LogReport] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    notes: list[Noted] = field(default_factory=list)
    with_events: int = 0
    unread: int = 0
    _place: str = ""
    _line: int = 0

    def count_read(self, read: Read) -> None:
        """Count a record once, however many events it gave."""
        place = read.event.locator.partition(":")[0] if read.seq is None else read.event.locator
        self.with_events += place != self._place
        self._place, self._line = place, read.line

    def count_summary(self, summary: ReadSection) -> None:
        """Count a record that is a summary and nothing else."""
        self.with_events += summary.line != self._line
        self._line = summary.line

    def count_ignored(self, ignored: Ignored) -> None:
        self.ignored[ignored.kind] += 1

    def count_refused(self, refused: Refused) -> None:
        """A record that could not be read; a refused event of a record that could is `refuse_event`."""
        self.unread += not refused.marked
        self.refused.append(refused)

    def refuse_event(self, report: LogReport, line: int, reason: str) -> None:
        report.refused += 1
        self.refused.append(Refused(line, reason))

    def note(self, line: int, words: str) -> None:
        self.notes.append(Noted(line, words))

    @property
    def records(self) -> dict[str, int]:
        ignored = self.ignored.total()
        parts = {"events": self.with_events, "ignored": ignored, "refused": self.unread}
        return {"read": sum(parts.values()), **parts}

    def as_json(self) -> dict[str, Any]:
        """Return the file's part of the command's JSON."""
        return {
            "path": self.path,
            "format": self.format,
            "digest": self.digest,
            "logs": [report.as_json() for report in self.logs],
            "refused": [{"line": refused.line, "reason": refused.reason} for refused in self.refused],
            "ignored": dict(sorted(self.ignored.items())),
            "records": self.records,
            "notes": [{"line": noted.line, "words": noted.words} for noted in self.notes],
        }
