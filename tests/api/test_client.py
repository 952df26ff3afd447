"""The client: what it sends again, what it gives back, and the example that three agents play."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from chronicle.client import ApiError, Client
from chronicle.fold import consolidate
from chronicle.models import Event, Log, Receipt
from examples import dinner
from tests.api.conftest import token


class Wire(httpx.BaseTransport):
    """Answers in order; keeps what was sent. None loses the answer."""

    def __init__(self, *answers: tuple[int, Any] | None) -> None:
        self.answers, self.sent, self.waits = list(answers), [], []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        found = self.answers.pop(0)
        if found is None:
            raise httpx.ReadTimeout("lost", request=request)
        return httpx.Response(found[0], json=found[1])

    def client(self, **given: Any) -> Client:
        return Client("http://site", "t", transport=self, pause=self.waits.append, **given)


PLACE = {"seq": 1, "event_id": "e", "at": "t", "replayed": True, "payload_differs": False, "ignored": []}


@pytest.mark.promise("K30")
def test_a_lost_answer_is_asked_for_again_under_the_same_key() -> None:
    wire = Wire(None, (503, {}), (200, PLACE))

    assert wire.client().record("log", "Hello.", actor="concierge").replayed
    assert len({request.headers["Idempotency-Key"] for request in wire.sent}) == 1
    assert len({request.content for request in wire.sent}) == 1
    assert wire.waits == [0.2, 0.4]


def test_every_event_of_a_list_has_a_key_and_keeps_it() -> None:
    wire = Wire(None, (201, {"events": [PLACE, PLACE]}))
    wire.client().record_all("log", [{"content": "a"}, {"content": "b", "idempotency_key": "mine"}])
    first, again = (json.loads(request.content) for request in wire.sent)

    assert first == again
    assert first[1]["idempotency_key"] == "mine"
    assert len(first[0]["idempotency_key"]) == 36


def test_what_has_no_key_is_sent_once() -> None:
    wire = Wire((503, {"error": "busy", "message": "Later."}))
    with pytest.raises(ApiError, match="busy: Later"):
        wire.client().set_policy("log", rollup_batch=4)
    assert len(wire.sent) == 1


def test_it_gives_up_after_so_many_tries() -> None:
    wire = Wire(*[None] * 3)
    with pytest.raises(httpx.ReadTimeout):
        wire.client(retries=2).brief("log")
    assert len(wire.sent) == 3


def test_an_id_is_written_as_an_address_takes_it() -> None:
    wire = Wire((200, {}))
    wire.client().verify("a/b~c d")
    assert wire.sent[0].url.raw_path == b"/api/v1/logs/a~2Fb~7Ec%20d/verify"


@pytest.fixture
def site(live_server: Any) -> str:
    return str(live_server.url)


def test_three_agents_play_a_dinner_each_with_a_window_of_its_own(site: str) -> None:
    log, windows = dinner.play(site, {name: token(name=name) for name in dinner.BUDGETS})

    assert Log.objects.get(public_id=log).last_seq == Event.objects.count() == 12
    assert "4417" in windows["booking"].text
    assert not {name for name in ("concierge", "search") if "4417" in windows[name].text}
    assert all(windows[name].tokens <= budget for name, budget in dinner.BUDGETS.items())
    receipts = Receipt.objects.filter(log__public_id=log)
    assert {receipt.reader for receipt in receipts} == set(dinner.BUDGETS)
    assert receipts.get(number=windows["booking"].receipt).text_digest == windows["booking"].digest


def test_the_client_reads_what_it_recorded(site: str, tmp_path: Path) -> None:
    with Client(site, token("admin", name="root")) as client:
        log = client.create_log("dinner", name="dinner/42")
        assert client.create_log("dinner", name="dinner/42") == log
        client.record_all(log, [{"kind": "message", "actor_kind": "human", "actor": "Dina", "content": "Eight."}] * 3)
        client.close_unit("dinner/42")
        consolidate(Log.objects.get(public_id=log))
        [entry] = client.list(log).entries
        assert client.open(log, entry.id).current == entry.id
        assert [event.seq for event in client.expand(log, entry.id, limit=2).events] == [1, 2]
        assert [event.seq for event in client.events(log, limit=2)] == [1, 2, 3, 4]
        assert client.set_policy(log, rollup_batch=4)["rollup_batch"] == 4
        assert client.policy(log)["ranges"]["rollup_batch"] == [2, 100]
        assert client.verify(log)["status"] == "OK"
        with pytest.raises(ApiError) as refused:
            client.reconsolidate(log, entry.id, accept_divergence=False)
        assert (refused.value.status, refused.value.details["bill"]["section"]) == (409, "1-4#1")
        assert client.export(log, tmp_path / "log.jsonl") == (tmp_path / "log.jsonl").stat().st_size > 1000
        before = (tmp_path / "log.jsonl").read_bytes()
        with pytest.raises(ApiError):
            client.export("no-such-log", tmp_path / "log.jsonl")
        assert [path.name for path in tmp_path.iterdir()] == ["log.jsonl"]
        assert (tmp_path / "log.jsonl").read_bytes() == before
