"""Uploads: files that a person hands in over the web, kept under one root, looked at, then ingested by a job.

Guarantees: a file is written under INGEST_ROOT in a folder of a random name: as a number, or, one of a folder that was
handed in, at its place in that folder, for some formats read what lies beside a file. No path leads out of there, no
file is written over another; one that cannot lie at its place becomes a number. A preview writes nothing but its own
report; what it looked at is ingested when a person says so, once however often it is said, or thrown away. What nobody
decided on is thrown away after KEPT. The jobs report each file by itself: one that cannot be read is said and stops no
other; run again, they add nothing twice.
Refuses: a path of a job that leads out of the root; to ingest what was thrown away, to throw away what is ingested.
"""

import contextlib
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Protocol

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from chronicle import audit, jobs
from chronicle.errors import BrokenFile, UploadDecided
from chronicle.importers.protocol import Refused
from chronicle.importers.text import storable
from chronicle.ingest import FileReport, Tally, ingest_file, keeping, preview_file
from chronicle.models import Job, JobState

KIND, PREVIEW = "ingest", "preview"
NAME = 300
PATH = 1000
TREE = "tree"
KEPT = timedelta(days=7)
SWEPT = 100
GONE = "The uploaded file is gone from the server; upload it again."
EMPTY = "The file is empty."
LOOKED_AT = "The files are still being looked at; wait until that is done."

type Told = Callable[[int, int | None, str], None]


class Uploaded(Protocol):
    """A file as the web hands it over. `sent_as`, where it is there, is its name with the path in its folder."""

    @property
    def name(self) -> str | None: ...

    def chunks(self) -> Iterator[bytes]: ...


def keep(files: Sequence[Uploaded], *, owner: str, made_by: str, preview: bool = False) -> Job:
    """Store the files and queue the job that ingests them for `owner`, or the one that only looks at them."""
    folder = secrets.token_hex(16)
    root = Path(settings.INGEST_ROOT) / folder
    root.mkdir(parents=True, mode=0o700)
    kept = [_kept(file, folder, root, str(number)) for number, file in enumerate(files, 1)]
    kept.sort(key=lambda one: one.get("inside", ""))  # as a folder is walked; what was named stays before it
    return _queued(PREVIEW if preview else KIND, kept, owner, made_by)


def _queued(kind: str, kept: list[dict[str, str]], owner: str, made_by: str) -> Job:
    first = kept[0].get("inside", "").partition("/")[0] or kept[0]["name"]
    target = first if len(kept) == 1 else f"{first} and {len(kept) - 1} more"
    if len(kept) > 1 and all(one.get("inside", "").startswith(f"{first}/") for one in kept):
        target = f"{first}/, {len(kept)} files"
    args = {"owner": owner, "files": kept}
    return jobs.enqueue(kind, target[:NAME], key=_key(kind, kept), args=args, made_by=made_by)


def _key(kind: str, kept: Sequence[Mapping[str, str]]) -> str:
    return f"{kind}:{_folder(kept)}"


def _folder(kept: Sequence[Mapping[str, str]]) -> str:
    return kept[0]["path"].partition("/")[0]


def _kept(file: Uploaded, folder: str, root: Path, number: str) -> dict[str, str]:
    name = (file.name or "without a name").replace("\x00", "\N{SYMBOL FOR NULL}")[:NAME]
    inside = _place(file)
    place, out = _made(root, inside, number)
    with out:
        for chunk in file.chunks():
            out.write(chunk)
    return {"path": f"{folder}/{place}", "name": name, **({"inside": inside} if inside else {})}


def _place(file: Uploaded) -> str:
    """Where the file lay in the folder that was handed in; empty for one that was handed in by itself."""
    sent = storable(str(getattr(file, "sent_as", "")))[0]
    parts = [part for part in PurePosixPath(sent).parts if part.strip("/") not in ("", "..")]
    inside = "/".join(parts)
    return inside if len(parts) > 1 and len(inside) <= PATH else ""


def _made(root: Path, inside: str, number: str) -> tuple[str, BinaryIO]:
    """Make the file at its place, or as a number where none can lie there or one does; return where that is."""
    place = root / TREE / inside
    if inside:
        with contextlib.suppress(OSError, ValueError):  # too long, or something lies there
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            return f"{TREE}/{inside}", place.open("xb")
    return number, (root / number).open("xb")


def ingest(held: jobs.Held) -> Mapping[str, Any]:
    """Do the job: ingest each file of the upload and return the report, one entry a file, in their order."""

    def one(path: Path, file: Mapping[str, str], told: Told) -> FileReport:
        given = {"name": file.get("inside") or file["name"], "inside": file.get("inside", "")}
        return ingest_file(path, owner=held.args["owner"], progress=told, fence=held.fence, **given)

    return keeping.reports(_each(held, one, lambda report: report))


def preview(held: jobs.Held) -> Mapping[str, Any]:
    """Do the job: look at each file of the upload and return what each holds and what of it is new."""

    def one(path: Path, file: Mapping[str, str], told: Told) -> Tally:
        given = {"name": file.get("inside") or file["name"], "inside": file.get("inside", "")}
        return preview_file(path, owner=held.args["owner"], progress=told, **given)

    return keeping.previews(_each(held, one, Tally))


def _each[T](
    held: jobs.Held, take: Callable[[Path, Mapping[str, str], Told], T], refused: Callable[[FileReport], T]
) -> list[T]:
    files, taken = held.args["files"], []
    for number, file in enumerate(files, 1):
        path, place = _inside(file["path"]), f"{number} of {len(files)}"

        def told(done: int, of: int | None, what: str, place: str = place) -> None:
            held.progress(done, of, f"{what} of file {place}")

        reason = GONE if not path.is_file() else EMPTY if path.stat().st_size == 0 else ""
        if reason:
            taken.append(refused(FileReport(file.get("inside") or file["name"], refused=[Refused(0, reason)])))
        else:
            taken.append(take(path, file, told))
    held.progress(len(files), len(files), "files")
    return taken


def accept(job: Job, *, by: str) -> Job:
    """Queue the ingest of what a preview looked at; asked again, return the same job. Raises UploadDecided."""
    with transaction.atomic():
        job = Job.objects.select_for_update().get(pk=job.pk)
        if (there := ingest_of(job)) is not None:
            return there
        if discarded(job) or not _root(job).is_dir():
            raise UploadDecided("What was handed in here was thrown away; hand it in again.")
        if job.state in (JobState.QUEUED, JobState.RUNNING):
            raise UploadDecided(LOOKED_AT)
        audit.record(by, "upload.accepted", str(job.pk), files=len(job.args["files"]), owner=job.args["owner"])
        queued = _queued(KIND, job.args["files"], job.args["owner"], job.made_by)
        _decided(job, "ingest", queued.pk)
        return queued


def discard(job: Job, *, by: str) -> None:
    """Throw away what a preview looked at; asked again, nothing happens. Raises UploadDecided."""
    with transaction.atomic():
        job = Job.objects.select_for_update().get(pk=job.pk)
        if ingest_of(job) is not None:
            raise UploadDecided("These files are ingested already, so they are kept.")
        if discarded(job):
            return
        if job.state in (JobState.QUEUED, JobState.RUNNING):
            raise UploadDecided(LOOKED_AT)
        _decided(job, "discarded", {"by": by, "at": timezone.now().isoformat()})
        audit.record(by, "upload.discarded", str(job.pk), files=len(job.args["files"]), owner=job.args["owner"])
    shutil.rmtree(_root(job), ignore_errors=True)


def _decided(job: Job, how: str, told: Any) -> None:
    """Write down what became of the files; a preview that had failed is over with it."""
    Job.objects.filter(pk=job.pk).update(
        state=JobState.DONE,
        finished_at=job.finished_at or timezone.now(),
        result={"files": [], "of": len(job.args["files"]), **(job.result or {}), how: told},
    )


def ingest_of(job: Job) -> Job | None:
    """Return the job that ingests what this preview looked at, if a person asked for it."""
    return Job.objects.filter(kind=KIND, key=_key(KIND, job.args["files"])).order_by("pk").first()


def discarded(job: Job) -> dict[str, str]:
    """Return who threw the files of a preview away and when; empty while they are kept."""
    told: dict[str, str] = (job.result or {}).get("discarded", {})
    return told


def kept_until(job: Job) -> datetime:
    """When the files of a preview are thrown away, unless a person decides before."""
    return job.made_at + KEPT


def sweep(now: datetime) -> int:
    """Throw away what previews looked at and nobody decided on in time; return how many uploads that were."""
    late = Job.objects.filter(kind=PREVIEW, made_at__lt=now - KEPT, result__discarded__isnull=True)
    undecided = late.filter(result__ingest__isnull=True).exclude(state__in=(JobState.QUEUED, JobState.RUNNING))
    for job in (swept := list(undecided.order_by("pk")[:SWEPT])):
        discard(job, by="schedule")
    return len(swept)


def _root(job: Job) -> Path:
    return _inside(_folder(job.args["files"]))


def _inside(path: str) -> Path:
    root = Path(settings.INGEST_ROOT).resolve()
    found = (root / path).resolve()
    if not found.is_relative_to(root):
        raise BrokenFile("The path of this upload leads out of the folder of uploads.")
    return found
