"""Where each address leads; the API's are in `chronicle.api.app`, the pages' in `chronicle.web.urls`."""

from django.contrib import admin
from django.urls import include, path, re_path

from chronicle.api.app import nowhere
from chronicle.api.app import urlpatterns as api
from chronicle.api.traces import PATH, traces

urlpatterns = [
    path("admin/", admin.site.urls),
    path("api/v1/", include(api)),
    re_path("^api/", nowhere, name="api-nowhere"),
    path(PATH, traces, name="otlp-traces"),  # the name is OpenTelemetry's
    path("", include("chronicle.web.urls")),
]

handler400 = "chronicle.web.errors.bad_request"
handler403 = "chronicle.web.errors.forbidden"
handler404 = "chronicle.web.errors.not_found"
handler500 = "chronicle.web.errors.server_error"
