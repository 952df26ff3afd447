"""The search: sections and events of every log that a person may see, by their words or as written.

Guarantees: the scope is inside the queries, so what is not theirs is neither found nor counted; filters run before
the count and the page; superseded generations and older editions are found too and marked; the number of queries
does not depend on what is found; nothing of a query is syntax. Refuses (400, with the reason) a filter, a place or
a length that it cannot read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django import forms
from django.db.models import Model, Q, QuerySet
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from chronicle import matching, terms
from chronicle.access import visible_logs
from chronicle.envelope import Kind
from chronicle.errors import UnknownSection
from chronicle.matching import Matched
from chronicle.models import EditionState, Event, Log, Section
from chronicle.reading import parse_ref
from chronicle.terms import Terms
from chronicle.web.events import BIG
from chronicle.web.hits import EventHit, SectionHit, event_hits, section_hits
from chronicle.web.paging import Shown
from chronicle.web.respond import respond

LONGEST = 2000
SECTIONS, EVENTS = 10, 20
OF_EVENTS = ("kind", "actor")


class QueryField(forms.CharField):
    """A query as it was typed: blanks count in a text as written, and a NUL may be looked for."""

    def __init__(self) -> None:
        super().__init__(required=False, strip=False)
        self.validators = []

    def clean(self, value: Any) -> str:
        text = str(super().clean(value))
        if len(text) > LONGEST:
            raise forms.ValidationError(f"A query has at most {LONGEST} characters; this one has {len(text)}.")
        return text


class TimeField(forms.DateTimeField):
    """A day or a time, UTC unless it says otherwise."""

    def clean(self, value: Any) -> datetime | None:
        try:
            found = super().clean(value)
            return found.astimezone(UTC) if found else None
        except (forms.ValidationError, OverflowError) as error:
            raise forms.ValidationError("A time looks like 2026-11-30 or 2026-11-30T09:41.") from error


class SearchForm(forms.Form):
    """What is looked for and where; `sections_after` and `events_after` name the last hit of the page before."""

    q = QueryField()
    exact = forms.BooleanField(required=False)
    log = forms.CharField(required=False, max_length=300)
    kind = forms.ChoiceField(required=False, choices=[("", "any kind"), *((kind, kind) for kind in Kind)])
    actor = forms.CharField(required=False, max_length=200, strip=False)
    first = forms.IntegerField(required=False, min_value=1, max_value=BIG)
    last = forms.IntegerField(required=False, min_value=1, max_value=BIG)
    since = TimeField(required=False)
    until = TimeField(required=False)
    sections_after = forms.CharField(required=False, max_length=400)
    events_after = forms.CharField(required=False, max_length=400)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        for low, high in (("first", "last"), ("since", "until")):
            if data.get(low) and data.get(high) and data[low] > data[high]:
                raise forms.ValidationError(f"{low} lies after {high}; a range is {low} to {high}, both included.")
        return data

    @property
    def narrows(self) -> bool:
        return any(self.cleaned_data[name] for name in ("log", *OF_EVENTS, "first", "last", "since", "until"))

    @property
    def terms(self) -> Terms:
        query = self.cleaned_data["q"]
        return terms.as_written(query) if self.cleaned_data["exact"] else terms.terms_of(query)

    def address(self, **changes: str) -> str:
        """Return the query of this form with `changes`, at the first page unless a change says so."""
        kept = {name: self.data.get(name, "") for name in self.fields if not name.endswith("_after")}
        return "?" + urlencode({name: value for name, value in (kept | changes).items() if value}, errors="replace")

    def events(self, events: QuerySet[Event]) -> QuerySet[Event]:
        data = self.cleaned_data
        found = events.filter(_of_log("log__", data["log"]))
        found = found.filter(**{name: data[name] for name in OF_EVENTS if data[name]})
        found = found.filter(**{f"seq__{end}": data[name] for name, end in _SEQS if data[name]})
        if data["since"] or data["until"]:
            found = found.alias(told=Coalesce("claimed_at", "at"))
        return found.filter(**{f"told__{end}": data[name] for name, end in _TIMES if data[name]})

    def sections(self, sections: QuerySet[Section]) -> QuerySet[Section]:
        """A section is in a range of seqs when it holds one of them, in a time when it was written then."""
        data = self.cleaned_data
        if any(data[name] for name in OF_EVENTS):
            return sections.none()
        found = sections.filter(_of_log("anchor__edition__log__", data["log"]))
        if data["first"]:
            found = found.filter(anchor__to_seq__gte=data["first"])
        if data["last"]:
            found = found.filter(anchor__from_seq__lte=data["last"])
        return found.filter(**{f"made_at__{end}": data[name] for name, end in _TIMES if data[name]})


_SEQS, _TIMES = (("first", "gte"), ("last", "lte")), (("since", "gte"), ("until", "lte"))


def _of_log(to_log: str, words: str) -> Q:
    """The log of an id, of the beginning of one, or with these words in its title."""
    if not words:
        return Q()
    return Q(**{f"{to_log}public_id__startswith": words}) | Q(**{f"{to_log}title__icontains": words})


@dataclass(frozen=True, slots=True)
class Part:
    """One half of what was found: its hits, how many of how many, and the addresses of its pages.

    `looked_through` is how many rows were, where older ones were not; `hides` is False where nobody counted what the
    filter hides, for the same reason.
    """

    hits: list[EventHit] | list[SectionHit]
    shown: Shown
    every_term: bool
    first: str
    later: str
    looked_through: int = 0
    hides: bool = True


def search(request: HttpRequest) -> HttpResponse:
    logs, form = visible_logs(request.user), SearchForm(request.GET)
    context: dict[str, Any] = {"form": form, "here": reverse("search"), "longest": LONGEST}
    if not form.is_valid():
        return respond(request, "web/search.html", context, ("found",), status=400)
    asked = form.terms
    context |= {"asked": asked, "blank": not form.cleaned_data["q"].strip(), "exactly": form.address(exact="on")}
    if asked.words or asked.signs:
        try:
            context |= {"sections": _sections(form, asked, logs), "events": _events(form, asked, logs)}
        except forms.ValidationError as error:
            form.add_error(None, error)
            return respond(request, "web/search.html", context, ("found",), status=400)
    return respond(request, "web/search.html", context, ("found",))


def _sections(form: SearchForm, asked: Terms, logs: QuerySet[Log]) -> Part:
    read = Section.objects.filter(anchor__edition__log__in=logs).exclude(anchor__edition__state=EditionState.BUILDING)
    after = _section_at(read, form.cleaned_data["sections_after"])
    found = _matched(form, asked, read, form.sections(read), limit=SECTIONS, after=after)
    return _part(form, "section", section_hits(found.page.pks, asked), found, lambda pk: section_hits([pk], asked))


def _events(form: SearchForm, asked: Terms, logs: QuerySet[Log]) -> Part:
    read = Event.objects.filter(log__in=logs)
    after = _event_at(read, form.cleaned_data["events_after"])
    found = _matched(form, asked, read, form.events(read), limit=EVENTS, after=after)
    return _part(form, "event", event_hits(found.page.pks, asked), found, lambda pk: event_hits([pk], asked))


class Narrowed(NamedTuple):
    """A page of what the filters let through, and how many match whatever they say; None where nobody looked."""

    page: Matched
    of: int | None


def _matched[M: Model](
    form: SearchForm, asked: Terms, read: QuerySet[M], narrowed: QuerySet[M], *, limit: int, after: int | None
) -> Narrowed:
    """Return the page, and how many match in all; which terms are needed is decided by all."""
    if form.cleaned_data["exact"]:
        text = form.cleaned_data["q"]
        page = matching.as_written(narrowed, text, limit=limit, after=after)
        every = matching.as_written(read, text, limit=1) if form.narrows else page
    else:
        every = matching.by_words(read, asked, limit=1) if form.narrows else Matched()
        fixed = every.every_term if form.narrows else None
        page = matching.by_words(narrowed, asked, limit=limit, after=after, every_term=fixed)
        every = every if form.narrows else page
    return Narrowed(page, every.of if every.stopped is None and page.stopped is None else None)


def _part[H: (EventHit, SectionHit)](
    form: SearchForm, what: str, hits: list[H], found: Narrowed, hit_of: Callable[[int], list[H]]
) -> Part:
    page, name = found.page, f"{what}s_after"
    of = page.of if found.of is None else found.of
    end = hits[-1].place if page.more else "" if page.stopped is None else hit_of(page.stopped)[0].place
    return Part(
        hits,
        Shown(len(page.pks), of, what, hidden=of - page.of),
        page.every_term,
        form.address() if form.cleaned_data[name] else "",
        form.address(**{name: end}) if end else "",
        looked_through=0 if page.stopped is None else matching.LOOKED_THROUGH,
        hides=found.of is not None or not form.narrows,
    )


def _event_at(read: QuerySet[Event], place: str) -> int | None:
    if not place:
        return None
    log, _, seq = place.rpartition("~")
    known = read.filter(log__public_id=log, seq=int(seq)) if seq.isdecimal() and len(seq) < 19 else read.none()
    return _known(known.values_list("pk", flat=True).first())


def _section_at(read: QuerySet[Section], place: str) -> int | None:
    if not place:
        return None
    log, edition, ref = ["", "", *place.rsplit("~", 2)][-3:]
    try:
        level, from_seq, to_seq, generation = parse_ref(ref)
    except UnknownSection:
        return _known(None)
    slot = {"level": level, "from_seq": from_seq, "to_seq": to_seq, "edition__log__public_id": log}
    known = read.filter(**{f"anchor__{name}": value for name, value in slot.items()}, generation=generation or 1)
    known = (
        known.filter(anchor__edition__number=int(edition)) if edition.isdecimal() and len(edition) < 9 else read.none()
    )
    return _known(known.values_list("pk", flat=True).first())


def _known(pk: int | None) -> int:
    if pk is None:
        raise forms.ValidationError("A page begins after a hit that you may see; this place is none.")
    return pk
