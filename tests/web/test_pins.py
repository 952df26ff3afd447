"""The pins of a log: each with its event and what rests on it, what was drawn for nothing, what is still open."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chronicle import reconsolidate
from chronicle.fold import consolidate
from chronicle.log import append
from chronicle.models import Anchor, Edition, Event, Log, Pin, Receipt, ReceiptPart, Section, SectionPin
from chronicle.pins import PinLedger
from chronicle.replay import ReplayPins
from tests.builders import bookkeeping, log_of, units_of
from tests.summarisers import Scripted
from tests.web.conftest import words
from tests.web.test_pages import HOSTILE


def ask(client: Client, log: Log, query: str = "") -> Any:
    return client.get(f"/logs/{log.public_id}/pins/{query}")


def shown(client: Client, log: Log, query: str = "") -> str:
    response = ask(client, log, query)
    assert response.status_code == 200
    return words(response.content.decode())


def drawn(units: int = 2) -> Log:
    log = units_of(units)
    consolidate(log, summariser=Scripted())
    log.refresh_from_db()
    return log


def receipt(log: Log, number: int, parts: Sequence[tuple[Section, str]], reader: str = "concierge") -> Receipt:
    row = Receipt.objects.create(
        log=log,
        number=number,
        reader=reader,
        capability="read",
        at=timezone.now(),
        upto_seq=log.last_seq,
        token_estimate=1,
        text_digest="ab" * 32,
    )
    for position, (section, form) in enumerate(parts):
        ReceiptPart.objects.create(receipt=row, position=position, section=section, form=form)
    return row


def pinned(log: Log, count: int, *, kind: str = "x", results: Sequence[Any] = ("words",)) -> None:
    unit = PinLedger(log).open(f"u{kind}")
    for number in range(count):
        unit.adopt(f"p1:{kind}:{number:064x}", kind, results[number % len(results)])
    unit.commit()


def test_each_pin_stands_with_its_event_and_the_sections_that_rest_on_it(page: Client):
    log = drawn(13)
    found = ask(page, log).context["rows"]

    assert [row.seq for row in found] == list(range(27, 41))
    assert [(row.kind, row.attempts) for row in found] == [("model_call", 1)] * 14
    assert [[(one.anchor, one.generation, one.edition) for one in row.sections] for row in found[:2]] == [
        [("1-2", 1, 0)],
        [("3-4", 1, 0)],
    ]
    assert found[-1].sections[0].anchor == "L1:1-16"
    html = ask(page, log).content.decode()
    assert f'href="/logs/{log.public_id}/events/27/"' in html
    assert f'href="/logs/{log.public_id}/sections/1-2/1/"' in html
    assert f'href="/logs/{log.public_id}/sections/L1:1-16/1/"' in html
    assert Pin.objects.get(event__seq=27).key in html
    assert "14 of 14 pins shown: 0 hidden by the filter, 0 on other pages" in words(html)
    assert f'<a href="/logs/{log.public_id}/pins/">Pins</a>' in page.get(f"/logs/{log.public_id}/").content.decode()


def test_a_section_of_any_edition_rests_on_a_pin_but_none_of_another_log(page: Client):
    log, other = drawn(1), drawn(1)
    pin = Pin.objects.get(log=log)
    assert pin.key == Pin.objects.get(log=other).key, "one dialogue, one key"
    old = Edition.objects.create(log=log, number=2, state="archived", made_at=timezone.now())
    anchor = Anchor.objects.create(edition=old, from_seq=1, to_seq=2, unit_seq=2, kind="unit", event_count=1)
    again = Section.objects.get(anchor__edition__log=log)
    again.pk, again.anchor, again._state.adding = None, anchor, True
    again.save()
    SectionPin.objects.create(section=again, position=0, key=pin.key)
    SectionPin.objects.create(section=again, position=1, key=pin.key)

    [row] = ask(page, log).context["rows"]
    assert [(one.anchor, one.edition) for one in row.sections] == [("1-2", 0), ("1-2", 2)]
    assert "1-2#1, edition 2: 1-2#1" in shown(page, log)
    old_page = page.get(f"/logs/{log.public_id}/sections/1-2/1/?edition=2")
    assert f'href="{old_page.request["PATH_INFO"]}?edition=2"' in ask(page, log).content.decode()
    assert old_page.status_code == 200


def test_another_generation_rests_on_its_own_pin_or_on_the_same(page: Client):
    log = drawn(1)
    again = Scripted(lambda *_: "Other words.", prompt="Tell it otherwise.")
    reconsolidate.reconsolidate(log, "1-2", accepted=True, by="root", reason="a number", summariser=again)

    rows = ask(page, log).context["rows"]
    assert [[(one.anchor, one.generation) for one in row.sections] for row in rows] == [[("1-2", 1)], [("1-2", 2)]]


def test_receipts_rest_on_the_pins_of_what_they_gave(page: Client):
    log = drawn(2)
    first, second = Section.objects.filter(anchor__edition__log=log).order_by("anchor__from_seq")
    receipt(log, 1, [(first, "full"), (second, "dropped")])
    receipt(log, 2, [(first, "title"), (second, "full")], reader=HOSTILE)
    other = drawn(1)
    receipt(other, 9, [(Section.objects.get(anchor__edition__log=other), "full")])

    one, two = ask(page, log).context["rows"]
    assert [(read.number, read.reader) for read in one.receipts] == [(2, HOSTILE), (1, "concierge")]
    assert [read.number for read in two.receipts] == [2]
    assert (one.receipt_count, two.receipt_count) == (2, 1)
    for number in range(3, 9):
        receipt(log, number, [(first, "full"), (first, "title")])
    one, _ = ask(page, log).context["rows"]
    assert [read.number for read in one.receipts] == [8, 7, 6, 5, 4]
    assert "the newest 5 of 8" in shown(page, log)


def test_the_list_is_narrowed_by_kind_and_by_key_and_says_what_it_hides(page: Client):
    log = log_of(1)
    pinned(log, 3, kind="model_call")
    pinned(log, 2, kind="tool_call")

    assert "2 of 5 pins shown: 3 hidden by the filter, 0 on other pages" in shown(page, log, "?kind=tool_call")
    assert [row.kind for row in ask(page, log, "?kind=tool_call").context["rows"]] == ["tool_call"] * 2
    key = f"p1:model_call:{1:064x}"
    assert [row.key for row in ask(page, log, f"?key={key}").context["rows"]] == [key]
    assert len(ask(page, log, "?key=0001").context["rows"]) == 2
    assert ask(page, log, "?kind=model").context["rows"] == []
    assert "No pin passes this filter." in shown(page, log, "?key=%25")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("?after=x", "after: Enter a whole number"),
        ("?before=0", "before: Ensure this value"),
        ("?after=1&before=3", "not both"),
        ("?lost=-1", "lost: Ensure this value"),
        ("?key=%00", "key: Null characters"),
        (f"?kind={'k' * 101}", "kind: Ensure this value"),
    ],
)
def test_a_filter_that_cannot_be_read_is_refused_with_its_reason(page: Client, query: str, reason: str):
    log = drawn(1)
    response = ask(page, log, query)

    assert response.status_code == 400
    assert reason in response.content.decode()
    assert "0 of 1 pin" in words(response.content.decode())


def test_pages_are_cut_by_seq_in_both_directions_and_add_up(page: Client):
    log = log_of(1)
    pinned(log, 120)
    found: list[int] = []
    query = ""
    while True:
        context = ask(page, log, query).context
        found += [row.seq for row in context["rows"]]
        if not (query := context["later"]):
            break
    assert found == list(range(2, 122))
    assert "20 of 120 pins shown: 0 hidden by the filter, 100 on other pages" in shown(page, log, "?after=101")
    back = ask(page, log, ask(page, log, "?after=101").context["earlier"]).context
    assert [row.seq for row in back["rows"]] == list(range(52, 102))
    assert (back["earlier"], back["later"]) == ("?before=52", "?after=101")
    assert not ask(page, log, "?before=52").context["earlier"]
    filtered = ask(page, log, "?kind=x&after=51").context
    assert filtered["later"] == "?kind=x&after=101"


def test_of_two_pins_under_one_key_the_earlier_says_where_it_was_drawn_again(page: Client):
    log = log_of(1)
    for number in (1, 2):
        unit = PinLedger(log).open(f"u{number}")
        unit.adopt("p1:x:1", "x", number)
        unit.commit()

    assert [(row.seq, row.later) for row in ask(page, log).context["rows"]] == [(2, 3), (3, 0)]
    assert "drawn again at 3, which replay takes" in shown(page, log)


def test_a_result_is_escaped_and_cut_and_its_event_holds_it_whole(page: Client):
    log = log_of(1)
    pinned(log, 1, kind="<b>", results=[HOSTILE + "x" * 5000])
    response = ask(page, log)
    html = response.content.decode()
    [row] = response.context["rows"]

    assert len(row.result) == 2000
    assert row.size > 5000
    assert f"2000 of {row.size} characters shown" in words(html)
    assert "&lt;img src=x onerror=" in html and "&lt;b&gt;" in html
    assert "<img src=x" not in html and "<b>:" not in html
    event = page.get(f"/logs/{log.public_id}/events/2/?as=payload")
    assert json.loads(event.content)["result"].endswith("x" * 5000)


def test_what_was_abandoned_stands_with_its_reason_and_a_replay_that_missed_with_its_key(page: Client):
    log = log_of(1)
    unit = PinLedger(log).open("1/1-2")
    for number in range(3):
        unit.adopt(f"p1:x:{number}", "x", number)
    unit.abandon(f"the delegate walked out {HOSTILE}")
    missing = PinLedger(log).open("2/1-2")
    ReplayPins({}, on_miss="record", into=missing).resolve("p1:x:9", "x", lambda: 1)
    missing.commit()
    html = ask(page, log).content.decode()

    assert "2 of 2 events shown, newest first" in words(html)
    assert "no pin was recorded under p1:x:9" in words(html)
    assert "the delegate walked out &lt;img" in html
    assert [(one.unit, one.draws, one.missed) for one in ask(page, log).context["lost"]] == [
        ("2/1-2", 0, "p1:x:9"),
        ("1/1-2", 3, ""),
    ]


def test_what_was_abandoned_is_paged_and_whatever_shape_it_has_is_shown(page: Client):
    log = log_of(1)
    for number in range(45):
        unit = PinLedger(log).open(f"u{number}")
        unit.adopt("p1:x:1", "x", 1)
        unit.abandon("again")

    append(
        log,
        [
            bookkeeping(type="PinsAbandoned", payload={"discarded": 7, "reason": ["a"]}),
            bookkeeping(type="ReplayDiverged", payload=None),
        ],
    )
    found: list[int] = []
    query = ""
    while True:
        context = ask(page, log, query).context
        found += [one.seq for one in context["lost"]]
        if not context["older"]:
            break
        query = f"?lost={context['older']}"
    assert found == list(range(48, 1, -1))


def test_units_left_open_are_listed_oldest_first(page: Client):
    log = log_of(1)
    assert "0 of 0 units shown" in shown(page, log)
    for unit in ("1/1-2", "1/3-4"):
        PinLedger(log).open(unit).adopt("p1:x:1", "x", "SECRET SCRATCH")
    html = ask(page, log).content.decode()

    assert "2 of 2 units shown, oldest first" in words(html)
    assert [one.unit for one in ask(page, log).context["open"]] == ["1/1-2", "1/3-4"]
    assert "SECRET SCRATCH" not in html


def test_the_page_takes_as_many_queries_for_a_full_page_as_for_one_pin(page: Client):
    few, many = drawn(1), drawn(40)
    for log in (few, many):
        sections = Section.objects.filter(anchor__edition__log=log)
        for number in range(1, 4):
            receipt(log, number, [(section, "full") for section in sections])
        PinLedger(log).open("u").adopt("p1:x:1", "x", 1)
    counts = []
    for log in (few, many):
        with CaptureQueriesContext(connection) as caught:
            assert ask(page, log).status_code == 200
        counts.append(len(caught))
    assert counts[0] == counts[1] <= 15
    assert Event.objects.filter(log=many, type="PinPromoted").count() > 40
