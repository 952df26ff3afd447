"""The page of what the agent had at a seq."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from chronicle import receipts, sections
from chronicle.log import append
from chronicle.models import Log
from tests.builders import log_of, marker, said
from tests.test_moments import compaction, imported
from tests.web.conftest import OWNER, words

WHO = {"by": "concierge", "capability": "expand"}


def address(log: Log, seq: int, query: str = "") -> str:
    return f"/logs/{log.public_id}/at/{seq}/{query}"


def shown(client: Client, where: str) -> str:
    answer = client.get(where)
    assert answer.status_code == 200
    return words(answer.content.decode())


@pytest.fixture
def transcript(db: None) -> Log:
    """An imported session: four events with a compaction, 250 since."""
    events = [said("Before."), said("<b>x</b>"), said("Still before."), compaction()]
    log = log_of([*events, *(said(f"since {place}") for place in range(250))], owner=OWNER, source_session="s")
    imported(log, 1, 4, 1, prose="What the agent's own tool wrote.")
    return log


@pytest.mark.promise("K47")
def test_of_a_transcript_it_shows_the_summary_in_force_and_the_events_since_and_says_reconstructed(
    transcript: Log, page: Client
) -> None:
    before, after = shown(page, address(transcript, 3)), shown(page, address(transcript, 6))
    assert "reconstructed" in before and "reconstructed" in after
    assert "What the agent's own tool wrote." not in before and "Still before." in before
    assert "What the agent&#x27;s own tool wrote." in after and "Still before." not in after
    assert "stands for 1 to 4, 4 events" in after and "2 of 2 events" in after
    assert "6 of 6 events up to here are stood for" in after


@pytest.mark.promise("K47")
def test_where_a_brief_was_given_it_is_exact_and_shows_that_very_text(log: Log, page: Client) -> None:
    receipts.read_brief(log, by="booking", capability="read", upto_seq=57, budget=400)
    receipts.read_list(sections.current_edition(log), **WHO)
    html = page.get(address(log, 57)).content.decode()
    said_there = words(html)
    assert "exact: receipt R-1" in said_there and "reconstructed" not in said_there.lower()
    assert "Made again byte for byte" in said_there
    assert "# Chronicle up to seq 57" in said_there
    other = shown(page, address(log, 58))
    assert "Reconstructed as a brief would be made" in other
    assert "the last one before is R-1, at 57" in other
    assert "1 of 1 other receipt at this seq: R-2 list by concierge" in shown(page, address(log, log.last_seq))


def test_a_brief_shows_nothing_that_was_withheld_from_its_reader(page: Client) -> None:
    log = log_of([said("For all."), said("The PIN is 4821.", audience=("booking",))], owner=OWNER)
    receipts.read_brief(log, by="search", capability="read", reader="search")
    there = shown(page, address(log, 2))
    assert "4821" not in there and "1 withheld from this reader" in there


@pytest.mark.promise("K47")
def test_the_moments_are_links_that_reach_every_change(small: Log, page: Client) -> None:
    receipts.read_brief(small, **WHO, upto_seq=9)
    seen, where = [], address(small, 1)
    while where:
        html = page.get(where).content.decode()
        seen.append(int(where.split("/")[-2]))
        found = re.search(r'href="([^"]+)"\s+rel="next"', html)
        where = found[1] if found else ""
    assert seen == [1, 7, 9, 14]
    assert "3 of 3 moments" in shown(page, address(small, 14))
    assert "2 of 3 moments" in shown(page, address(small, 13))


def test_the_form_leads_to_a_seq_and_refuses_what_is_none(small: Log, page: Client) -> None:
    answer = page.get(address(small, 1, "?seq=9"))
    assert (answer.status_code, answer["Location"]) == (302, address(small, 9))
    for query in ("?seq=0", "?seq=x", f"?seq={small.last_seq + 1}", "?after=x"):
        assert page.get(address(small, 1, query)).status_code == 400
    assert page.get(address(small, small.last_seq + 1)).status_code == 404


def test_a_long_tail_is_shown_a_page_at_a_time(transcript: Log, page: Client) -> None:
    seen, where = [], address(transcript, 254)
    while where:
        html = page.get(where).content.decode()
        seen += [int(seq) for seq in re.findall(r'<tr role="row" id="e(\d+)"', html)]
        found = re.search(r'href="([^"]+after=\d+)"\s+rel="next"', html)
        where = found[1] if found else ""
    assert seen == list(range(5, 255))
    assert "100 of 250 events" in shown(page, address(transcript, 254))


def test_the_page_costs_as_few_queries_for_a_long_tail(page: Client) -> None:
    def queries(events: int) -> int:
        log = log_of([said(), marker(), *(said() for _ in range(events))], owner=OWNER)
        with CaptureQueriesContext(connection) as captured:
            assert page.get(address(log, log.last_seq)).status_code == 200
        return len(captured)

    assert queries(2) == queries(500)


def test_looking_writes_nothing(page: Client) -> None:
    log = log_of(3, owner=OWNER)
    with CaptureQueriesContext(connection) as captured:
        page.get(address(log, 2))
    assert not [query for query in captured if re.match("INSERT|UPDATE|DELETE", query["sql"])]


def test_a_brief_of_events_alone_is_exact_too(page: Client) -> None:
    log = log_of(3, owner=OWNER)
    append(log, [said("Last.")])
    receipts.read_brief(log, **WHO)
    assert "4 of 4 events up to here" in shown(page, address(log, 4))
