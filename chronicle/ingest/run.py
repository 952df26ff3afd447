"""One file, from its bytes to its report.

Guarantees: as the package says. Parsing is done with no transaction open; a batch is written in one,
with `fence` (which raises LeaseLost) as its first step.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from django.db import transaction

from chronicle import audit, sections
from chronicle.errors import BrokenFile, LogExists, UnknownFormat
from chronicle.importers import lines, registry
from chronicle.importers.protocol import (
    DatabaseImporter,
    Ignored,
    Importer,
    Item,
    Noted,
    Opened,
    Read,
    ReadSection,
    Refused,
    Session,
)
from chronicle.ingest import batch, beside, opening, summaries, versions
from chronicle.ingest.opening import BATCH, BATCH_BYTES
from chronicle.ingest.report import FileReport, LogReport
from chronicle.log import create_log, locked
from chronicle.models import Log, Source

logger = logging.getLogger(__name__)

HELD_BACK = 50_000
HELD_BACK_BYTES = 64 * 1024 * 1024

Progress = Callable[[int, int | None, str], None]
Fence = Callable[[], None]


@dataclass(slots=True)
class Pending:
    """What of one session was read and is not written yet, and what was written before it."""

    session: str
    title: str = ""
    reads: list[Read] = field(default_factory=list)
    summaries: list[ReadSection] = field(default_factory=list)
    asked: dict[str, UUID] = field(default_factory=dict)
    log: Log | None = None
    report: LogReport | None = None
    first_added: tuple[int, int] | None = None  # the line and the seq of this file's first new event
    created: bool = False
    renumbered: bool = False
    overtaken: bool = False


@dataclass(slots=True)
class Run:
    """One file being ingested."""

    opened: Opened
    importer: Importer
    owner: str
    target: Log | None
    report: FileReport
    fence: Fence | None
    source: Source | None = None
    sessions: dict[str, Pending] = field(default_factory=dict)
    waiting: int = 0
    waiting_bytes: int = 0


def ingest_file(
    path: Path | str,
    *,
    owner: str,
    format: str | None = None,
    log_id: str | None = None,
    name: str | None = None,
    inside: str = "",
    progress: Progress | None = None,
    fence: Fence | None = None,
) -> FileReport:
    """Ingest one file for an owner and say what became of every record. `path` may be a database's address (DSN).

    `log_id` names a log of the owner that all sessions of the file go to; else each session has its own.
    `name` is what the report calls the file. `inside` is its place in a folder that was walked (see `Found`):
    the importer sees it as the file's name, and a file of no known format is passed by, not refused.
    `progress(done, of, "lines")` is told after each batch. Raises OwnerEmpty, LogNotFound, UnknownFormat for a `format`
    that does not exist, and what `fence` raises; all that is wrong with the file is in the report.
    """
    opening.check(owner, format)
    target = opening.target(owner, log_id)
    report = FileReport(path=name or opening.shown(path))
    try:
        opened = opening.opened(path, inside or name)
        importer = registry.importer_for(opened, format)
        report.format, report.digest = importer.name, _digest(importer, opened)
        _read(Run(opened, importer, owner, target, report, fence), progress)
    except UnknownFormat as error:
        if inside:
            report.skipped = str(error)
        else:
            report.refuse(Refused(0, str(error)))
    except BrokenFile as error:
        report.refuse(Refused(int(error.details.get("line", 0)), str(error)))
    return report


def _digest(importer: Importer, opened: Opened) -> str:
    """The digest of a file's bytes, or of the rows that are read from a server."""
    return importer.digest(opened) if isinstance(importer, DatabaseImporter) else lines.digest(opened)


def _read(run: Run, progress: Progress | None) -> None:
    survey = run.importer.survey(run.opened)
    line = 0
    try:
        for item in run.importer.read(run.opened):
            line = max(line, getattr(item, "line", 0))
            _take(run, item)
            if _full(run, hold=line <= survey.last_summary):
                _write_all(run)
                if progress is not None:
                    progress(line, survey.lines, "lines")
    except OSError as error:
        run.report.count_refused(Refused(line + 1, f"the file cannot be read on: {error.strerror}"))
    _write_all(run)
    _finish(run)
    if progress is not None:
        progress(survey.lines, survey.lines, "lines")


def _take(run: Run, item: Item) -> None:
    match item:
        case Read():
            run.report.count_read(item)
            _pending(run, item.session).reads.append(item)
            run.waiting += 1
            run.waiting_bytes += opening.weight(item)
        case ReadSection():
            run.report.count_summary(item)
            _pending(run, item.session).summaries.append(item)
        case Session():
            pending = _pending(run, item.id)
            pending.title = item.title or pending.title
        case Ignored():
            run.report.count_ignored(item)
        case Refused():
            run.report.count_refused(item)
        case Noted():
            run.report.note(item.line, item.words)


def _pending(run: Run, session: str) -> Pending:
    if session not in run.sessions:
        run.sessions[session] = Pending(session)
    return run.sessions[session]


def _full(run: Run, *, hold: bool) -> bool:
    if hold:
        return run.waiting >= HELD_BACK or run.waiting_bytes >= HELD_BACK_BYTES
    return run.waiting >= BATCH or run.waiting_bytes >= BATCH_BYTES


def _write_all(run: Run) -> None:
    for pending in run.sessions.values():
        if pending.reads or pending.summaries:
            _write(run, pending)
            pending.reads, pending.summaries = [], []
    run.waiting = run.waiting_bytes = 0


def _write(run: Run, pending: Pending) -> None:
    """Write one session's batch in one transaction; what the report says is counted when it is there."""
    with transaction.atomic():
        if run.fence is not None:
            run.fence()
        log = locked(_log(run, pending).pk)
        source = run.source or beside.keep_source(run.report.digest, run.opened, run.importer.name)
        own = (log.source, log.source_session) == (run.importer.name, pending.session)
        key_of = versions.keys(run.importer.name, pending.session, own=own)
        landed = batch.land(log, pending.reads, key_of, source, pending.asked)
        beside.keep_attachments(blob for read in pending.reads for blob in read.blobs)
        beside.keep_pins(log, landed.first_seq, landed.added)
        imported = summaries.land(log, pending.summaries, key_of, run.importer.name)
    pending.log, run.source = log, source
    _count(run, pending, log, landed, imported)


def _log(run: Run, pending: Pending) -> Log:
    if run.target is not None:
        return run.target
    if pending.log is not None:
        return pending.log
    session, name = pending.session, run.importer.name
    wanted = Log.objects.filter(owner=run.owner, source=name, source_session=session)
    if (known := wanted.first()) is not None:
        return known
    try:
        made = create_log(run.owner, title=pending.title, source=name, source_session=session)
    except LogExists:  # another ingest was first
        return wanted.get()
    pending.created = True
    return made


def _count(run: Run, pending: Pending, log: Log, landed: batch.Landed, imported: summaries.Imported) -> None:
    report = pending.report
    if report is None:
        report = pending.report = LogReport(log.public_id, log.owner, pending.session)
        run.report.logs.append(report)
    report.added += len(landed.added)
    report.replayed += len(landed.replayed)
    report.sections += imported.added
    report.sections_present += imported.present
    report.last_seq = log.last_seq
    run.report.count_versions(report, landed.versions)
    for line, reason in landed.refused:
        run.report.refuse_event(report, line, reason)
    for line, words in imported.refused:
        run.report.refuse(Refused(line, words))
    for line, words in imported.notes:
        run.report.note(line, words)
    _note_order(run, pending, landed)


def _note_order(run: Run, pending: Pending, landed: batch.Landed) -> None:
    """Say once where the log could not keep the source's own seqs, or its order against what came earlier."""
    versions_added = {version.seq for version in landed.versions}
    for place, read in enumerate(landed.added):
        seq = landed.first_seq + place
        if seq in versions_added:
            continue
        pending.first_added = pending.first_added or (read.line, seq)
        if read.seq is not None and read.seq != seq and not pending.renumbered:
            pending.renumbered = True
            run.report.note(read.line, f"seq {read.seq} of the source is {seq} here, and so on; locators keep the old")
    if pending.first_added is None or pending.overtaken:
        return
    line, seq = pending.first_added
    late = next((read for read, there in landed.replayed if 0 < there < seq and read.line > line), None)
    if late is not None:
        pending.overtaken = True
        run.report.note(late.line, "the log held this line already; new events of earlier lines stand behind it")


def _finish(run: Run) -> None:
    """Give new logs their titles, leave a line in the audit trail, and say where each log stands."""
    for pending in run.sessions.values():
        if pending.log is None or pending.report is None:
            continue
        pending.report.through = sections.consolidated_through(sections.current_edition(pending.log))
        if pending.report.added or pending.report.sections:
            with transaction.atomic():
                if run.fence is not None:
                    run.fence()
                _title(run, pending)
                counts = {"added": pending.report.added, "sections": pending.report.sections}
                audit.record(run.owner, "log.ingested", pending.log.public_id, source=run.report.digest, **counts)
            logger.info("log %s: %s events added", pending.log.pk, pending.report.added)


def _title(run: Run, pending: Pending) -> None:
    """Title a log of this file's making, or one that has no title yet."""
    if pending.log is None or run.target is not None or not pending.title:
        return
    row = locked(pending.log.pk)
    if (pending.created or not row.title) and row.title != pending.title:
        row.title = pending.title[:300]
        row.save(update_fields=["title"])
