"""The model summariser through the whole path: a policy, closed units, draws that are kept, sections."""

import re
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from pytest_django import Settings

from chronicle import fold, policies, prompts
from chronicle.errors import InvalidPolicy
from chronicle.fold import aconsolidate, consolidate
from chronicle.log import append
from chronicle.models import Event, Log, Pin, PinScratch, Policy, RollupSource, Section, SectionPin, UnitFailure
from chronicle.reconsolidate import reconsolidate
from chronicle.summarisers.prompts import SECTION, prompt_digest
from tests.builders import log_of, marker, said, units_of
from tests.conftest import Clock
from tests.model_server import MODEL, fails, says, serving

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def by_model(settings: Settings) -> None:
    settings.SUMMARISER, settings.MODEL, settings.MODEL_RETRIES = "model", MODEL, 0


def keys_of(log: Log) -> list[str]:
    pins = SectionPin.objects.filter(section__anchor__edition__log=log)
    return list(pins.order_by("section__anchor__from_seq").values_list("key", flat=True))


@pytest.mark.promise("A26", "A27")
def test_a_section_lists_its_pins_and_keeps_model_prompt_tokens_and_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    log = units_of(2)
    with serving(monkeypatch, says(model_name="gpt-4o-mini")) as server:
        assert consolidate(log).sections == 2
    assert len(server.requests) == 2
    for section in Section.objects.all():
        assert (section.summariser, section.model, section.prompt_digest) == (
            "model",
            "gpt-4o-mini",
            prompt_digest(SECTION),
        )
        assert (section.tokens_in, section.tokens_out) == (100, 20)
        assert section.cost is not None and 0 < section.cost < 1
        (pin,) = section.pins.all()
        assert Pin.objects.get(log=log, key=pin.key).kind == "model_call"
    assert not PinScratch.objects.exists()


@pytest.mark.promise("K29", "A47")
def test_the_same_dialogue_in_two_logs_at_two_times_gives_the_same_keys(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    def dialogue() -> list[Any]:
        call = said("", kind="tool_request", actor="Bo", payload={"tool": "order", "arguments": {"what": "heater"}})
        answer = said("ordered", kind="tool_response", actor="order", causation=call.event_id)
        return [said("The cellar freezes."), call, answer, marker(), said("Good."), marker()]

    prompts.add("terse", "In one sentence.", "In two sentences.", "ana")
    policies.set_default(made_by="ana", prompt="terse/1")
    with serving(monkeypatch, says()):
        first = log_of(dialogue())
        consolidate(first)
        clock.move(days=400)
        second = log_of([marker(), *dialogue()], owner="another", title="Another")  # other seqs, ids, times
        consolidate(second)
    assert len(keys_of(first)) == 2
    assert keys_of(second)[-2:] == keys_of(first)
    # One file on SQLite, one server of PostgreSQL: both must find this.
    assert keys_of(first)[0] == "p1:model_call:e11ed41391fb89f11480c39042be4a48def19b837b57fe2bc021e2f49eba1ff5"


@pytest.mark.promise("A26")
def test_another_prompt_is_another_key_and_its_words_are_found_by_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = units_of(1), units_of(1)
    terse = prompts.add("terse", "In one sentence.", "In two sentences.", "ana")
    policies.set_for(second, made_by="ana", prompt="terse/1")
    with serving(monkeypatch, says()) as server:
        consolidate(first)
        consolidate(second)
    assert keys_of(first) != keys_of(second)
    assert server.requests[1]["messages"][0]["content"] == "In one sentence."
    made = Section.objects.get(anchor__edition__log=second)
    assert made.prompt_digest == terse.section_digest
    assert prompts.texts_of(made.prompt_digest) == ("terse/1", "section", "In one sentence.")


def test_a_policy_names_another_model_than_the_site(monkeypatch: pytest.MonkeyPatch) -> None:
    log = units_of(1)
    policies.set_for(log, made_by="ana", summariser="model", model="openai-chat:other")
    with serving(monkeypatch, says()) as server:
        consolidate(log)
    assert server.requests[0]["model"] == "other"


def test_a_rollup_is_drawn_by_the_model_and_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    log = units_of(12)
    with serving(monkeypatch, says()) as server:
        assert consolidate(log).rollups == 1
    assert len(server.requests) == 13
    rollup = Section.objects.get(anchor__level=1)
    assert rollup.pins.count() == 1 and rollup.tokens_in == 100


@pytest.mark.promise("A18", "K10")
def test_a_failed_draw_leaves_the_unit_in_the_tail_and_what_was_drawn_is_not_drawn_again(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, clock: Clock
) -> None:
    settings.MODEL_INPUT_TOKENS = 1200
    log = log_of([*(said(f"{number} " * 400) for number in range(8)), marker()])
    with serving(monkeypatch, says("Account."), fails(500)) as server:
        assert consolidate(log).failed == 1
    assert len(server.requests) == 2
    assert not Section.objects.exists()
    assert UnitFailure.objects.get().last_error == "DrawFailed: The provider answered with status 500."
    assert PinScratch.objects.count() == 1
    clock.move(hours=1)
    with serving(monkeypatch, says("Account.")) as server:
        assert consolidate(log).sections == 1
    section = Section.objects.get()
    assert section.pins.count() == len(server.requests) + 1


def test_an_answer_that_cannot_be_used_is_abandoned_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    log = units_of(1)
    with serving(monkeypatch, says("", finish="content_filter")):
        assert consolidate(log).failed == 1
    gone = Event.objects.get(log=log, type="PinsAbandoned")
    assert "the model refused to answer" in gone.payload
    assert "message 1" not in gone.payload


@pytest.mark.django_db(transaction=True)
@pytest.mark.promise("A42", "A19")
def test_the_awaited_path_draws_the_same_under_the_same_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = units_of(3), units_of(3)
    with serving(monkeypatch, says()) as server:
        consolidate(first)
        assert async_to_sync(aconsolidate)(second).sections == 3
    assert keys_of(first) == keys_of(second) and len(server.requests) == 6


def test_without_a_model_the_policy_is_refused_before_anything_is_drawn(settings: Settings) -> None:
    settings.MODEL = ""
    with pytest.raises(InvalidPolicy, match="set MODEL=provider:name"):
        consolidate(units_of(1))
    with pytest.raises(InvalidPolicy, match="needs a model here") as refused:
        policies.set_default(made_by="ana", summariser="model")
    assert refused.value.details == {"field": "model"}
    assert policies.set_default(made_by="ana", summariser="model", model="openai:x").model == "openai:x"


def test_a_summariser_or_prompt_that_is_not_here_is_refused_at_the_door_with_what_there_is() -> None:
    with pytest.raises(InvalidPolicy, match="'oracle' is none of outline, model"):
        policies.set_default(made_by="ana", summariser="oracle")
    with pytest.raises(InvalidPolicy, match="no prompt 'terse/1'; none has been made yet"):
        policies.set_default(made_by="ana", prompt="terse/1")
    prompts.add("terse", "In one sentence.", "In two sentences.", "ana")
    with pytest.raises(InvalidPolicy, match="no prompt 'terse/2'; there are terse/1, and the built-in"):
        policies.set_default(made_by="ana", prompt="terse/2")
    assert policies.set_default(made_by="ana", prompt="terse/1").prompt == "terse/1"
    assert Policy.objects.count() == 1


@pytest.mark.promise("K28", "S41")
def test_the_story_so_far_is_off_and_when_a_policy_turns_it_on_it_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, told = units_of(4), units_of(4)
    policies.set_for(told, made_by="ana", story_so_far=2)
    script = [says(f"TITLE: T{number}\n\nWords {number}.") for number in range(1, 5)]
    with serving(monkeypatch, *script) as server:
        consolidate(plain)
    assert not any("It is told already" in asked["messages"][1]["content"] for asked in server.requests)
    assert not RollupSource.objects.exists()
    with serving(monkeypatch, *script) as server:
        consolidate(told)
    asked = [request["messages"][1]["content"] for request in server.requests]
    assert ["It is told already" in text for text in asked] == [False, True, True, True]
    assert "Words 1." not in asked[3] and asked[3].index("| Words 2.") < asked[3].index("| Words 3.")
    made = Section.objects.filter(anchor__edition__log=told).order_by("anchor__from_seq")
    read = [[source.source.title for source in section.sources.order_by("position")] for section in made]
    assert read == [[], ["T1"], ["T1", "T2"], ["T2", "T3"]]


@pytest.mark.promise("K28", "K10")
def test_a_story_goes_on_over_runs_and_leaves_out_what_was_closed_without_summary(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    log = units_of(1)
    policies.set_for(log, made_by="ana", story_so_far=3)
    with serving(monkeypatch, says("TITLE: One\n\nWords.")):
        consolidate(log)
    append(log, [said("More."), marker()])
    with serving(monkeypatch, says("")):
        for _ in range(fold.TRIES_BEFORE_CLOSING):
            consolidate(log)
            clock.move(hours=7)
    fold.close_without_summary(UnitFailure.objects.get(), by="root")
    append(log, [said("At last."), marker()])
    with serving(monkeypatch, says()) as server:
        consolidate(log)
    (asked,) = server.requests
    assert re.findall('Earlier, titled "(.*)"', asked["messages"][1]["content"]) == ["One"]
    last = Section.objects.latest("pk")
    assert [source.source.title for source in last.sources.all()] == ["One"]


@pytest.mark.promise("K28")
def test_a_section_drawn_again_is_given_the_story_too_and_it_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    log = units_of(3)
    policies.set_for(log, made_by="ana", story_so_far=1)
    with serving(monkeypatch, *(says(f"TITLE: T{number}\n\nWords.") for number in range(1, 5))) as server:
        consolidate(log)
        again = reconsolidate(log, "3-4", accepted=True, by="ana", reason="clearer")
    assert 'Earlier, titled "T1"' in server.requests[-1]["messages"][1]["content"]
    assert (again.title, [source.source.title for source in again.sources.all()]) == ("T4", ["T1"])


def test_a_slow_batch_is_written_before_all_of_it_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fold, "BATCH_SECONDS", -1)
    log = units_of(3)
    with serving(monkeypatch, says()):
        assert consolidate(log).sections == 3
    assert Event.objects.filter(log=log, type="PinPromoted").count() == 3
