"""The addresses for those who run the site."""

from django.urls import URLPattern, URLResolver, path

from chronicle.web.ops import health

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz/", health.web, name="healthz"),
    path("healthz/worker", health.worker, name="healthz-worker"),
]
