"""The page of jobs: what runs, what waits, what failed and why, what is parked; and the retry.

Guarantees: an admin sees every job; anyone else those of logs that they may see, the uploads they made,
and what the command line ingests for an owner granted to them. A job that is not theirs answers as one
that does not exist. Reading changes nothing; a retry is a POST. The page is drawn by the server, and the
same region draws itself anew every few seconds.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from chronicle import failures, tasks
from chronicle import jobs as work
from chronicle.access import granted_owners, may_redraw, visible_logs
from chronicle.asking import RECONSOLIDATE
from chronicle.errors import InvalidFilter, LogNotFound
from chronicle.ingest import Totals, totals
from chronicle.models import Job, JobState, Log, UnitFailure
from chronicle.web.respond import respond

PAGE = 50
UPLOAD, PREVIEW, OF_PATH = "ingest", "preview", "ingest_path"
REPORTED = (UPLOAD, OF_PATH)  # the kinds whose result is a report of files
WITH_PAGE = (*REPORTED, PREVIEW)
OF_LOGS = ("consolidate", RECONSOLIDATE)  # the kinds whose target is a log's id; any other's is only words
# What each state is called on a page, and the shape that stands before the word.
WORDS = {
    JobState.RUNNING: ("running", "part"),
    JobState.QUEUED: ("waiting", "open"),
    JobState.FAILED: ("failed", "broken"),
    JobState.PARKED: ("parked", "late"),
    JobState.DONE: ("done", "done"),
}
RETRIED = (JobState.FAILED, JobState.PARKED, JobState.QUEUED)


class Filters(forms.Form):
    state = forms.ChoiceField(
        required=False, choices=[("", "any state"), *((state.value, WORDS[state][0]) for state in WORDS)]
    )
    before = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1)


@dataclass(frozen=True, slots=True)
class Row:
    """A job as the table shows it; `log` is the log it works on, where the reader may see that."""

    job: Job
    log: Log | None
    redraws: bool = False  # the reader may have prose drawn anew

    @property
    def word(self) -> str:
        return WORDS[JobState(self.job.state)][0]

    @property
    def shape(self) -> str:
        return WORDS[JobState(self.job.state)][1]

    @property
    def retries(self) -> bool:
        return self.job.state in RETRIED and (self.redraws or self.job.kind != RECONSOLIDATE)

    @property
    def open(self) -> bool:
        return self.job.state in work.OPEN and self.job.state != JobState.PARKED

    @property
    def progress(self) -> str:
        """`3 of 12 files`; `3 of ? lines` where nobody knows the whole; empty before the first sign."""
        said = self.job.progress
        if not said:
            return ""
        of = "?" if said.get("of") is None else said["of"]
        return f"{said.get('done', 0)} of {of} {said.get('what', '')}".rstrip()

    @property
    def has_page(self) -> bool:
        return self.job.kind in WITH_PAGE

    @property
    def decided(self) -> str:
        """What became of the files of a preview; empty while nobody decided."""
        result = self.job.result or {}
        return "thrown away" if "discarded" in result else "ingested" if "ingest" in result else ""

    @property
    def totals(self) -> Totals | None:
        """What the report of files counts; None before there is one."""
        result = self.job.result
        if self.job.kind not in REPORTED or result is None:
            return None
        return Totals(**result["totals"]) if "totals" in result else totals(result["files"])

    @property
    def handed_in(self) -> int:
        """How many files there are; 0 while nobody has counted them."""
        if self.job.kind in (UPLOAD, PREVIEW):
            return len(self.job.args["files"])
        return int((self.job.result or {}).get("of") or self.job.progress.get("of") or 0)

    @property
    def refused(self) -> str:
        """`6 files and 14 lines refused`, `nothing refused`; empty before there is a report."""
        if self.totals is None:
            return ""
        counts = {"file": self.totals.refused_files, "line": self.totals.refused_lines}
        words = [f"{n:,} {one}{'s' if n > 1 else ''}" for one, n in counts.items() if n]
        return f"{' and '.join(words) or 'nothing'} refused"


class Tally(NamedTuple):
    """How many jobs are in a state, and how the state is called and drawn."""

    value: str
    word: str
    shape: str
    jobs: int


def visible_jobs(user: User) -> QuerySet[Job]:
    """Return the jobs this person may see. A log's jobs go by the log alone, so a grant taken back hides them."""
    if user.is_superuser:
        return Job.objects.all()
    own = Q(kind__in=(UPLOAD, PREVIEW), made_by=user.get_username())
    granted = Q(kind=OF_PATH, args__owner__in=list(granted_owners(user)))
    of_logs = Q(kind__in=OF_LOGS, target__in=visible_logs(user).values("public_id"))
    return Job.objects.filter(own | granted | of_logs)


def visible_failures(user: User) -> QuerySet[UnitFailure]:
    """Return the units that could not be drawn, of the logs this person may see; the next to be tried first."""
    found = UnitFailure.objects.filter(edition__state="current", edition__log__in=visible_logs(user))
    return found.select_related("edition__log").order_by("next_try", "pk")


@require_safe
def jobs(request: HttpRequest) -> HttpResponse:
    return _page(request)


@require_POST
def retry(request: HttpRequest, job_id: int) -> HttpResponse:
    user = cast("User", request.user)
    found = visible_jobs(user).filter(pk=job_id).first()
    if found is None:
        raise LogNotFound
    if found.kind == RECONSOLIDATE and not may_redraw(user):
        raise PermissionDenied
    job = work.retry(found.pk, by=user.get_username())
    tasks.kick(job)
    return _done(request, f"Job {job.pk} is queued again.")


@require_POST
def retry_unit(request: HttpRequest, failure_id: int) -> HttpResponse:
    user = cast("User", request.user)
    failure = visible_failures(user).filter(pk=failure_id).first()
    if failure is None:
        raise LogNotFound
    failures.try_now(failure)
    log = failure.edition.log
    job = work.enqueue("consolidate", log.public_id, key=f"consolidate:{log.pk}", made_by=user.get_username())
    tasks.kick(job)
    return _done(request, f"Unit {failure.from_seq}-{failure.to_seq} is tried again by job {job.pk}.")


def _done(request: HttpRequest, sentence: str) -> HttpResponse:
    if request.headers.get("HX-Request") == "true":
        return _page(request, said=sentence)
    messages.success(request, sentence)
    query = _query(_filters(request))
    return redirect(reverse("jobs") + (f"?{query}" if query else ""))


def _page(request: HttpRequest, *, said: str = "") -> HttpResponse:
    user, filters = cast("User", request.user), _filters(request)
    visible = visible_jobs(user)
    tally = dict(visible.values_list("state").annotate(n=Count("pk")))
    found = visible.filter(state=filters["state"]) if filters["state"] else visible
    older = found.filter(pk__lt=filters["before"]) if filters["before"] else found
    page = list(older.order_by("-pk")[: PAGE + 1])
    rows, total = _rows(user, page[:PAGE]), sum(tally.values())
    matching = tally.get(filters["state"], 0) if filters["state"] else total
    undrawn = visible_failures(user)
    context = {
        "rows": rows,
        "older": _query(filters, before=rows[-1].job.pk) if len(page) > PAGE else "",
        "newest": _query({**filters, "before": None}),
        "tally": [Tally(state.value, *WORDS[state], tally.get(state, 0)) for state in WORDS],
        "filters": filters,
        "query": _query(filters),
        "all": total,
        "hidden": total - matching,
        "elsewhere": matching - len(rows),
        "failures": undrawn[:PAGE],
        "failures_all": undrawn.count(),
        "said": said,
    }
    return respond(request, "ops/jobs.html", context, fragments=("jobs",))


def _rows(user: User, page: list[Job]) -> list[Row]:
    targets = {job.target for job in page if job.kind in OF_LOGS}
    logs = {log.public_id: log for log in visible_logs(user).filter(public_id__in=targets)}
    redraws = may_redraw(user)
    return [Row(job, logs.get(job.target) if job.kind in OF_LOGS else None, redraws) for job in page]


def _filters(request: HttpRequest) -> dict[str, Any]:
    form = Filters(request.GET)
    if not form.is_valid():
        name, problems = next(iter(form.errors.as_data().items()))
        raise InvalidFilter(f"The filter {name} cannot be read: {problems[0].messages[0]}")
    return form.cleaned_data


def _query(filters: dict[str, Any], **more: Any) -> str:
    query = QueryDict(mutable=True)
    query.update({name: str(value) for name, value in {**filters, **more}.items() if value})
    return query.urlencode()
