"""Summarisers: titles, answers, and what a span holds."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest

from chronicle.envelope import StoredEvent
from chronicle.errors import InvalidPolicy, SummaryFailed
from chronicle.summarisers import nothing_public, span_of, summariser_named
from chronicle.summarisers.answer import Answer, cut_title, fallback_rollup_title, fallback_title, parse_answer
from chronicle.summarisers.constant import Constant
from chronicle.summarisers.protocol import Child, Said, Span
from tests.stored_events import stored


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.promise("S36")
def test_the_first_line_is_the_title_where_title_and_body_have_words() -> None:
    answer = parse_answer("TITLE: A table for four\n\nThey asked.\nIt was booked.\n", fallback="2026")
    assert answer == Answer("A table for four", "They asked.\nIt was booked.")


@pytest.mark.promise("S36")
@pytest.mark.parametrize(
    "text",
    [
        "Title: A table\nThey asked.",
        "title: A table\nThey asked.",
        "TITLE:\nThey asked.",
        "TITLE:   \nThey asked.",
        "TITLE: A table",
        "TITLE: A table\n   \n",
        "They asked.\nTITLE: A table\nIt was booked.",
    ],
)
def test_otherwise_the_whole_answer_is_the_prose_under_the_fallback(text: str) -> None:
    assert parse_answer(text, fallback="2026") == Answer("2026", text.strip())


@pytest.mark.promise("DA4", "DA9")
@pytest.mark.parametrize("text", [None, "", "  \n\t", "\u200b\ufeff", 7, b"prose", ["prose"]])
def test_an_answer_without_words_is_refused(text: object) -> None:
    with pytest.raises(SummaryFailed, match="nothing was stored"):
        parse_answer(text, fallback="2026")


@pytest.mark.promise("S37")
def test_a_title_is_cut_to_eighty_characters_not_bytes() -> None:
    assert cut_title("é" * 80) == "é" * 80
    assert cut_title("é" * 81) == "é" * 79 + "…"
    assert len(parse_answer(f"TITLE: {'x' * 500}\nbody", fallback="").title) == 80
    assert len(parse_answer("body", fallback="x" * 500).title) == 80


@pytest.mark.promise("S38")
def test_the_fallback_title_is_the_time_of_the_span() -> None:
    east = datetime(2026, 3, 1, 10, 5, tzinfo=timezone(timedelta(hours=1)))
    assert fallback_title(east, at("2026-03-01 09:40")) == "2026-03-01 09:05–09:40 UTC"
    assert fallback_title(None, None) == "Untitled span"


@pytest.mark.promise("S38")
def test_a_span_over_midnight_shows_both_dates_and_half_a_span_its_one_time() -> None:
    assert fallback_title(at("2026-03-01 23:50"), at("2026-03-02 00:10")) == "2026-03-01 23:50 – 2026-03-02 00:10 UTC"
    assert fallback_title(at("2026-03-02 00:10"), at("2026-03-01 23:50")) == "2026-03-01 23:50 – 2026-03-02 00:10 UTC"
    assert fallback_title(None, at("2026-03-02 00:10")) == "2026-03-02 00:10 UTC"


@pytest.mark.promise("S39")
def test_the_fallback_title_of_a_rollup_is_first_date_to_last_date() -> None:
    days = [
        Child("a", "p", 1, at("2026-03-01 09:00"), at("2026-03-01 10:00")),
        Child("b", "p", 1, at("2026-03-04 09:00"), at("2026-03-05 10:00")),
    ]
    assert fallback_rollup_title(days) == "2026-03-01 – 2026-03-05"
    assert fallback_rollup_title(days[:1]) == "2026-03-01"


@pytest.mark.promise("S39")
def test_without_dates_a_rollup_is_titled_by_its_first_and_last_section() -> None:
    assert fallback_rollup_title([Child(name, "p", 1) for name in ("Asked", "Looked", "Booked")]) == "Asked – Booked"
    assert fallback_rollup_title([Child("", "p", 1)]) == "Untitled span"
    assert len(fallback_rollup_title([Child("x" * 80, "p", 1), Child("y" * 80, "p", 1)])) == 80


def test_a_summariser_is_found_by_its_name() -> None:
    assert summariser_named("outline").name == "outline"


def test_the_model_summariser_needs_a_model_and_says_so() -> None:
    assert summariser_named("model", model="openai:x").name == "model"
    with pytest.raises(InvalidPolicy, match="set MODEL=provider:name"):
        summariser_named("model", model=" ")
    with pytest.raises(InvalidPolicy, match="'oracle' is none of outline, model"):
        summariser_named("oracle")


def test_a_class_of_ones_own_comes_from_the_environment_and_never_from_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    own = "tests.summarisers:Noting"
    with pytest.raises(InvalidPolicy, match="none of outline"):
        summariser_named(own)
    monkeypatch.setenv("SUMMARISER", own)
    assert summariser_named(own).name == "noting"
    monkeypatch.setenv("SUMMARISER", "tests.nowhere:Noting")
    with pytest.raises(InvalidPolicy, match="cannot be loaded"):
        summariser_named("tests.nowhere:Noting")


@pytest.mark.promise("K26")
def test_a_span_without_public_content_has_a_fixed_marked_text() -> None:
    draft = nothing_public()
    assert draft == nothing_public() == summariser_named("outline").section(Span(()))
    assert draft.prose.startswith("[") and draft.prose.endswith("]")
    assert draft.title
    assert draft.model == "" and draft.pins == ()


def test_the_constant_summariser_says_the_same_of_everything() -> None:
    assert Constant().section(Span(())) == Constant().rollup([])
    assert Constant(prose="x").section(Span(())).prose == "x"


def dialogue(first: int = 1, ids: int = 1, **fields: Any) -> list[StoredEvent]:
    """One dialogue, as it would stand in a log from `first` on with other ids than in any other."""
    request = UUID(int=1000 * ids + 2)
    events = [
        stored(first, content="A table for four?"),
        stored(first + 1, kind="tool_request", actor_kind="agent", actor="concierge", content="find", correlation="c"),
        stored(first + 2, kind="tool_response", actor_kind="system", actor="find", content="T-19", causation=request),
        stored(first + 3, kind="message", actor_kind="agent", actor="concierge", content="T-19 is free."),
    ]
    return [replace(event, event_id=UUID(int=1000 * ids + place), **fields) for place, event in enumerate(events, 1)]


@pytest.mark.promise("A47", "K29")
def test_the_same_dialogue_in_two_logs_gives_the_same_request_without_any_id() -> None:
    here = span_of(dialogue(first=1, ids=1))
    there = span_of(dialogue(first=5001, ids=77, digest="f" * 64, idempotency_key="k", salt="s", locator="9:9"))
    assert here == there
    assert set(Said.__dataclass_fields__) == {"kind", "actor_kind", "actor", "content", "payload", "answers"}
    assert set(Span.__dataclass_fields__) == {"said", "began", "ended", "story"}
    assert not any(str(UUID(int=1000 + place)) in repr(here) for place in range(1, 5))


def test_a_response_names_its_request_by_its_place_in_the_span() -> None:
    assert [said.answers for said in span_of(dialogue()).said] == [None, None, 1, None]
    by_call = span_of([*dialogue()[:2], stored(3, kind="tool_response", correlation="c")])
    assert by_call.said[-1].answers == 1
    assert span_of(dialogue()[2:]).said[0].answers is None


@pytest.mark.promise("K25", "DA8")
def test_bookkeeping_and_markers_are_never_given_to_a_summariser() -> None:
    books = [stored(5, kind="bookkeeping", type="pin.promoted", content="pin"), stored(6, kind="marker", content="cut")]
    assert span_of([*books, *dialogue()]) == span_of(dialogue())
    assert span_of(books) == Span(())


@pytest.mark.promise("K26")
def test_only_what_everyone_may_see_is_given_to_a_summariser() -> None:
    secret = stored(5, content="for Bo alone", audience=("Bo",), at=at("2031-01-01 00:00"))
    assert span_of([*dialogue(), secret]) == span_of(dialogue())
    assert summariser_named("outline").section(span_of([secret])) == nothing_public()


def test_a_spans_times_are_those_the_source_claims() -> None:
    claimed = at("2025-05-05 05:05")
    span = span_of([stored(1, claimed_at=claimed), stored(2, at=at("2026-06-06 06:06"))])
    assert (span.began, span.ended) == (claimed, at("2026-06-06 06:06"))
