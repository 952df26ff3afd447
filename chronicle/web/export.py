"""A log taken away as a file: the forms there are, what each leaves out, and a range.

Guarantees: the file is made whole before it is sent and says in its name what it is; what was written is kept in the
audit trail; a GET writes nothing. The carry and a recording, which hold everything that stands over a log, receipts
too, are for members of staff who may change sections (403 for others). Invalid is 422, with what was given kept.
"""

import tempfile
from pathlib import Path
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import FileResponse, HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from chronicle import audit, carry, exports
from chronicle.access import log_for, may_redraw
from chronicle.errors import CarryRefused, InvalidFilter
from chronicle.models import Log
from chronicle.web.events import BIG
from chronicle.web.respond import respond

CARRY, RECORDING = "carry", carry.RECORDING
WHOLE = {
    CARRY: (
        ".carry.jsonl",
        "everything: events, editions, every generation, pins, receipts; load takes it in elsewhere",
    ),
    RECORDING: (".recording.jsonl", "the events as the library anagrapheus reads them; no sections"),
}
NDJSON = "application/x-ndjson"


class Wanted(forms.Form):
    """A form, and a range for those that take one."""

    form = forms.ChoiceField(choices=[(name, name) for name in (*WHOLE, *(form.name for form in exports.FORMS))])
    first = forms.IntegerField(required=False, min_value=1, max_value=BIG)
    last = forms.IntegerField(required=False, min_value=1, max_value=BIG)


@require_http_methods(["GET", "HEAD", "POST"])
def export(request: HttpRequest, log_id: str) -> HttpResponse | FileResponse:
    log = log_for(request.user, log_id)
    if request.method != "POST":
        return _page(request, log, Wanted())
    wanted = Wanted(request.POST)
    if not wanted.is_valid():
        return _page(request, log, wanted, status=422)
    if wanted.cleaned_data["form"] in WHOLE and not may_redraw(request.user):
        raise PermissionDenied
    try:
        return _file(request, log, wanted.cleaned_data)
    except (InvalidFilter, CarryRefused) as error:
        wanted.add_error(None, str(error))
        return _page(request, log, wanted, status=422)


def _page(request: HttpRequest, log: Log, wanted: Wanted, *, status: int = 200) -> HttpResponse:
    may = may_redraw(request.user)
    choices = [(name, suffix, words, False) for name, (suffix, words) in WHOLE.items() if may]
    choices += [(form.name, form.suffix, form.lossy, True) for form in exports.FORMS]
    chosen = wanted.data.get("form") or choices[0][0]
    context = {"log": log, "form": wanted, "choices": choices, "chosen": chosen, "page": exports.named("html").page}
    return respond(request, "web/export.html", context, status=status)


def _file(request: HttpRequest, log: Log, wanted: dict[str, Any]) -> FileResponse:
    name = wanted["form"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export"
        suffix, media_type, said = _written(log, wanted, path)
        file = path.open("rb")  # it stays readable after its name is gone, and goes when the answer is sent
    audit.record(request.user.get_username(), "log.exported", log.public_id, form=name, **said)
    response = FileResponse(file, as_attachment=True, filename=f"log{suffix}", content_type=media_type)
    response["Cache-Control"] = "no-store"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _written(log: Log, wanted: dict[str, Any], path: Path) -> tuple[str, str, dict[str, Any]]:
    """Write the file; return its suffix, its type, and what the audit trail says of it."""
    name = wanted["form"]
    if name == CARRY:
        done = carry.export([log], path)
        return WHOLE[name][0], NDJSON, {"events": done.kinds["event"][0], "sha256": done.sha256}
    if name == RECORDING:
        return WHOLE[name][0], NDJSON, {"events": carry.record(log, path).events}
    form = exports.named(name)
    taken = exports.take(log, wanted["first"], wanted["last"])
    first, *others = exports.pages(form, taken)
    if others:
        raise InvalidFilter(
            f"One page of {name} holds {form.page} events and this range has {taken.to_seq - taken.from_seq + 1}; "
            f"take a part of it, {first.from_seq} to {first.to_seq} for the first, or use the command.",
            field="last",
        )
    exports.export(form, taken, path)
    return form.suffix, form.media_type, {"events": taken.tally.events, "of": taken.tally.events_there}
