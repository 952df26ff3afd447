"""The OTLP/HTTP receiver: `POST /v1/traces`, where OpenTelemetry's exporters send spans by themselves.

Guarantees: the token is checked before anything else of a post is read, and its owner gets the logs; what is answered
with 200 is durable; answers are of the request's own encoding, as OTLP says: a response with partial_success, or a
Status. Refuses: 400 what is no export, 401, 403, 411, 413 past MAX_BODY or unpacked past MAX_UNPACKED, 415 any other
type; to be sent again: 429 past MOST_AT_ONCE posts of a token in work, 503 while the database is busy.
"""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from django.db import OperationalError
from django.http import HttpRequest, HttpResponse

from chronicle import otlp
from chronicle.api import answers, incoming
from chronicle.api.auth import RECORD
from chronicle.credentials import Credential
from chronicle.errors import ChronicleError, Unauthorized, UnsupportedMediaType
from chronicle.otlp import protobuf, unpacking

logger = logging.getLogger(__name__)

PATH = "v1/traces"
MAX_BODY = 16 * 1024 * 1024
MAX_UNPACKED = 32 * 1024 * 1024
MOST_AT_ONCE = 8
AGAIN_SOON, AGAIN_LATER = 1, 5  # seconds that an exporter is asked to wait
BINARY = "application/x-protobuf"
OK, TOO_MANY, FAILED, BUSY = 200, 429, 500, 503
# The codes of google.rpc.Status that say the same as these statuses.
CODES = {400: 3, 401: 16, 403: 7, 404: 5, 405: 12, 411: 3, 413: 8, 415: 3, 429: 8, 500: 13, 503: 14}
UNKNOWN = 2

_lock = Lock()
_in_work: Counter[str] = Counter()


class _TooMany(Exception):
    """A token has as many posts in work as it may."""


def traces(request: HttpRequest) -> HttpResponse:
    """Take a post of spans."""
    binary = (request.content_type or "").lower() == BINARY
    try:
        if request.method != "POST":
            return _refusal(binary, answers.NOT_ALLOWED, "This address takes POST.", Allow="POST")
        credential = _who(request)
        with _taking_part(credential):
            return _received(request, credential, binary=binary)
    except ChronicleError as error:
        given = answers.refusal(error)
        challenge = {"WWW_Authenticate": given["WWW-Authenticate"]} if "WWW-Authenticate" in given else {}
        return _refusal(binary, given.status_code, str(error), **challenge)
    except _TooMany:
        words = f"This token has {MOST_AT_ONCE} posts in work; send this one again."
        return _refusal(binary, TOO_MANY, words, Retry_After=AGAIN_SOON)
    except OperationalError:
        logger.warning("traces: the database was busy", exc_info=True)
        return _refusal(binary, BUSY, "The database is busy; send this again.", Retry_After=AGAIN_LATER)
    except Exception:  # whatever it is, the exporter gets an answer that it can read
        logger.exception("traces: a post failed")
        return _refusal(binary, FAILED, "Something failed here; the site's own log says what.")


traces.csrf_exempt = True  # type: ignore[attr-defined]  # tokens stand in a header, which no other site can send
traces.login_required = False  # type: ignore[attr-defined]


def _who(request: HttpRequest) -> Credential:
    credential = RECORD(request)
    if credential is None:
        raise Unauthorized("Give a token: OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20…; `token` makes one.")
    return credential


@contextmanager
def _taking_part(credential: Credential) -> Iterator[None]:
    with _lock:
        if _in_work[credential.prefix] >= MOST_AT_ONCE:
            raise _TooMany
        _in_work[credential.prefix] += 1
    try:
        yield
    finally:
        with _lock:
            _in_work[credential.prefix] -= 1
            if not _in_work[credential.prefix]:
                del _in_work[credential.prefix]


def _received(request: HttpRequest, credential: Credential, *, binary: bool) -> HttpResponse:
    if not binary and (request.content_type or "").lower() != incoming.JSON:
        raise UnsupportedMediaType(
            f"{request.content_type or 'no type'} is not read here; send {BINARY} or {incoming.JSON}."
        )
    data = _unpacked(request)
    done = otlp.receive(otlp.spans(data, binary=binary), owner=credential.owner, data=data)
    partial = {"rejectedSpans": str(done.rejected), "errorMessage": done.message} if done.rejected else {}
    packed = protobuf.response(done.rejected, done.message) if binary else {"partialSuccess": partial}
    return answers.answer(packed, OK, content_type=BINARY if binary else incoming.JSON)


def _unpacked(request: HttpRequest) -> bytes:
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("", "identity", "gzip"):
        raise UnsupportedMediaType(f"Content-Encoding {encoding} is not read here; send gzip or none.")
    body = incoming.body(request, MAX_BODY)
    return unpacking.gunzipped(body, MAX_UNPACKED) if encoding == "gzip" else body


def _refusal(binary: bool, status: int, message: str, **headers: object) -> HttpResponse:
    """Return a Status in the encoding of the request; JSON for a request of neither."""
    code = CODES.get(status, UNKNOWN)
    given = protobuf.status(code, message) if binary else {"code": code, "message": message}
    return answers.answer(given, status, content_type=BINARY if binary else incoming.JSON, **headers)
