"""The question before a re-consolidation, the wait for it, and where it leads: to compare.

Guarantees: the page says what will no longer agree and what it costs, for the summariser and prompt that are
chosen; nothing is drawn before a reason is given and the divergence accepted, by a member of staff who may change
sections (403 for others); the generation that was seen is named, so a double click costs one draw; a GET writes
nothing. Invalid is 422, with what was given kept.
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

from chronicle import asking, tasks
from chronicle.access import log_for, may_redraw
from chronicle.asking import Asked
from chronicle.divergence import Bill, bill_of, edition_of, price_words, prompt_labels, row_for, superseding
from chronicle.errors import CannotStart, ChronicleFork, InvalidFilter, InvalidPolicy, InvalidSection, UnknownSection
from chronicle.models import Job, JobState, Log, Section
from chronicle.reading import parse_ref
from chronicle.reconsolidate import REASON
from chronicle.summarisers import NAMES
from chronicle.web.converters import SectionId
from chronicle.web.event import WHOLE
from chronicle.web.events import BIG
from chronicle.web.respond import respond

RECEIPTS = 200


class Choice(forms.Form):
    """Who draws: what the newest policy says, or another by name."""

    summariser = forms.ChoiceField(required=False, choices=[("", "as the policy says"), *((n, n) for n in NAMES)])
    prompt = forms.ChoiceField(required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        labels = [(label, label) for label in prompt_labels()]
        cast("forms.ChoiceField", self.fields["prompt"]).choices = [("", "as the policy says"), *labels]


class Acceptance(Choice):
    """What a person signs: the generation they saw, a reason, and that it is accepted."""

    generation = forms.IntegerField(min_value=1, max_value=BIG)
    reason = forms.CharField(
        max_length=REASON,
        widget=forms.Textarea(attrs={"rows": 2, "aria-describedby": "refused"}),
        error_messages={"required": "A reason is needed; it is kept in the audit trail."},
    )
    accept = forms.BooleanField(error_messages={"required": "The divergence is not accepted yet."})


@require_http_methods(["GET", "HEAD", "POST"])
def reconsolidate(request: HttpRequest, log_id: str, section_id: SectionId) -> HttpResponse:
    log = log_for(request.user, log_id)
    section = superseding(edition_of(log), str(section_id))
    if request.method != "POST":
        choice = Choice(request.GET)
        if not choice.is_valid():
            raise InvalidFilter("There is no summariser or prompt of that name; choose one that the page lists.")
        return _page(request, log, section, Acceptance(initial=choice.cleaned_data), choice.cleaned_data)
    if not may_redraw(request.user):
        raise PermissionDenied
    form = Acceptance(request.POST)
    if not form.is_valid():
        chosen = {name: form.cleaned_data.get(name, "") for name in ("summariser", "prompt")}
        return _page(request, log, section, form, chosen, status=422)
    return _accepted(request, log, section, form)


def _accepted(request: HttpRequest, log: Log, section: Section, form: Acceptance) -> HttpResponse:
    given = form.cleaned_data
    seen = given["generation"]
    words = {name: given[name] for name in ("reason", "summariser", "prompt")}
    who = cast("User", request.user).get_username()
    try:
        asked = asking.reconsolidation(log, f"{section.anchor.ref}#{seen}", accepted=True, by=who, **words)
    except ChronicleFork as fork:
        messages.warning(request, f"{fork} Nothing was drawn.")
        return _compare(log, section.anchor.ref, seen, parse_ref(fork.details["current"]).generation or 1)
    except (CannotStart, InvalidPolicy, InvalidSection) as refused:
        form.add_error(None, str(refused))
        return _page(request, log, section, form, words, status=422)
    if asked.replayed:
        messages.info(request, _of_a_repeat(asked))
    if asked.job.state == JobState.DONE:
        return _drawn(log, asked)
    tasks.kick(asked.job)
    return redirect("reconsolidation", log.public_id, section.anchor.ref, asked.job.pk)


def _of_a_repeat(asked: Asked) -> str:
    other = ", with other words, which were not used" if asked.payload_differs else ""
    return f"{asked.job.made_by} had asked for it before{other}: it is drawn once."


@require_safe
def reconsolidation(request: HttpRequest, log_id: str, section_id: SectionId, job_id: int) -> HttpResponse:
    """The wait for a draw; once it is done, on to compare."""
    log = log_for(request.user, log_id)
    job = Job.objects.filter(kind=asking.RECONSOLIDATE, target=log.public_id, pk=job_id).first()
    if job is None or str(job.args["section"]).rpartition("#")[0] != str(section_id):
        raise UnknownSection(f"{section_id} has no such draw.")
    if job.state == JobState.DONE:
        answer = _drawn(log, Asked(job))
        if request.headers.get("HX-Request") == "true":
            return HttpResponse(headers={"HX-Redirect": answer["Location"], "Cache-Control": "no-store"})
        return answer
    context = {
        "log": log,
        "ref": str(section_id),
        "job": job,
        "failed": job.state in (JobState.FAILED, JobState.PARKED),
    }
    return respond(request, "web/reconsolidation.html", context, ("waiting",))


def _drawn(log: Log, asked: Asked) -> HttpResponse:
    level, from_seq, to_seq, generation = parse_ref(asked.section)
    before = parse_ref(asked.supersedes).generation or 1
    return _compare(log, str(SectionId(level, from_seq, to_seq)), before, generation or 1)


def _compare(log: Log, ref: str, a: int, b: int) -> HttpResponse:
    return redirect(f"{reverse('compare', args=[log.public_id, ref])}?a={a}&b={b}")


def _page(
    request: HttpRequest,
    log: Log,
    section: Section,
    form: Acceptance,
    chosen: dict[str, Any],
    *,
    status: int = 200,
) -> HttpResponse:
    given = {name: chosen.get(name) or "" for name in ("summariser", "prompt")}
    found = bill_of(section, row_for(log, **given))
    context = {
        "log": log,
        "section": section,
        "anchor": section.anchor,
        "bill": found,
        "receipts": found.receipts[:RECEIPTS],
        "price": price_words(found.price),
        "rollups": [(one, price_words(one.price)) for one in found.rollups],
        "withheld": _withheld(found),
        "prose": section.prose[:WHOLE],
        "form": form,
        "choice": Choice(initial=given),
        "chosen": given,
        "may": may_redraw(request.user),
    }
    return respond(request, "web/reconsolidate.html", context, status=status)


def _withheld(found: Bill) -> int:
    return found.events - found.given
