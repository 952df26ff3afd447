"""Bodies, headers and addresses that mean harm or are broken: refused in the one shape, nothing written, no 500."""

import json
from io import BytesIO
from typing import Any

import pytest

from chronicle.api import incoming
from chronicle.models import Event
from tests.api.conftest import EVENT, Agent, told

BODIES = [
    b"",
    b"null",
    b"7",
    b'"words"',
    b"{",
    b"\xff\xfe{}",
    b"\xef\xbb\xbf{}",
    b'{"kind": "message", "kind": "message"}',
    b'{"x": NaN}',
    b"[" * 50_000,
    b'{"a":' * 100 + b"1" + b"}" * 100,
    b"[null]",
    b"[[]]",
    b'{"\\u0000": 1}',
    b"9" * 5000,
    b"{}\n{}",
]


def event(**more: Any) -> dict[str, Any]:
    return {**EVENT, **more}


FIELDS: list[tuple[dict[str, Any], str]] = [
    (event(kind="shout"), "kind"),
    (event(kind=7), "kind"),
    (event(actor_kind="robot"), "actor_kind"),
    (event(actor=""), "actor"),
    (event(actor="a" * 201), "actor"),
    (event(actor=None), "actor"),
    (event(content=" "), "content"),
    (event(content="a\x00b"), "content"),
    (event(content="ab\ud800"), "content"),
    (event(actor="a\x00"), "actor"),
    (event(audience=["x", "y\x00"]), "audience"),
    (event(audience="booking"), "audience"),
    (event(audience=["a"] * 101), "audience"),
    (event(audience=[""]), "audience"),
    (event(payload=[1]), "payload"),
    (event(payload="x"), "payload"),
    (event(schema_version=0), "schema_version"),
    (event(schema_version=True), "schema_version"),
    (event(schema_version=2**31), "schema_version"),
    (event(namespace="anagrapheus"), "namespace"),
    (event(causation="nobody"), "causation"),
    (event(causation=0), "causation"),
    (event(causation=2**70), "causation"),
    (event(causation=True), "causation"),
    (event(claimed_at="yesterday"), "claimed_at"),
    (event(claimed_at="2026-03-01T12:00:00"), "claimed_at"),
    (event(claimed_at="0001-01-01T00:00:00+14:00"), "claimed_at"),
    (event(claimed_at=1772366400), "claimed_at"),
    (event(idempotency_key="k" * 201), "idempotency_key"),
    (event(idempotency_key="k\x00"), "idempotency_key"),
    (event(locator="1:1"), "locator"),
    (event(text_form="escaped"), "text_form"),
    ({"kind": "message"}, "actor_kind"),
]


@pytest.mark.promise("C53")
@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_a_body_that_is_no_event_is_refused(agent: Agent, body: bytes) -> None:
    log = agent.log()
    for address in (f"logs/{log}/events", f"logs/{log}/close", "logs"):
        if body == b"" and "events" not in address:
            continue  # no body at all is an empty object there
        answer = agent.post(address, body)
        assert answer.status_code == 400, address
        assert {"error", "message"} <= told(answer).keys()
    assert agent.lines(log, body.decode("latin-1")).status_code in {200, 400}
    assert not Event.objects.exists()


@pytest.mark.promise("C53", "K43")
@pytest.mark.parametrize(("sent", "field"), FIELDS, ids=[f"{place}-{field}" for place, (_, field) in enumerate(FIELDS)])
def test_a_field_that_cannot_be_stored_is_named(agent: Agent, sent: dict[str, Any], field: str) -> None:
    log = agent.log()
    answer = agent.post(f"logs/{log}/events", sent)

    assert (answer.status_code, told(answer)["error"]) == (400, "invalid_event")
    assert told(answer)["field"].partition(".")[0] == field
    assert field in told(answer)["message"]
    [line] = told(agent.lines(log, sent))["lines"]
    assert (line["line"], line["status"], line["field"]) == (1, "refused", told(answer)["field"])
    assert not Event.objects.exists()


@pytest.mark.promise("K43")
def test_text_that_no_database_takes_is_refused_with_its_position(agent: Agent) -> None:
    answer = told(agent.post(f"logs/{agent.log()}/events", event(content="ab\x00")))
    assert (answer["field"], answer["position"]) == ("content", 2)


def test_a_payload_holds_any_text_that_json_holds(agent: Agent) -> None:
    log = agent.log()
    payload = {"nul": "a\x00b", "lone": "\ud800", "\u0000": {"deep": [1, 2.5, None, True]}}
    assert agent.post(f"logs/{log}/events", event(payload=payload)).status_code == 201
    assert told(agent.get(f"logs/{log}/events"))["events"][0]["payload"] == payload


def test_every_limit_is_stated_and_held(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incoming, "MAX_LINE", 300)
    log = agent.log()
    whole = agent.post(f"logs/{log}/events", json.dumps(event(content="x" * (incoming.MAX_BODY + 1))))
    small = agent.post("logs", {"title": "x" * incoming.MAX_SMALL})
    many = agent.post(f"logs/{log}/events", [EVENT] * (incoming.MAX_EVENTS + 1))
    rows = agent.lines(log, *[EVENT] * (incoming.MAX_EVENTS + 1))
    line = agent.lines(log, event(content="x" * 400), EVENT)

    assert [one.status_code for one in (whole, small, many, rows, line)] == [413, 413, 413, 413, 207]
    assert told(whole)["limit"] == 16 * 1024 * 1024
    assert told(many)["limit"] == told(rows)["limit"] == 1000
    assert [(one["status"], one.get("limit")) for one in told(line)["lines"]] == [("refused", 300), ("stored", None)]
    assert Event.objects.count() == 1


def test_a_body_is_of_a_known_type_and_length(agent: Agent) -> None:
    address = f"logs/{agent.log()}/events"
    form = agent.post(address, b"kind=message", content_type="application/x-www-form-urlencoded")
    lines = agent.post("logs", b"{}", content_type="application/x-ndjson")
    chunked = agent.post(address, EVENT, Transfer_Encoding="chunked")

    assert [one.status_code for one in (form, lines, chunked)] == [415, 415, 411]
    assert told(form)["error"] == "unsupported_media_type"


def test_a_body_that_was_cut_on_its_way_stores_nothing(agent: Agent) -> None:
    log, row = agent.log(), json.dumps(EVENT)
    answer = agent.client.generic(
        "POST",
        f"/api/v1/logs/{log}/events",
        "",
        "application/x-ndjson",
        headers={"Authorization": f"Bearer {agent.token}"},
        **{"CONTENT_LENGTH": str(len(row) + 50), "wsgi.input": BytesIO(f"{row}\n".encode())},
    )
    assert (answer.status_code, told(answer)["field"]) == (400, "body")
    assert not Event.objects.exists()


@pytest.mark.parametrize("key", ["k" * 201, "k\ty", "schlüssel"])
def test_a_key_is_short_and_printable(agent: Agent, key: str) -> None:
    answer = agent.post(f"logs/{agent.log()}/events", EVENT, Idempotency_Key=key)
    assert (answer.status_code, told(answer)["error"]) == (400, "invalid_request")


def test_a_batch_takes_no_key_of_its_own(agent: Agent) -> None:
    log = agent.log()
    assert agent.post(f"logs/{log}/events", [EVENT], Idempotency_Key="k").status_code == 400
    assert agent.lines(log, EVENT, Idempotency_Key="k").status_code == 400


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("kind=shout", "kind"),
        ("actor_kind=robot", "actor_kind"),
        ("last=0", "last"),
        ("last=1001", "last"),
        ("limit=x", "limit"),
        ("since=-1", "since"),
        ("upto=9223372036854775808", "upto"),
        ("reader=booking", "reader"),
    ],
)
def test_a_filter_that_is_none_is_refused_and_never_guessed(agent: Agent, query: str, field: str) -> None:
    answer = agent.get(f"logs/{agent.log()}/events?{query}")
    assert (answer.status_code, told(answer)["error"]) == (400, "invalid_request")
    assert field in told(answer)["field"]


@pytest.mark.parametrize("log", ["%00", "%ff", "~2E~2E", "a" * 3000, "%F0%9F%98%80", "'%20or%201=1", "%ED%A0%80"])
def test_a_log_of_any_name_is_not_there(agent: Agent, log: str) -> None:
    for answer in (agent.get(f"logs/{log}"), agent.post(f"logs/{log}/events", EVENT)):
        assert answer.status_code == 404
    assert agent.post(f"logs/{log}/events?create=true", EVENT).status_code in {201, 404}


def test_what_fails_here_is_told_without_its_inside(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("a secret of the site")

    log = agent.log()
    monkeypatch.setattr("chronicle.api.events.record_all", fail)
    answer = agent.post(f"logs/{log}/events", EVENT)
    assert (answer.status_code, told(answer)["error"]) == (500, "server_error")
    assert b"secret" not in answer.content
