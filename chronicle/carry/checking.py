"""Check: a carry proven against itself, with no database and nothing written.

Guarantees: reads a file once, in bounded memory; answers for every log the header names what is proven of it, and
names the line and the place that does not fit. It never raises for what a file says.
Says what it was checked against: the file's own chains and digest, which shows that nothing was changed since the
export; that nobody wrote all of it anew, no file can show of itself.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chronicle.carry import shapes
from chronicle.carry.file import Reader, refuse
from chronicle.carry.proof import LogProof
from chronicle.errors import CarryRefused
from chronicle.verifier import Status

AGAINST = "the file's own chains and digest only: no checkpoint from outside was given"
UNCHECKED = "UNCHECKED"


@dataclass(slots=True)
class LogReport:
    """One log of a file. `seq`: how far it is proven; `until`: the digest of the file up to its end."""

    log: str
    owner: str
    status: str = UNCHECKED
    seq: int = 0
    sections: int = 0
    tail: int = 0
    holes: list[tuple[int, int]] = field(default_factory=list)
    why: str = ""
    until: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the fixed shape of an answer of `verify`."""
        names = ("log", "status", "seq", "sections", "tail", "holes", "why")
        return {**{name: getattr(self, name) for name in names}, "against": AGAINST}


@dataclass(slots=True)
class CarryReport:
    """What a file proves. `refused` is the first thing that does not fit, None where all does."""

    path: str
    logs: list[LogReport] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    sha256: str = ""
    begun: list[tuple[int, shapes.Log]] = field(default_factory=list)
    refused: CarryRefused | None = None

    @property
    def status(self) -> str:
        """OK, BROKEN, or TRUNCATED where the file was cut off."""
        if self.refused is None:
            return Status.OK
        return Status.TRUNCATED if self.refused.details.get("cut") else Status.BROKEN


def check(path: Path | str) -> CarryReport:
    """Prove a file against itself."""
    report = CarryReport(str(path))
    try:
        with Reader(Path(path)) as reader:
            report.logs = [LogReport(log.id, log.owner) for log in reader.header.logs]
            _check(reader, report)
            report.sha256, report.counts = reader.sha256, dict(reader.counts)
    except CarryRefused as refused:
        report.refused = refused
        _tell(report, refused)
    return report


def _check(reader: Reader, report: CarryReport) -> None:
    place, proof, line = -1, None, 1
    for line, row in reader.rows():
        if isinstance(row, shapes.Log):
            _finish(report, place, proof, line, reader.before())
            place, proof = place + 1, _begun(reader, place + 1, line, row)
            report.begun.append((line, row))
            report.logs[place].status = Status.BROKEN  # until its end is reached
        elif proof is None:
            refuse(line, f"a {shapes.kind_of(row)} stands before any log")
        else:
            proof.take(line, row)
            report.logs[place].seq = proof.chain.seq
    _finish(report, place, proof, line + 1, reader.before())
    if place + 1 < len(report.logs):
        refuse(line + 1, f"log {report.logs[place + 1].log}, which the header names, is not in the file", cut=True)
    reader.finish()


def _begun(reader: Reader, place: int, line: int, row: shapes.Log) -> LogProof:
    if place >= len(reader.header.logs):
        refuse(line, f"log {row.id} is not named by the header")
    return LogProof(line, row, reader.header.logs[place])


def _finish(report: CarryReport, place: int, proof: LogProof | None, line: int, until: str) -> None:
    if proof is None:
        return
    proof.end(line)
    found = report.logs[place]
    found.status, found.until = Status.OK, until
    found.seq, found.sections = proof.row.last_seq, proof.sections
    found.tail = proof.row.last_seq - proof.through


def _tell(report: CarryReport, refused: CarryRefused) -> None:
    """Say of each log what the refusal means for it: the one it was met in, else (the file as a whole) all."""
    whole = bool(refused.details.get("whole"))
    met = [log for log in report.logs if log.status == Status.BROKEN and not whole]
    for log in met or report.logs:
        log.status, log.why = report.status, str(refused)
        log.holes = list(refused.details.get("holes") or ())
        log.seq = min(log.seq, int(refused.details.get("seq", log.seq)))
    for log in report.logs:
        if met and log not in met and log.status == Status.OK:
            log.status, log.why = UNCHECKED, "the file breaks behind it, so its own digest could not be checked"
