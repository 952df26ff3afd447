"""The pages of receipts: what was given, proven at the moment of the request, and what has moved on since."""

import re
from itertools import pairwise

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from chronicle import append_only, receipts, sections
from chronicle.fold import consolidate
from chronicle.log import append
from chronicle.models import Log
from tests.builders import log_of, marker, said
from tests.summarisers import Noting
from tests.web.conftest import OWNER, redraw, words

WHO = {"by": "concierge", "capability": "expand"}


def address(log: Log, number: int | None = None) -> str:
    return f"/logs/{log.public_id}/receipts/{f'{number}/' if number else ''}"


def text_of(client: Client, where: str) -> str:
    answer = client.get(where)
    assert answer.status_code == 200
    return words(answer.content.decode())


def read_all(log: Log) -> None:
    """A brief, a tight one, a list, an opened rollup, an expanded section: receipts 1 to 5."""
    edition = sections.current_edition(log)
    receipts.read_brief(log, **WHO)
    receipts.read_brief(log, by="booking", capability="read", reader="booking", upto_seq=57, budget=60)
    receipts.read_list(edition, **WHO)
    receipts.read_open(edition, "L1:1-21", **WHO)
    receipts.read_expand(edition, "1-7", **WHO)


@pytest.mark.promise("K44")
def test_the_list_says_what_was_given_to_whom_and_how_many_there_are(log: Log, page: Client) -> None:
    assert "0 of 0 receipts" in text_of(page, address(log))
    read_all(log)
    shown = text_of(page, address(log))
    assert "5 of 5 receipts shown: 0 hidden by the filter, 0 on other pages" in shown
    assert shown.index("R-5") < shown.index("R-1")
    assert "1 of 5 receipts shown: 4 hidden" in text_of(page, address(log) + "?reader=booking")
    assert "1 of 5 receipts shown: 4 hidden" in text_of(page, address(log) + "?what=expand")
    assert "2 of 5 receipts shown: 3 hidden" in text_of(page, address(log) + "?section=1-7")
    assert "0 of 5 receipts shown: 5 hidden" in text_of(page, address(log) + "?section=1-7%232")


@pytest.mark.parametrize("query", ["?section=x", "?what=x", "?after=0", "?after=1&before=2"])
def test_a_filter_that_cannot_be_read_is_400_and_shows_nothing(log: Log, page: Client, query: str) -> None:
    answer = page.get(address(log) + query)
    assert answer.status_code == 400
    assert "0 of 0 receipts" in words(answer.content.decode())


def test_pages_are_cut_by_number_and_every_receipt_is_reached(
    small: Log, page: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chronicle.web.receipts.PAGE", 3)
    for _ in range(8):
        receipts.read_brief(small, **WHO)
    seen, where = [], address(small)
    while where:
        html = page.get(where).content.decode()
        seen += [int(found) for found in re.findall(r'<a href="[^"]*">R-(\d+)</a>', html)]
        older = re.search(r'href="([^"]+)"\s+rel="next"', html)
        where = address(small) + older[1] if older else ""
    assert seen == [8, 7, 6, 5, 4, 3, 2, 1]
    newer = page.get(address(small) + "?after=2").content.decode()
    assert re.findall(r">R-(\d+)</a>", newer) == ["5", "4", "3"]


@pytest.mark.promise("K45")
def test_a_receipt_shows_the_exact_text_in_parts_with_the_bytes_of_each(log: Log, page: Client) -> None:
    read_all(log)
    for number in range(1, 6):
        receipt = receipts.receipts_of(log).get(number=number)
        shown = text_of(page, address(log, number))
        assert "Rendered again, byte for byte the same" in shown
        ranges = [(int(first), int(last)) for first, last in re.findall(r"bytes (\d+)–(\d+)", shown)]
        assert ranges[0][0] == 0 and ranges[-1][1] == receipt.size - 1
        assert all(one[1] + 1 == two[0] for one, two in pairwise(ranges))


@pytest.mark.promise("K45")
def test_the_bytes_can_be_had_as_a_file(log: Log, page: Client) -> None:
    read_all(log)
    for number in range(1, 6):
        receipt = receipts.receipts_of(log).get(number=number)
        answer = page.get(address(log, number) + "?as=text")
        assert answer.content == receipts.text_of(receipt).encode()
        assert answer["Content-Type"] == "text/plain; charset=utf-8"
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Content-Disposition"] == f'attachment; filename="receipt-{number}.txt"'
    assert page.get(address(log, 1) + "?as=pdf").status_code == 400


@pytest.mark.promise("K45")
def test_what_is_not_the_same_any_more_is_said_with_its_field(small: Log, page: Client) -> None:
    receipts.read_brief(small, **WHO)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    append_only.drop(connection)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE chronicle_section SET prose = 'Forged.' WHERE generation = 1")
    shown = text_of(page, address(small, 1))
    assert "Rendered again, and it is not the same" in shown
    assert "byte for byte" not in shown
    assert "not-what-was-given" in page.get(address(small, 1) + "?as=text")["Content-Disposition"]


def test_what_this_version_cannot_write_is_not_called_checked(
    small: Log, page: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    receipts.read_brief(small, **WHO)
    monkeypatch.setattr("chronicle.rendering.VERSION", 2)
    shown = text_of(page, address(small, 1))
    assert "Not checked" in shown and "the same" not in shown
    assert page.get(address(small, 1) + "?as=text").status_code == 400


@pytest.mark.promise("K46")
def test_what_was_superseded_or_rolled_up_since_is_named_with_the_difference(small: Log, page: Client) -> None:
    receipts.read_brief(small, **WHO)
    receipts.read_list(sections.current_edition(small), **WHO)
    assert "superseded" not in text_of(page, address(small, 1))
    redraw(small, "8-14")
    for number in (1, 2):
        html = page.get(address(small, number)).content.decode()
        shown = words(html)
        assert "1 of 2 sections superseded by now" in shown
        assert "superseded since by #2" in shown and shown.count("stands unchanged today") == 1
        assert "Difference to #2, which stands now" in shown
        assert '<del><span class="spoken">removed: </span>' in html and "<ins>" in html
        assert "byte for byte the same" in shown
    append(small, [event for _ in range(3) for event in (said(), marker())])
    consolidate(small, summariser=Noting())
    assert "rolled up since into L1:1-" in text_of(page, address(small, 1))


@pytest.mark.promise("K46")
def test_a_section_page_names_the_receipts_that_cite_this_generation(log: Log, page: Client) -> None:
    read_all(log)
    html = page.get(f"/logs/{log.public_id}/sections/8-14/2/").content.decode()
    assert "1 of 1 receipt that cite this generation" in words(html)
    assert address(log, 4) in html
    assert "0 of 0 receipts that cite" in text_of(page, f"/logs/{log.public_id}/sections/8-14/1/")


def test_a_number_that_is_none_is_not_found(log: Log, page: Client) -> None:
    assert page.get(address(log, 1)).status_code == 404


def test_what_was_recorded_is_escaped(page: Client) -> None:
    log = log_of([said("<script>alert(1)</script>", actor="<b>x</b>"), marker()], owner=OWNER)
    consolidate(log, summariser=Noting("<img src=x onerror=alert(1)>"))
    append(log, [said("<script>alert(2)</script>", actor="<b>x</b>")])
    receipts.read_brief(log, by="<i>me</i>", capability="read")
    for where in (address(log), address(log, 1)):
        html = page.get(where).content.decode()
        assert "&lt;i&gt;me" in html
        assert not re.search(r"<script>|<img|<b>x|<i>", html)


def test_queries_do_not_grow_with_what_is_shown(page: Client) -> None:
    def queries(where: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            assert page.get(where).status_code == 200
        return len(captured)

    def world(units: int, times: int) -> list[int]:
        log = log_of([event for _ in range(units) for event in (said(), marker())], owner=OWNER)
        consolidate(log, summariser=Noting())
        for _ in range(times):
            receipts.read_brief(log, **WHO)
        redraw(log, "1-2")
        return [queries(address(log)), queries(address(log, 1)), queries(f"/logs/{log.public_id}/sections/1-2/1/")]

    assert world(1, 1) == world(11, 30)
