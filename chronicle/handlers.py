"""What each kind of job does. The one place where kinds are named.

Guarantees: a handler does its work again without harm, because a worker may die at any point of it; what it
writes is fenced by the job's lease; what it returns is small and holds no payload.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django.utils import timezone

from chronicle import asking, fold, jobs, uploads
from chronicle import rebuild as rebuilding
from chronicle import reconsolidate as redrawing
from chronicle.divergence import named
from chronicle.errors import ChronicleError, ChronicleFork, InvalidPolicy, LeaseLost, LogNotFound, PinMiss, Superseded
from chronicle.importers.protocol import Refused
from chronicle.ingest import FileReport, Found, found, ingest_file, keeping
from chronicle.jobs import Held
from chronicle.models import Log

TELL_EVERY = 1.0


def install() -> None:
    """Name the kinds; called once, when the application is ready."""
    jobs.HANDLERS.update(canary=canary, consolidate=consolidate, ingest_path=ingest_path)
    jobs.HANDLERS.update({uploads.KIND: uploads.ingest, uploads.PREVIEW: uploads.preview})
    jobs.HANDLERS.update({asking.RECONSOLIDATE: reconsolidate, asking.REBUILD: rebuild})
    # Who accepted a divergence accepted one draw: what came of it is told, and asked for again by a person.
    jobs.FINAL_FOR[asking.RECONSOLIDATE] = (ChronicleError, TypeError)
    # A rebuild that halted goes on at its next try; what these say will not change by itself.
    jobs.FINAL_FOR[asking.REBUILD] = (InvalidPolicy, PinMiss, Superseded, TypeError)


def canary(_: Held) -> Mapping[str, Any]:
    """Do nothing but be done."""
    return {"sang": timezone.now().isoformat()}


def consolidate(held: Held) -> Mapping[str, Any]:
    """Draw and roll up one log; the draws of a run that came too late count as wasted."""
    log = Log.objects.filter(public_id=held.target).first()
    if log is None:
        raise LogNotFound
    try:
        done = fold.consolidate(log, fence=held.step, made_by=held.made_by or "system")
    except LeaseLost as lost:
        held.spent(wasted_tokens=lost.details.get("wasted_tokens", 0))
        raise
    held.spent(tokens_in=done.tokens_in, tokens_out=done.tokens_out, wasted_tokens=done.wasted_tokens)
    return {"sections": done.sections, "rollups": done.rollups, "failed": done.failed, "through": done.through}


def reconsolidate(held: Held) -> Mapping[str, Any]:
    """Draw the next generation of a section, as a person accepted; done once, however often it is run."""
    log = Log.objects.filter(public_id=held.target).first()
    if log is None:
        raise LogNotFound
    args = held.args
    try:
        made = redrawing.reconsolidate(
            log,
            args["section"],
            accepted=True,
            by=held.made_by,
            reason=args["reason"],
            summariser=args["summariser"],
            prompt=args["prompt"],
            fence=held.fence,
        )
    except (ChronicleFork, Superseded) as refused:
        held.spent(wasted_tokens=refused.details.get("wasted_tokens", 0))
        earlier = asking.drawn_by(log, held) if isinstance(refused, ChronicleFork) and held.attempt > 1 else None
        if earlier is None:
            raise
        made = earlier
    held.spent(tokens_in=made.tokens_in or 0, tokens_out=made.tokens_out or 0)
    return {"section": named(made), "supersedes": args["section"]}


def rebuild(held: Held) -> Mapping[str, Any]:
    """Draw a log's chronicle again into a new edition, as a person accepted; gone on with, never begun twice."""
    log, args = Log.objects.filter(public_id=held.target).first(), held.args
    if log is None:
        raise LogNotFound
    for done in rebuilding.reports(log):
        if done["replaced"] == args["edition"]:  # its worker died between the switch and the end of the job
            return {name: done[name] for name in done if name not in ("at", "by")}
    try:
        report = rebuilding.rebuild(
            log,
            discard_generated=True,
            by=held.made_by,
            reason=args["reason"],
            replay=args["replay"] or None,
            fence=held.step,
            progress=held.progress,
        )
    except LeaseLost as lost:
        held.spent(wasted_tokens=lost.details.get("wasted_tokens", 0))
        raise
    held.spent(calls=report.calls, tokens_in=report.tokens_in, tokens_out=report.tokens_out)
    return report.as_json()


def ingest_path(held: Held) -> Mapping[str, Any]:
    """Ingest a file or folder of this machine. Only the command line makes such a job, never a page."""
    files, reports = list(found([Path(held.args["path"])])), []
    for number, file in enumerate(files):
        reports.append(_ingest(file, held, _teller(held, number, len(files), file.path.name)))
    held.progress(len(files), len(files), "files")
    return keeping.reports(reports)


def _ingest(file: Found, held: Held, tell: Callable[[int, int | None, str], None]) -> FileReport:
    if file.reason:
        return FileReport(path=str(file.path), refused=[Refused(0, file.reason)])
    tell(0, None, "lines")
    return ingest_file(
        file.path,
        owner=held.args["owner"],
        format=held.args.get("format"),
        inside=file.inside,
        progress=tell,
        fence=held.fence,
    )


def _teller(held: Held, number: int, of: int, name: str) -> Callable[[int, int | None, str], None]:
    """Progress of one file as the progress of the job: said at once, then at most once a second."""
    told = 0.0

    def tell(done: int, lines: int | None, what: str) -> None:
        nonlocal told
        if time.monotonic() - told >= TELL_EVERY:
            told = time.monotonic()
            within = f", {done:,} {what}" if done else ""
            held.progress(number, of, f"files: {name}{within}")

    return tell
