"""What a policy decides of a brief, what a brief says of a stretch without a summary, who read what is redone."""

from typing import Any

import pytest

from chronicle import brief, policies, sections
from chronicle.divergence import bill, words
from chronicle.envelope import PendingEvent
from chronicle.fold import close_without_summary, consolidate
from chronicle.log import append
from chronicle.material import Written
from chronicle.models import Form, Log, Receipt, UnitFailure
from chronicle.receipts import read_brief, read_expand, read_list, read_open, stands, text_of
from tests.builders import log_of, marker, said, units_of
from tests.summarisers import Noting

pytestmark = pytest.mark.django_db

PROSE = "Dina asked for a quiet table for eight. " * 8


def under(count: int = 6, **values: Any) -> Written:
    """The brief of so many sections, none rolled up, under a policy."""
    log = units_of(count)
    policies.set_for(log, made_by="test", token_budget=32_000, rollup_threshold=200)
    consolidate(log, summariser=Noting(PROSE))
    if values:
        policies.set_for(log, made_by="test", **values)
        append(log, [said("So that the new row is in force.")])
    return brief.write(sections.current_edition(log))


def forms(written: Written) -> list[str]:
    return [form for _, form in written.parts]


@pytest.mark.parametrize("budget", [200, 300, 700, 1200, 32_000])
def test_the_token_budget_bounds_header_and_cover_and_never_the_tail(budget: int) -> None:
    written = under(token_budget=budget)
    assert written.view_tokens <= budget
    assert "So that the new row is in force." in written.text
    assert (forms(written) == ["full"] * 6) is (budget >= 1200)


@pytest.mark.parametrize(("recent", "older", "shown"), [(1, 0, 1), (2, 0, 2), (2, 3, 5), (8, 12, 6)])
def test_max_recent_and_max_older_bound_the_entries_and_the_rest_is_stated(recent: int, older: int, shown: int) -> None:
    written = under(max_recent=recent, max_older=older)
    assert forms(written) == ["dropped"] * (6 - shown) + ["full"] * shown
    if shown < 6:
        assert f"1-{2 * (6 - shown)} not shown" in written.text
        assert written.not_shown == ((1, 2 * (6 - shown)),)
    assert [one.recent for one, _ in written.parts] == [False] * (6 - min(recent, 6)) + [True] * min(recent, 6)


@pytest.mark.parametrize(("hours", "recent"), [(1, [False, False, True]), (30, [False, True, True]), (100, [True] * 3)])
def test_the_recent_window_says_what_is_recent(clock: Any, hours: int, recent: list[bool]) -> None:
    log = log_of(0)
    policies.set_for(log, made_by="test", recent_window_hours=hours)
    for _ in range(3):
        clock.move(hours=24)
        append(log, [said(), marker()])
    consolidate(log, summariser=Noting())
    assert [one.recent for one, _ in brief.write(sections.current_edition(log)).parts] == recent


def test_the_row_in_force_at_the_seq_decides() -> None:
    log = units_of(6)
    consolidate(log, summariser=Noting(PROSE))
    policies.set_for(log, made_by="test", max_recent=1, max_older=0)
    append(log, [said("Later.")])
    edition = sections.current_edition(log)
    assert len([form for form in forms(brief.write(edition, upto_seq=12)) if form != "dropped"]) == 6
    assert forms(brief.write(edition)).count("dropped") == 5


@pytest.fixture
def closed(clock: Any) -> Log:
    """The first of three units could not be drawn and was closed without summary."""
    log, broken = units_of(3), Noting(fails=lambda call: True)
    consolidate(log, summariser=broken)
    while (failure := UnitFailure.objects.get()).attempts < 5:
        clock.time = failure.next_try
        consolidate(log, summariser=broken)
    close_without_summary(failure, by="putri")
    consolidate(log, summariser=Noting())
    return log


@pytest.mark.promise("DS5")
def test_a_stretch_that_was_closed_without_a_summary_is_marked_so_wherever_an_agent_reads_it(closed: Log) -> None:
    for budget in (None, 32_000):
        text = brief.write(sections.current_edition(closed), budget=budget).text
        assert "[1-2, no summary] Closed without summary" in text
        assert "[1-2]" not in text
        assert "[3-4, no summary]" not in text
    edition, who = sections.current_edition(closed), {"by": "concierge", "capability": "read"}
    assert "[1-2] 1 events: Closed without summary" in read_list(edition, **who).text
    assert "origin: closed without summary" in read_open(edition, "1-2", **who).text
    reading = read_brief(closed, by="concierge", capability="read")
    assert text_of(reading.receipt) == reading.text and stands(reading.receipt)


@pytest.mark.promise("DS5", "K20")
def test_a_unit_that_could_not_be_drawn_is_in_the_tail_with_its_own_words() -> None:
    log = units_of(2)
    consolidate(log, summariser=Noting(fails=lambda call: True))
    text = brief.write(sections.current_edition(log)).text
    assert text.startswith("# Events 1-4 as logged: 4 of 4 shown")
    assert "message 1.1" in text


@pytest.mark.promise("K39")
def test_the_bill_names_the_receipts_that_agents_left_by_reading() -> None:
    log = units_of(3)
    consolidate(log, summariser=Noting(PROSE))
    edition = sections.current_edition(log)
    read_brief(log, by="concierge", capability="read", upto_seq=4)
    read_brief(log, by="booking", capability="read", budget=150)
    read_brief(log, by="search", capability="read", upto_seq=1)
    read_list(edition, by="search", capability="read")
    read_open(edition, "3-4", by="search", capability="read")
    read_expand(edition, "1-2", by="search", capability="expand")
    given = [(part.number, part.reader, part.upto_seq, part.form) for part in bill(log, "1-2").receipts]
    booked = Receipt.objects.get(number=2).parts.get(section__anchor__from_seq=1).form
    assert booked in {Form.TITLE, Form.DROPPED}
    expected = [(1, "concierge", 4, "full"), (2, "booking", 6, booked), (4, "search", 6, "title")]
    expected = [row for row in expected if row[3] != Form.DROPPED]
    assert given == [*expected, (6, "search", 6, "events")]
    assert "concierge at 4" in words(bill(log, "1-2"))["receipts"]


def test_a_request_that_only_names_its_tool_is_given_with_its_arguments() -> None:
    def request(content: str) -> PendingEvent:
        asked = {"kind": "tool_request", "actor_kind": "agent", "actor": "booking", "payload": {"hold": "H-1"}}
        return said(content, **asked)

    text = brief.write(sections.current_edition(log_of([request("tables.hold"), request("Bash ls"), request("")]))).text
    lines = text.splitlines()[1:]
    assert [line.partition("→ ")[2] for line in lines] == ['tables.hold {"hold":"H-1"}', "Bash ls", '{"hold":"H-1"}']
