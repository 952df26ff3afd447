"""The owner-checking door, over both stores."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from chronicle.envelope import ActorKind, Kind
from chronicle.errors import (
    ChronicleError,
    IdempotencyUnsupported,
    InvalidEvent,
    InvalidFilter,
    LogNotFound,
    OwnerEmpty,
)
from chronicle.log import (
    Chronicarius,
    DatabaseStore,
    MemoryStore,
    Window,
    create_log,
    with_actor_kinds,
    with_kinds,
    with_last,
)
from chronicle.models import Event, Log
from tests.builders import said

pytestmark = pytest.mark.django_db


@pytest.fixture(params=[MemoryStore, DatabaseStore], ids=lambda store: store.__name__)
def store(request: pytest.FixtureRequest) -> Any:
    return request.param()


@pytest.fixture
def door(store: Any) -> Iterator[Chronicarius]:
    return Chronicarius(store)


class Plain:
    """A store without the idempotent extension, which notes what it is asked."""

    def __init__(self) -> None:
        self._store = MemoryStore()
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name == "record_once":
            raise AttributeError(name)
        self.asked.append(name)
        return getattr(self._store, name)

    create = property(lambda self: self.__getattr__("create"))
    record = property(lambda self: self.__getattr__("record"))
    window = property(lambda self: self.__getattr__("window"))
    get = property(lambda self: self.__getattr__("get"))


@pytest.mark.promise("C15", "C19", "C12", "C2", "C5")
def test_a_first_record_creates_the_log_and_returns_the_whole_event(door: Chronicarius) -> None:
    given = said("Eight of us.", payload={"table": 8})
    recorded = door.record("l1", "ardian", given).event
    assert recorded.event_id != given.event_id
    assert (recorded.seq, recorded.content, recorded.data()) == (1, "Eight of us.", {"table": 8})
    assert recorded.at.tzinfo is not None
    assert door.get("l1", "ardian").owner == "ardian"
    assert door.window("l1", "ardian") == [recorded]


@pytest.mark.promise("C9")
@pytest.mark.parametrize("owner", ["", "  "])
def test_an_empty_owner_is_refused_in_all_three_calls(door: Chronicarius, owner: str) -> None:
    for call in (
        lambda: door.record("l1", owner, said()),
        lambda: door.window("l1", owner),
        lambda: door.get("l1", owner),
    ):
        with pytest.raises(OwnerEmpty):
            call()


@pytest.mark.parametrize("owner", ["o" * 201, "bi\u202edi", "esc\x1b[31m", "two\nlines", "nul\x00"])
def test_an_owner_that_cannot_be_kept_or_shown_is_refused(door: Chronicarius, owner: str) -> None:
    with pytest.raises(InvalidEvent) as caught:
        door.record("l1", owner, said())
    assert caught.value.details["field"] == "owner"
    with pytest.raises(InvalidEvent):
        create_log(owner)
    assert not Log.objects.exists()


@pytest.mark.promise("C8", "C10", "C41")
def test_checks_come_in_the_fixed_order_and_name_the_first_thing_wrong() -> None:
    plain = Plain()
    door = Chronicarius(plain)
    wrong = said("", actor="", kind="shout", actor_kind="ghost")
    with pytest.raises(OwnerEmpty):
        door.record("", "", wrong, idempotency_key="k")
    for given, field in [
        (("", wrong), "log_id"),
        (("l", wrong), "actor"),
        (("l", said("", kind="shout", actor_kind="ghost")), "kind"),
        (("l", said("", actor_kind="ghost")), "actor_kind"),
        (("l", said("")), "content"),
    ]:
        with pytest.raises(InvalidEvent) as caught:
            door.record(given[0], "ardian", given[1], idempotency_key="k")
        assert caught.value.details["field"] == field
    with pytest.raises(IdempotencyUnsupported):
        door.record("l", "ardian", said(), idempotency_key="k")
    assert plain.asked == []  # nothing touched the store


@pytest.mark.promise("C38", "C39")
def test_a_key_needs_a_store_that_keeps_it_and_an_empty_key_is_none() -> None:
    plain = Plain()
    door = Chronicarius(plain)
    with pytest.raises(IdempotencyUnsupported):
        door.record("l1", "ardian", said(), idempotency_key="k")
    with pytest.raises(LogNotFound):
        door.get("l1", "ardian")
    assert not door.record("l1", "ardian", said(), idempotency_key="").replayed
    assert len(door.window("l1", "ardian")) == 1


@pytest.mark.promise("C35", "C41", "DC6")
def test_a_retry_is_said_to_be_one_and_its_payload_is_checked_first(door: Chronicarius) -> None:
    first = door.record("l1", "ardian", said("first"), idempotency_key="k")
    again = door.record("l1", "ardian", said("reworded"), idempotency_key="k")
    assert (again.event, again.replayed, again.payload_differs) == (first.event, True, True)
    with pytest.raises(InvalidEvent):
        door.record("l1", "ardian", said(" "), idempotency_key="k")


@pytest.mark.promise("C39")
def test_empty_keys_never_meet(door: Chronicarius) -> None:
    door.record("l1", "ardian", said(), idempotency_key="")
    door.record("l1", "ardian", said(), idempotency_key="")
    assert len(door.window("l1", "ardian")) == 2


@pytest.mark.promise("C17", "C20", "C21", "C22", "C24", "K5", "K6", "DC1")
def test_not_yours_and_does_not_exist_are_one_answer(door: Chronicarius) -> None:
    door.record("l1", "ardian", said())
    calls = (
        lambda log_id: door.window(log_id, "mallory"),
        lambda log_id: door.get(log_id, "mallory"),
    )
    for call in calls:
        errors = []
        for log_id in ("l1", "unknown"):
            with pytest.raises(LogNotFound) as caught:
                call(log_id)
            errors.append((type(caught.value), str(caught.value), caught.value.details))
        assert errors[0] == errors[1]
    with pytest.raises(LogNotFound):
        door.record("l1", "mallory", said("let me in"))
    assert [event.content for event in door.window("l1", "ardian")] == ["Eight of us on Friday."]


@pytest.mark.promise("C23", "C55")
def test_a_store_takes_no_owner_and_answers_whoever_holds_it(store: Any) -> None:
    store.create("l1", "ardian")
    store.record("l1", said())
    assert len(store.window("l1", Window())) == 1


@pytest.mark.promise("C3")
def test_the_kinds_are_a_closed_list(door: Chronicarius) -> None:
    assert {"message", "thought", "tool_request", "tool_response"} < set(Kind)
    assert set(Kind) - {"message", "thought", "tool_request", "tool_response"} == {"marker", "bookkeeping"}
    assert set(ActorKind) == {"human", "agent", "system"}
    with pytest.raises(InvalidEvent, match="none of message, thought"):
        door.record("l1", "ardian", said(kind="shout"))


@pytest.mark.promise("C4")
def test_the_actor_is_kept_as_given(door: Chronicarius) -> None:
    assert door.record("l1", "ardian", said(actor="usr_81")).event.actor == "usr_81"


@pytest.mark.promise("C11", "DC5")
@pytest.mark.parametrize("kind", ["message", "thought"])
@pytest.mark.parametrize("content", ["", "   ", "\n\t"])
def test_a_message_or_thought_needs_content(door: Chronicarius, kind: str, content: str) -> None:
    with pytest.raises(InvalidEvent, match="needs content"):
        door.record("l1", "ardian", said(content, kind=kind))


@pytest.mark.promise("C11")
@pytest.mark.parametrize("kind", ["tool_request", "tool_response"])
def test_a_tool_event_may_be_empty(door: Chronicarius, kind: str) -> None:
    assert door.record("l1", "ardian", said("", kind=kind)).event.content == ""


@pytest.mark.promise("DC5", "K43")
@pytest.mark.parametrize("bad", ["nul \x00 inside", "lone \ud800 surrogate"])
@pytest.mark.parametrize("field", ["content", "actor", "correlation", "type"])
def test_text_that_no_database_takes_is_refused_with_its_position(door: Chronicarius, bad: str, field: str) -> None:
    with pytest.raises(InvalidEvent) as caught:
        door.record("l1", "ardian", said(**{field: bad}))
    assert caught.value.details == {"field": field, "position": bad.index(next(c for c in bad if c in "\x00\ud800"))}
    with pytest.raises(LogNotFound):
        door.get("l1", "ardian")


@pytest.mark.promise("DC5")
def test_content_has_a_size_limit(door: Chronicarius, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chronicle.envelope.MAX_CONTENT", 10)
    with pytest.raises(InvalidEvent, match="over 10 characters"):
        door.record("l1", "ardian", said("x" * 11))


@pytest.mark.promise("DC5")
def test_an_unknown_kind_in_a_filter_is_an_error(door: Chronicarius) -> None:
    door.record("l1", "ardian", said())
    with pytest.raises(InvalidFilter, match="'shout' is none of"):
        door.window("l1", "ardian", with_kinds("shout"))
    with pytest.raises(InvalidFilter, match="'ghost' is none of"):
        door.window("l1", "ardian", with_actor_kinds("ghost"))


@pytest.mark.promise("C27", "C28", "C29", "C30", "C31", "C32", "K7")
def test_filters_run_before_the_limit_and_the_last_limit_wins(door: Chronicarius) -> None:
    for number in range(4):
        door.record("l1", "ardian", said(f"m{number}"))
        door.record("l1", "ardian", said(f"t{number}", kind="thought", actor_kind="agent"))

    def contents(*options: Any) -> list[str]:
        return [event.content for event in door.window("l1", "ardian", *options)]

    assert contents(with_kinds("message"), with_last(2)) == ["m2", "m3"]
    assert contents(with_last(2), with_kinds("message")) == ["m2", "m3"]
    assert contents(with_last(2), with_last(3)) == ["t2", "m3", "t3"]
    assert len(contents(with_last(2), with_last(0))) == 8
    assert len(contents(with_last(-1))) == 8
    assert len(contents()) == 8
    assert contents(with_kinds("thought"), with_actor_kinds("agent"), with_last(1)) == ["t3"]
    assert contents(with_kinds("message"), with_actor_kinds("agent")) == []


@pytest.mark.promise("C14")
def test_a_broken_random_source_stops_the_call(door: Chronicarius, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: int) -> bytes:
        raise OSError("no randomness")

    monkeypatch.setattr(os, "urandom", broken)
    with pytest.raises(OSError, match="no randomness"):
        door.record("l1", "ardian", said())


@pytest.mark.promise("C18")
def test_a_failure_after_the_log_was_created_can_be_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    store = DatabaseStore()
    door = Chronicarius(store)
    monkeypatch.setattr(DatabaseStore, "record", lambda *_: (_ for _ in ()).throw(ConnectionError("lost")))
    with pytest.raises(ConnectionError):
        door.record("l1", "ardian", said())
    assert Log.objects.get(public_id="l1").last_seq == 0
    monkeypatch.undo()
    assert door.record("l1", "ardian", said()).event.seq == 1


@pytest.mark.promise("C51", "C52")
def test_a_named_error_is_matched_when_wrapped_and_others_come_through() -> None:
    class Lost(MemoryStore):
        def get(self, log_id: str) -> Any:
            raise ConnectionError("store: connection lost")

    with pytest.raises(ConnectionError, match="store: connection lost"):
        Chronicarius(Lost()).get("l1", "ardian")
    with pytest.raises(RuntimeError) as caught:
        try:
            Chronicarius(MemoryStore()).get("l1", "ardian")
        except LogNotFound as error:
            raise RuntimeError("while opening") from error
    assert isinstance(caught.value.__cause__, LogNotFound)
    named = {error.name for error in (OwnerEmpty, InvalidEvent, LogNotFound, IdempotencyUnsupported)} | {"log_exists"}
    assert len(named) == 5
    assert all(issubclass(error, ChronicleError) for error in (OwnerEmpty, InvalidEvent, LogNotFound))


@pytest.mark.promise("C7", "C26", "C25", "K32", "K42", "S1", "S3")
def test_order_is_the_order_of_recording_whatever_the_clock_says(clock: Any) -> None:
    store = DatabaseStore()
    door = Chronicarius(store)
    for number, hours in enumerate([0, -3, 0, 5, -9]):
        clock.move(hours=hours)
        door.record("l1", "ardian", said(str(number)))
    assert [event.content for event in door.window("l1", "ardian")] == ["0", "1", "2", "3", "4"]
    assert not hasattr(Event, "occurred_at")


@pytest.mark.promise("C6", "DC3")
def test_the_last_activity_never_moves_back(clock: Any) -> None:
    door = Chronicarius(DatabaseStore())
    door.record("l1", "ardian", said())
    newest = door.get("l1", "ardian").last_activity_at
    clock.move(hours=-1)
    door.record("l1", "ardian", said())
    assert door.get("l1", "ardian").last_activity_at == newest
