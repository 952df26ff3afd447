"""Many writers at one moment, over a real server."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from chronicle.models import Event, Log
from tests.api.conftest import EVENT, token

AT_ONCE = 20


def posted(url: str, held: str, address: str, body: Any, **headers: str) -> list[httpx.Response]:
    def post(_: int) -> httpx.Response:
        given = {"Authorization": f"Bearer {held}", **headers}
        return httpx.post(f"{url}/api/v1/{address}", json=body, headers=given, timeout=60)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(post, range(AT_ONCE)))


@pytest.mark.promise("K30", "DC6")
def test_one_message_twenty_times_at_once_with_one_key_is_one_event(live_server: Any) -> None:
    held = token()
    log = httpx.post(f"{live_server.url}/api/v1/logs", json={}, headers={"Authorization": f"Bearer {held}"}).json()
    answers = posted(live_server.url, held, f"logs/{log['id']}/events", EVENT, **{"Idempotency-Key": "k"})
    reworded = posted(
        live_server.url, held, f"logs/{log['id']}/events", {**EVENT, "content": "x"}, **{"Idempotency-Key": "k"}
    )

    assert sorted(answer.status_code for answer in answers) == [200] * 19 + [201]
    assert sum(answer.json()["replayed"] for answer in answers) == 19
    assert not any(answer.json()["payload_differs"] for answer in answers)
    assert {(one.status_code, one.json()["payload_differs"]) for one in reworded} == {(200, True)}
    assert Event.objects.count() == 1


def test_one_log_made_twenty_times_at_once_with_one_key_is_one_log(live_server: Any) -> None:
    answers = posted(live_server.url, token(), "logs", {"title": "dinner"}, **{"Idempotency-Key": "k"})

    assert sorted(answer.status_code for answer in answers) == [200] * 19 + [201]
    assert len({answer.json()["id"] for answer in answers}) == Log.objects.count() == 1


@pytest.mark.promise("K4")
def test_twenty_writers_without_a_key_all_land(live_server: Any) -> None:
    held = token()
    answers = posted(live_server.url, held, "logs/dinner/events?create=true", EVENT)

    assert {answer.status_code for answer in answers} == {201}
    assert sorted(answer.json()["seq"] for answer in answers) == list(range(1, AT_ONCE + 1))
