"""The events of a log, as a list."""

import pytest
from django.test import Client

from chronicle.envelope import Kind, PendingEvent
from chronicle.models import Log
from tests.builders import bookkeeping, log_of, marker, said
from tests.web.conftest import words as said_by


def seqs(client: Client, log: Log, query: str = "") -> list[int]:
    response = client.get(f"/logs/{log.public_id}/events/{query}")
    assert response.status_code == 200
    return [row.seq for row in response.context["page"].rows]


def words(client: Client, log: Log, query: str = "") -> str:
    return said_by(client.get(f"/logs/{log.public_id}/events/{query}").content.decode())


@pytest.mark.promise("K25")
def test_bookkeeping_is_hidden_and_counted_unless_asked_for(page: Client):
    log = log_of([said(), bookkeeping(), said()])

    assert seqs(page, log) == [1, 3]
    assert "2 of 3 events shown: 0 hidden by the filter, 1 bookkeeping (show)" in words(page, log)
    assert seqs(page, log, "?bookkeeping=on") == [1, 2, 3]
    assert seqs(page, log, "?kind=bookkeeping") == [2]


@pytest.mark.promise("K7")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("?kind=thought", [2]),
        ("?actor_kind=agent", [2, 4]),
        ("?actor=Dina", [1, 3]),
        ("?text=PEANUT", [1]),
        ("?text=100%25", [3]),
        ("?text=_", [4]),
        ("?text=%5C", [4]),
        ("?text=menü", [4]),
        ("?text=MENÜ", [4]),
        ("?text=places.sea", []),
        ("?first=2&last=3", [2, 3]),
        ("?kind=message&actor=concierge", []),
    ],
)
def test_filters_narrow_by_kind_actor_range_and_text_and_mean_what_is_written(page: Client, query: str, found: list):
    agent = {"actor_kind": "agent", "actor": "concierge"}
    log = log_of(
        [
            said("One is allergic to peanuts."),
            said("Hand it over.", kind="thought", **agent),
            said("A deposit of 100%."),
            said("", kind="tool_request", payload={"a_b": "c\\d", "word": "Menü"}, **agent),
        ]
    )

    assert seqs(page, log, query) == found


@pytest.mark.promise("K7")
def test_filters_run_before_pages_are_cut_and_every_match_is_reached_once_both_ways(page: Client):
    log = log_of([said(kind="thought") if number % 2 else said() for number in range(450)])
    query, forward = "?kind=thought", []
    while query:
        forward += seqs(page, log, query)
        query = page.get(f"/logs/{log.public_id}/events/{query}").context.get("later", "")
    context = page.get(f"/logs/{log.public_id}/events/?kind=thought&before=451").context
    backward: list[int] = []
    while context:
        backward = [row.seq for row in context["page"].rows] + backward
        earlier = context.get("earlier")
        context = page.get(f"/logs/{log.public_id}/events/{earlier}").context if earlier else None

    assert forward == list(range(2, 451, 2))
    assert backward == forward
    assert "100 of 450 events shown: 225 hidden by the filter, 0 bookkeeping, 125 on other pages" in words(
        page, log, "?kind=thought"
    )


@pytest.mark.promise("K8")
def test_a_range_includes_both_its_ends(page: Client):
    assert seqs(page, log_of(9), "?first=3&last=5") == [3, 4, 5]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("?kind=nonsense", "kind: Select a valid choice"),
        ("?actor_kind=robot", "actor_kind: Select a valid choice"),
        ("?first=0", "first: Ensure this value"),
        ("?after=x", "after: Enter a whole number"),
        ("?first=5&last=3", "The first seq lies after the last"),
        ("?after=1&before=3", "not both"),
        ("?last=99999999999999999999", "last: Ensure this value"),
        ("?text=%00", "text: Null characters"),
    ],
)
def test_a_filter_that_cannot_be_read_is_refused_with_its_reason_and_shows_nothing(
    page: Client, query: str, reason: str
):
    log = log_of(3)
    response = page.get(f"/logs/{log.public_id}/events/{query}")

    assert response.status_code == 400
    assert reason in response.content.decode()
    assert "0 of 3 events" in response.content.decode()
    fragment = page.get(f"/logs/{log.public_id}/events/{query}", headers={"HX-Request": "true", "HX-Target": "list"})
    assert fragment.status_code == 400
    assert reason in fragment.content.decode()


def test_a_long_text_says_its_length_and_leads_to_the_whole(page: Client):
    log = log_of([said("x" * 5000), said("", kind="tool_response", actor="t", payload={"long": "y" * 5000})])
    html = page.get(f"/logs/{log.public_id}/events/").content.decode()
    whole = page.get(f"/logs/{log.public_id}/events/1/", headers={"HX-Request": "true", "HX-Target": "c1"})

    assert "whole, 5000 characters" in html
    assert "x" * 601 not in html
    assert "y" * 601 not in html
    assert "x" * 5000 in whole.content.decode()
    assert "<html" not in whole.content.decode()


@pytest.mark.promise("K32")
def test_order_is_seq_and_a_source_s_clock_that_goes_back_is_marked(page: Client, clock):
    later, earlier = clock.time, clock.move(hours=-1)
    log = log_of([said("first", claimed_at=later), said("second", claimed_at=earlier)])
    response = page.get(f"/logs/{log.public_id}/events/")

    assert seqs(page, log) == [1, 2]
    assert [row.back for row in response.context["page"].rows] == [False, True]
    assert response.content.decode().count('data-state="late">back<') == 1


def test_a_response_names_its_request_and_a_private_event_its_audience(page: Client):
    request = PendingEvent(kind=Kind.TOOL_REQUEST, actor_kind="agent", actor="search", payload={"q": 1})
    response = PendingEvent(
        kind=Kind.TOOL_RESPONSE, actor_kind="system", actor="t", content="41", causation=request.event_id
    )
    log = log_of([marker(), request, said("between", audience=("booking",)), response])

    assert "to 2" in words(page, log)
    assert "private to booking" in words(page, log)


def test_a_request_shows_its_arguments_after_its_words_and_leads_to_the_whole(page: Client):
    long = {"query": "x" * 400}
    asked = [said("places.search", kind="tool_request", payload=given) for given in ({"area": "Senopati"}, long, None)]
    log = log_of([*asked, said("spoken", payload={"not": "shown"})])
    first, cut, bare, spoken = page.get(f"/logs/{log.public_id}/events/").context["page"].rows

    assert first.text == 'places.search {"area":"Senopati"}'
    assert not first.cut
    assert cut.cut
    assert cut.length == len("places.search ") + cut.size
    assert (bare.text, spoken.text) == ("places.search", "spoken")
    assert 'hx-target="#c2"' not in page.get(f"/logs/{log.public_id}/events/").content.decode()


def test_arguments_that_the_words_hold_already_are_not_shown_twice(page: Client):
    log = log_of([said('Read {"file": "a.txt"}', kind="tool_request", payload={"arguments": {"file": "a.txt"}})])

    row = page.get(f"/logs/{log.public_id}/events/").context["page"].rows[0]

    assert (row.text, row.size) == ('Read {"file": "a.txt"}', len('{"arguments":{"file":"a.txt"}}'))
