"""What an agent is answered by its token and its log, whatever carries the question."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from chronicle import canonical, credentials, receipts, tool
from chronicle.credentials import Made
from chronicle.fold import consolidate
from chronicle.mcp import asked
from chronicle.mcp.asked import Answer, Caller, Offered
from chronicle.models import Event, Log, Receipt
from tests.builders import log_of, marker, said, units_of

pytestmark = pytest.mark.django_db

HUGE = 10**400


@pytest.fixture(autouse=True)
def token_key(settings: Any) -> None:
    settings.TOKEN_KEY = "a key for tokens, for the time of a test"


@pytest.fixture
def log() -> Log:
    """Three units of three events, the second with words for search alone."""
    log = log_of(
        [
            *[said("Eight of us."), said("On Friday."), marker()],
            *[said("The room faces north.", audience=["search"]), said("Booked."), marker()],
            *[said("Thanks."), said("Bye."), marker()],
        ]
    )
    consolidate(log)
    return log


def made(can: str = "expand", *, name: str = "booking", owner: str = "demo") -> Made:
    return credentials.make(name, owner=owner, can=can.split(","), by="test")


@pytest.fixture
def caller(log: Log) -> Caller:
    return Caller(made().token, log.public_id)


@pytest.fixture
def glancer(log: Log) -> Caller:
    """Holds a token that reads metadata and prose, and no events."""
    return Caller(made("read", name="glancer").token, log.public_id)


def schema(caller: Caller) -> dict[str, Any]:
    found = asked.offered(caller)
    assert isinstance(found, Offered)
    return found.schema


def test_list_open_and_expand_give_the_text_that_the_receipt_is_of(caller: Caller, log: Log) -> None:
    for arguments in (
        None,
        {"limit": 2},
        {"action": "open", "id": "1-3"},
        {"action": "expand", "id": "1-3", "limit": 1},
    ):
        told = asked.call(caller, arguments)
        receipt = Receipt.objects.get(log=log, number=told.facts["receipt"])

        assert not told.refused and told.facts["log"] == log.public_id
        assert told.facts["digest"] == receipt.text_digest == canonical.sha256(told.text.encode())
        assert receipts.text_of(receipt) == told.text
        assert (receipt.reader, receipt.capability) == ("booking", "expand")


@pytest.mark.promise("S65", "S70")
def test_the_text_says_how_to_go_on_and_a_limit_past_the_most_is_cut_to_it() -> None:
    log = units_of(60)
    consolidate(log)
    caller = Caller(made().token, log.public_id)
    first = asked.call(caller, {"action": "expand", "id": "1-2", "limit": 1}).text
    assert "partial: go on after 1." in first
    assert "partial" not in asked.call(caller, {"action": "expand", "id": "1-2", "after": 1}).text
    for limit in (HUGE, -HUGE, 0, 51):
        shown = asked.call(caller, {"limit": limit})
        assert (
            not shown.refused
            and shown.text.count("\n") - 1 == tool.listed(log.editions.get(), limit=max(1, min(limit, 50))).shown
        )
        assert not asked.call(caller, {"action": "expand", "id": "1-2", "limit": limit}).refused


@pytest.mark.promise("S62")
def test_without_an_action_it_lists_and_an_unknown_one_is_answered_with_those_there_are(caller: Caller) -> None:
    assert asked.call(caller, {}).text == asked.call(caller, {"action": "list"}).text
    told = asked.call(caller, {"action": "delete"})
    assert told.refused and told.facts["error"] == "unknown_action"
    assert told.text == "'delete' is no action; there are list, open, expand."


@pytest.mark.promise("S64", "K40")
def test_a_token_that_may_not_expand_is_not_offered_it_and_is_refused(glancer: Caller, caller: Caller) -> None:
    assert schema(caller)["properties"]["action"]["enum"] == ["list", "open", "expand"]
    assert schema(glancer)["properties"]["action"]["enum"] == ["list", "open"]
    offered = asked.offered(glancer)
    assert isinstance(offered, Offered)
    assert (
        "expand" not in offered.description
        and "expand" not in str(offered.schema)
        and "after" not in str(offered.schema)
    )

    told = asked.call(glancer, {"action": "expand", "id": "1-3"})
    assert told.refused and told.facts["error"] == "capability_missing"
    assert told.text == "This token may not expand; make one with --can expand."
    assert "expand" not in asked.call(glancer, {"action": "delete"}).text
    assert not Receipt.objects.filter(what="expand").exists()


@pytest.mark.promise("S63", "K40")
def test_log_owner_reader_and_capability_are_no_arguments(caller: Caller) -> None:
    for name in ("log", "owner", "reader", "token", "capability", "edition"):
        told = asked.call(caller, {name: "other"})
        assert told.facts == {
            "error": "invalid_request",
            "field": name,
            "message": f"{name} is no argument; there are action, id, after, limit.",
        }
    assert not Receipt.objects.exists()


@pytest.mark.promise("K26")
def test_events_are_those_that_the_tokens_name_may_see(caller: Caller, log: Log) -> None:
    north = "The room faces north."
    search, admin = made(name="search").token, made("admin", name="root").token

    def expanded(token: str) -> str:
        return asked.call(Caller(token, log.public_id), {"action": "expand", "id": "4-6"}).text

    assert north not in expanded(caller.token)
    assert north in expanded(search) and north in expanded(admin)
    assert "2 of the 2 events" in expanded(caller.token) and "3 of the 3 events" in expanded(search)


@pytest.mark.promise("K6", "S63")
def test_a_foreign_log_and_an_unknown_one_are_answered_alike(log: Log) -> None:
    stranger = made("admin", name="eve", owner="mallory").token
    foreign, unknown = Caller(stranger, log.public_id), Caller(stranger, "n" * 22)
    questions = [
        {},
        {"action": "open", "id": "1-3"},
        {"action": "expand", "id": "1-3"},
        {"action": "x"},
        {"after": "x"},
    ]

    assert asked.offered(foreign) == asked.offered(unknown)
    for arguments in questions:
        told = asked.call(foreign, arguments)
        assert told == asked.call(unknown, arguments)
        assert told.facts == {"error": "log_not_found", "message": "There is no log with this id."}
    for hostile in ("", "\0", "\u202e", "../x", "\ud800", "x" * 100_000):
        assert asked.call(Caller(stranger, hostile), {}) == asked.call(unknown, {})
    assert not Receipt.objects.exists()


@pytest.mark.parametrize("token", ["", "nonsense", "\0", "\ud800", "chronicle_" + "2" * 12 + "_" + "2" * 32])
def test_without_a_token_that_is_known_nothing_is_said(token: str, log: Log) -> None:
    told = asked.call(Caller(token, log.public_id), {})
    assert told.refused and told.facts["error"] == "unauthorized"
    assert isinstance(asked.offered(Caller(token, log.public_id)), Answer)


def test_a_token_that_records_does_not_read(log: Log) -> None:
    told = asked.call(Caller(made("record").token, log.public_id), {})
    assert told.facts["error"] == "capability_missing" and "--can read" in told.text


def test_what_is_revoked_or_expires_between_two_calls_ends_there(log: Log) -> None:
    one, two = made(), made(name="two")
    callers = [Caller(each.token, log.public_id) for each in (one, two)]
    assert not any(asked.call(caller, {}).refused for caller in callers)

    credentials.revoke(one.row.prefix, by="test")
    two.row.expires_at = timezone.now() - timedelta(seconds=1)
    two.row.save(update_fields=["expires_at"])
    told = [asked.call(caller, {}) for caller in callers]
    assert [answer.facts["error"] for answer in told] == ["unauthorized"] * 2
    assert "was revoked" in told[0].text and "has expired" in told[1].text
    assert Receipt.objects.count() == 2


HOSTILE: list[tuple[dict[str, Any], str]] = [
    ({"action": 7}, "action: Input should be a valid string."),
    ({"action": ["list"]}, "action: "),
    ({"action": "x" * 100_000}, "action: String should have at most 200 characters."),
    ({"action": "\0"}, "'\\x00' is no action"),
    ({"action": "\u202elist"}, "'\\u202elist' is no action"),
    ({"action": "\ud800"}, "action: "),
    ({"action": "open"}, "Say which section to open"),
    ({"action": "expand", "id": ""}, "Say which section to expand"),
    ({"action": "open", "id": {"$ne": 1}}, "id: "),
    ({"action": "open", "id": "1-3' OR 1=1"}, "is no section id"),
    ({"action": "open", "id": "\0"}, "'\\x00' is no section id"),
    ({"action": "open", "id": "1-3\u202e"}, "'1-3\\u202e' is no section id"),
    ({"action": "open", "id": "9" * 150}, "is no section id"),
    ({"action": "open", "id": f"1-{2**63}"}, "is no section id"),
    ({"action": "open", "id": f"1-{10**17}"}, "There is no section"),
    ({"action": "open", "id": "1-3#999999999999999999"}, ""),
    ({"action": "expand", "id": "1-3", "after": -1}, "after: Input should be greater than or equal to 0."),
    ({"action": "expand", "id": "1-3", "after": HUGE}, "after: "),
    ({"action": "expand", "id": "1-3", "after": "2"}, "after: Input should be a valid integer."),
    ({"action": "expand", "id": "1-3", "after": 1.5}, "after: "),
    ({"action": "expand", "id": "1-3", "after": True}, "after: "),
    ({"limit": "20"}, "limit: Input should be a valid integer."),
    ({"limit": float("nan")}, "limit: "),
    ({"after": 3}, "after is for expand, not for list."),
    ({"action": "open", "id": "1-3", "limit": 3}, "limit is for list and expand, not for open."),
    ({"\u202e": 1}, "\\u202e is no argument"),
    ({"x" * 100_000: 1}, "is no argument"),
]


@pytest.mark.parametrize(("arguments", "words"), HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.promise("S69")
def test_what_cannot_be_read_is_refused_by_name(caller: Caller, arguments: dict[str, Any], words: str) -> None:
    told = asked.call(caller, arguments)
    assert told.refused and words in told.text and len(told.text) < 500
    assert told.facts["error"] in {"invalid_request", "unknown_action", "unknown_section"}
    assert "\u202e" not in told.text and "\0" not in told.text and "Traceback" not in told.text
    assert told.facts["message"] == told.text and not Receipt.objects.exists()


def test_null_and_what_is_left_empty_were_not_given(caller: Caller) -> None:
    assert not asked.call(caller, {"action": "list", "id": "", "after": 0, "limit": None}).refused


def test_after_past_the_end_is_an_empty_page(caller: Caller) -> None:
    told = asked.call(caller, {"action": "expand", "id": "1-3", "after": 2**63 - 1})
    assert not told.refused and told.text.startswith("# 0 of the 3 events")


def test_what_nobody_foresaw_is_told_without_its_traceback(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the secret of the house")

    monkeypatch.setattr(asked, "log_of", fail)
    for told in (asked.call(caller, {}), asked.offered(caller)):
        assert isinstance(told, Answer) and told.refused and told.facts["error"] == "server_error"
        assert "secret" not in told.text
    assert caplog.records[0].exc_info


def test_a_read_changes_nothing_but_its_receipts(caller: Caller, log: Log) -> None:
    before = (Event.objects.count(), log.editions.get().anchors.count())
    asked.call(caller, {"action": "open", "id": "1-3"})
    assert (Event.objects.count(), log.editions.get().anchors.count()) == before
    assert "token" not in repr(caller) and caller.token not in repr(caller)
