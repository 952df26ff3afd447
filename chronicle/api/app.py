"""The API put together: its routes, its errors, its page.

Guarantees: no session is ever asked for here and none is made; an address that is none and a method that an address
does not take answer in the API's own shape; the page at docs loads nothing from elsewhere.
"""

from collections.abc import Callable
from typing import Any, cast

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, re_path, register_converter
from ninja import NinjaAPI, Swagger

from chronicle.api import answers, events, keeping, logs, policy, reading
from chronicle.web.converters import LogIdConverter

register_converter(LogIdConverter, "api_log")

WORDS = (
    "Record what agents do, read what they are given. Bearer tokens (`manage.py token`); errors are always"
    ' `{"error", "message", …}`; what is not yours answers as what does not exist. A log\'s id stands in an address'
    " with `~2F` for `/`; a section's id is `12-31#2`, written `12-31%232`."
)
api = NinjaAPI(
    title="Chronicle",
    version="1",
    description=WORDS,
    urls_namespace="api",
    docs=Swagger(settings={"validatorUrl": None, "defaultModelsExpandDepth": 0}),
)
answers.install(api)
for part in (logs, events, reading, policy, keeping):
    api.add_router("", part.router)


def _view(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Open a view to who has no session, and have it refuse a method in the API's own shape."""

    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            response = view(request, *args, **kwargs)
        except Http404:  # of the library's own root
            return answers.not_found(request)
        if response.status_code == answers.NOT_ALLOWED and "Allow" in response:
            return answers.not_allowed(sorted(response["Allow"].split(", ")))
        return response

    answered.csrf_exempt = True  # type: ignore[attr-defined]  # tokens stand in a header, which no other site can send
    answered.login_required = False  # type: ignore[attr-defined]
    return answered


nowhere = _view(answers.not_found)
_routes = cast("list[URLPattern]", api.urls[0])
urlpatterns = (
    [
        *(URLPattern(one.pattern, _view(one.callback), one.default_args, one.name) for one in _routes),
        re_path("", nowhere, name="nowhere"),
    ],
    "api",
)
