"""The addresses of the pages, as design.md fixes them."""

from importlib.util import find_spec

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import URLPattern, URLResolver, include, path, register_converter

from chronicle.web import (
    at,
    chronicle,
    compare,
    converters,
    event,
    events,
    export,
    logs,
    pins,
    rebuild,
    receipt,
    receipts,
    reconsolidate,
    search,
    sections,
)

register_converter(converters.LogIdConverter, "log")
register_converter(converters.SectionIdConverter, "section")
register_converter(converters.SeqConverter, "seq")
register_converter(converters.DigestConverter, "digest")

_of_a_log: list[URLPattern | URLResolver] = [
    path("", chronicle.chronicle, name="chronicle"),
    path("rebuild/", rebuild.rebuild, name="rebuild"),
    path("rebuild/<seq:job_id>/", rebuild.rebuilding, name="rebuilding"),
    path("events/", events.events, name="events"),
    path("events/<seq:seq>/", event.event, name="event"),
    path("events/<seq:seq>/attachments/<digest:digest>/", event.attachment, name="attachment"),
    path("export/", export.export, name="export"),
    path("pins/", pins.pins, name="pins"),
    path("at/<seq:seq>/", at.at, name="at"),
    path("receipts/", receipts.receipts, name="receipts"),
    path("receipts/<seq:number>/", receipt.receipt, name="receipt"),
    path("sections/<section:section_id>/", sections.section, name="section"),
    path("sections/<section:section_id>/<seq:number>/", sections.section, name="generation"),
    path("sections/<section:section_id>/compare/", compare.compare, name="compare"),
    path("sections/<section:section_id>/reconsolidate/", reconsolidate.reconsolidate, name="reconsolidate"),
    path(
        "sections/<section:section_id>/reconsolidate/<seq:job_id>/",
        reconsolidate.reconsolidation,
        name="reconsolidation",
    ),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", logs.logs, name="logs"),
    path("search/", search.search, name="search"),
    path("login/", LoginView.as_view(template_name="login.html"), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("logs/<log:log_id>/", include(_of_a_log)),
]

if find_spec("chronicle.web.ops") and find_spec("chronicle.web.ops.urls"):
    urlpatterns.append(path("", include("chronicle.web.ops.urls")))
