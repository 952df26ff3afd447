"""The page of logs: a ledger of those that a person may see, newest activity first.

Guarantees: as many queries for one log as for fifty; pages are cut by time and id, never by offset;
counts are of the current edition. Refuses (400) a filter or a place that it cannot read.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.db.models import Count, Max, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from chronicle.access import visible_logs
from chronicle.models import Anchor, EditionState, Log, RollupSource, UnitFailure
from chronicle.web.overview import stated_by_the_sources
from chronicle.web.paging import Shown
from chronicle.web.respond import respond

PAGE = 50


@dataclass(frozen=True, slots=True)
class Line:
    """One log in the ledger. `levels` counts anchors by level; `lag` the events after the last section.

    `stated` are the first and the last time that the source states, looked for near the ends of the log.
    """

    log: Log
    levels: Mapping[int, int]
    lag: int
    failing: int
    stale: int
    stated: tuple[datetime | None, datetime | None]

    @property
    def tallies(self) -> list[tuple[str, int]]:
        return [(f"L{level}", self.levels.get(level, 0)) for level in range(3)]

    @property
    def deeper(self) -> int:
        return sum(count for level, count in self.levels.items() if level > 2)


class LogFilter(forms.Form):
    """What the ledger may be narrowed to; `before` is the place of the last line of the page before."""

    text = forms.CharField(required=False, max_length=200)
    owner = forms.CharField(required=False, max_length=200, strip=False)
    source = forms.CharField(required=False, max_length=60, strip=False)
    before = forms.CharField(required=False, max_length=300)

    def clean_before(self) -> tuple[datetime, str] | None:
        place = self.cleaned_data["before"]
        if not place:
            return None
        time, _, public_id = place.partition("~")
        try:
            return datetime.fromisoformat(time).astimezone(UTC), public_id
        except (ValueError, OverflowError) as error:
            raise forms.ValidationError("A page begins after a time and a log: 2026-11-30T09:41:22Z~id.") from error

    def narrow(self, logs: QuerySet[Log]) -> QuerySet[Log]:
        data = self.cleaned_data
        if data["text"]:
            logs = logs.filter(Q(title__icontains=data["text"]) | Q(public_id__icontains=data["text"]))
        return logs.filter(**{name: data[name] for name in ("owner", "source") if data[name]})

    def page(self, logs: QuerySet[Log]) -> list[Log]:
        """Return at most PAGE + 1 logs after the place, newest activity first."""
        if place := self.cleaned_data["before"]:
            time, public_id = place
            known = logs.filter(public_id=public_id).values("pk")[:1]
            logs = logs.filter(Q(last_activity_at__lt=time) | Q(last_activity_at=time, pk__lt=known))
        return list(logs.order_by("-last_activity_at", "-pk")[: PAGE + 1])

    def address(self, **changes: str) -> str:
        kept = {name: self.data.get(name, "") for name in ("text", "owner", "source")}
        return "?" + urlencode({name: value for name, value in (kept | changes).items() if value})


def logs(request: HttpRequest) -> HttpResponse:
    visible = visible_logs(request.user)
    form = LogFilter(request.GET)
    context: dict[str, Any] = {"form": form, "here": reverse("logs"), "of": visible.count()}
    context |= {"owners": _distinct(visible, "owner"), "sources": _distinct(visible, "source")}
    if not form.is_valid():
        return respond(request, "web/logs.html", context, ("list",), status=400)
    matching = form.narrow(visible)
    found = form.page(matching)
    shown, matched = found[:PAGE], matching.count()
    context |= {
        "lines": _lines(shown),
        "shown": Shown(len(shown), context["of"], "log", hidden=context["of"] - matched),
    }
    if len(found) > PAGE:
        context["later"] = form.address(before=f"{shown[-1].last_activity_at.isoformat()}~{shown[-1].public_id}")
    if form.cleaned_data["before"]:
        context["first"] = form.address() if form.address() != "?" else context["here"]
    return respond(request, "web/logs.html", context, ("list",))


def _distinct(logs: QuerySet[Log], column: str) -> list[str]:
    return list(logs.exclude(**{column: ""}).order_by(column).values_list(column, flat=True).distinct())


def _lines(logs: Sequence[Log]) -> list[Line]:
    """Count what the ledger says of `logs`: four queries for all of them."""
    pks = [log.pk for log in logs]
    levels: dict[int, dict[int, int]] = defaultdict(dict)
    through: dict[int, int] = {}
    anchors = Anchor.objects.filter(edition__log__in=pks, edition__state=EditionState.CURRENT)
    for row in anchors.values("edition__log", "level").annotate(count=Count("pk"), last=Max("to_seq")):
        levels[row["edition__log"]][row["level"]] = row["count"]
        if row["level"] == 0:
            through[row["edition__log"]] = row["last"]
    stale, failing, stated = _stale(pks), _failing(pks), stated_by_the_sources(pks)
    return [
        Line(
            log,
            levels.get(log.pk, {}),
            log.last_seq - through.get(log.pk, 0),
            failing.get(log.pk, 0),
            stale.get(log.pk, 0),
            stated.get(log.pk, (None, None)),
        )
        for log in logs
    ]


def _stale(pks: Sequence[int]) -> dict[int, int]:
    """Count, by log, the rollups that read a child which has been superseded since."""
    rows = RollupSource.objects.filter(
        section__anchor__edition__log__in=pks,
        section__anchor__edition__state=EditionState.CURRENT,
        section__anchor__level__gte=1,
        section__superseded_by__isnull=True,
        source__superseded_by__isnull=False,
    )
    counted = rows.values("section__anchor__edition__log").annotate(count=Count("section__anchor", distinct=True))
    return {row["section__anchor__edition__log"]: row["count"] for row in counted}


def _failing(pks: Sequence[int]) -> dict[int, int]:
    rows = UnitFailure.objects.filter(edition__log__in=pks, edition__state=EditionState.CURRENT)
    return {row["edition__log"]: row["count"] for row in rows.values("edition__log").annotate(count=Count("pk"))}
