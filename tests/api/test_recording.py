"""Recording over HTTP: one event, a list, lines; retries; what is refused, and where."""

import json
from typing import Any

import pytest

from chronicle.models import Event, Log
from tests.api.conftest import EVENT, Agent, told

REQUEST = {"kind": "tool_request", "actor_kind": "agent", "actor": "search", "type": "places.search", "payload": {}}
NO_ID = "0190a0b0-0000-7000-8000-000000000000"
RESPONSE = {"kind": "tool_response", "actor_kind": "system", "actor": "places", "payload": {"found": 3}}


def said(content: str, **more: Any) -> dict[str, Any]:
    return {**EVENT, "content": content, **more}


@pytest.mark.promise("K6", "C15")
def test_a_log_is_made_with_an_id_of_the_sites_own(agent: Agent) -> None:
    made = agent.post("logs", {"title": "dinner"})

    assert made.status_code == 201
    assert len(told(made)["id"]) == 22
    assert Log.objects.get(public_id=told(made)["id"]).owner == "alice"


def test_an_event_is_recorded_and_answered_with_its_place(agent: Agent) -> None:
    log = agent.log()
    answer = agent.post(f"logs/{log}/events", EVENT)

    event = Event.objects.get()
    assert answer.status_code == 201
    assert told(answer)["seq"] == 1 == event.seq
    assert told(answer)["event_id"] == str(event.event_id)
    assert told(answer)["replayed"] is told(answer)["payload_differs"] is False


@pytest.mark.promise("K30", "DC6")
def test_a_retry_says_that_it_is_one_and_whether_its_words_differ(agent: Agent) -> None:
    log = agent.log()
    first = agent.post(f"logs/{log}/events", EVENT, Idempotency_Key="k1")
    again = agent.post(f"logs/{log}/events", EVENT, Idempotency_Key="k1")
    other = agent.post(f"logs/{log}/events", said("For five."), Idempotency_Key="k1")

    assert [one.status_code for one in (first, again, other)] == [201, 200, 200]
    assert [told(one)["replayed"] for one in (first, again, other)] == [False, True, True]
    assert [told(one)["payload_differs"] for one in (first, again, other)] == [False, False, True]
    assert told(again)["event_id"] == told(other)["event_id"] == told(first)["event_id"]
    assert Event.objects.count() == 1


@pytest.mark.promise("C53", "K6")
def test_recording_into_a_log_that_is_not_there_makes_none_unless_asked(agent: Agent) -> None:
    refused = agent.post("logs/dinner-42/events", EVENT)
    made = agent.post("logs/dinner-42/events?create=true", EVENT)
    again = agent.post("logs/dinner-42/events", EVENT)

    assert (refused.status_code, told(refused)["error"]) == (404, "log_not_found")
    assert (made.status_code, again.status_code) == (201, 201)
    assert Log.objects.get().last_seq == 2
    assert told(agent.get("logs/dinner-42"))["title"] == "dinner-42"


@pytest.mark.promise("DC1", "K6")
@pytest.mark.parametrize("address", ["logs/{}/events?create=true", "logs"])
def test_choosing_an_id_tells_nothing_of_what_others_chose(agent: Agent, stranger: Agent, address: str) -> None:
    log = agent.log(id="dinner")
    agent.post(f"logs/{log}/events", EVENT)

    answers = []
    for name in ("dinner", log, "unknown", "0190a0b0-0000-7000-8000-000000000000"):
        answers.append(stranger.post(address.format(name), EVENT if "{}" in address else {"id": name}))

    assert {answer.status_code for answer in answers} == {201}
    assert len({tuple(answer.headers) for answer in answers}) == 1
    assert len({tuple(told(answer)) for answer in answers}) == 1
    assert {told(answer).get("replayed") for answer in answers} == {False}
    assert Log.objects.get(public_id=log).last_seq == 1


def test_a_log_made_again_under_one_key_is_the_first_one(agent: Agent) -> None:
    first = agent.post("logs", {"title": "dinner"}, Idempotency_Key="k")
    again = agent.post("logs", {"title": "lunch"}, Idempotency_Key="k")

    assert (first.status_code, again.status_code) == (201, 200)
    assert told(again)["id"] == told(first)["id"]
    assert told(again)["replayed"] is told(again)["payload_differs"] is True


@pytest.mark.promise("C5")
def test_what_only_the_log_may_set_is_ignored_and_the_answer_says_so(agent: Agent) -> None:
    log = agent.log()
    answer = told(agent.post(f"logs/{log}/events", {**EVENT, "at": "1999-01-01T00:00:00Z", "seq": 7}))

    assert answer["ignored"] == ["at", "seq"]
    assert (answer["seq"], answer["at"][:4] > "1999") == (1, True)


def test_a_list_is_stored_whole_or_not_at_all(agent: Agent) -> None:
    log = agent.log()
    refused = agent.post(f"logs/{log}/events", [EVENT, said("")])
    stored = agent.post(f"logs/{log}/events", [said("one", idempotency_key="a"), said("two", idempotency_key="b")])
    again = agent.post(f"logs/{log}/events", [said("two", idempotency_key="b"), said("three", idempotency_key="c")])

    assert (refused.status_code, told(refused)["item"], told(refused)["field"]) == (400, 2, "content")
    assert [event["seq"] for event in told(stored)["events"]] == [1, 2]
    assert [(event["seq"], event["replayed"]) for event in told(again)["events"]] == [(2, True), (3, False)]
    assert told(again)["stored"] == told(again)["replayed"] == 1


def test_lines_are_stored_each_for_itself_and_reported_by_number(agent: Agent) -> None:
    log = agent.log()
    answer = agent.lines(
        log,
        said("one", idempotency_key="a"),
        "",
        {**EVENT, "kind": "shout"},
        said("one", idempotency_key="a"),
        said("otherwise", idempotency_key="a"),
        '{"kind": "message", "kind": "message"}',
        json.dumps({**EVENT, "payload": {"x": float("nan")}}),
        said("last"),
        '{"kind": "mess',
        end="",
    )
    report = told(answer)

    assert answer.status_code == 207
    assert [(line["line"], line["status"]) for line in report["lines"]] == [
        (1, "stored"),
        (3, "refused"),
        (4, "replayed"),
        (5, "replayed"),
        (6, "refused"),
        (7, "refused"),
        (8, "stored"),
        (9, "refused"),
    ]
    errors = {line["line"]: line["message"] for line in report["lines"] if line["status"] == "refused"}
    assert "none of message" in errors[3]
    assert "twice" in errors[6]
    assert "NaN" in errors[7]
    assert "cut" in errors[9]
    assert [line.get("payload_differs") for line in report["lines"]][2:4] == [False, True]
    assert (report["stored"], report["replayed"], report["refused"], report["last_seq"]) == (2, 2, 4, 2)


def test_lines_answer_by_what_became_of_them(agent: Agent) -> None:
    log = agent.log()
    row = said("one", idempotency_key="a")
    assert [agent.lines(log, row).status_code, agent.lines(log, row).status_code] == [201, 200]
    assert [agent.lines(log, "{").status_code, agent.lines(log, "{", row).status_code] == [400, 207]


@pytest.mark.promise("K33")
def test_a_response_names_its_request_by_id_by_seq_or_by_correlation(agent: Agent) -> None:
    log = agent.log()
    request = told(agent.post(f"logs/{log}/events", {**REQUEST, "correlation": "call-1"}))
    for cause in ({"causation": request["event_id"]}, {"causation": 1}, {"correlation": "call-1"}):
        assert agent.post(f"logs/{log}/events", {**RESPONSE, **cause}).status_code == 201
    batch = agent.post(f"logs/{log}/events", [{**REQUEST, "correlation": "c2"}, {**RESPONSE, "correlation": "c2"}])

    assert {str(one) for one in Event.objects.filter(seq__in=[2, 3, 4]).values_list("causation", flat=True)} == {
        request["event_id"]
    }
    assert Event.objects.get(seq=6).causation == Event.objects.get(seq=5).event_id
    assert batch.status_code == 201


@pytest.mark.promise("K33", "C53")
@pytest.mark.parametrize(
    "cause",
    [
        {},
        {"correlation": "no such call"},
        {"causation": 1},
        {"causation": 99},
        {"causation": "c"},
        {"causation": NO_ID},
    ],
)
def test_a_response_without_its_request_is_refused(agent: Agent, cause: dict[str, Any]) -> None:
    log = agent.log()
    agent.post(f"logs/{log}/events", EVENT)
    answer = agent.post(f"logs/{log}/events", {**RESPONSE, **cause})

    assert (answer.status_code, told(answer)["error"], told(answer)["field"]) == (400, "invalid_event", "causation")
    assert Event.objects.count() == 1


@pytest.mark.promise("K4")
def test_a_writer_may_say_where_the_log_should_end(agent: Agent) -> None:
    log = agent.log()
    address = f"logs/{log}/events?expected_last_seq=0"
    first = agent.post(address, EVENT, Idempotency_Key="k")
    again = agent.post(address, EVENT, Idempotency_Key="k")
    late = agent.post(address, EVENT)

    assert (first.status_code, again.status_code, late.status_code) == (201, 200, 409)
    assert (told(late)["error"], told(late)["expected"], told(late)["found"]) == ("concurrency", 0, 1)


def test_a_unit_is_closed_once_per_key(agent: Agent) -> None:
    log = agent.log()
    first = agent.post(f"logs/{log}/close", {"reason": "pressure"}, Idempotency_Key="k")
    again = agent.post(f"logs/{log}/close", {"reason": "pressure"}, Idempotency_Key="k")

    assert (first.status_code, again.status_code) == (201, 200)
    assert told(again)["replayed"] is True
    assert Event.objects.get().type == "unit.closed"
