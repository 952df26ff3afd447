"""Pins that a log of the library brings with it: indexed as our own, so that sections resolve and replay works."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync

from chronicle.errors import PinMiss
from chronicle.models import Event, Log, Pin, SectionPin
from chronicle.pins import recorded
from chronicle.replay import ReplayPins
from tests.importers.files import ANAGRAPHEUS
from tests.ingesting import ingested, only_log, written

pytestmark = pytest.mark.django_db

HEADER = {"anagrapheus.recording": 1}


def never() -> Any:
    raise AssertionError("an effect was run")


def row_of(log: Log) -> list[tuple[Any, ...]]:
    return list(Pin.objects.filter(log=log).order_by("event__seq").values_list("event__seq", "key", "kind", "result"))


def stored(seq: int, type_: str, payload: Any) -> dict[str, Any]:
    envelope = {
        "event_id": str(uuid4()),
        "namespace": "anagrapheus",
        "type": type_,
        "schema_version": 1,
        "created_at": "2026-11-30T20:18:39Z",
        "causation_id": None,
        "correlation_id": None,
    }
    return {"seq": seq, "envelope": envelope, "payload": payload}


def promoted(seq: int, key: str, result: Any) -> dict[str, Any]:
    payload = {"unit_id": "u", "key": key, "kind": "model_call", "result": result, "attempts": 2}
    return stored(seq, "PinPromoted", payload)


@pytest.mark.promise("A22", "K25")
@pytest.mark.parametrize("name", ["run.sqlite", "run.recording.jsonl"])
def test_what_an_imported_log_has_pinned_is_replayed_strictly(name: str) -> None:
    log = only_log(ingested(ANAGRAPHEUS / name))
    events = Event.objects.filter(log=log, type="PinPromoted").order_by("seq")
    replay = ReplayPins(recorded(log))

    assert len(events) == len(row_of(log)) == 94
    for event in events:
        payload = json.loads(event.payload)
        assert replay.resolve(payload["key"], payload["kind"], never) == payload["result"]
    payload = json.loads(events[0].payload)
    assert async_to_sync(replay.aresolve)(payload["key"], "model_call", never) == payload["result"]
    with pytest.raises(PinMiss):
        replay.resolve(payload["key"][:-1] + "~", "model_call", never)


def test_every_pin_that_an_imported_section_lists_is_there_with_its_words() -> None:
    log = only_log(ingested(ANAGRAPHEUS / "run.sqlite"))
    lookup = recorded(log)
    listed = SectionPin.objects.filter(section__anchor__edition__log=log).select_related("section")

    assert len(listed) == 17
    assert all(pin.section.prose == lookup[pin.key] for pin in listed)


def test_a_second_ingest_adds_no_pin_whichever_file_of_the_run_it_is() -> None:
    log = only_log(ingested(ANAGRAPHEUS / "run.sqlite"))
    before = row_of(log)
    for name in ("run.sqlite", "run.recording.jsonl"):
        report = ingested(ANAGRAPHEUS / name)
        assert (only_log(report), report.logs[0].added, report.logs[0].replayed) == (log, 0, 197)
        assert row_of(log) == before


@pytest.mark.promise("A24")
def test_of_two_imported_pins_under_one_key_the_later_is_replayed(tmp_path: Path) -> None:
    rows = [HEADER, promoted(1, "p1:model_call:1", "first"), promoted(2, "p1:model_call:1", ["second", None])]
    log = only_log(ingested(written(tmp_path, rows, "twice.jsonl")))

    assert recorded(log)["p1:model_call:1"] == ["second", None]
    assert [(seq, result) for seq, _, _, result in row_of(log)] == [(1, '"first"'), (2, '["second",null]')]


@pytest.mark.promise("A25")
def test_bookkeeping_of_whatever_shape_arrives_and_only_what_was_promoted_becomes_a_pin(tmp_path: Path) -> None:
    rows = [
        HEADER,
        stored(1, "PinPromoted", {}),
        stored(2, "PinPromoted", {"key": 7, "kind": ["x"], "result": {"a": 1}, "attempts": -4, "unit_id": None}),
        stored(3, "PinsAbandoned", {"key": "p1:x:1", "result": 1}),
        stored(4, "ReplayDiverged", {"missed_key": "p1:x:1"}),
    ]
    log = only_log(ingested(written(tmp_path, rows, "odd.jsonl")))

    assert [kind for (kind,) in log.events.values_list("kind")] == ["bookkeeping"] * 4
    assert [(seq, key, result) for seq, key, _, result in row_of(log)] == [(1, "", "null"), (2, "7", '{"a":1}')]
