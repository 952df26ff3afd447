"""The receipts of a log: what was given to whom, newest first.

Guarantees: filters run before pages are cut by number; what is superseded by now is counted over what was given,
not over what a budget dropped; the number of queries does not grow with what is shown.
Refuses (400, with the form's errors) a filter that it cannot read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from chronicle.access import log_for
from chronicle.errors import UnknownSection
from chronicle.models import Form, Log, Receipt, ReceiptPart, What
from chronicle.reading import Ref, parse_ref
from chronicle.web.events import BIG
from chronicle.web.paging import Shown
from chronicle.web.respond import respond

PAGE = 100
NAMES = ("reader", "what", "section")


class ReceiptFilter(forms.Form):
    """What the list may be narrowed to; `after` and `before` cut the page, by number."""

    reader = forms.CharField(required=False, max_length=200, strip=False)
    what = forms.ChoiceField(required=False, choices=[("", "anything"), *What.choices])
    section = forms.CharField(required=False, max_length=60)
    after = forms.IntegerField(required=False, min_value=1, max_value=BIG)
    before = forms.IntegerField(required=False, min_value=1, max_value=BIG)

    def clean_section(self) -> Ref | None:
        text = self.cleaned_data["section"].strip()
        try:
            return parse_ref(text) if text else None
        except UnknownSection as error:
            raise forms.ValidationError(str(error)) from error

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if data.get("after") and data.get("before"):
            raise forms.ValidationError("A page is cut after a number or before one, not both.")
        return data

    def narrow(self, receipts: QuerySet[Receipt]) -> QuerySet[Receipt]:
        data = self.cleaned_data
        exact = {name: data[name] for name in ("reader", "what") if data[name]}
        if data["section"]:
            receipts = receipts.filter(pk__in=_that_gave(data["section"]))
        return receipts.filter(**exact)

    @property
    def narrows(self) -> bool:
        return any(self.cleaned_data[name] for name in NAMES)

    def address(self, **changes: object) -> str:
        """Return the query of this filter with `changes`, cut at no page unless a change says so."""
        kept = {name: self.data.get(name, "") for name in NAMES}
        return "?" + urlencode({name: value for name, value in (kept | changes).items() if value})


def _that_gave(ref: Ref) -> QuerySet[ReceiptPart, int]:
    """The ids of the receipts that gave a section, in any generation unless the id names one, in any edition."""
    level, from_seq, to_seq, generation = ref
    given = ReceiptPart.objects.exclude(form=Form.DROPPED).filter(
        section__anchor__level=level, section__anchor__from_seq=from_seq, section__anchor__to_seq=to_seq
    )
    given = given.filter(section__generation=generation) if generation else given
    return given.values_list("receipt_id", flat=True)


@dataclass(frozen=True, slots=True)
class Row:
    """A receipt in the list: how many sections it gave, how many it dropped, how many of the given are superseded."""

    receipt: Receipt
    given: int
    dropped: int
    superseded: int


def receipts(request: HttpRequest, log_id: str) -> HttpResponse:
    log = log_for(request.user, log_id)
    form = ReceiptFilter(request.GET)
    context: dict[str, Any] = {"log": log, "form": form, "here": reverse("receipts", args=[log_id])}
    whole = log.receipts.count()
    if not form.is_valid():
        return respond(request, "web/receipts.html", {**context, "of": whole}, ("list",), status=400)
    return respond(request, "web/receipts.html", context | _list(log, form, whole), ("list",))


def _list(log: Log, form: ReceiptFilter, whole: int) -> dict[str, Any]:
    """The page, newest first: `before` goes on to lower numbers, `after` back to higher ones."""
    matching, before, after = form.narrow(log.receipts.all()), form.cleaned_data["before"], form.cleaned_data["after"]
    if after:
        found = list(matching.filter(number__gt=after).order_by("number")[: PAGE + 1])
        newer, older, found = len(found) > PAGE, True, found[:PAGE][::-1]
    else:
        found = list(matching.filter(number__lt=before or BIG).order_by("-number")[: PAGE + 1])
        newer, older, found = bool(before), len(found) > PAGE, found[:PAGE]
    hidden = whole - matching.count() if form.narrows else 0
    return {
        "rows": _rows(found),
        "shown": Shown(len(found), whole, what="receipt", hidden=hidden),
        "newest": form.address(),
        "newer": form.address(after=found[0].number) if newer and found else "",
        "older": form.address(before=found[-1].number) if older and found else "",
    }


def _rows(found: Sequence[Receipt]) -> list[Row]:
    given = ~Q(form=Form.DROPPED)
    parts = ReceiptPart.objects.filter(receipt__in=[receipt.pk for receipt in found]).values("receipt").order_by()
    counted = parts.annotate(
        given=Count("pk", filter=given),
        dropped=Count("pk", filter=~given),
        superseded=Count("pk", filter=given & Q(section__superseded_by__isnull=False)),
    )
    by_receipt = {row["receipt"]: (row["given"], row["dropped"], row["superseded"]) for row in counted}
    return [Row(receipt, *by_receipt.get(receipt.pk, (0, 0, 0))) for receipt in found]
