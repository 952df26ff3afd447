"""The addresses of the pages, as design.md fixes them."""

from django.urls import URLPattern, URLResolver

urlpatterns: list[URLPattern | URLResolver] = []
