"""The one way a page answers: the whole page, or one of the fragments its view names.

Guarantees: a fragment only for an htmx request whose target the view listed; the page for a plain,
boosted or history-restore request and for an unknown target, so the client can name no template.
`Vary` names the headers that decide, and nothing is kept by a cache.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers


def respond(
    request: HttpRequest,
    template: str,
    context: Mapping[str, Any],
    fragments: Sequence[str] | Mapping[str, str] = (),
    *,
    status: int = 200,
) -> HttpResponse:
    """Render `template`, or the partial of it that the request's target asks for.

    `fragments` lists partials whose name is the id of their root element; as a mapping it gives, for
    an id that depends on the data (`in-12-31`), the name of the partial that draws it.
    """
    partial = _partial(request, fragments)
    response = render(request, f"{template}#{partial}" if partial else template, dict(context), status=status)
    patch_vary_headers(response, ("HX-Request", "HX-Target"))
    response["Cache-Control"] = "no-store"
    return response


def _partial(request: HttpRequest, fragments: Sequence[str] | Mapping[str, str]) -> str | None:
    headers = request.headers
    if headers.get("HX-Request") != "true" or "HX-Boosted" in headers or "HX-History-Restore-Request" in headers:
        return None
    target = headers.get("HX-Target", "")
    if isinstance(fragments, Mapping):
        return fragments.get(target)
    return target if target in fragments else None
