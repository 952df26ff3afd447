"""A rebuild of what a model wrote, over the wire and with its server stopped."""

from itertools import count
from typing import Any

import pytest
from pytest_django import Settings

from chronicle import policies
from chronicle.errors import PinMiss
from chronicle.fold import consolidate
from chronicle.models import Anchor, Log
from tests.builders import units_of
from tests.model_server import MODEL, Handler, says, serving
from tests.rebuilding import edition, redone, slots, states, words

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def by_model(settings: Settings) -> None:
    settings.SUMMARISER, settings.MODEL, settings.MODEL_RETRIES = "model", MODEL, 0


def never_the_same() -> Any:
    numbers = count(1)

    def step(body: dict[str, Any], handler: Handler) -> None:
        number = next(numbers)
        says(f"TITLE: Account {number}\n\nWords number {number} of a model.")(body, handler)

    return step


def told(monkeypatch: pytest.MonkeyPatch, units: int, **policy: Any) -> Log:
    log = units_of(units)
    if policy:
        policies.set_for(log, made_by="Ines", **policy)
    with serving(monkeypatch, never_the_same()):
        consolidate(log)
    return log


@pytest.mark.promise("A52", "K22")
@pytest.mark.parametrize("story", [0, 2])
def test_with_the_server_stopped_a_replay_gives_every_word_back(monkeypatch: pytest.MonkeyPatch, story: int) -> None:
    log = told(monkeypatch, 13, **({"story_so_far": story} if story else {}))
    report = redone(log, replay="strict")

    of = Anchor.objects.filter(edition=edition(log, 1)).count()
    assert of == 14 and report.compared == (of, of, of, of)
    assert (report.calls, report.tokens_in, report.tokens_out) == (0, 0, 0)
    assert words(edition(log, 1)) == words(edition(log, 2)) and slots(edition(log, 1)) == slots(edition(log, 2))


def test_another_model_is_a_miss_and_is_asked_by_a_rebuild_that_may(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    log = told(monkeypatch, 3)
    settings.MODEL = "openai-chat:another"
    with pytest.raises(PinMiss):
        redone(log, replay="strict")
    assert states(log) == {1: "current", 2: "building"}
    with serving(monkeypatch, never_the_same()) as server:
        report = redone(log, replay="record")
    assert len(server.requests) == report.calls == 3
    assert (report.tokens_in, report.tokens_out) == (300, 60)
