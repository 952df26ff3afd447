"""Appending, reading, the chain."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from chronicle import canonical
from chronicle.envelope import PendingEvent
from chronicle.errors import (
    ConcurrencyError,
    DuplicateEventType,
    EventExists,
    InvalidEvent,
    InvalidPayload,
    LogExists,
    UnknownEventType,
    UpcastGap,
)
from chronicle.event_types import EventTypes
from chronicle.log import append, create_log, read
from chronicle.models import Event, Log
from chronicle.seal import content_digest, entry_digest
from tests.builders import bookkeeping, log_of, said

pytestmark = pytest.mark.django_db


@pytest.mark.promise("A1", "K2", "S1", "S2")
def test_a_batch_is_numbered_from_the_last_seq_without_a_gap() -> None:
    log = log_of(3)
    appended = append(log, [said("a"), said("b")])
    assert (appended.first_seq, appended.last_seq) == (4, 5)
    assert [event.seq for event in appended.events] == [4, 5]
    assert list(Event.objects.filter(log=log).order_by("seq").values_list("seq", flat=True)) == [1, 2, 3, 4, 5]


@pytest.mark.promise("A1", "A4")
def test_an_empty_batch_returns_the_old_last_seq_and_an_empty_log_is_at_zero() -> None:
    assert create_log("demo").last_seq == 0
    log = log_of(2)
    assert append(log, []).last_seq == 2
    assert list(read(create_log("demo"))) == []


@pytest.mark.promise("A2", "K4")
def test_a_wrong_expected_seq_names_both_and_writes_nothing() -> None:
    log = log_of(2)
    with pytest.raises(ConcurrencyError) as caught:
        append(log, [said()], expected_last_seq=1)
    assert caught.value.details == {"expected": 1, "found": 2}
    assert Event.objects.filter(log=log).count() == 2
    assert append(log, [said()], expected_last_seq=2).last_seq == 3


@pytest.mark.promise("A3")
def test_the_same_event_twice_fails_with_our_own_error_and_nothing_is_written() -> None:
    log, event = create_log("demo"), said()
    append(log, [event])
    with pytest.raises(EventExists):
        append(log, [said("another"), event])
    assert Event.objects.filter(log=log).count() == 1
    assert Log.objects.get(pk=log.pk).last_seq == 1
    append(create_log("demo"), [event])  # unique over its log, not over the site


@pytest.mark.promise("A4", "A8", "K7")
def test_read_goes_from_since_to_upto_and_filters_before_the_limit() -> None:
    log = log_of([said(str(number), kind="message" if number % 2 else "thought") for number in range(1, 11)])
    assert [event.seq for event in read(log, since_seq=3, limit=2)] == [4, 5]
    assert [event.seq for event in read(log, since_seq=3, upto_seq=6)] == [4, 5, 6]
    odd = read(log, since_seq=3, limit=2, where=lambda event: event.kind == "message")
    assert [event.seq for event in odd] == [5, 7]
    assert list(read(log, limit=0)) == []


@pytest.mark.promise("A5")
def test_the_envelope_comes_back_whole() -> None:
    cause = uuid4()
    given = said(
        namespace="dinner",
        type="Seated",
        schema_version=3,
        causation=cause,
        correlation="call-1",
        claimed_at=datetime(2026, 11, 30, 9, 30, 1, 250, tzinfo=UTC),
        audience=("search", "booking"),
        payload={"b": 1, "a": ["é", 1.5]},
    )
    (stored,) = append(create_log("demo"), [given]).events
    (back,) = read(Log.objects.get())
    assert back == stored
    assert (back.namespace, back.type, back.schema_version, back.causation) == ("dinner", "Seated", 3, cause)
    assert back.seq == 1
    assert back.at.tzinfo is not None
    assert back.claimed_at == given.claimed_at
    assert back.audience == ("booking", "search")
    assert back.payload == '{"a":["\\u00e9",1.5],"b":1}'
    assert not hasattr(given, "seq")


@pytest.mark.promise("A5")
@pytest.mark.parametrize("wrong", [{"schema_version": 0}, {"claimed_at": datetime(2026, 1, 1)}])  # noqa: DTZ001
def test_an_envelope_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidEvent):
        append(create_log("demo"), [said(**wrong)])


@pytest.mark.promise("A1")
def test_one_bad_event_keeps_the_whole_batch_out() -> None:
    log = create_log("demo")
    for bad in (said(""), said(payload={"x": float("nan")}), said(payload={"a": {1: 2}})):
        with pytest.raises(InvalidEvent):
            append(log, [said("good"), bad])
    assert Event.objects.count() == 0
    assert Log.objects.get().last_seq == 0


@pytest.mark.promise("K1")
def test_each_log_counts_for_itself() -> None:
    one, two = log_of(3), log_of(2)
    assert append(one, [said()]).last_seq == 4
    assert append(two, [said()]).last_seq == 3


def test_a_taken_id_and_a_taken_session_are_log_exists() -> None:
    create_log("demo", public_id="l1", source="claude-code", source_session="s")
    with pytest.raises(LogExists):
        create_log("other", public_id="l1")
    with pytest.raises(LogExists):
        create_log("demo", source="claude-code", source_session="s")
    create_log("other", source="claude-code", source_session="s")


def test_log_ids_cannot_be_guessed_or_taken_for_an_option() -> None:
    ids = {create_log("demo").public_id for _ in range(50)}
    assert len(ids) == 50
    assert all(len(one) == 22 and one.isalnum() for one in ids)


def test_digests_are_chained_from_the_log_itself() -> None:
    log = log_of([said("a"), bookkeeping(), said("b", payload={"x": 1})])
    append(log, [said("c")])
    previous = canonical.genesis(log.public_id)
    for event in read(log):
        content = content_digest(event.salt, event, event.payload, event.audience, event.idempotency_key, "")
        assert event.content_digest == content
        assert event.digest == entry_digest(
            log.public_id,
            event.seq,
            previous,
            str(event.event_id),
            event.type,
            event.schema_version,
            event.at,
            event.content_digest,
        )
        previous = event.digest
    assert Log.objects.get().head == previous


def test_every_field_is_in_the_digest() -> None:
    base = said("words", payload={"x": 1})
    variants: list[dict[str, Any]] = [
        {"content": "other"},
        {"actor": "Bram"},
        {"actor_kind": "agent"},
        {"kind": "thought"},
        {"payload": {"x": 2}},
        {"payload": None},
        {"namespace": "n"},
        {"causation": uuid4()},
        {"correlation": "c"},
        {"claimed_at": datetime(2026, 1, 1, tzinfo=UTC)},
        {"audience": ("booking",)},
        {"locator": "7/0"},
        {"text_form": "escaped"},
    ]
    given = {"kind": "message", "actor_kind": "human", "actor": "Dina", "content": "words", "payload": {"x": 1}}
    digests = [content_digest("salt", base, '{"x":1}', (), "", "")]
    for change in variants:
        event = PendingEvent(**{**given, **change})
        payload = "" if event.payload is None else canonical.dump(event.payload)
        digests.append(content_digest("salt", event, payload, event.audience, "", ""))
    digests.append(content_digest("salt", base, '{"x":1}', (), "key", ""))
    digests.append(content_digest("salt", base, '{"x":1}', (), "", "source"))
    assert len(set(digests)) == len(digests)


@pytest.mark.promise("K42")
def test_a_bulk_append_under_a_frozen_clock_keeps_the_order(clock: Any) -> None:
    log = log_of([said(str(number)) for number in range(2500)])
    assert [event.content for event in read(log)] == [str(number) for number in range(2500)]
    assert len({event.at for event in read(log)}) == 1


@pytest.mark.promise("C34")
def test_a_window_is_one_query_beside_the_owner_check(django_assert_num_queries: Any) -> None:
    from chronicle.log import Chronicarius, DatabaseStore, with_kinds, with_last

    log = log_of(30)
    with django_assert_num_queries(3):  # the owner's check, the log, the window
        got = Chronicarius(DatabaseStore()).window(log.public_id, "demo", with_kinds("message"), with_last(5))
    assert [event.seq for event in got] == [26, 27, 28, 29, 30]


@pytest.mark.promise("C42")
def test_the_key_is_nullable_and_unique_where_it_is_set() -> None:
    append(create_log("demo"), [said(), said()], keys=[None, "k"])
    assert list(Event.objects.order_by("seq").values_list("idempotency_key", flat=True)) == [None, "k"]
    with pytest.raises(EventExists):
        append(Log.objects.get(), [said()], keys=["k"])
    unique = next(c for c in Event._meta.constraints if c.name == "event_key_once")
    assert unique.fields == ("log", "idempotency_key")  # type: ignore[attr-defined]


def test_appending_costs_the_same_number_of_queries_for_one_and_for_a_thousand(
    django_assert_max_num_queries: Any,
) -> None:
    log = create_log("demo")
    for count in (1, 1000):
        with django_assert_max_num_queries(7):
            append(log, [said(str(number)) for number in range(count)])


class Seated:
    def __init__(self, table: int, guests: int) -> None:
        self.table, self.guests = table, guests


@pytest.mark.promise("A6")
def test_types_are_registered_once_and_not_under_a_reserved_namespace() -> None:
    types = EventTypes()
    for reserved in ("anagrapheus", "chronicle"):
        with pytest.raises(ValueError, match="reserved"):
            types.register(Seated, namespace=reserved, type="Seated")
    types.register(Seated, namespace="dinner", type="Seated")
    with pytest.raises(DuplicateEventType):
        types.register(dict, namespace="dinner", type="Seated")
    with pytest.raises(DuplicateEventType):
        types.register(Seated, namespace="dinner", type="Sat")
    (stored,) = append(create_log("demo"), [said(namespace="dinner", type="Left")]).events
    with pytest.raises(UnknownEventType, match="dinner/Left"):
        types.read(stored)


@pytest.mark.promise("A7", "A8")
def test_an_old_shape_is_brought_forward_on_read_and_stays_as_stored() -> None:
    log = log_of([said(namespace="dinner", type="Seated", payload={"table": 4})])
    types = EventTypes()
    types.register(
        Seated,
        namespace="dinner",
        type="Seated",
        schema_version=3,
        upcasts={1: lambda old: {**old, "guests": 8}, 2: lambda old: {**old, "table": old["table"] + 1}},
    )
    (stored,) = read(log)
    seated = types.read(stored)
    assert (seated.table, seated.guests) == (5, 8)
    assert next(read(log)).payload == '{"table":4}'
    gap = EventTypes()
    gap.register(Seated, namespace="dinner", type="Seated", schema_version=3, upcasts={1: lambda old: old})
    with pytest.raises(UpcastGap, match="from version 2"):
        gap.read(stored)
    excluded = read(log, where=lambda event: event.type != "Seated")
    assert [gap.read(event) for event in excluded] == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a":1,"a":2}', "given twice"),
        ('{"a":NaN}', "NaN"),
        ("[" * 70 + "]" * 70, "deeper than 64"),
        ("[" * 100_000 + "]" * 100_000, "deeper than 64"),
        ("1" * 1001, "1001 digits"),
        ("{", "not JSON"),
    ],
)
def test_json_that_cannot_be_canonical_is_refused(text: str, says: str) -> None:
    with pytest.raises(InvalidPayload, match=says):
        canonical.parse(text)


@pytest.mark.promise("K43")
@pytest.mark.parametrize(
    "text", ["a\x00b", "\ud800", "back\\slash", "\\u0000 as written", "\x00\\\ud800\\\\", "plain é 漢"]
)
def test_escaped_text_gives_the_original_back(text: str) -> None:
    escaped = canonical.escape_text(text)
    assert canonical.unstorable(escaped) is None
    assert canonical.restore_text(escaped) == text


def test_lengths_keep_fields_apart() -> None:
    assert canonical.digest("t", "ab", "c") != canonical.digest("t", "a", "bc")


@pytest.mark.promise("K32")
def test_at_is_this_logs_own_and_claimed_at_the_sources() -> None:
    claimed = datetime(2020, 1, 1, tzinfo=UTC)
    (stored,) = append(create_log("demo"), [said(claimed_at=claimed)]).events
    assert stored.at.year >= 2026
    assert stored.claimed_at == claimed


def test_the_suite_says_which_database_it_runs_on() -> None:
    assert connection.vendor in {"sqlite", "postgresql"}
