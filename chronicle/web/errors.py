"""Refusals of the domain as answers of the site.

Guarantees: unknown and not yours are one answer, the same bytes for every address; a filter that
cannot be read is 400 with the reason, never a guess; anything else stays an error for the log.
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from chronicle.errors import InvalidFilter, LogNotFound, UnknownEdition, UnknownSection

Handler = Callable[[HttpRequest], HttpResponse]


class ErrorsMiddleware:
    """Answers the refusals that any page may meet, so no page has to remember them."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if isinstance(error, LogNotFound | UnknownEdition | UnknownSection):
            return not_found(request)
        if isinstance(error, InvalidFilter):
            return bad_request(request, error)
        return None


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _page("404.html", 404)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _page("400.html", 400, reason=str(exception) if isinstance(exception, InvalidFilter) else "")


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _page("403.html", 403)


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _page("403.html", 403)


def server_error(request: HttpRequest) -> HttpResponse:
    return _page("500.html", 500)


def _page(template: str, status: int, **context: str) -> HttpResponse:
    response = HttpResponse(render_to_string(template, context), status=status)
    response["Cache-Control"] = "no-store"
    response["HX-Retarget"] = "#main"  # a fragment's place must not take a whole page
    response["HX-Reselect"] = "#main"
    response["HX-Reswap"] = "outerHTML"
    return response
