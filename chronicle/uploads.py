"""Uploads: files that a person hands in over the web, kept under one root and ingested by a job.

Guarantees: a file is written under INGEST_ROOT in a folder of a random name, as a number, so no name
that a browser sends becomes a path; the name stays words. The job reports each file by itself: one
that cannot be read is said and stops no other; run again, it adds nothing twice.
Refuses: a path of a job that leads out of the root.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from django.conf import settings

from chronicle import jobs
from chronicle.errors import BrokenFile
from chronicle.importers.protocol import Refused
from chronicle.ingest import FileReport, ingest_file
from chronicle.models import Job

KIND = "ingest"
NAME = 300


class Uploaded(Protocol):
    """A file as the web hands it over."""

    @property
    def name(self) -> str | None: ...

    def chunks(self) -> Iterator[bytes]: ...


def keep(files: Sequence[Uploaded], *, owner: str, made_by: str) -> Job:
    """Store the files and queue the job that ingests them for `owner`."""
    folder = secrets.token_hex(16)
    root = Path(settings.INGEST_ROOT) / folder
    root.mkdir(parents=True, mode=0o700)
    kept = [
        {"path": f"{folder}/{number}", "name": _write(file, root / str(number))} for number, file in enumerate(files, 1)
    ]
    target = kept[0]["name"] if len(kept) == 1 else f"{kept[0]['name']} and {len(kept) - 1} more"
    return jobs.enqueue(
        KIND, target[:NAME], key=f"{KIND}:{folder}", args={"owner": owner, "files": kept}, made_by=made_by
    )


def _write(file: Uploaded, path: Path) -> str:
    with path.open("xb") as out:
        for chunk in file.chunks():
            out.write(chunk)
    return (file.name or "without a name").replace("\x00", "\N{SYMBOL FOR NULL}")[:NAME]


def ingest(held: jobs.Held) -> Mapping[str, Any]:
    """Do the job: ingest each file of the upload and return the report, one entry a file, in their order."""
    files, owner = held.args["files"], held.args["owner"]
    reports = []
    for number, file in enumerate(files, 1):
        reports.append(_report(held, file, owner, f"{number} of {len(files)}"))
    held.progress(len(files), len(files), "files")
    return {"files": reports}


def _report(held: jobs.Held, file: Mapping[str, str], owner: str, place: str) -> dict[str, Any]:
    path = _inside(file["path"])
    if not path.is_file():
        return _whole(file["name"], "The uploaded file is gone from the server; upload it again.")
    if path.stat().st_size == 0:
        return _whole(file["name"], "The file is empty.")

    def progress(done: int, of: int | None, what: str) -> None:
        held.progress(done, of, f"{what} of file {place}")

    return ingest_file(path, owner=owner, name=file["name"], progress=progress, fence=held.fence).as_json()


def _whole(name: str, reason: str) -> dict[str, Any]:
    """The report of a file of which nothing can be read."""
    return FileReport(name, refused=[Refused(0, reason)]).as_json()


def _inside(path: str) -> Path:
    root = Path(settings.INGEST_ROOT).resolve()
    found = (root / path).resolve()
    if not found.is_relative_to(root):
        raise BrokenFile("The path of this upload leads out of the folder of uploads.")
    return found
