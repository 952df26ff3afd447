"""The events of a log: filters, pages by seq, N of M.

Guarantees: filters run before pages are cut; bookkeeping is hidden unless asked for, and counted;
an address says all of the list. Refuses (400, with the form's errors) what it cannot read.
"""

import json
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from chronicle.access import log_for
from chronicle.envelope import ActorKind, Kind
from chronicle.models import Event, Log
from chronicle.web.paging import Page, Shown, page_of
from chronicle.web.respond import respond

BIG = 10**18 - 1


def _seq(**options: Any) -> forms.IntegerField:
    return forms.IntegerField(required=False, min_value=1, max_value=BIG, **options)


class EventFilter(forms.Form):
    """What a list of events may be narrowed to; `after` and `before` cut the page."""

    text = forms.CharField(required=False, max_length=200, strip=False)
    kind = forms.ChoiceField(required=False, choices=[("", "any kind"), *((kind, kind) for kind in Kind)])
    actor_kind = forms.ChoiceField(required=False, choices=[("", "any"), *((kind, kind) for kind in ActorKind)])
    actor = forms.CharField(required=False, max_length=200, strip=False)
    first = _seq()
    last = _seq()
    bookkeeping = forms.BooleanField(required=False)
    after = _seq()
    before = _seq()

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if data.get("first") and data.get("last") and data["first"] > data["last"]:
            raise forms.ValidationError("The first seq lies after the last; a range is first to last, both included.")
        if data.get("after") and data.get("before"):
            raise forms.ValidationError("A page is cut after a seq or before one, not both.")
        return data

    def narrow(self, events: QuerySet[Event]) -> QuerySet[Event]:
        """Return the events that pass every filter that is set, bookkeeping aside."""
        data = self.cleaned_data
        exact = {name: data[name] for name in ("kind", "actor_kind", "actor") if data[name]}
        if data["first"]:
            events = events.filter(seq__gte=data["first"])
        if data["last"]:
            events = events.filter(seq__lte=data["last"])
        if data["text"]:
            events = events.filter(holding(data["text"]))
        return events.filter(**exact)

    @property
    def narrows(self) -> bool:
        return any(self.cleaned_data[name] for name in ("text", "kind", "actor_kind", "actor", "first", "last"))

    @property
    def shows_books(self) -> bool:
        return bool(self.cleaned_data["bookkeeping"] or self.cleaned_data["kind"] == Kind.BOOKKEEPING)

    def address(self, **changes: object) -> str:
        """Return the query of this filter with `changes`, cut at no page unless a change says so."""
        kept = {name: self.data.get(name, "") for name in self.fields if name not in {"after", "before"}}
        return "?" + urlencode({name: value for name, value in (kept | changes).items() if value})


def holding(text: str) -> Q:
    """Match events whose content or payload holds `text`, whatever its case.

    A payload is ASCII with escapes, so it is searched for the escaped text. SQLite folds the case of ASCII
    letters only: for others the usual forms of the word are tried.
    """
    forms_of = {text} if text.isascii() else {text, text.lower(), text.upper(), text.title(), text.capitalize()}
    found = Q()
    for form in forms_of:
        found |= Q(content__icontains=form) | Q(payload__icontains=json.dumps(form)[1:-1])
    return found


def events(request: HttpRequest, log_id: str) -> HttpResponse:
    log = log_for(request.user, log_id)
    form = EventFilter(request.GET)
    context: dict[str, Any] = {"log": log, "form": form, "here": reverse("events", args=[log_id])}
    if not form.is_valid():
        return respond(request, "web/events.html", context, ("list",), status=400)
    page, shown = _list(log, form)
    context |= {"page": page, "shown": shown, "books_url": form.address(bookkeeping="on")}
    if page.before is not None:
        context |= {"earlier": form.address(before=page.before), "earliest": form.address()}
    if page.after is not None:
        context |= {"later": form.address(after=page.after), "latest": form.address(before=log.last_seq + 1)}
    return respond(request, "web/events.html", context, ("list",))


def _list(log: Log, form: EventFilter) -> tuple[Page, Shown]:
    matching = form.narrow(log.events.all())
    visible = matching if form.shows_books else matching.exclude(kind=Kind.BOOKKEEPING)
    page = page_of(visible, after=form.cleaned_data["after"], before=form.cleaned_data["before"])
    matched, books = _counts(matching) if form.narrows else (log.last_seq, _books(matching))
    hidden = log.last_seq - matched
    return page, Shown(len(page.rows), log.last_seq, hidden=hidden, bookkeeping=0 if form.shows_books else books)


def _counts(matching: QuerySet[Event]) -> tuple[int, int]:
    """Count what passes and what of it is bookkeeping, in one pass: a text is looked for in every event."""
    books = Count("pk", filter=Q(kind=Kind.BOOKKEEPING))
    found = matching.aggregate(matched=Count("pk"), books=books)
    return found["matched"], found["books"]


def _books(events: QuerySet[Event]) -> int:
    return events.filter(kind=Kind.BOOKKEEPING).count()
