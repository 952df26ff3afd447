"""Where each address leads; the pages' own addresses are in `chronicle.web.urls`."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("chronicle.web.urls")),
]

handler400 = "chronicle.web.errors.bad_request"
handler403 = "chronicle.web.errors.forbidden"
handler404 = "chronicle.web.errors.not_found"
handler500 = "chronicle.web.errors.server_error"
