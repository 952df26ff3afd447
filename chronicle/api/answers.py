"""What the API answers: JSON, never cached, and errors of one shape: `{"error": name, "message": sentence, …}`.

Guarantees: a refusal of the domain keeps its own name and details, and has the status its class has here; unknown and
not yours are one answer, byte for byte, on every route; what nobody foresaw is a 500 of the same shape, with its
traceback in the log of the site and none in the answer.
"""

import json
import logging
from collections.abc import Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

from chronicle import errors
from chronicle.errors import ChronicleError

logger = logging.getLogger(__name__)

BAD_REQUEST, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, NOT_ALLOWED, CONFLICT = 400, 401, 403, 404, 405, 409
LENGTH_REQUIRED, TOO_LARGE, UNSUPPORTED = 411, 413, 415
STATUS: dict[type[ChronicleError], int] = {
    errors.Unauthorized: UNAUTHORIZED,
    errors.CapabilityMissing: FORBIDDEN,
    errors.LogNotFound: NOT_FOUND,
    errors.UnknownSection: NOT_FOUND,
    errors.UnknownEdition: NOT_FOUND,
    errors.ConcurrencyError: CONFLICT,
    errors.ChronicleFork: CONFLICT,
    errors.DivergenceNotAccepted: CONFLICT,
    errors.EventExists: CONFLICT,
    errors.LogExists: CONFLICT,
    errors.Superseded: CONFLICT,
    errors.TooLarge: TOO_LARGE,
    errors.LengthRequired: LENGTH_REQUIRED,
    errors.UnsupportedMediaType: UNSUPPORTED,
}
JSON = "application/json"
CHALLENGE = 'Bearer realm="chronicle"'


def answer(data: Any, status: int = 200, *, content_type: str = JSON, **headers: Any) -> HttpResponse:
    """Return JSON, or a text as it is where its type says so; headers are given with `_` for `-`."""
    content = json.dumps(data) if content_type == JSON else data
    response = HttpResponse(content, status=status, content_type=content_type)
    response["Cache-Control"] = "no-store"
    for name, value in headers.items():
        response[name.replace("_", "-")] = str(value)
    return response


def as_json(error: ChronicleError) -> dict[str, Any]:
    """Return a refusal in the one shape, without the answer around it."""
    return error.as_json()


def refusal(error: ChronicleError) -> HttpResponse:
    """Return the answer of a refusal of the domain."""
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), BAD_REQUEST)
    if status == UNAUTHORIZED:
        reason = error.details.get("reason", "")
        challenge = f'{CHALLENGE}, error="{reason}"' if reason else CHALLENGE
        return answer({"error": error.name, "message": str(error)}, status, WWW_Authenticate=challenge)
    return answer(as_json(error), status)


def not_found(request: HttpRequest, *_: Any, **__: Any) -> HttpResponse:
    """Answer any address under the API that is none."""
    return answer({"error": "not_found", "message": "There is no such address; /api/v1/docs lists them."}, NOT_FOUND)


def not_allowed(allowed: Sequence[str]) -> HttpResponse:
    """Answer a method that an address does not take."""
    methods = ", ".join(allowed)
    words = {"error": "method_not_allowed", "message": f"This address takes {methods}."}
    return answer(words, NOT_ALLOWED, Allow=methods)


def install(api: NinjaAPI) -> None:
    """Give the API its answers for everything that a view or the reading of a request may raise."""
    api.add_exception_handler(ChronicleError, _refused)
    api.add_exception_handler(ValidationError, _invalid)
    api.add_exception_handler(AuthenticationError, _no_token)
    api.add_exception_handler(HttpError, _http)
    api.add_exception_handler(Http404, not_found)
    api.add_exception_handler(Exception, _unforeseen)


def _refused(request: HttpRequest, error: Any) -> HttpResponse:
    return refusal(error)


def _invalid(request: HttpRequest, error: Any) -> HttpResponse:
    first = error.errors[0]
    field = ".".join(str(part) for part in first["loc"] if part not in ("query", "path", "given"))
    return refusal(errors.InvalidRequest(f"{field}: {first['msg']}.", field=field))


def _no_token(request: HttpRequest, error: Any) -> HttpResponse:
    return refusal(errors.Unauthorized("Give a token: Authorization: Bearer …; `token` makes one."))


def _http(request: HttpRequest, error: Any) -> HttpResponse:
    return answer({"error": "invalid_request", "message": f"{error.message}."}, error.status_code)


def _unforeseen(request: HttpRequest, error: Any) -> HttpResponse:
    logger.error("api: %s %s failed", request.method, request.resolver_match and request.resolver_match.route)
    logger.error("api: the error", exc_info=error)
    words = {"error": "server_error", "message": "Something failed here; the site's own log says what."}
    return answer(words, 500)
