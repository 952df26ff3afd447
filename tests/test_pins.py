"""The pin ledger: what was drawn is kept before it is used, once a key, and promoted with what rests on it."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connections

from chronicle.envelope import PIN_EVENTS, is_bookkeeping, is_pin_event, validate
from chronicle.errors import InvalidEvent, InvalidPayload
from chronicle.importers.anagrapheus import pending
from chronicle.models import Event, Log, Pin, PinScratch
from chronicle.pins import LeftOpen, OpenUnit, PinLedger
from tests.builders import log_of, said
from tests.conftest import Clock

KEY = "p1:model_call:" + "0" * 64


pytestmark = pytest.mark.django_db


@pytest.fixture
def log(db: None) -> Log:
    return log_of(3)


def books(log: Log) -> list[tuple[str, Any]]:
    found = Event.objects.filter(log=log, kind="bookkeeping").order_by("seq").values_list("type", "payload")
    return [(name, json.loads(payload)) for name, payload in found]


class Drawing:
    """An effect that counts its runs."""

    def __init__(self, result: Any = "words") -> None:
        self.result, self.runs = result, 0

    def __call__(self) -> Any:
        self.runs += 1
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


@pytest.mark.promise("A13")
def test_a_key_is_drawn_once_a_unit_and_each_further_use_is_counted(log: Log) -> None:
    drawing = Drawing()
    unit = PinLedger(log).open("1/1-3")
    assert [unit.resolve(KEY, "model_call", drawing) for _ in range(3)] == ["words"] * 3
    assert PinLedger(log).open("1/1-3").resolve(KEY, "model_call", drawing) == "words"
    assert drawing.runs == 1
    assert PinScratch.objects.get().attempts == 4
    assert PinLedger(log).open("1/4-6").resolve(KEY, "model_call", drawing) == "words"
    assert drawing.runs == 2, "another unit draws for itself"


@pytest.mark.promise("A14")
def test_nothing_is_a_result(log: Log) -> None:
    drawing = Drawing(None)
    unit = PinLedger(log).open("u")
    assert [unit.resolve(KEY, "x", drawing) for _ in range(2)] == [None, None]
    assert drawing.runs == 1
    unit.commit()
    assert Pin.objects.get().result == "null"


@pytest.mark.promise("A15")
def test_a_result_is_plain_json_from_its_first_use_on(log: Log) -> None:
    unit = PinLedger(log).open("u")
    given = {"parts": ("a", ("b", 1.5)), "none": None}
    plain = {"parts": ["a", ["b", 1.5]], "none": None}
    assert [unit.resolve(KEY, "x", lambda: given) for _ in range(2)] == [plain, plain]
    assert unit.adopt("p1:x:2", "x", ("a",)) == ["a"]


@pytest.mark.promise("A15")
@pytest.mark.parametrize(
    "result", [{1, 2}, float("nan"), {1: "a"}, object(), b"bytes"], ids=["set", "nan", "number key", "object", "bytes"]
)
def test_what_is_not_json_fails_before_it_is_kept(log: Log, result: Any) -> None:
    unit = PinLedger(log).open("u")
    with pytest.raises(InvalidPayload):
        unit.resolve(KEY, "x", lambda: result)
    with pytest.raises(InvalidPayload):
        unit.adopt(KEY, "x", result)
    assert not PinScratch.objects.exists()
    assert unit.resolve(KEY, "x", Drawing()) == "words"


@pytest.mark.promise("A18")
def test_an_effect_that_raises_leaves_no_pin(log: Log) -> None:
    unit = PinLedger(log).open("u")
    with pytest.raises(OSError):
        unit.resolve(KEY, "x", Drawing(OSError("refused")))
    with pytest.raises(OSError):
        list(unit.stream(KEY, "x", Drawing(OSError("refused"))))
    assert not PinScratch.objects.exists()
    assert unit.commit() == 3
    assert books(log) == []


@pytest.mark.promise("A16", "K25")
def test_a_commit_moves_all_pins_into_the_log_as_bookkeeping_and_answers_with_the_last_seq(log: Log) -> None:
    ledger = PinLedger(log)
    assert ledger.open("u").commit() == 3, "without pins nothing is written"
    ledger.open("u").resolve(KEY, "model_call", Drawing({"b": [1], "a": "é"}))
    unit = ledger.open("u")
    unit.resolve(KEY, "model_call", Drawing())
    unit.resolve("p1:tool_call:1", "tool_call", Drawing(None))
    ledger.open("other").adopt(KEY, "model_call", "stays")
    assert unit.commit() == 5
    first = {"unit_id": "u", "key": KEY, "kind": "model_call", "result": {"a": "é", "b": [1]}, "attempts": 2}
    second = {"unit_id": "u", "key": "p1:tool_call:1", "kind": "tool_call", "result": None, "attempts": 1}
    assert books(log) == [("PinPromoted", first), ("PinPromoted", second)]
    pins = Pin.objects.filter(log=log).order_by("event")
    assert [(pin.key, pin.kind, json.loads(pin.result), pin.attempts, pin.unit) for pin in pins] == [
        (payload["key"], payload["kind"], payload["result"], payload["attempts"], "u") for payload in (first, second)
    ]
    assert [pin.event.seq for pin in pins.select_related("event")] == [4, 5]
    assert [pin.unit for pin in PinScratch.objects.all()] == ["other"]
    assert unit.commit() == 5, "a second commit has nothing left to move"
    log.refresh_from_db()
    assert log.last_seq == 5


@pytest.mark.django_db(transaction=True)
@pytest.mark.promise("A16")
def test_a_commit_that_fails_moves_nothing(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    unit = PinLedger(log).open("u")
    unit.adopt(KEY, "x", 1)

    def cut(*_: Any) -> None:
        raise RuntimeError("the power went")

    monkeypatch.setattr(OpenUnit, "_clear", cut)
    with pytest.raises(RuntimeError):
        unit.commit()
    assert (books(log), Pin.objects.count(), PinScratch.objects.count()) == ([], 0, 1)


@pytest.mark.promise("A17")
def test_an_abandoned_unit_leaves_one_event_that_lists_what_was_drawn(log: Log) -> None:
    unit = PinLedger(log).open("u")
    for _ in range(2):
        unit.resolve(KEY, "model_call", Drawing("PRIVATE WORDS"))
    unit.resolve("p1:tool_call:1", "tool_call", Drawing())
    assert unit.abandon("the delegate walked out") == 4
    discarded = [
        {"key": KEY, "kind": "model_call", "attempts": 2},
        {"key": "p1:tool_call:1", "kind": "tool_call", "attempts": 1},
    ]
    assert books(log) == [
        ("PinsAbandoned", {"unit_id": "u", "reason": "the delegate walked out", "discarded": discarded})
    ]
    assert not PinScratch.objects.exists() and not Pin.objects.exists()
    assert unit.abandon("again") == 4, "there is nothing to abandon twice"
    assert unit.commit() == 4, "what was abandoned here is not promoted"


@pytest.mark.promise("A16")
def test_what_another_worker_abandons_is_promoted_all_the_same_with_what_rests_on_it(log: Log) -> None:
    mine = PinLedger(log).open("u")
    mine.resolve(KEY, "x", Drawing("one"))
    PinLedger(log).open("u").abandon("not mine")
    mine.resolve("p1:x:2", "x", Drawing("two"))
    mine.commit()
    assert sorted(Pin.objects.values_list("key", "result")) == [(KEY, '"one"'), ("p1:x:2", '"two"')]


@pytest.mark.promise("A19")
def test_draws_of_one_key_awaited_together_run_once_and_of_two_at_the_same_time(log: Log) -> None:
    runs: list[str] = []

    async def run() -> list[Any]:
        unit, both = PinLedger(log).open("u"), asyncio.Barrier(2)

        def effect(name: str) -> Any:
            async def drawn() -> str:
                runs.append(name)
                await asyncio.wait_for(both.wait(), 20)  # passed only while the other key is being drawn
                return name

            return drawn

        asked = [("p1:x:a", "a"), ("p1:x:a", "a again"), ("p1:x:b", "b"), ("p1:x:b", "b again")]
        return await asyncio.gather(*(unit.aresolve(key, "x", effect(name)) for key, name in asked))

    answers = async_to_sync(run)()
    assert len(runs) == 2
    assert answers[0] == answers[1] != answers[2] == answers[3]
    assert sorted(PinScratch.objects.values_list("key", "attempts")) == [("p1:x:a", 2), ("p1:x:b", 2)]


@pytest.mark.promise("A19", "A18")
def test_a_failed_draw_wakes_who_waits_for_it_and_they_try_themselves(log: Log) -> None:
    runs: list[int] = []

    async def drawn() -> str:
        runs.append(len(runs))
        if len(runs) == 1:
            raise OSError("refused")
        return "words"

    async def run() -> list[Any]:
        unit = PinLedger(log).open("u")
        return await asyncio.gather(*(unit.aresolve(KEY, "x", drawn) for _ in range(4)), return_exceptions=True)

    answers = async_to_sync(run)()
    assert [type(answer) for answer in answers].count(OSError) == 1
    assert answers.count("words") == 3
    assert len(runs) == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.promise("A13", "A19")
def test_threads_that_race_for_one_key_all_get_what_was_kept_first(log: Log) -> None:
    barrier = threading.Barrier(4, timeout=20)
    answers: list[Any] = []

    def work(number: int) -> None:
        def effect() -> int:
            barrier.wait()  # every thread has found nothing by now
            return number

        try:
            answers.append(PinLedger(log).open("u").resolve(KEY, "x", effect))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = PinScratch.objects.get()
    assert answers == [json.loads(kept.result)] * 4
    assert kept.attempts == 4


@pytest.mark.promise("A27", "A20")
def test_a_stream_passes_through_and_is_pinned_as_a_plain_call_would_be(log: Log) -> None:
    unit = PinLedger(log).open("u")
    passed: list[str] = []

    def chunks() -> Iterator[str]:
        for chunk in ("Eight ", "of ", "us."):
            passed.append(chunk)
            yield chunk

    came = []
    for chunk in unit.stream(KEY, "x", chunks):
        came.append(chunk)
        assert passed == came, "a chunk is not held back for the next"
    assert came == ["Eight ", "of ", "us."]
    assert unit.resolve(KEY, "x", Drawing(OSError("drawn again"))) == "Eight of us."
    assert list(unit.stream(KEY, "x", Drawing(OSError("drawn again")))) == ["Eight of us."]
    assert unit.adopt("p1:x:2", "x", "A plain call.") == "A plain call."
    assert list(unit.stream("p1:x:2", "x", Drawing(OSError("drawn again")))) == ["A plain call."]
    assert unit.keys == [KEY, "p1:x:2"]


@pytest.mark.promise("A20")
def test_a_stream_that_breaks_off_keeps_what_arrived_and_says_so(log: Log) -> None:
    unit = PinLedger(log).open("u")

    def broken() -> Iterator[str]:
        yield "Eight "
        yield "of"
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        list(unit.stream(KEY, "x", broken))
    left = unit.stream("p1:x:2", "x", lambda: iter(["One", "Two"]))
    assert next(left) == "One"
    left.close()  # type: ignore[attr-defined]
    for key, arrived in ((KEY, "Eight of"), ("p1:x:2", "One")):
        assert unit.resolve(key, "x", Drawing()) == {"partial": True, "result": arrived}
        assert list(unit.stream(key, "x", Drawing())) == [arrived]
    unit.commit()
    assert json.loads(Pin.objects.get(key=KEY).result) == {"partial": True, "result": "Eight of"}


@pytest.mark.promise("A20", "A27", "A19")
def test_streams_may_be_awaited(log: Log) -> None:
    async def chunks() -> AsyncIterator[Any]:
        for chunk in ("a", "b"):
            yield chunk

    async def broken() -> AsyncIterator[Any]:
        yield "a"
        raise ConnectionResetError

    async def listed(stream: AsyncIterator[Any]) -> list[Any]:
        return [chunk async for chunk in stream]

    async def run() -> list[Any]:
        unit = PinLedger(log).open("u")
        whole = [unit.astream(KEY, "x", chunks) for _ in range(2)]
        first = await asyncio.gather(*map(listed, whole))
        second = await asyncio.gather(listed(unit.astream("p1:x:2", "x", broken)), return_exceptions=True)
        again = await listed(unit.astream("p1:x:2", "x", chunks))
        return [*first, type(second[0]), again]

    assert async_to_sync(run)() == [["a", "b"], ["ab"], ConnectionResetError, ["a"]]


@pytest.mark.promise("A27")
def test_the_key_of_every_request_is_reported_however_it_is_asked(log: Log) -> None:
    told: list[str] = []
    unit = PinLedger(log).open("u", on_key=told.append)
    unit.resolve("p1:x:1", "x", Drawing())
    list(unit.stream("p1:x:1", "x", Drawing()))
    unit.adopt("p1:x:2", "x", 1)
    with pytest.raises(OSError):
        unit.resolve("p1:x:3", "x", Drawing(OSError()))
    assert told == ["p1:x:1", "p1:x:1", "p1:x:2", "p1:x:3"]
    assert unit.keys == ["p1:x:1", "p1:x:2", "p1:x:3"]


@pytest.mark.promise("A21")
def test_units_left_open_are_listed_oldest_first(log: Log, clock: Clock) -> None:
    ledger = PinLedger(log)
    assert ledger.scratch_units() == []
    began = clock.time
    for unit in "cab":
        ledger.open(unit).adopt(KEY, "x", 1)
        clock.move(minutes=1)
    ledger.open("c").adopt("p1:x:2", "x", 1)
    PinLedger(log_of(1)).open("elsewhere").adopt(KEY, "x", 1)
    assert [(left.unit, left.pins) for left in ledger.scratch_units()] == [("c", 2), ("a", 1), ("b", 1)]
    ledger.open("a").commit()
    ledger.open("b").abandon("a crash")
    assert ledger.scratch_units() == [LeftOpen("c", 2, began)]


@pytest.mark.promise("A25")
def test_the_three_types_of_the_ledger_and_no_others_are_bookkeeping_at_any_version() -> None:
    envelope = {"event_id": "01a22e1c-0a95-7783-bc7c-b51227f67883", "created_at": "2026-11-30T20:18:39Z"}
    for version in (1, 2, 7, 2**31 - 1):
        for name in PIN_EVENTS:
            given = {**envelope, "namespace": "anagrapheus", "type": name, "schema_version": version}
            assert is_bookkeeping(pending(given, {"unit_id": "u"}, "line 1").kind)
            with pytest.raises(InvalidEvent, match="bookkeeping"):
                validate(said(namespace="anagrapheus", type=name, schema_version=version))
        for namespace, name in (("anagrapheus", "BeliefRevised"), ("dinner", "PinPromoted"), ("anagrapheus", "pin")):
            given = {**envelope, "namespace": namespace, "type": name, "schema_version": version}
            assert not is_pin_event(namespace, name)
            assert not is_bookkeeping(pending(given, {"text": "words"}, "line 1").kind)


@pytest.mark.django_db
def test_names_that_cannot_be_kept_are_refused_before_anything_is_drawn() -> None:
    drawing = Drawing()
    unit = PinLedger(Log()).open("u")
    for key, kind in (("", "x"), ("k" * 201, "x"), ("k", ""), ("k", "x" * 101)):
        with pytest.raises(ValueError, match="characters"):
            unit.resolve(key, kind, drawing)
    with pytest.raises(ValueError, match="characters"):
        PinLedger(Log()).open("u" * 101)
    assert drawing.runs == 0
