"""Export: logs into one file, with everything that stands over them, and a count of what was there.

Guarantees: the same logs give the same bytes on every database; each log is as it stood at one moment (`snapshot`);
memory holds a page, and the file appears under its name when it is complete.
Refuses: no logs, a row that could not be read back (CarryRefused; no file is left).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chronicle.carry import shapes, snapshot
from chronicle.carry.file import Writer, written
from chronicle.carry.rows import rows
from chronicle.errors import CarryRefused
from chronicle.models import (
    Anchor,
    Edition,
    Event,
    Finding,
    Log,
    Pin,
    Policy,
    Receipt,
    ReceiptPart,
    RollupSource,
    Section,
    SectionPin,
    SignOff,
)


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: {kind: (rows written, rows there)}. More there than written came while it was written."""

    logs: tuple[str, ...]
    size: int
    sha256: str
    kinds: dict[str, tuple[int, int]]


def export(logs: Sequence[Log], path: Path) -> Exported:
    """Write logs into `path` (`-`: standard output), in the order of their ids. Raises CarryRefused, OSError."""
    if not logs:
        raise CarryRefused("There is no log to export.")
    shots = [snapshot.take(log) for log in sorted(logs, key=lambda log: log.public_id)]
    with written(path) as file:
        writer = Writer(file)
        writer.write(_header(shots))
        attachments = sum(_write(writer, shot) for shot in shots)
        writer.end()
    there = _there([shot.log for shot in shots])
    there.update(prompt=writer.counts["prompt"], source=writer.counts["source"], attachment=attachments)
    kinds = {kind: (writer.counts[kind], there[kind]) for kind in shapes.KINDS}
    return Exported(tuple(shot.log.public_id for shot in shots), writer.size, writer.sha256, kinds)


def _write(writer: Writer, shot: snapshot.Snapshot) -> int:
    """Write a log, and return how many attachments its events name."""
    named: set[str] = set()
    for row in rows(shot, named):
        writer.write(row)
    return len(named)


def _header(shots: Sequence[snapshot.Snapshot]) -> shapes.Header:
    named = [
        shapes.Carried(id=shot.log.public_id, owner=shot.log.owner, last_seq=shot.log.last_seq, head=shot.log.head)
        for shot in shots
    ]
    return shapes.Header(format=shapes.FORMAT, version=shapes.VERSION, kind=shapes.KIND, logs=named)


def _there(logs: Sequence[Log]) -> Counter[str]:
    """Count what the database holds of these logs now."""
    there: Counter[str] = Counter(log=len(logs))
    for log in logs:
        edition = {"anchor__edition__log": log}
        there.update(
            policy=Policy.objects.filter(log=log).count(),
            event=Event.objects.filter(log=log).count(),
            pin=Pin.objects.filter(log=log).count(),
            edition=Edition.objects.filter(log=log).count(),
            anchor=Anchor.objects.filter(edition__log=log).count(),
            section=Section.objects.filter(**edition).count(),
            section_pin=SectionPin.objects.filter(section__anchor__edition__log=log).count(),
            section_source=RollupSource.objects.filter(section__anchor__edition__log=log).count(),
            receipt=Receipt.objects.filter(log=log).count(),
            receipt_part=ReceiptPart.objects.filter(receipt__log=log).count(),
            finding=Finding.objects.filter(section__anchor__edition__log=log).count(),
            sign_off=SignOff.objects.filter(section__anchor__edition__log=log).count(),
        )
    return there
