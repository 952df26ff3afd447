"""The sample dinner: what its README promises a reviewer is in the file."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from chronicle.fold import consolidate
from chronicle.ingest import ingest_file
from chronicle.models import Log
from chronicle.sections import cover_of, current_edition, current_sections

SAMPLE = Path(__file__).parent.parent / "chronicle" / "sample"
FALSE_NUMBER = re.compile(r"1[.,]?020[.,]?000")
TRUE_NUMBER = re.compile(r"1[.,]?200[.,]?000")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SAMPLE / "dinner.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def events(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if "kind" in row]


def test_the_sample_is_long_and_varied_enough_for_two_levels_of_rollups(events: list[dict[str, Any]]) -> None:
    kinds = Counter(event["kind"] for event in events)
    assert len(events) == 732
    assert min(kinds[kind] for kind in ("message", "thought", "tool_request", "tool_response")) >= 59
    units = [seq for seq, event in enumerate(events, 1) if event.get("type") == "unit.closed"]
    assert sum(seq > 94 for seq in units) >= 104
    assert {event["actor"] for event in events if event["actor_kind"] != "system"} == {
        "Dina", "Bram", "concierge", "search", "booking",
    }  # fmt: skip


def test_each_response_answers_an_earlier_request_of_the_same_call(events: list[dict[str, Any]]) -> None:
    requests: dict[str, dict[str, Any]] = {}
    for event in events:
        if event["kind"] == "tool_request":
            requests[event["id"]] = event
        if event["kind"] == "tool_response":
            request = requests.pop(event["answers"])
            assert request["correlation"] == event["correlation"]
            assert request["payload"]["tool"] == event["payload"]["tool"] == event["actor"]
            assert request.get("audience") == event.get("audience")
    assert requests == {}


def test_ids_are_used_once_and_times_only_move_forward(events: list[dict[str, Any]]) -> None:
    assert len({event["id"] for event in events}) == len(events)
    times = [event["at"] for event in events]
    assert times == sorted(times)
    assert all(time.endswith("+07:00") for time in times)


def test_some_events_are_private_to_booking_and_some_are_errors(events: list[dict[str, Any]]) -> None:
    assert {tuple(event["audience"]) for event in events if "audience" in event} == {("booking",)}
    assert 5 <= sum("audience" in event for event in events) <= 40
    assert sum(bool(event.get("payload", {}).get("is_error")) for event in events) >= 5


def summaries(rows: list[dict[str, Any]]) -> list[tuple[list[dict[str, Any]], str]]:
    """Return each imported summary with the events since the one before it."""
    found, covered = [], []
    for row in rows[1:]:
        if "summary" in row:
            found.append((covered, row["summary"]))
            covered = []
        else:
            covered.append(row)
    return found


def test_each_summary_follows_a_compaction_marker(rows: list[dict[str, Any]]) -> None:
    covered = summaries(rows)
    assert [len(events) for events, _ in covered] == [44, 50]
    assert all(events[-1].get("type") == "compaction" for events, _ in covered)


def test_the_false_number_of_the_second_summary_is_in_none_of_its_events(rows: list[dict[str, Any]]) -> None:
    covered, summary = summaries(rows)[1]
    said = json.dumps(covered)
    assert FALSE_NUMBER.search(summary)
    assert not FALSE_NUMBER.search(said)
    assert TRUE_NUMBER.search(said)
    assert not TRUE_NUMBER.search(summary)


def test_the_promise_of_a_reminder_is_in_an_event_and_not_in_the_summary(rows: list[dict[str, Any]]) -> None:
    covered, summary = summaries(rows)[1]
    promise = covered[74 - 45]
    assert promise["actor"] == "concierge"
    assert "I promise to remind you on Thursday at three" in promise["content"]
    assert not re.search(r"remind|frame|Bingkai|Thursday|Blok M|present", summary)


def test_the_other_numbers_and_names_of_both_summaries_are_in_their_events(rows: list[dict[str, Any]]) -> None:
    for covered, summary in summaries(rows):
        said = json.dumps(covered).replace(",", "").replace("%", " %")
        claims = re.findall(r"\d[\d,]*\d|[A-Z]+-\d+|(?<=[a-z,] )[A-Z][a-z]+", FALSE_NUMBER.sub("", summary))
        missing = {claim for claim in claims if claim.replace(",", "") not in said and claim != "19:30"}
        assert missing == set()


def test_both_errors_go_wrong_later(events: list[dict[str, Any]]) -> None:
    repeated = [seq for seq, event in enumerate(events, 1) if FALSE_NUMBER.search(event.get("content", ""))]
    assert repeated[:3] == [398, 510, 512]
    assert "Nothing at all" in events[503 - 1]["content"]
    assert "I promised to remind you" in events[567 - 1]["content"]


def test_the_readme_names_the_seqs_that_hold_them() -> None:
    words = (SAMPLE / "README.md").read_text()
    assert all(seq in words for seq in ("45–94", "398, 510 and 512", "503", "At 72", "74", "732 events", "121 units"))


@pytest.mark.django_db
def test_ingested_and_consolidated_it_has_imported_sections_and_two_levels_of_rollups() -> None:
    (report,) = ingest_file(SAMPLE / "dinner.jsonl", owner="demo").logs
    log = Log.objects.get(public_id=report.log)
    consolidate(log)
    sections = current_sections(current_edition(log))
    assert (report.added, report.refused, report.sections) == (732, 0, 2)
    assert [(one.anchor.ref, one.origin) for one in sections if one.origin == "imported"] == [
        ("1-44", "imported"),
        ("45-94", "imported"),
    ]
    assert Counter(one.anchor.level for one in sections) == {0: 114, 1: 13, 2: 1}
    cover = cover_of(current_edition(log))
    assert len(cover) <= 20
    assert cover[0].anchor.level == 2
