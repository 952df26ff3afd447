"""The pins of a log: what was drawn, which event carried it into the log, and what rests on it.

Guarantees: a section rests on a pin when it lists its key, whatever its edition; a receipt when it gave such
a section; the number of queries does not grow with what is shown; a result is escaped and cut, its event
holds it whole. What was drawn for nothing and what is still open stand beside it, each list with its N of M.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django import forms
from django.db.models import Count, F, Max, QuerySet, Window
from django.db.models.functions import DenseRank, Left, Length
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from chronicle import canonical
from chronicle.access import log_for
from chronicle.envelope import ABANDONED, DIVERGED, RESERVED_NAMESPACE, Kind
from chronicle.errors import InvalidPayload
from chronicle.models import EditionState, Event, Form, Log, Pin, ReceiptPart, SectionPin
from chronicle.pins import LeftOpen, PinLedger
from chronicle.web.paging import Shown
from chronicle.web.respond import respond

PAGE = 50
LOST = 20
RECEIPTS = 5
RESULT = 2000  # characters of a result on this page; its event holds it whole
SHORT = 12
BIG = 10**18 - 1


class PinFilter(forms.Form):
    """What the list may be narrowed to; `after` and `before` cut its pages by seq, `lost` cuts that of lost draws."""

    kind = forms.CharField(required=False, max_length=100)
    key = forms.CharField(required=False, max_length=200)
    after = forms.IntegerField(required=False, min_value=1, max_value=BIG)
    before = forms.IntegerField(required=False, min_value=1, max_value=BIG)
    lost = forms.IntegerField(required=False, min_value=1, max_value=BIG)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if data.get("after") and data.get("before"):
            raise forms.ValidationError("A page is cut after a seq or before one, not both.")
        return data

    def narrow(self, pins: QuerySet[Pin]) -> QuerySet[Pin]:
        data = self.cleaned_data
        pins = pins.filter(kind=data["kind"]) if data["kind"] else pins
        return pins.filter(key__contains=data["key"]) if data["key"] else pins

    def address(self, **changes: object) -> str:
        """Return the query of this filter with `changes`, cut at no page unless a change says so."""
        kept = {name: self.data.get(name, "") for name in ("kind", "key")}
        return "?" + urlencode({name: value for name, value in (kept | changes).items() if value})


class Resting(NamedTuple):
    """A section that lists a pin; `edition` is 0 for the one in force, whose sections have pages."""

    anchor: str
    generation: int
    edition: int


class Reading(NamedTuple):
    """A receipt that gave such a section."""

    number: int
    reader: str


@dataclass(slots=True)
class Row:
    """One pin and what rests on it. `later` is the seq of a later pin under its key, which replay takes."""

    seq: int
    key: str
    kind: str
    unit: str
    attempts: int
    result: str
    size: int
    later: int = 0
    sections: list[Resting] = field(default_factory=list)
    receipts: list[Reading] = field(default_factory=list)
    receipt_count: int = 0

    @property
    def short(self) -> str:
        """The first letters of the digest, or of a key that has none."""
        return self.key.rpartition(":")[2][:SHORT]

    @property
    def cut(self) -> bool:
        return len(self.result) < self.size


@dataclass(frozen=True, slots=True)
class Lost:
    """A unit whose draws were abandoned, or a replay that missed; `draws` is 0 where none were listed."""

    seq: int
    at: datetime
    unit: str
    reason: str
    draws: int
    missed: str = ""


def pins(request: HttpRequest, log_id: str) -> HttpResponse:
    log = log_for(request.user, log_id)
    form = PinFilter(request.GET)
    context: dict[str, Any] = {"log": log, "form": form, "here": reverse("pins", args=[log_id])}
    if not form.is_valid():
        return respond(request, "web/pins.html", {**context, "of": log.pins.count()}, ("list",), status=400)
    context |= _list(log, form) | _lost(log, form.cleaned_data["lost"]) | _open(log) | {"result_shown": RESULT}
    return respond(request, "web/pins.html", context, ("list",))


def _list(log: Log, form: PinFilter) -> dict[str, Any]:
    matching, data = form.narrow(log.pins.all()), form.cleaned_data
    found = _cut(matching, data["after"], data["before"])
    more, rows = len(found) > PAGE, found[:PAGE]
    rows = rows[::-1] if data["before"] else rows
    _rest(log, rows)
    whole = log.pins.count()
    hidden = whole - matching.count() if data["kind"] or data["key"] else 0
    earlier = bool(rows) and (more if data["before"] else bool(data["after"]))
    later = bool(rows) and (more or bool(data["before"]))
    return {
        "rows": rows,
        "shown": Shown(len(rows), whole, what="pin", hidden=hidden),
        "earlier": form.address(before=rows[0].seq) if earlier else "",
        "later": form.address(after=rows[-1].seq) if later else "",
        "first": form.address(),
    }


def _cut(pins: QuerySet[Pin], after: int | None, before: int | None) -> list[Row]:
    """Return a page and one row more, nearest first; the result only as far as it is shown."""
    pins = pins.filter(event__seq__lt=before) if before else pins.filter(event__seq__gt=after or 0)
    shown = pins.annotate(start=Left("result", RESULT), size=Length("result"))
    ordered = shown.order_by("-event__seq" if before else "event__seq")[: PAGE + 1]
    return [Row(*row) for row in ordered.values_list("event__seq", "key", "kind", "unit", "attempts", "start", "size")]


def _rest(log: Log, rows: list[Row]) -> None:
    """Tell each row what rests on it: four queries, however many rows there are."""
    keys = {row.key for row in rows}
    later = dict(log.pins.filter(key__in=keys).values_list("key").annotate(last=Max("event__seq")))
    sections, receipts, counts = _sections(log, keys), _receipts(log, keys), _receipt_counts(log, keys)
    for row in rows:
        row.later = later[row.key] if later.get(row.key, 0) > row.seq else 0
        row.sections, row.receipts = sections[row.key], receipts[row.key]
        row.receipt_count = counts.get(row.key, 0)


def _sections(log: Log, keys: Iterable[str]) -> dict[str, list[Resting]]:
    """Return by key the sections that list it, oldest edition first, then by their place in the log."""
    found = SectionPin.objects.filter(key__in=keys, section__anchor__edition__log=log)
    rows = found.select_related("section__anchor__edition").order_by(
        "section__anchor__edition__number", "section__anchor__from_seq", "section__anchor__level", "section__generation"
    )
    by_key: dict[str, list[Resting]] = defaultdict(list)
    for row in rows.defer("section__prose"):
        edition = row.section.anchor.edition
        number = 0 if edition.state == EditionState.CURRENT else edition.number
        resting = Resting(row.section.anchor.ref, row.section.generation, number)
        if resting not in by_key[row.key]:
            by_key[row.key].append(resting)
    return by_key


def _reading(log: Log, keys: Iterable[str]) -> QuerySet[ReceiptPart]:
    """Match the parts of receipts that gave a section which lists one of these keys; what was dropped was not read."""
    return ReceiptPart.objects.filter(receipt__log=log, section__pins__key__in=keys).exclude(form=Form.DROPPED)


def _receipts(log: Log, keys: Iterable[str]) -> dict[str, list[Reading]]:
    """Return by key the newest RECEIPTS receipts that rest on it, newest first."""
    place = Window(DenseRank(), partition_by=F("section__pins__key"), order_by=F("receipt__number").desc())
    found = _reading(log, keys).annotate(place=place).filter(place__lte=RECEIPTS)
    by_key: dict[str, list[Reading]] = defaultdict(list)
    rows = set(found.values_list("section__pins__key", "receipt__number", "receipt__reader"))
    for key, number, reader in sorted(rows, key=lambda row: -row[1]):
        by_key[key].append(Reading(number, reader))
    return by_key


def _receipt_counts(log: Log, keys: Iterable[str]) -> dict[str, int]:
    return dict(_reading(log, keys).values_list("section__pins__key").annotate(Count("receipt", distinct=True)))


def _lost(log: Log, before: int | None) -> dict[str, Any]:
    """The newest draws that were made for nothing and replays that missed, before a seq where one is given."""
    found = log.events.filter(kind=Kind.BOOKKEEPING, namespace=RESERVED_NAMESPACE, type__in=(ABANDONED, DIVERGED))
    page = list((found.filter(seq__lt=before) if before else found).order_by("-seq")[: LOST + 1])
    rows = [_lost_of(event) for event in page[:LOST]]
    older = rows[-1].seq if len(page) > LOST else 0
    return {"lost": rows, "lost_of": found.count(), "older": older, "lost_cut": bool(before)}


def _lost_of(event: Event) -> Lost:
    """Read the payload of a ledger's event; what another program wrote there may have any shape."""
    try:
        data = canonical.parse(event.payload)
    except InvalidPayload:
        data = {}
    data = data if isinstance(data, dict) else {}
    gone, missed = data.get("discarded"), str(data.get("missed_key") or data.get("key") or "")
    return Lost(
        event.seq,
        event.at,
        str(data.get("unit_id") or "–"),
        str(data.get("reason") or "–"),
        len(gone) if isinstance(gone, list) else 0,
        missed if event.type == DIVERGED else "",
    )


def _open(log: Log) -> dict[str, Any]:
    units: list[LeftOpen] = PinLedger(log).scratch_units()
    return {"open": units[:LOST], "open_of": len(units)}
