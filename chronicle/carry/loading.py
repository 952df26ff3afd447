"""Load: a carry into this database, all that is missing of it and nothing else.

Guarantees: the file is proven against itself, then compared with what is here, before a row is written; each log
lands in one transaction, and only if the file is still the one that was proven; a second load lands nothing, and
after one that was broken off the next goes on. Each log that took something is written into the audit trail.
Refuses (CarryRefused, naming the line): a file that does not fit itself or what is here; nothing is written.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import transaction

from chronicle import audit
from chronicle.carry import shapes
from chronicle.carry.checking import CarryReport, check
from chronicle.carry.file import Reader, refuse
from chronicle.carry.landing import LogLanding
from chronicle.carry.tally import Tally, total
from chronicle.errors import CarryRefused
from chronicle.models import Log

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Loaded:
    """What became of a file: a tally for each of its logs, in its order."""

    path: str
    sha256: str
    logs: dict[str, Tally] = field(default_factory=dict)

    def total(self, name: str) -> int:
        """Return how many rows `landed`, were `there`, or were there with `other` words."""
        return total(self.logs.values(), name)

    @property
    def replayed(self) -> bool:
        """True when all of it was here."""
        return not self.total("landed")

    def as_json(self) -> dict[str, Any]:
        """Return the answer of `load`."""
        return {
            "file": self.path,
            "sha256": self.sha256,
            "landed": self.total("landed"),
            "there": self.total("there"),
            "other": self.total("other"),
            "replayed": self.replayed,
            "payload_differs": bool(self.total("other")),
            "logs": [{"log": log, "kinds": tally.as_json()} for log, tally in self.logs.items()],
        }


class _Block:
    """A log's first row, and those behind it; `next` is the first of the log after it, once they are through."""

    def __init__(self, line: int, row: shapes.Log, rows: Iterator[Any]) -> None:
        self.line, self.row = line, row
        self.next: tuple[int, shapes.Log] | None = None
        self.last = line
        self._rows = rows

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        for line, row in self._rows:
            if isinstance(row, shapes.Log):
                self.next = (line, row)
                return
            self.last = line
            yield line, row


def load(path: Path | str, *, made_by: str = "operator") -> Loaded:
    """Land what is missing of a file. Raises CarryRefused; then nothing was written."""
    report = check(path)
    if report.refused is not None:
        raise report.refused
    _compare(Path(path), report)
    loaded = Loaded(str(path), report.sha256)
    with Reader(Path(path)) as reader:
        for place, block in enumerate(_blocks(reader)):
            try:
                loaded.logs[block.row.id] = _land(reader, report, place, block, made_by)
            except CarryRefused as refused:
                if place:
                    refused.details["landed"] = list(loaded.logs)
                raise
    return loaded


def _compare(path: Path, report: CarryReport) -> None:
    """Take every decision without writing. Where none of the logs is here, their first rows say all there is."""
    ids = [log.log for log in report.logs]
    here = any(Log.objects.filter(public_id__in=ids[at : at + 500]).exists() for at in range(0, len(ids), 500))
    if not here:
        for line, row in report.begun:
            LogLanding(line, row, write=False)
        return
    with Reader(path) as reader:
        for place, block in enumerate(_blocks(reader)):
            _through(LogLanding(block.line, block.row, write=False), block)
            _same_file(reader, report, place, block.last)


def _blocks(reader: Reader) -> Iterator[_Block]:
    rows = iter(reader.proven_rows())
    first = next(rows, None)
    following = (first.number, first.row) if first is not None else None
    while following is not None:
        block = _Block(*following, rows)
        yield block
        following = block.next


def _through(landing: LogLanding, block: _Block) -> None:
    for line, row in block:
        landing.take(line, row)
    landing.end(block.last)


def _same_file(reader: Reader, report: CarryReport, place: int, line: int) -> None:
    if place >= len(report.logs) or reader.before() != report.logs[place].until:
        refuse(line, "the file was changed while it was loaded; load it again")


def _land(reader: Reader, report: CarryReport, place: int, block: _Block, made_by: str) -> Tally:
    with transaction.atomic():
        landing = LogLanding(block.line, block.row, write=True)
        _through(landing, block)
        _same_file(reader, report, place, block.last)
        landed = dict(landing.tally.landed)
        if landed:
            other = sum(landing.tally.other.values())
            audit.record(made_by, "carry.loaded", block.row.id, file=report.sha256, landed=landed, other=other)
    logger.info("log %s: %s rows landed from a carry", block.row.id, sum(landed.values()))
    return landing.tally
