"""The page that takes transcripts in: files or a folder, for one owner; previews, and the report of each upload.

Guarantees: the files are stored and a job is queued, nothing is parsed while the browser waits; after a preview
nothing is in a log until a person says so; only owners that the person may write for are taken, others are refused;
an upload's report is for who made it and for admins, that of a path of the server for who may see its owner's logs:
to others it is not there.
Refuses, with a sentence: no file, only empty files, more bytes or files than the limits on the page, a second decision.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import TooManyFilesSent
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import redirect
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from chronicle import conf, tasks, uploads
from chronicle.access import granted_owners, visible_logs
from chronicle.errors import LogNotFound, UploadDecided
from chronicle.importers import registry
from chronicle.models import Job, Log
from chronicle.web.ops.jobs import PREVIEW, WITH_PAGE, Row, visible_jobs
from chronicle.web.ops.multipart import reads_paths
from chronicle.web.respond import respond

RECENT = 20
LINES = 200
UNREADABLE = "The upload cannot be read: it was cut off, or the path of a file in its folder is too long."


class Shown(NamedTuple):
    """A file of a report: what holds for the whole of it, and lines that could not be read and notes, cut at LINES."""

    report: dict[str, Any]
    whole: list[str]
    lines: list[dict[str, Any]]
    refused: int
    notes: list[dict[str, Any]]
    noted: int


class Upload(forms.Form):
    """The owner alone: files are taken from the request, since two fields hand them in."""

    owner = forms.CharField(max_length=200, strip=True)

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_owner(self) -> str:
        owner = str(self.cleaned_data["owner"])
        if not self.user.is_superuser and owner not in granted_owners(self.user):
            raise forms.ValidationError("No grant lets you write for this owner; choose one of the list.")
        return owner


@csrf_exempt  # the check comes in `_take`, after the size: it would read the whole body first
@require_http_methods(["GET", "HEAD", "POST"])
def ingest(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        return _page(request)
    if int(request.META.get("CONTENT_LENGTH") or 0) > conf.max_upload():
        return _page(request, refused="The upload is larger than the limit; send it in parts.", status=413)
    reads_paths(request)
    try:
        request.FILES  # noqa: B018  parses the body
    except TooManyFilesSent:
        return _page(request, refused="The upload holds more files than the limit; send it in parts.", status=413)
    except MultiPartParserError:
        return _page(request, refused=UNREADABLE, status=400)
    return _take(request)


@csrf_protect
def _take(request: HttpRequest) -> HttpResponse:
    user = cast("User", request.user)
    form = Upload(request.POST, user=user)
    files = [*request.FILES.getlist("files"), *request.FILES.getlist("folder")]
    refused = _problem(files)
    if refused or not form.is_valid():
        return _page(request, form, refused=refused, status=422)
    preview = request.POST.get("then") == "preview"
    job = uploads.keep(files, owner=form.cleaned_data["owner"], made_by=user.get_username(), preview=preview)
    tasks.kick(job)
    return redirect("ingest-job", job.pk)


def _problem(files: "Sequence[UploadedFile[Any]]") -> str:
    if not files:
        return "No file was chosen."
    if not any(file.size for file in files):
        return "The file is empty." if len(files) == 1 else f"All {len(files)} files are empty."
    return ""


def _page(request: HttpRequest, form: Upload | None = None, *, refused: str = "", status: int = 200) -> HttpResponse:
    user = cast("User", request.user)
    jobs = visible_jobs(user).filter(kind__in=WITH_PAGE).order_by("-pk")
    context = {
        "form": form or Upload(user=user),
        "refused": refused,
        "owners": _owners(user),
        "formats": registry.names(),
        "max_bytes": conf.max_upload(),
        "max_files": settings.DATA_UPLOAD_MAX_NUMBER_FILES,
        "rows": [Row(job, None) for job in jobs[:RECENT]],
        "uploads": jobs.count(),
    }
    return respond(request, "ops/ingest.html", context, status=status)


def _owners(user: User) -> list[str]:
    owners = Log.objects.values_list("owner", flat=True) if user.is_superuser else granted_owners(user)
    return list(owners.order_by("owner").distinct()[:500])


@require_safe
def ingest_job(request: HttpRequest, job_id: int) -> HttpResponse:
    user = cast("User", request.user)
    job = visible_jobs(user).filter(kind__in=WITH_PAGE, pk=job_id).first()
    if job is None:
        raise LogNotFound
    if job.kind == PREVIEW:
        return _preview(request, job)
    files = [_shown(report) for report in (job.result or {}).get("files", [])]
    named = {log["log"] for file in files for log in file.report["logs"]}
    row = Row(job, None)
    read = row.totals.read if row.totals else 0
    context = {
        "row": row,
        "owner": job.args["owner"],
        "path": job.args.get("path", ""),
        "files": files,
        "formats": registry.names(),
        "read": read,
        "unread": row.handed_in - read,
        "readable": set(visible_logs(user).filter(public_id__in=named).values_list("public_id", flat=True)),
    }
    return respond(request, "ops/ingest_job.html", context, fragments=("report",))


@require_POST
def accept(request: HttpRequest, job_id: int) -> HttpResponse:
    job, user = _decidable(request, job_id)
    if not user.is_superuser and job.args["owner"] not in granted_owners(user):
        return _preview(request, job, refused="No grant lets you write for this owner any more.", status=403)
    try:
        queued = uploads.accept(job, by=user.get_username())
    except UploadDecided as decided:
        return _preview(request, job, refused=str(decided), status=409)
    tasks.kick(queued)
    return redirect("ingest-job", queued.pk)


@require_POST
def discard(request: HttpRequest, job_id: int) -> HttpResponse:
    job, user = _decidable(request, job_id)
    try:
        uploads.discard(job, by=user.get_username())
    except UploadDecided as decided:
        return _preview(request, job, refused=str(decided), status=409)
    return redirect("ingest-job", job.pk)


def _decidable(request: HttpRequest, job_id: int) -> tuple[Job, User]:
    user = cast("User", request.user)
    job = visible_jobs(user).filter(kind=PREVIEW, pk=job_id).first()
    if job is None:
        raise LogNotFound
    return job, user


def _preview(request: HttpRequest, job: Job, *, refused: str = "", status: int = 200) -> HttpResponse:
    user = cast("User", request.user)
    job.refresh_from_db()
    result = job.result or {}
    named = {one["log"] for file in result.get("files", []) for one in file["sessions"] if one["log"]}
    context = {
        "row": Row(job, None),
        "owner": job.args["owner"],
        "result": result if job.result is not None else None,
        "discarded": uploads.discarded(job),
        "ingested_by": uploads.ingest_of(job),
        "kept_until": uploads.kept_until(job),
        "formats": registry.names(),
        "refused": refused,
        "readable": set(visible_logs(user).filter(public_id__in=named).values_list("public_id", flat=True)),
    }
    return respond(request, "ops/preview.html", context, fragments=("report",), status=status)


def _shown(report: dict[str, Any]) -> Shown:
    whole = [one["reason"] for one in report["refused"] if not one["line"]]
    lines = [one for one in report["refused"] if one["line"]]
    refusals = report.get("refusals", len(report["refused"]))
    notes = report.get("notes", [])
    noted = report.get("notes_all", len(notes))
    return Shown(report, whole, lines[:LINES], refusals - len(whole), notes[:LINES], noted)
