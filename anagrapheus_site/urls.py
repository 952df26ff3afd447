"""Where each address leads; the pages' own addresses are in `chronicle.web.urls`."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("chronicle.web.urls")),
]
