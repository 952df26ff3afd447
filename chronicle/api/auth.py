"""Who a request is from: a bearer token in the Authorization header, never a session, never an argument.

Guarantees: the token is checked before anything else of a request is read; what it may do is decided per route.
"""

from typing import Any, cast

from django.http import HttpRequest
from ninja.security import HttpBearer

from chronicle.credentials import Capability, Credential, authenticate
from chronicle.errors import Unauthorized


class Bearer(HttpBearer):
    """A token that may do one thing."""

    def __init__(self, needed: Capability) -> None:
        self.needed = needed
        super().__init__()

    def __call__(self, request: HttpRequest) -> Credential | None:
        given = request.headers.get("Authorization", "")
        scheme, _, token = given.partition(" ")
        if not given:
            return None
        if scheme.lower() != "bearer":
            raise Unauthorized("Give a token: Authorization: Bearer …", reason="invalid_request")
        return self.authenticate(request, token.strip())

    def authenticate(self, request: HttpRequest, token: str) -> Credential:
        credential = authenticate(token)
        credential.check(self.needed)
        return credential


RECORD, READ, EXPAND, ADMIN = (Bearer(one) for one in Capability)


def who(request: HttpRequest) -> Credential:
    """Return whom the route's token belongs to."""
    return cast("Credential", cast("Any", request).auth)
