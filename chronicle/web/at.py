"""What the agent had at a seq: the text of the receipt where there is one, else what can be put together.

Guarantees: the page says which of the two it shows, and of a reconstruction how it was made; the moments before
and after at which it changed are links; a long tail is shown a page at a time, with its N of M.
Refuses: a seq the log does not have (404 in the address, 400 where it was asked for in the form).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from chronicle import moments
from chronicle.access import log_for
from chronicle.errors import InvalidFilter
from chronicle.models import EditionState, Form, Log, Receipt
from chronicle.moments import Had, Moments, Span
from chronicle.web.event import WHOLE
from chronicle.web.events import BIG
from chronicle.web.ranges import Slice, slice_of
from chronicle.web.receipt import ReceiptPage
from chronicle.web.respond import respond

OTHERS = 10


class AtForm(forms.Form):
    """`seq` jumps; `after` cuts the page of the tail."""

    seq = forms.IntegerField(required=False, min_value=1, max_value=BIG)
    after = forms.IntegerField(required=False, min_value=1, max_value=BIG)
    bookkeeping = forms.BooleanField(required=False)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A span as the page shows it: its words are cut at WHOLE characters, a title stands alone."""

    span: Span

    @property
    def linked(self) -> bool:
        """Only the sections of the edition in force have pages."""
        section = self.span.section
        return section is not None and section.anchor.edition.state == EditionState.CURRENT

    @property
    def prose(self) -> str:
        section = self.span.section
        return section.prose[:WHOLE] if section and self.span.form == Form.FULL else ""

    @property
    def length(self) -> int:
        return self.span.to_seq - self.span.from_seq + 1


class AtPage:
    """What the page says of one seq of a log."""

    def __init__(self, log: Log, seq: int, form: AtForm) -> None:
        self.log = log
        self.seq = seq
        self.form = form

    @cached_property
    def had(self) -> Had:
        return moments.at(self.log, self.seq)

    @cached_property
    def around(self) -> Moments:
        return moments.around(self.log, self.seq)

    @cached_property
    def receipt(self) -> ReceiptPage | None:
        return ReceiptPage(self.log, self.had.receipt) if self.had.receipt else None

    @cached_property
    def stretches(self) -> list[Stretch]:
        """The spans before the tail, oldest first."""
        return [Stretch(span) for span in self.had.spans if span is not self.had.tail]

    @cached_property
    def tail(self) -> Slice | None:
        tail, data = self.had.tail, self.form.cleaned_data
        if tail is None or self.had.exact:
            return None
        return slice_of(self.log, tail.from_seq, tail.to_seq, after=data["after"], books=data["bookkeeping"])

    @property
    def shown(self) -> int:
        """How many of the events up to here something stands for."""
        return self.seq - sum(last - first + 1 for first, last in self.had.not_shown)

    @cached_property
    def others(self) -> list[Receipt]:
        """What else was read here, newest first, at most OTHERS."""
        found = moments.others_at(self.log, self.seq)
        return list((found.exclude(pk=self.had.receipt.pk) if self.had.receipt else found)[:OTHERS])

    @cached_property
    def other_count(self) -> int:
        return moments.others_at(self.log, self.seq).count() - self.had.exact


def at(request: HttpRequest, log_id: str, seq: int) -> HttpResponse:
    log = log_for(request.user, log_id)
    if not 1 <= seq <= log.last_seq:
        raise Http404
    form = AtForm(request.GET)
    if not form.is_valid() or (form.cleaned_data["seq"] or 1) > log.last_seq:
        raise InvalidFilter(f"A seq of this log is a number from 1 to {log.last_seq}.")
    if form.cleaned_data["seq"]:
        return redirect("at", log_id=log_id, seq=form.cleaned_data["seq"])
    page = AtPage(log, seq, form)
    context: dict[str, Any] = {
        "log": log,
        "at": page,
        "had": page.had,
        "page": page.receipt,
        "receipt": page.had.receipt,
    }
    return respond(request, "web/at.html", context)
