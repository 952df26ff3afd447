"""Reading over HTTP: events by filters, briefs and chronicles with receipts, policies, the proof, the file."""

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chronicle import canonical, carry, receipts
from chronicle.fold import consolidate
from chronicle.models import AuditEntry, Event, Job, Log, Receipt
from tests.api.conftest import EVENT, Agent, told


def said(content: str, **more: Any) -> dict[str, Any]:
    return {**EVENT, "content": content, **more}


@pytest.fixture
def log(agent: Agent) -> str:
    """Two units: one with a private word to booking and one to search, one with a call; then a tail."""
    log = agent.log(title="dinner")
    agent.post(
        f"logs/{log}/events",
        [
            said("Eight of us."),
            said("The card ends in 4417.", audience=["booking"]),
            said("The room faces north.", audience=["search"]),
        ],
    )
    agent.post(f"logs/{log}/close")
    request = {"kind": "tool_request", "actor_kind": "agent", "actor": "search", "correlation": "c", "payload": {}}
    response = {"kind": "tool_response", "actor_kind": "system", "actor": "places", "correlation": "c", "content": "2"}
    agent.post(f"logs/{log}/events", [request, response])
    agent.post(f"logs/{log}/close")
    agent.post(f"logs/{log}/events", said("Not yet consolidated."))
    consolidate(Log.objects.get(public_id=log))
    return log


def seqs(agent: Agent, log: str, query: str = "") -> list[int]:
    return [event["seq"] for event in told(agent.get(f"logs/{log}/events?{query}"))["events"]]


@pytest.mark.promise("K7", "K26")
def test_every_filter_runs_before_the_limit_and_the_tokens_own_before_all(agent: Agent, admin: Agent, log: str) -> None:
    assert seqs(agent, log) == [1, 2, 4, 5, 6, 7, 8]
    assert seqs(admin, log) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert seqs(agent, log, "kind=message&last=2") == [2, 8]
    assert seqs(agent, log, "kind=message&kind=tool_request&limit=3") == [1, 2, 5]
    assert seqs(agent, log, "actor_kind=agent") == [5]
    assert seqs(agent, log, "since=2&upto=6&kind=marker") == [4]
    assert told(agent.get(f"logs/{log}/events?kind=message&last=1"))["of"] == 3


def test_pages_reach_every_event_once(agent: Agent, log: str) -> None:
    found: list[int] = []
    after: int | None = 0
    while after is not None:
        page = told(agent.get(f"logs/{log}/events?since={after}&limit=3"))
        found += [event["seq"] for event in page["events"]]
        after = page["next_since"]
    assert found == [1, 2, 4, 5, 6, 7, 8]


def test_bookkeeping_is_shown_where_it_is_asked_for(agent: Agent, log: str) -> None:
    agent.post(f"logs/{log}/events", {"kind": "bookkeeping", "actor_kind": "system", "actor": "ledger", "type": "x"})
    assert seqs(agent, log)[-1] == 8
    assert seqs(agent, log, "kind=bookkeeping") == [9]


@pytest.mark.promise("K40", "S63")
def test_a_brief_is_what_its_tokens_reader_may_see_and_leaves_a_receipt(agent: Agent, admin: Agent, log: str) -> None:
    mine, theirs = told(agent.get(f"logs/{log}/brief?upto=3")), told(admin.get(f"logs/{log}/brief?upto=3"))

    assert ("4417" in mine["text"], "north" in mine["text"]) == (True, False)
    assert ("4417" in theirs["text"], "north" in theirs["text"]) == (True, True)
    receipt = Receipt.objects.get(log__public_id=log, number=mine["receipt"])
    assert (receipt.reader, receipt.capability, receipt.upto_seq) == ("booking", "expand", 3)
    assert mine["digest"] == receipt.text_digest == canonical.sha256(mine["text"].encode())
    assert receipts.stands(receipt)


def test_the_same_brief_twice_is_the_same_bytes_with_two_receipts(agent: Agent, log: str) -> None:
    answers = [agent.get(f"logs/{log}/brief?upto=7&budget=300", Accept="text/plain") for _ in range(2)]

    assert answers[0].content == answers[1].content
    assert answers[0]["Content-Type"] == "text/plain; charset=utf-8"
    assert [int(answer["Chronicle-Receipt"]) for answer in answers] == [1, 2]
    assert {answer["Chronicle-Digest"] for answer in answers} == {canonical.sha256(answers[0].content)}


@pytest.mark.parametrize(("query", "field"), [("upto=99", "upto"), ("upto=0", "upto"), ("budget=0", "budget")])
def test_a_brief_that_cannot_be_is_refused(agent: Agent, log: str, query: str, field: str) -> None:
    answer = agent.get(f"logs/{log}/brief?{query}")
    assert (answer.status_code, told(answer)["field"]) == (400, field)
    assert not Receipt.objects.exists()


def test_a_log_without_events_has_a_brief_and_an_empty_list(agent: Agent) -> None:
    log = agent.log()
    assert agent.get(f"logs/{log}/brief").status_code == 200
    assert told(agent.get(f"logs/{log}/chronicle"))["entries"] == []


@pytest.mark.promise("K44", "K45")
def test_browsing_leaves_receipts_that_stand(agent: Agent, log: str) -> None:
    listed = told(agent.get(f"logs/{log}/chronicle"))
    opened = told(agent.get(f"logs/{log}/chronicle/5-7%231"))
    first = told(agent.get(f"logs/{log}/chronicle/1-4/events?limit=1"))
    rest = told(agent.get(f"logs/{log}/chronicle/1-4/events?after={first['next_after']}"))

    assert [entry["id"] for entry in listed["entries"]] == ["5-7", "1-4"]
    assert (opened["id"], opened["current"]) == ("5-7", "5-7")
    assert [event["seq"] for event in first["events"] + rest["events"]] == [1, 2, 4]
    assert (rest["of"], rest["next_after"]) == (3, None)
    kept = list(Receipt.objects.order_by("number"))
    assert [receipt.what for receipt in kept] == ["list", "open", "expand", "expand"]
    assert [receipt.text_digest for receipt in kept] == [one["digest"] for one in (listed, opened, first, rest)]
    assert all(map(receipts.stands, kept))


@pytest.mark.promise("S35")
def test_a_log_without_further_cuts_still_shows_its_chronicle(agent: Agent, admin: Agent, log: str) -> None:
    admin.post(f"logs/{log}/policy", {"interval_messages": 100_000, "max_events_per_section": 5000})
    agent.post(f"logs/{log}/events", [said(f"Plate {number}.") for number in range(60)])
    consolidate(Log.objects.get(public_id=log))

    assert [entry["id"] for entry in told(agent.get(f"logs/{log}/chronicle"))["entries"]] == ["5-7", "1-4"]
    brief = told(agent.get(f"logs/{log}/brief"))
    assert [section["id"] for section in brief["sections"]] == ["1-4", "5-7"]
    assert brief["tail"]["from_seq"] == 8


@pytest.mark.promise("S84", "S61")
def test_a_policy_is_read_by_the_agent_and_set_by_the_admin_within_its_ranges(
    agent: Agent, admin: Agent, log: str
) -> None:
    made = admin.post(f"logs/{log}/policy", {"rollup_batch": 4, "rollup_threshold": 6})
    refused = admin.post(f"logs/{log}/policy", {"rollup_batch": 101})
    seen = told(agent.get(f"logs/{log}/policy"))

    assert (made.status_code, told(made)["from_seq"]) == (201, 8)
    assert (refused.status_code, told(refused)["field"]) == (400, "rollup_batch")
    assert "from 2 to 100" in told(refused)["message"]
    assert [row["rollup_batch"] for row in seen["rows"]] == [8, 4]
    assert seen["ranges"]["rollup_threshold"] == [2, 200]
    assert AuditEntry.objects.filter(what="policy.made", who="root").count() == 1


@pytest.mark.parametrize("sent", [{"rollup": 3}, {"boundary": ["x"]}, {"boundary": ["a/\x00"]}, {"summariser": "no"}])
def test_a_policy_that_cannot_be_is_refused(admin: Agent, log: str, sent: dict[str, Any]) -> None:
    assert admin.post(f"logs/{log}/policy", sent).status_code == 400


@pytest.mark.promise("K30")
def test_a_section_is_drawn_again_once_its_bill_is_accepted_and_once_only(
    admin: Agent, log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chronicle.tasks.kick", lambda job: None)
    address = f"logs/{log}/chronicle/1-4/reconsolidate"
    bill = admin.post(address, {})
    first = admin.post(address, {"accept_divergence": True, "reason": "a name"}, Idempotency_Key="k")
    again = admin.post(address, {"accept_divergence": True, "reason": "a name"}, Idempotency_Key="k")
    other = admin.post(address, {"accept_divergence": True, "reason": "another"})

    assert (bill.status_code, told(bill)["error"]) == (409, "divergence_not_accepted")
    assert told(bill)["bill"]["next"] == "1-4#2"
    assert [one.status_code for one in (first, again, other)] == [202, 200, 200]
    assert [told(one)["payload_differs"] for one in (first, again, other)] == [False, False, True]
    assert Job.objects.filter(kind="reconsolidate").count() == 1


def test_the_log_is_proven_and_carried_whole(agent: Agent, admin: Agent, log: str, tmp_path: Path) -> None:
    assert told(agent.get(f"logs/{log}/verify"))["status"] == "OK"
    answer = admin.get(f"logs/{log}/export")
    (tmp_path / "log.jsonl").write_bytes(answer.getvalue())

    assert answer["Content-Type"] == "application/x-ndjson"
    assert str(carry.check(tmp_path / "log.jsonl").status) == "OK"


def test_a_batch_and_a_page_take_as_many_queries_as_one_event(agent: Agent, log: str) -> None:
    request = {"kind": "tool_request", "actor_kind": "agent", "actor": "search", "payload": {}}
    response = {"kind": "tool_response", "actor_kind": "system", "actor": "places", "payload": {}}

    def batch(count: int, name: str) -> list[dict[str, Any]]:
        return [
            {**one, "correlation": f"{name}{place}", "idempotency_key": f"{name}{place}{one['kind']}"}
            for place in range(count)
            for one in (request, response)
        ]

    taken = []
    for size, name in ((1, "a"), (100, "b")):
        with CaptureQueriesContext(connection) as queries:
            agent.post(f"logs/{log}/events", batch(size, name))
        with CaptureQueriesContext(connection) as reads:
            agent.get(f"logs/{log}/events?limit=1000")
        taken.append((len(queries), len(reads)))
    assert taken[0] == taken[1]
    assert Event.objects.count() == 8 + 202
