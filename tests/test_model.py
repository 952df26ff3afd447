"""The model summariser over the wire: what it makes of every answer, and what it says of none."""

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from chronicle.errors import DrawFailed, PinMiss, SummaryFailed
from chronicle.replay import ReplayPins, pin_key
from chronicle.summarisers.model import BUILT_IN, ModelSummariser, Settings
from chronicle.summarisers.prompts import prompt_digest
from chronicle.summarisers.protocol import Child, Draft, Prompts, Said, Span
from chronicle.summarisers.rendering import blocks_of
from chronicle.summarisers.requests import texts
from tests.model_server import ANSWER, MODEL, Step, breaks_off, fails, gives, hangs, says, serving

PROMPTS = Prompts("Describe the stretch.", "Describe the sections.")
SPAN = Span((Said("message", "human", "Ana", "PAYLOAD The cellar froze."), Said("message", "agent", "Bo", "I see.")))
SECRETS = ("PAYLOAD", "sk-never", "heater", "Friday")


class Kept:
    """A resolver over a dict."""

    def __init__(self) -> None:
        self.pins: dict[str, Any] = {}

    def resolve(self, key: str, kind: str, effect: Any) -> Any:
        if key not in self.pins:
            self.pins[key] = effect()
        return self.pins[key]

    async def aresolve(self, key: str, kind: str, effect: Any) -> Any:
        if key not in self.pins:
            self.pins[key] = await effect()
        return self.pins[key]


def model(*, resolver: Any = None, prompts: Prompts = PROMPTS, **settings: Any) -> ModelSummariser:
    settings = {"timeout": 20.0, "retries": 1, **settings}
    return ModelSummariser(MODEL, prompts, Settings(**settings), resolver)


@pytest.fixture(autouse=True)
def nothing_is_told(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No log line of ours says anything of a request or an answer."""
    with caplog.at_level(logging.DEBUG, "chronicle"):
        yield
    assert not any(secret in caplog.text for secret in SECRETS)


def test_an_answer_becomes_title_and_prose_with_model_prompt_and_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(monkeypatch, says()) as server:
        draft = model().section(SPAN)
    title, prose = ANSWER.removeprefix("TITLE: ").split("\n\n")
    digest = prompt_digest(PROMPTS.section)
    assert draft == Draft(title, prose, "scripted-2026", digest, 100, 20)
    (asked,) = server.requests
    system, user = asked["messages"]
    assert system == {"role": "system", "content": "Describe the stretch."}
    assert '"Ana", a person, said:\n| PAYLOAD The cellar froze.' in user["content"]
    assert asked["max_completion_tokens"] == 1500 and "temperature" not in asked
    assert server.headers[0]["authorization"] == "Bearer sk-never-to-be-seen"


def test_a_rollup_is_asked_with_its_own_prompt_over_titles_and_prose(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(monkeypatch, says()) as server:
        draft = model().rollup([Child("Asked", "First words.", 3), Child("Done", "Last words.", 4)])
    system, user = server.requests[0]["messages"]
    assert system["content"] == "Describe the sections."
    assert 'Section, titled "Asked":\n| First words.\n\nSection, titled "Done":\n| Last words.' in user["content"]
    assert draft.prompt_digest == prompt_digest(PROMPTS.rollup)


@pytest.mark.promise("A26")
def test_the_key_is_of_the_whole_request_and_of_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept()
    with serving(monkeypatch, says()):
        first = model(resolver=kept).section(SPAN)
    with serving(monkeypatch, says("Never asked.")) as server:  # another address
        assert model(resolver=kept, timeout=5.0, retries=2).section(SPAN) == first
        monkeypatch.setenv("OPENAI_API_KEY", "sk-never-another")
        assert model(resolver=kept).section(SPAN) == first
        assert not server.requests
    (key,) = kept.pins
    request = {
        "rendering": 1,
        "model": MODEL,
        "system": PROMPTS.section,
        "user": text_of(SPAN),
        "settings": {"max_tokens": 1500, "temperature": None},
    }
    assert key == pin_key("model_call", request) == first.pins[0]
    # What is below may only change together with the scheme of the rendering: every pin of every log rests on it.
    assert key == "p1:model_call:0afca526770029a11b427e5e6e41eb9ae6b535286db5b59cd3810777dbc0e339"


def text_of(span: Span) -> str:
    return texts(blocks_of(span), story="", room=24_000)[0]


@pytest.mark.promise("A26")
@pytest.mark.parametrize("changed", ["prompt", "model", "temperature", "tokens", "words"])
def test_whatever_decides_an_answer_makes_another_key_when_it_changes(
    monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    kept, span = Kept(), SPAN
    one = other = model(resolver=kept)
    generation = one.settings.generation
    if changed == "prompt":
        other = replace(one, prompts=Prompts("Describe the stretch!", PROMPTS.rollup))
    elif changed == "model":
        other = replace(one, model="openai-chat:another")
    elif changed == "temperature":
        other = replace(one, settings=replace(one.settings, generation=replace(generation, temperature=0.5)))
    elif changed == "tokens":
        other = replace(one, settings=replace(one.settings, generation=replace(generation, output_tokens=99)))
    else:
        span = replace(SPAN, said=SPAN.said[:1])
    with serving(monkeypatch, says()) as server:
        assert one.section(SPAN).pins != other.section(span).pins
    assert len(server.requests) == len(kept.pins) == 2


@pytest.mark.promise("A26", "A22")
def test_with_its_pins_a_model_is_asked_nothing_and_another_prompt_is_a_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept()
    with serving(monkeypatch, says()):
        drawn = model(resolver=kept).section(SPAN)
    replay = ReplayPins(kept.pins)  # nobody listens any more
    assert model().pinned(replay).section(SPAN) == drawn
    with pytest.raises(PinMiss):
        model(prompts=BUILT_IN).pinned(replay).section(SPAN)


@pytest.mark.promise("A27")
def test_outside_a_ledger_a_draft_lists_no_pins_and_a_plain_and_an_awaited_call_share_a_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def awaited(one: ModelSummariser) -> Draft:
        return await one.section(SPAN)  # type: ignore[no-any-return]

    plain, other = Kept(), Kept()
    with serving(monkeypatch, says()):
        assert model().section(SPAN).pins == ()
        assert model(resolver=plain).section(SPAN) == asyncio.run(awaited(model(resolver=other)))
    assert plain.pins == other.pins and len(plain.pins) == 1


REFUSED = [
    (says("I would rather not say heater.", refusal="No heater."), "the model refused to answer"),
    (says("", finish="content_filter"), "the model refused to answer"),
    (says("The heater was", finish="length"), "cut off at its limit, MODEL_OUTPUT_TOKENS"),
    (says(""), "an empty answer"),
    (says(None), "an empty answer"),
    (says(" \u200b\n"), "an empty answer"),
    (says("The heater\x00."), "a character no database takes"),
]


@pytest.mark.parametrize(("step", "words"), REFUSED)
def test_an_answer_that_is_none_fails_in_a_sentence_and_is_kept_before_it_is_read(
    monkeypatch: pytest.MonkeyPatch, step: Step, words: str
) -> None:
    kept = Kept()
    with serving(monkeypatch, step) as server, pytest.raises(SummaryFailed, match=words) as failed:
        model(resolver=kept).section(SPAN)
    assert len(server.requests) == len(kept.pins) == 1
    assert not any(secret in str(failed.value) for secret in SECRETS)


@pytest.mark.parametrize(
    ("step", "words", "calls"),
    [
        (fails(500), "status 500", 2),
        (fails(503), "status 503", 2),
        (fails(429), "no more requests for now", 2),
        (fails(401), "refused the key", 1),
        (fails(404), "knows no model openai-chat:scripted", 1),
        (fails(400), "status 400", 1),
        (fails(302, Location="http://127.0.0.1:1/"), "redirects to another", 1),
        (breaks_off(), "failed or was cut off", 2),
        (gives(b"not json, heater"), "could not be read", 1),
        (gives(b'"heater"'), "could not be read", 1),
        (gives(b"{}"), "could not be read", 1),
        (gives(b'{"a": "' + b"x" * (8 * 1024**2) + b'"}'), "larger than 8388608 bytes", 1),
        (gives(b"heater", Content_Encoding="gzip"), "compressed", 1),
    ],
)
@pytest.mark.promise("A18")
def test_a_draw_that_cannot_be_made_is_said_and_leaves_no_pin(
    monkeypatch: pytest.MonkeyPatch, step: Step, words: str, calls: int
) -> None:
    kept = Kept()
    with serving(monkeypatch, step) as server, pytest.raises(DrawFailed, match=words) as failed:
        model(resolver=kept).section(SPAN)
    assert not kept.pins and len(server.requests) == calls
    error: BaseException = failed.value
    assert error.__cause__ is None and error.__suppress_context__  # what the provider said stays out of tracebacks
    assert not any(secret in str(error) for secret in SECRETS)


def test_a_model_that_does_not_answer_in_time_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(monkeypatch, hangs()), pytest.raises(DrawFailed, match=r"within 0\.3 seconds \(MODEL_TIMEOUT\)"):
        model(timeout=0.3).section(SPAN)


def test_after_a_429_the_same_request_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(monkeypatch, fails(429), says()) as server:
        assert model().section(SPAN).prose
    assert server.requests[0] == server.requests[1]


def test_a_name_alone_is_asked_by_the_chat_api_under_the_same_key(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, one = Kept(), model()
    with serving(monkeypatch, says()):
        assert replace(one, model="scripted", resolver=kept).section(SPAN).pins == one.pinned(kept).section(SPAN).pins


def test_nobody_listening_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(monkeypatch) as server:
        gone = server.url
    monkeypatch.setenv("OPENAI_BASE_URL", gone)
    with pytest.raises(DrawFailed, match="failed or was cut off"):
        model(retries=0).section(SPAN)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere:x", "names no provider that is known"),
        ("anthropic:claude", r"pip install .pydantic-ai-slim\[anthropic\]"),
        ("openai:x", "OPENAI_API_KEY"),
    ],
)
def test_a_model_that_cannot_be_asked_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, name: str, words: str
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(DrawFailed, match=words):
        replace(model(), model=name).section(SPAN)


def test_what_a_call_costs_is_kept_where_the_price_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept()
    with serving(monkeypatch, says(model_name="gpt-4o-mini", tokens=(1_000_000, 1_000_000))):
        draft = model(resolver=kept).section(SPAN)
    assert draft.cost is not None and draft.cost > Decimal("0.1")
    assert [Decimal(pin["cost"]) for pin in kept.pins.values()] == [draft.cost]
    with serving(monkeypatch, says(tokens=None)):
        draft = model().section(SPAN)
    assert (draft.cost, draft.tokens_in, draft.tokens_out) == (None, None, None)


@pytest.mark.parametrize("kind", ["section", "rollup"])
def test_what_is_too_long_is_drawn_in_parts_and_joined_and_all_of_it_is_pinned(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    words = [f"{number} " * 400 for number in range(8)]
    kept, given = Kept(), [says(f"Account {number}.") for number in range(1, 12)]
    with serving(monkeypatch, *given) as server:
        one = model(resolver=kept, input_tokens=1200)
        if kind == "section":
            draft = one.section(Span(tuple(Said("message", "human", "Ana", text) for text in words)))
        else:
            draft = one.rollup([Child(f"T{place}", text, 1) for place, text in enumerate(words)])
    asked = [request["messages"][1]["content"] for request in server.requests]
    *parts, last = asked
    assert 2 <= len(parts) < 8 and all(len(text) <= 1200 * 4 for text in asked)
    assert all(f"This is part {place} of {len(parts)} of" in text for place, text in enumerate(parts, 1))
    assert [word for word in words if not any(word.strip() in text for text in parts)] == []
    assert last.startswith(f"One record was too long to be given at once. Here are accounts of its {len(parts)} parts")
    assert "Account of part 2:\n| Account 2." in last
    assert draft.prose == f"Account {len(asked)}."
    assert (draft.tokens_in, draft.tokens_out) == (100 * len(asked), 20 * len(asked))
    assert list(draft.pins) == list(kept.pins) and len(kept.pins) == len(asked)


def test_of_parts_drawn_before_a_failure_none_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    span = Span(tuple(Said("message", "human", "Ana", f"{number} " * 400) for number in range(8)))
    kept, one = Kept(), model(input_tokens=1200, retries=0)
    with serving(monkeypatch, says("One."), fails(500)) as server, pytest.raises(DrawFailed):
        one.pinned(kept).section(span)
    assert (len(server.requests), len(kept.pins)) == (2, 1)
    with serving(monkeypatch, says("More.")) as server:
        draft = one.pinned(kept).section(span)
    assert len(server.requests) == len(draft.pins) - 1


def test_the_story_so_far_stands_before_the_record_as_what_is_told_already(monkeypatch: pytest.MonkeyPatch) -> None:
    story = (Child("Before", "What came\nbefore.", 4),)
    with serving(monkeypatch, says()) as server:
        model().section(replace(SPAN, story=story))
        model().section(SPAN)
    with_story, without = (asked["messages"][1]["content"] for asked in server.requests)
    assert with_story.startswith("What was recorded before, as context. It is told already and is not to be told again")
    assert 'Earlier, titled "Before":\n| What came\n| before.' in with_story
    assert with_story.endswith(without)
