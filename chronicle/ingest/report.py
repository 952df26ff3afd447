"""What an ingest says about a file: per log what was added, and every line that was refused, with its reason.

Guarantees: records read = those that gave events (or a summary) + ignored + refused; events read = added + replayed +
refused, log by log. Reasons name lines and ids, never a text of the source.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from chronicle.importers.protocol import Ignored, Noted, Read, ReadSection, Refused, record_of
from chronicle.importers.text import storable
from chronicle.ingest.batch import Version

KEPT = 10_000
KINDS_KEPT = 1000
CONFLICT = "same id, other content: kept as event {seq} of log {log}, beside event {of}"


class Totals(NamedTuple):
    """Of several files: how many gave a log, how many were refused or not read to their end, how many lines refused."""

    read: int
    refused_files: int
    refused_lines: int


def totals(files: Iterable[Mapping[str, Any]]) -> Totals:
    """Count over the reports of files, as `FileReport.as_json` gives them. Line 0 stands for a whole file."""
    read = refused_files = refused_lines = 0
    for file in files:
        whole = sum(not refused["line"] for refused in file["refused"])
        read += bool(file["logs"])
        refused_files += bool(whole or (file["refused"] and not file["logs"]))
        refused_lines += file.get("refusals", len(file["refused"])) - whole  # an early report has no count
    return Totals(read, refused_files, refused_lines)


@dataclass(slots=True)
class LogReport:
    """One session of a file. `replayed` counts events that the log held already; `sections` those added.

    Of those added, `grown` extend an event that was there under their id, and `conflicts` say something else.
    """

    log: str
    owner: str
    session: str
    added: int = 0
    replayed: int = 0
    refused: int = 0
    grown: int = 0
    conflicts: int = 0
    sections: int = 0
    sections_present: int = 0
    last_seq: int = 0
    through: int = 0

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class FileReport:
    """One file. `format` is empty where none is known, and `digest` where nothing was read.

    `skipped` says why a file that a folder held was passed by: it is of no known format, and nobody named it.
    """

    path: str
    format: str = ""
    digest: str = ""
    logs: list[LogReport] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    notes: list[Noted] = field(default_factory=list)
    refusals: int = 0  # all of them; `refused` keeps the first KEPT
    with_events: int = 0
    unread: int = 0
    skipped: str = ""
    _place: str = ""
    _line: int = 0

    def __post_init__(self) -> None:
        self.path = storable(self.path)[0]  # a file's name need not be UTF-8
        self.refusals = len(self.refused)

    def count_read(self, read: Read) -> None:
        """Count a record once, however many events it gave."""
        place = record_of(read.event.locator)
        self.with_events += place != self._place
        self._place, self._line = place, read.line

    def count_summary(self, summary: ReadSection) -> None:
        """Count a record that is a summary and nothing else."""
        self.with_events += summary.line != self._line
        self._line = summary.line

    def count_ignored(self, ignored: Ignored) -> None:
        known = ignored.kind in self.ignored or len(self.ignored) < KINDS_KEPT
        self.ignored[ignored.kind if known else "other kinds"] += 1

    def count_refused(self, refused: Refused) -> None:
        """A record that could not be read; a refused event of a record that could is `refuse_event`."""
        self.unread += not refused.marked
        self.refuse(refused)

    def refuse(self, refused: Refused) -> None:
        """Keep a refusal; of a file that is nothing but refusals, the first KEPT and their number."""
        self.refusals += 1
        if len(self.refused) < KEPT:
            self.refused.append(refused)

    def refuse_event(self, report: LogReport, line: int, reason: str) -> None:
        report.refused += 1
        self.refuse(Refused(line, reason))

    def count_versions(self, report: LogReport, versions: Iterable[Version]) -> None:
        """Count what was written under an id that was there; a conflict is named with its line and both seqs."""
        for version in versions:
            if version.grown:
                report.grown += 1
            else:
                report.conflicts += 1
                self.note(version.line, CONFLICT.format(seq=version.seq, of=version.of, log=report.log))

    def note(self, line: int, words: str) -> None:
        if len(self.notes) < KEPT:
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
            "refusals": self.refusals,
            "skipped": self.skipped,
            "ignored": dict(sorted(self.ignored.items())),
            "records": self.records,
            "notes": [{"line": noted.line, "words": noted.words} for noted in self.notes],
        }
