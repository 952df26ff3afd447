"""The question before a rebuild, the wait for it, its report, and the editions of a log.

Guarantees: the page says what would be drawn again, lost and cited, and the price; nothing is drawn before it is
accepted with a reason, by a member of staff who may change sections (403 for others); the edition that was seen is
named, so a double click is one rebuild; a GET writes nothing. Invalid is 422, with what was given kept.
"""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from chronicle import asking, editions, tasks
from chronicle.access import log_for, may_redraw
from chronicle.divergence import edition_of, price_words
from chronicle.errors import (
    CannotStart,
    ChronicleFork,
    InvalidFilter,
    InvalidPolicy,
    InvalidSection,
    PinMiss,
    UnknownSection,
)
from chronicle.models import EditionState, Job, JobState, Log
from chronicle.rebuild import RECORD, STRICT, reports
from chronicle.reconsolidate import REASON
from chronicle.web.events import BIG
from chronicle.web.respond import respond

WAYS = [
    ("", "draw every section anew"),
    (STRICT, "replay: give what is pinned, ask no model, stop at what is not pinned"),
    (RECORD, "replay: give what is pinned, draw what is not"),
]
SHOWN = 50


class Choice(forms.Form):
    """How the words come about."""

    replay = forms.ChoiceField(required=False, choices=WAYS)


class Acceptance(Choice):
    """What a person signs: the edition they saw, a reason, and that it is accepted."""

    edition = forms.IntegerField(min_value=1, max_value=BIG)
    reason = forms.CharField(
        max_length=REASON, error_messages={"required": "A reason is needed; it is kept with the edition."}
    )
    accept = forms.BooleanField(error_messages={"required": "That generated words are discarded is not accepted yet."})


@require_http_methods(["GET", "HEAD", "POST"])
def rebuild(request: HttpRequest, log_id: str) -> HttpResponse:
    log = log_for(request.user, log_id)
    edition_of(log)  # without a section there is nothing to rebuild
    if request.method != "POST":
        choice = Choice(request.GET)
        if not choice.is_valid():
            raise InvalidFilter(f"replay is one of {STRICT} and {RECORD}, or left out.")
        return _page(request, log, Acceptance(initial=choice.cleaned_data), choice.cleaned_data["replay"])
    if not may_redraw(request.user):
        raise PermissionDenied
    form = Acceptance(request.POST)
    if not form.is_valid():
        return _page(request, log, form, form.cleaned_data.get("replay", ""), status=422)
    return _accepted(request, log, form)


def _accepted(request: HttpRequest, log: Log, form: Acceptance) -> HttpResponse:
    given = form.cleaned_data
    who = cast("User", request.user).get_username()
    replay = given["replay"] or None
    try:
        asked = asking.rebuilding(
            log, accepted=True, by=who, reason=given["reason"], replay=replay, seen=given["edition"]
        )
    except ChronicleFork as fork:
        messages.warning(request, f"{fork} Nothing was rebuilt.")
        return redirect("rebuild", log.public_id)
    except (CannotStart, InvalidPolicy, InvalidSection, PinMiss) as refused:
        form.add_error(None, str(refused))
        return _page(request, log, form, given["replay"], status=422)
    if asked.replayed:
        other = ", with other words, which were not used" if asked.payload_differs else ""
        messages.info(request, f"{asked.job.made_by} had asked for it before{other}: it is rebuilt once.")
    if asked.job.state != JobState.DONE:
        tasks.kick(asked.job)
    return redirect("rebuilding", log.public_id, asked.job.pk)


@require_safe
def rebuilding(request: HttpRequest, log_id: str, job_id: int) -> HttpResponse:
    """The wait for a rebuild; once it is done, on to its report."""
    log = log_for(request.user, log_id)
    job = Job.objects.filter(kind=asking.REBUILD, target=log.public_id, pk=job_id).first()
    if job is None:
        raise UnknownSection("There is no such rebuild.")
    if job.state == JobState.DONE:
        there = f"{reverse('rebuild', args=[log_id])}#reports"
        if request.headers.get("HX-Request") == "true":
            return HttpResponse(headers={"HX-Redirect": there, "Cache-Control": "no-store"})
        return redirect(there)
    context = {"log": log, "job": job, "failed": job.state in (JobState.FAILED, JobState.PARKED)}
    return respond(request, "web/rebuilding.html", context, ("waiting",))


def _page(request: HttpRequest, log: Log, form: Acceptance, replay: str, *, status: int = 200) -> HttpResponse:
    found = editions.bill(log, replay=replay or None)
    lines, told = editions.lines(log), reports(log)
    context: dict[str, Any] = {
        "log": log,
        "bill": found,
        "price": price_words(found.price),
        "way": dict(WAYS)[replay],
        "replay": replay,
        "choice": Choice(initial={"replay": replay}),
        "form": form,
        "may": may_redraw(request.user),
        "editions": lines[:SHOWN],
        "editions_of": len(lines),
        "building": [line for line in lines if line.state == EditionState.BUILDING],
        "reports": told[:SHOWN],
        "reports_of": len(told),
    }
    return respond(request, "web/rebuild.html", context, status=status)
