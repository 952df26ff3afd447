"""Recorded pins as a resolver: what was drawn is given again, and what never was is said so."""

import json
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import transaction

from chronicle import drawing, policies, sections
from chronicle.draws import Draws
from chronicle.errors import PinMiss
from chronicle.fold import ChronicleFold, consolidate
from chronicle.log import read
from chronicle.models import Event, Pin, PinScratch, Section, SectionPin
from chronicle.pins import PinLedger, recorded
from chronicle.projector import Projector
from chronicle.replay import ReplayPins
from chronicle.summarisers import span_of
from chronicle.summarisers.protocol import Draft
from tests.builders import log_of, units_of
from tests.summarisers import Scripted


def never() -> Any:
    raise AssertionError("an effect was run")


async def anever() -> Any:
    never()


@pytest.mark.promise("A22")
def test_a_strict_replay_raises_at_every_miss_and_runs_no_effect() -> None:
    replay = ReplayPins({"p1:x:1": None})
    for _ in range(3):
        with pytest.raises(PinMiss) as refused:
            replay.resolve("p1:x:2", "x", never)
        with pytest.raises(PinMiss):
            async_to_sync(replay.aresolve)("p1:x:3", "x", anever)
        with pytest.raises(PinMiss):
            list(replay.stream("p1:x:4", "x", never))
    assert refused.value.details == {"key": "p1:x:2", "kind": "x"}
    assert replay.resolve("p1:x:1", "x", never) is None
    assert replay.keys == ["p1:x:2", "p1:x:3", "p1:x:4", "p1:x:1"]


@pytest.mark.promise("A23")
def test_a_replay_that_contradicts_itself_is_refused() -> None:
    class Into:
        pass

    with pytest.raises(ValueError, match="into="):
        ReplayPins({}, on_miss="record")
    with pytest.raises(ValueError, match="into="):
        ReplayPins({}, into=Into())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="into="):
        ReplayPins({}, on_miss="raise", into=Into())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'draw'"):
        ReplayPins({}, on_miss="draw", into=Into())  # type: ignore[arg-type]


@pytest.mark.promise("A20")
def test_a_recorded_stream_comes_as_it_arrived() -> None:
    replay = ReplayPins({"p1:x:1": "Whole.", "p1:x:2": {"partial": True, "result": "Hal"}, "p1:x:3": [1, 2]})
    assert list(replay.stream("p1:x:1", "x", never)) == ["Whole."]
    assert list(replay.stream("p1:x:2", "x", never)) == ["Hal"]
    assert list(replay.stream("p1:x:3", "x", never)) == [1, 2]


@pytest.mark.django_db
@pytest.mark.promise("A24")
def test_of_two_pins_under_one_key_the_later_is_replayed() -> None:
    log = log_of(1)
    for number, words in enumerate(("first", "second"), 1):
        unit = PinLedger(log).open(f"u{number}")
        unit.adopt("p1:x:1", "x", words)
        unit.commit()
    lookup = recorded(log)
    assert lookup["p1:x:1"] == "second"
    assert list(lookup) == ["p1:x:1"]
    assert len(lookup) == 1
    assert "p1:x:2" not in lookup
    assert ReplayPins(lookup).resolve("p1:x:1", "x", never) == "second"
    assert not recorded(log_of(1))


@pytest.mark.django_db
@pytest.mark.promise("A23")
def test_a_recording_replay_announces_its_first_miss_once_with_the_new_pins() -> None:
    log = log_of(1)
    PinLedger(log).open("before").adopt("p1:x:1", "x", 1)
    PinLedger(log).open("before").commit()
    unit = PinLedger(log).open("now")
    replay = ReplayPins(recorded(log), on_miss="record", into=unit)
    assert [replay.resolve(f"p1:x:{number}", "x", lambda: "drawn") for number in (1, 2, 3)] == [1, "drawn", "drawn"]
    assert not Event.objects.filter(log=log, type="ReplayDiverged").exists()
    unit.commit()
    types = Event.objects.filter(log=log, kind="bookkeeping").order_by("seq").values_list("type", "payload")
    assert [name for name, _ in types] == ["PinPromoted", "ReplayDiverged", "PinPromoted", "PinPromoted"]
    assert json.loads(types[1][1]) == {"unit_id": "now", "missed_key": "p1:x:2", "kind": "x"}
    assert [pin.key for pin in Pin.objects.filter(log=log, unit="now").order_by("event")] == ["p1:x:2", "p1:x:3"]


@pytest.mark.django_db
@pytest.mark.promise("A23")
def test_a_miss_that_a_rollback_took_back_is_announced_with_the_pins_that_stay() -> None:
    log = log_of(1)
    unit = PinLedger(log).open("now")
    ReplayPins({}, on_miss="record", into=unit).resolve("p1:x:1", "x", lambda: "drawn")
    with pytest.raises(RuntimeError), transaction.atomic():
        unit.commit()
        raise RuntimeError
    unit.commit()
    types = list(Event.objects.filter(log=log, kind="bookkeeping").order_by("seq").values_list("type", flat=True))

    assert types == ["ReplayDiverged", "PinPromoted"]


@pytest.mark.django_db
@pytest.mark.promise("A22", "A23")
def test_a_replay_may_be_awaited_over_the_database() -> None:
    log = log_of(1)
    unit = PinLedger(log).open("u")
    unit.adopt("p1:x:1", "x", "kept")
    unit.commit()

    async def drawn() -> str:
        return "new"

    async def both() -> list[Any]:
        strict = await ReplayPins(recorded(log)).aresolve("p1:x:1", "x", anever)
        recording = ReplayPins(recorded(log), on_miss="record", into=PinLedger(log).open("v"))
        return [strict, await recording.aresolve("p1:x:2", "x", drawn)]

    assert async_to_sync(both)() == ["kept", "new"]


@pytest.mark.django_db
@pytest.mark.promise("A22", "A26", "A27")
def test_a_chronicle_drawn_again_from_its_pins_reaches_no_model_and_lists_the_same_pins() -> None:
    log = units_of(13)
    script = Scripted()
    assert consolidate(log, summariser=script).rollups == 1
    first = sections.current_edition(log)
    second = first.__class__.objects.create(log=log, number=2, state="building", made_at=first.made_at)
    silent = Scripted(lambda *_: never())
    draws = Draws(second, summariser=silent, through=lambda _: ReplayPins(recorded(log)))
    log.refresh_from_db()
    Projector(log, [ChronicleFold(second, draws=draws)]).catch_up()
    again = Section.objects.filter(anchor__edition=second).order_by("anchor__from_seq")
    before = Section.objects.filter(anchor__edition=first, anchor__level=0).order_by("anchor__from_seq")
    assert [section.prose for section in again] == [section.prose for section in before]
    assert [_keys(section) for section in again] == [_keys(section) for section in before]
    assert len(_keys(again[0])) == 1
    assert silent.calls == 0
    assert not PinScratch.objects.filter(log=log).exists()


@pytest.mark.django_db
@pytest.mark.promise("A26", "A22")
def test_another_prompt_misses() -> None:
    log = units_of(1)
    consolidate(log, summariser=Scripted())
    edition = sections.current_edition(log)
    row, span = policies.rows(log)[0], span_of(read(log))
    for prompt, kind in (("Tell it.", Draft), ("Tell it otherwise.", PinMiss)):
        script = Scripted(lambda *_: never(), prompt=prompt)
        draws = Draws(edition, summariser=script, through=lambda _: ReplayPins(recorded(log)))
        drawn = drawing.run(draws.section("1-2#2", span, row))
        assert isinstance(drawn.draft, kind)
        assert script.calls == 0


def _keys(section: Section) -> list[str]:
    return list(SectionPin.objects.filter(section=section).order_by("position").values_list("key", flat=True))
