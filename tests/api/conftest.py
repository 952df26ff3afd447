"""Tokens of one owner and of a stranger, and a client that speaks with them."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from chronicle import credentials

OWNER = "alice"
EVENT = {"kind": "message", "actor_kind": "human", "actor": "ardian", "content": "Find us a quiet table for four."}


def token(
    can: str = "record,read,expand", *, name: str = "booking", owner: str = OWNER, days: int | None = None
) -> str:
    return credentials.make(name, owner=owner, can=can.split(","), days=days, by="test").token


def told(answer: HttpResponse) -> Any:
    """The JSON of an answer, streamed or not."""
    return json.loads(answer.getvalue())


@dataclass(frozen=True, slots=True)
class Agent:
    """A holder of one token; addresses are relative to the API."""

    token: str
    client: Client = field(default_factory=lambda: Client(raise_request_exception=False))

    def call(self, method: str, address: str, body: Any = None, **headers: str) -> HttpResponse:
        kind = headers.pop("content_type", "application/json")
        data = body if isinstance(body, bytes | str) else b"" if body is None else json.dumps(body)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token:
            given = {"Authorization": f"Bearer {self.token}", **given}
        found: HttpResponse = self.client.generic(method, f"/api/v1/{address}", data, kind, headers=given)
        return found

    def get(self, address: str, **headers: str) -> HttpResponse:
        return self.call("GET", address, **headers)

    def post(self, address: str, body: Any = None, **headers: str) -> HttpResponse:
        return self.call("POST", address, body, **headers)

    def lines(self, log: str, *rows: Any, address: str = "", end: str = "\n", **headers: str) -> HttpResponse:
        text = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows) + end
        return self.post(f"logs/{log}/events{address}", text, content_type="application/x-ndjson", **headers)

    def log(self, **given: Any) -> str:
        return str(told(self.post("logs", given))["id"])


@pytest.fixture(autouse=True)
def token_key(settings: Any) -> None:
    settings.TOKEN_KEY = "a key for tokens, for the time of a test"


@pytest.fixture
def agent(db: None) -> Agent:
    """May record, read and expand, by the name "booking"."""
    return Agent(token())


@pytest.fixture
def stranger(db: None) -> Agent:
    """Holds every capability, of another owner."""
    return Agent(token("record,read,expand,admin", name="eve", owner="mallory"))


@pytest.fixture
def admin(db: None) -> Agent:
    return Agent(token("admin", name="root"))
