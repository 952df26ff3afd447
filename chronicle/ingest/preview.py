"""A look at a file before it is ingested: what its importer reads, compared with what the logs hold by now.

Guarantees: nothing is written, neither to a log nor beside one; the same importer reads and the same rules compare
as in an ingest, so what is foreseen is what an ingest of the same bytes at this moment does. Told later than that:
an event_id that stands under another key, and which summaries find a free range.
Refuses: as an ingest, in the preview of the file.
"""

from dataclasses import dataclass, field
from pathlib import Path

from chronicle.errors import BrokenFile, UnknownFormat
from chronicle.importers import registry
from chronicle.importers.protocol import Importer, Opened, Read, Refused
from chronicle.ingest import batch, opening, versions
from chronicle.ingest.opening import BATCH, BATCH_BYTES
from chronicle.ingest.report import FileReport
from chronicle.ingest.run import Progress
from chronicle.ingest.tally import SessionTally, Tally
from chronicle.models import Log

CONFLICT = "same id, other content than event {of} of log {log}: both will be kept"
MET_AT_MOST = 1_000_000  # ids of a file that are remembered, to know one that comes again


@dataclass(slots=True)
class Look:
    """One file being looked at."""

    tally: Tally
    importer: Importer
    owner: str
    target: Log | None
    logs: dict[str, Log | None] = field(default_factory=dict)
    reads: dict[str, list[Read]] = field(default_factory=dict)
    waiting: int = 0
    waiting_bytes: int = 0
    met: set[int] = field(default_factory=set)


def preview_file(
    path: Path | str,
    *,
    owner: str,
    format: str | None = None,
    log_id: str | None = None,
    name: str | None = None,
    inside: str = "",
    progress: Progress | None = None,
) -> Tally:
    """Say what `ingest_file`, given the same, would do. Raises what that raises."""
    opening.check(owner, format)
    target = opening.target(owner, log_id)
    tally = Tally(FileReport(path=name or opening.shown(path)))
    try:
        opened = opening.opened(path, inside or name)
        tally.size = opened.size
        importer = registry.importer_for(opened, format)
        tally.report.format = importer.name
        _read(Look(tally, importer, owner, target), opened, progress)
    except UnknownFormat as error:
        if inside:
            tally.report.skipped = str(error)
        else:
            tally.report.refuse(Refused(0, str(error)))
    except BrokenFile as error:
        tally.report.refuse(Refused(int(error.details.get("line", 0)), str(error)))
    return tally


def _read(look: Look, opened: Opened, progress: Progress | None) -> None:
    survey, line = look.importer.survey(opened), 0
    try:
        for item in look.importer.read(opened):
            line = max(line, getattr(item, "line", 0))
            look.tally.count(item)
            if isinstance(item, Read) and _full(look, item):
                _compare(look)
                if progress is not None:
                    progress(line, survey.lines, "lines")
    except OSError as error:
        look.tally.count(Refused(line + 1, f"the file cannot be read on: {error.strerror}"))
    _compare(look)
    if progress is not None:
        progress(survey.lines, survey.lines, "lines")


def _full(look: Look, read: Read) -> bool:
    look.reads.setdefault(read.session, []).append(read)
    look.waiting += 1
    look.waiting_bytes += opening.weight(read)
    return look.waiting >= BATCH or look.waiting_bytes >= BATCH_BYTES


def _compare(look: Look) -> None:
    """Compare what waits with the logs, session by session."""
    for session, reads in look.reads.items():
        log = _log(look, session)
        own = log is None or (log.source, log.source_session) == (look.importer.name, session)
        key_of = versions.keys(look.importer.name, session, own=own)
        one = look.tally.of(session)
        one.log = "" if log is None else log.public_id
        _told(look, one, batch.foreseen(log, _fresh(look, one, reads), key_of))
    look.reads, look.waiting, look.waiting_bytes = {}, 0, 0


def _log(look: Look, session: str) -> Log | None:
    if look.target is not None:
        return look.target
    if session not in look.logs:
        wanted = Log.objects.filter(owner=look.owner, source=look.importer.name, source_session=session)
        look.logs[session] = wanted.first()
    return look.logs[session]


def _fresh(look: Look, one: SessionTally, reads: list[Read]) -> list[Read]:
    """Return those whose id an earlier batch of the file has not brought already."""
    fresh = [read for read in reads if hash((read.session, read.native_id)) not in look.met]
    one.repeats += len(reads) - len(fresh)
    return fresh


def _told(look: Look, one: SessionTally, landed: batch.Landed) -> None:
    one.new += len(landed.added)
    there = sum(seq > 0 for _, seq in landed.replayed)
    one.held += there
    one.repeats += len(landed.replayed) - there
    one.refused += len(landed.refused)
    for line, reason in landed.refused:
        look.tally.report.refuse(Refused(line, reason))
    for version in landed.versions:
        one.grown += version.grown
        one.conflicts += not version.grown
        if not version.grown:
            look.tally.report.note(version.line, CONFLICT.format(of=version.of, log=one.log or "this file"))
    if len(look.met) < MET_AT_MOST:
        look.met |= {hash((read.session, read.native_id)) for read in landed.added}
