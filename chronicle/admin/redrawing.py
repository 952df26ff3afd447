"""Sections in the admin: to look at, with the mark of what is stale; and the re-consolidation of chosen ones.

Guarantees: the action asks first, with the bill of each section, and takes a reason and an acceptance; it asks for
the same jobs as the page's button, so a double click costs one draw; a superseded generation is left alone and named.
"""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html

from chronicle import asking, tasks
from chronicle.access import may_redraw
from chronicle.admin.looking import LookOnly, text
from chronicle.divergence import bill_of, named, row_for, words
from chronicle.errors import ChronicleError
from chronicle.models import EditionState, RollupSource, Section
from chronicle.reconsolidate import REASON

AT_ONCE = 20


class Acceptance(forms.Form):
    reason = forms.CharField(max_length=REASON)
    accept = forms.BooleanField()


@admin.register(Section)
class SectionAdmin(LookOnly):
    log_path = "anchor__edition__log"
    list_display = (
        "ref",
        text("public_id", of="anchor__edition__log", label="log"),
        text("title", label="title (generated)"),
        "origin",
        text("model"),
        "made_at",
        "stale",
    )
    list_filter = ("origin",)
    search_fields = ("=anchor__edition__log__public_id", "title")
    ordering = ("-pk",)
    list_select_related = ("anchor__edition__log",)
    actions: Any = ("reconsolidate",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Section]:
        read_another = RollupSource.objects.filter(section=OuterRef("pk"), source__superseded_by__isnull=False)
        current = Q(superseded_by__isnull=True, anchor__level__gte=1)
        stale = ExpressionWrapper(current & Q(Exists(read_another)), output_field=BooleanField())
        found: QuerySet[Section] = super().get_queryset(request).annotate(is_stale=stale)
        return found

    @admin.display(description="state")
    def stale(self, section: Section) -> str:
        if not getattr(section, "is_stale", False):
            return ""
        return format_html("▨ stale{}", ": choose it and re-consolidate it; the question says the price")

    @admin.action(description="Re-consolidate the selected sections", permissions=["redraw"])
    def reconsolidate(self, request: HttpRequest, chosen: QuerySet[Section]) -> HttpResponse | None:
        current = chosen.filter(superseded_by__isnull=True, anchor__edition__state=EditionState.CURRENT)
        sections = list(current.select_related("anchor__edition__log").order_by("pk")[:AT_ONCE])
        left = chosen.count() - len(sections)
        form = Acceptance(request.POST if "confirmed" in request.POST else None)
        if not sections or not form.is_valid():
            return self._ask(request, sections, left, form)
        for section in sections:
            self._redraw(request, section, form.cleaned_data["reason"])
        if left:
            self.message_user(request, f"{left} of the chosen ones were left alone.", messages.WARNING)
        return None

    def _ask(self, request: HttpRequest, sections: Iterable[Section], left: int, form: forms.Form) -> HttpResponse:
        bills = []
        for section in sections:
            log = section.anchor.edition.log
            bills.append((log, section, words(bill_of(section, row_for(log)))))
        found = {"title": "Re-consolidate?", "bills": bills, "left": left, "form": form, "at_once": AT_ONCE}
        context = self.admin_site.each_context(request) | found | {"opts": self.opts}
        return TemplateResponse(request, "admin/reconsolidate.html", context)

    def _redraw(self, request: HttpRequest, section: Section, reason: str) -> None:
        who, log = request.user.get_username(), section.anchor.edition.log
        try:
            asked = asking.reconsolidation(log, named(section), accepted=True, by=who, reason=reason)
        except ChronicleError as refusal:
            self.message_user(request, f"{named(section)}: {refusal}", messages.ERROR)
            return
        tasks.kick(asked.job)
        again = " (it was asked for before)" if asked.replayed else ""
        self.message_user(request, f"{named(section)} is drawn again by job {asked.job.pk}{again}.", messages.SUCCESS)

    def has_redraw_permission(self, request: HttpRequest) -> bool:
        return may_redraw(request.user)
