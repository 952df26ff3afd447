"""Every route × every kind of token: the rows are held against OpenAPI, and a route without a row fails.

What is not yours answers as what does not exist: same status, same headers, same bytes, on every route.
"""

from dataclasses import dataclass
from typing import Any

import pytest
from django.http import HttpResponse

from chronicle import credentials
from chronicle.api.app import api
from chronicle.models import Log
from tests.api.conftest import EVENT, OWNER, Agent, token, told
from tests.conftest import Clock
from tests.web.digest import database_digest
from tests.web.world import world

pytestmark = pytest.mark.django_db

UNKNOWN = "0190a0b0-0000-7000-8000-000000000000"
HOLDERS = ("record", "read", "expand", "admin")
MAY = {
    "record": {"record", "admin"},
    "read": {"read", "expand", "admin"},
    "expand": {"expand", "admin"},
    "admin": {"admin"},
}


@dataclass(frozen=True)
class Row:
    """A route: what it needs, what it answers to who may, what is sent."""

    needs: str
    answers: int = 200
    body: Any = None
    missing: tuple[str, ...] = ()  # addresses within one's own log of what is not there


ROWS = {
    "POST logs": Row("record", 201, {"title": "dinner"}),
    "GET logs/{log_id}": Row("read"),
    "POST logs/{log_id}/events": Row("record", 201, EVENT),
    "GET logs/{log_id}/events": Row("expand"),
    "POST logs/{log_id}/close": Row("record", 201, {}),
    "GET logs/{log_id}/brief": Row("read"),
    "GET logs/{log_id}/chronicle": Row("read"),
    "GET logs/{log_id}/chronicle/{section}": Row("read", 200, None, ("1-2", "1-3%237", "L1:1-3", "x")),
    "GET logs/{log_id}/chronicle/{section}/events": Row("expand", 200, None, ("1-2", "1-3%237", "x")),
    "POST logs/{log_id}/chronicle/{section}/reconsolidate": Row("admin", 409, {}, ("1-2", "1-3%237", "x")),
    "GET logs/{log_id}/policy": Row("read"),
    "POST logs/{log_id}/policy": Row("admin", 201, {"rollup_batch": 4}),
    "GET logs/{log_id}/export": Row("admin"),
    "GET logs/{log_id}/verify": Row("read"),
}
OF_A_LOG = [name for name in ROWS if "{log_id}" in name]


@pytest.fixture
def log() -> Log:
    return world(units=2).log


def ask(agent: Agent, name: str, log: str, section: str = "1-3") -> HttpResponse:
    method, _, address = name.partition(" ")
    return agent.call(method, address.format(log_id=log, section=section), ROWS[name].body)


def essence(answer: HttpResponse) -> tuple[int, dict[str, str], str, bytes]:
    """All that two answers could be told apart by."""
    return answer.status_code, dict(answer.headers), answer.cookies.output(), answer.getvalue()


def test_every_route_has_a_row_and_every_row_a_route() -> None:
    paths = api.get_openapi_schema()["paths"]
    routes = {f"{method.upper()} {path.removeprefix('/api/v1/')}" for path in paths for method in paths[path]}
    assert routes == set(ROWS)


@pytest.mark.promise("K40", "S63", "S64")
@pytest.mark.parametrize("name", ROWS)
def test_a_token_does_what_it_was_made_for_and_nothing_else(log: Log, name: str) -> None:
    row = ROWS[name]
    for holder in HOLDERS:
        agent = Agent(token(holder, name=holder))
        before = database_digest()
        answer = ask(agent, name, log.public_id)
        if holder in MAY[row.needs]:
            assert answer.status_code == row.answers, (holder, answer.getvalue())
        else:
            assert (answer.status_code, told(answer)["error"]) == (403, "capability_missing")
            assert told(answer)["needs"] == row.needs
            assert database_digest() == before
        assert answer["Cache-Control"] == "no-store"


@pytest.mark.parametrize("name", ROWS)
def test_without_a_token_in_force_nothing_is_told(log: Log, name: str, clock: Clock) -> None:
    expired = credentials.make("late", owner=OWNER, can=["admin"], days=1, by="test").token
    clock.move(days=2)
    revoked = credentials.make("gone", owner=OWNER, can=["admin"], by="test")
    credentials.revoke(revoked.row.prefix, by="test")
    before = database_digest()

    for held in ("", "bad", expired, revoked.token):
        answers = [ask(Agent(held), name, address) for address in (log.public_id, UNKNOWN)]
        assert essence(answers[0]) == essence(answers[1])
        assert (answers[0].status_code, told(answers[0])["error"]) == (401, "unauthorized")
        assert answers[0]["WWW-Authenticate"].startswith('Bearer realm="chronicle"')
    assert database_digest() == before


@pytest.mark.promise("K6", "DC1", "C53")
@pytest.mark.parametrize("name", OF_A_LOG)
def test_a_foreign_log_and_one_that_is_not_there_answer_alike(log: Log, stranger: Agent, name: str) -> None:
    admin = Agent(token("admin", name="root"))
    before = database_digest()
    foreign = essence(ask(stranger, name, log.public_id))

    assert foreign[0] == 404
    assert foreign == essence(ask(stranger, name, UNKNOWN)) == essence(ask(admin, name, UNKNOWN))
    for section in ROWS[name].missing:
        assert essence(ask(stranger, name, log.public_id, section)) == foreign
    assert database_digest() == before


@pytest.mark.parametrize("name", [name for name in ROWS if ROWS[name].missing])
def test_what_is_not_in_ones_own_log_is_named(log: Log, admin: Agent, name: str) -> None:
    for section in ROWS[name].missing:
        answer = ask(admin, name, log.public_id, section)
        assert (answer.status_code, told(answer)["error"]) == (404, "unknown_section")


@pytest.mark.parametrize("name", ROWS)
def test_another_method_is_refused_in_the_same_shape(log: Log, admin: Agent, name: str) -> None:
    address = name.partition(" ")[2].format(log_id=log.public_id, section="1-3")
    for method in ("PUT", "PATCH", "DELETE", "OPTIONS"):
        answer = admin.call(method, address)
        assert (answer.status_code, told(answer)["error"]) == (405, "method_not_allowed")
        assert name.partition(" ")[0] in answer["Allow"]


@pytest.mark.parametrize(
    "address", ["", "nothing", "logs/", "logs/x/nothing", "logs/x/events/", "docs/", "../v2/logs", "../"]
)
def test_an_address_that_is_none_is_refused_in_the_same_shape(agent: Agent, address: str) -> None:
    answer = agent.get(address)
    assert (answer.status_code, told(answer)["error"]) == (404, "not_found")


def test_no_session_is_asked_for_or_made(log: Log, admin: Agent) -> None:
    for name in ROWS:
        answer = ask(admin, name, log.public_id)
        assert not answer.cookies
        assert "Cookie" not in answer.get("Vary", "")
