"""The door of MCP over HTTP: whom it lets in, in front of whatever speaks the protocol.

Guarantees: every request is looked at anew: its Host is one of ALLOWED_HOSTS and its Origin, where a browser sends
one, is the site's own or one of CSRF_TRUSTED_ORIGINS, so no page of another site gets through, whatever its name
resolves to; a bearer token that may read; one address, `/mcp/LOG`, and POST alone, as no session is kept. A log
that is not the owner's passes like one that does not exist, and is refused by `asked`.
Refuses in JSON-RPC, since that is what clients show: the API's name and sentence, with the API's status.
"""

import json
import logging
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from chronicle.errors import CapabilityMissing, ChronicleError, Unauthorized
from chronicle.mcp.asked import UNFORESEEN, Caller, admit
from chronicle.mcp.threads import aside
from chronicle.web.converters import LogIdConverter

type Scope = MutableMapping[str, Any]
type Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
type Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
type App = Callable[[Scope, Receive, Send], Awaitable[None]]

logger = logging.getLogger(__name__)

CALLER = "chronicle.caller"
PATH = "/mcp"
CHALLENGE = 'Bearer realm="chronicle"'
INVALID_REQUEST = -32600
STATUS = {Unauthorized: 401, CapabilityMissing: 403}
_ADDRESS = re.compile(rf"{PATH}/({LogIdConverter.regex})/?")


class Refused(Exception):
    """What is answered instead of letting a request in."""

    def __init__(self, status: int, name: str, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.name, self.message = status, name, message
        self.headers = {key.replace("_", "-").lower(): value for key, value in headers.items()}


class Door:
    """An ASGI application in front of another, which finds who asks in the scope (`CALLER`)."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            caller = await _let_in(scope)
        except Refused as refused:
            await _answer(send, refused)
            return
        await self._app({**scope, "path": PATH, "raw_path": PATH.encode(), CALLER: caller}, receive, send)


async def _let_in(scope: Scope) -> Caller:
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    _check_host(headers.get("host", ""))
    _check_origin(headers.get("origin"), headers["host"])
    address = _ADDRESS.fullmatch(scope["path"])
    if address is None:
        raise Refused(404, "not_found", f"There is no such address; MCP is at {PATH}/LOG.")
    token = _token(headers.get("authorization", ""))
    await _check_token(token)
    if scope["method"] != "POST":  # no session, so there is no stream to open and nothing to end
        raise Refused(405, "method_not_allowed", "This address takes POST.", Allow="POST")
    return Caller(token, LogIdConverter().to_python(address[1]))


def _check_host(host: str) -> None:
    domain, _ = split_domain_port(host)
    if not domain or not validate_host(domain, settings.ALLOWED_HOSTS):
        raise Refused(421, "unknown_host", "This site does not answer to that name; ALLOWED_HOSTS says to which.")


def _check_origin(origin: str | None, host: str) -> None:
    if origin is None or origin in settings.CSRF_TRUSTED_ORIGINS:
        return
    try:
        same = urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        same = False
    if not same:
        raise Refused(403, "unknown_origin", "Pages of other sites may not ask; CSRF_TRUSTED_ORIGINS says which may.")


def _token(header: str) -> str:
    scheme, _, token = header.partition(" ")
    if header and scheme.lower() != "bearer":
        raise _refused(Unauthorized("Give a token: Authorization: Bearer …", reason="invalid_request"))
    return token.strip()


async def _check_token(token: str) -> None:
    try:
        await aside(admit, token)
    except ChronicleError as error:
        raise _refused(error) from error
    except Exception as error:
        logger.exception("mcp: a token could not be looked up")
        raise Refused(500, UNFORESEEN["error"], UNFORESEEN["message"]) from error


def _refused(error: ChronicleError) -> Refused:
    status = STATUS[type(error)]
    if status != 401:
        return Refused(status, error.name, str(error))
    reason = error.details.get("reason", "")
    challenge = f'{CHALLENGE}, error="{reason}"' if reason else CHALLENGE
    return Refused(status, error.name, str(error), WWW_Authenticate=challenge)


async def _answer(send: Send, refused: Refused) -> None:
    error = {"code": INVALID_REQUEST, "message": refused.message, "data": {"error": refused.name}}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), "cache-control": "no-store"}
    told = [(name.encode(), value.encode()) for name, value in {**headers, **refused.headers}.items()]
    await send({"type": "http.response.start", "status": refused.status, "headers": told})
    await send({"type": "http.response.body", "body": body})
