"""The summariser that asks a model, and keeps every answer before it is interpreted.

Guarantees: each call is drawn through the resolver under a key of the whole request, which this module makes; an
answer is plain JSON (text, model, finish, tokens, cost) there; a span too long for one request is drawn in parts
and joined, its tokens and costs summed and its pins in the order drawn.
Refuses: a refusal, an empty answer, one that was cut off (SummaryFailed); what could not be drawn at all is
DrawFailed. No message says anything of the record or of the answer. On an event loop its draws are awaitable,
elsewhere they are not, so that it serves the worker and the awaited path alike.
"""

import asyncio
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from chronicle.canonical import unstorable
from chronicle.errors import SummaryFailed
from chronicle.replay import pin_key
from chronicle.summarisers import prompts as built_in
from chronicle.summarisers.answer import has_words, parse_answer
from chronicle.summarisers.parting import groups
from chronicle.summarisers.prompts import prompt_digest
from chronicle.summarisers.protocol import Child, Draft, Prompts, Resolver, Span
from chronicle.summarisers.rendering import blocks_of, child_blocks, story_block
from chronicle.summarisers.requests import Generation, Request, joining, story_room, texts
from chronicle.tokens import estimate

KIND = "model_call"
CHAT = "openai-chat"
MILLIONTH = Decimal("0.000001")
BUILT_IN = Prompts(built_in.SECTION, built_in.ROLLUP)

type Answer = dict[str, Any]
type Asks = Generator[str, Answer, Draft]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a model is asked. `generation` is part of a request; how it is delivered is not.

    `input_tokens` (an estimate) is what one request may hold, prompt included; `timeout` is in seconds and covers one
    call with all its retries.
    """

    generation: Generation = field(default_factory=Generation)
    input_tokens: int = 24_000
    timeout: float = 120.0
    retries: int = 3


@dataclass(frozen=True, slots=True)
class ModelSummariser:
    """The summariser. `model` is `provider:name`; a name alone is asked by the chat API of OpenAI."""

    model: str
    prompts: Prompts = BUILT_IN
    settings: Settings = field(default_factory=Settings)
    resolver: Resolver | None = None
    name: str = "model"

    def pinned(self, resolver: Resolver) -> "ModelSummariser":
        """Return the same summariser, drawing through `resolver`."""
        return replace(self, resolver=resolver)

    def section(self, span: Span) -> Any:
        """Return a Draft over a span; on an event loop an awaitable one. Raises SummaryFailed, DrawFailed."""
        prompt = self.prompts.section
        story = story_block(span.story, story_room(self._room(prompt)))
        return self._draw(prompt, lambda: self._asks(prompt, blocks_of(span), story))

    def rollup(self, children: Sequence[Child]) -> Any:
        """Return a Draft over sections; on an event loop an awaitable one. Raises SummaryFailed, DrawFailed."""
        prompt = self.prompts.rollup
        return self._draw(prompt, lambda: self._asks(prompt, child_blocks(children), ""))

    def _draw(self, prompt: str, steps: Callable[[], Asks]) -> Any:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self._drawn(prompt, steps())
        return self._adrawn(prompt, steps())

    def _drawn(self, prompt: str, steps: Asks) -> Draft:
        text = next(steps)
        while True:
            request = self._request(prompt, text)
            try:
                text = steps.send(self._resolve(request))
            except StopIteration as end:
                return self._finished(end.value)

    async def _adrawn(self, prompt: str, steps: Asks) -> Draft:
        text = next(steps)
        while True:
            request = self._request(prompt, text)
            try:
                text = steps.send(await self._aresolve(request))
            except StopIteration as end:
                return self._finished(end.value)

    def _finished(self, draft: Draft) -> Draft:
        return draft if self.resolver is not None else replace(draft, pins=())

    def _resolve(self, request: Request) -> Answer:
        def effect() -> Answer:
            return asyncio.run(self._call(request))

        key = pin_key(KIND, request.as_json())
        answer = self.resolver.resolve(key, KIND, effect) if self.resolver is not None else effect()
        return {**answer, "key": key}

    async def _aresolve(self, request: Request) -> Answer:
        async def effect() -> Answer:
            return await self._call(request)

        key = pin_key(KIND, request.as_json())
        answer = await (self.resolver.aresolve(key, KIND, effect) if self.resolver is not None else effect())
        return {**answer, "key": key}

    async def _call(self, request: Request) -> Answer:
        from chronicle.summarisers.wire import call  # late: the provider library takes seconds to import

        return await call(request, timeout=self.settings.timeout, retries=self.settings.retries)

    def _request(self, prompt: str, text: str) -> Request:
        name = self.model if ":" in self.model else f"{CHAT}:{self.model}"
        return Request(model=name, system=prompt, user=text, generation=self.settings.generation)

    def _room(self, prompt: str) -> int:
        return self.settings.input_tokens - estimate(prompt)

    def _asks(self, prompt: str, blocks: Sequence[str], story: str) -> Asks:
        """Yield the texts to ask and take the answers; the last of them is the section."""
        answers: list[Answer] = []
        found: list[str] = []
        asked = texts(blocks, story=story, room=self._room(prompt))
        while True:
            found = []
            for text in asked:
                answers.append((yield text))
                found.append(_words(answers[-1]))
            if len(found) == 1:
                return _draft(found[0], prompt, answers)
            asked = [joining(group) for group in groups(found, self._room(prompt))]


def _words(answer: Answer) -> str:
    """Return the text of an answer. Raises SummaryFailed for one that is refused, cut off or empty."""
    if answer["finish"] == "content_filter":
        raise SummaryFailed("the model refused to answer; nothing was stored")
    if answer["finish"] == "length":
        raise SummaryFailed("the answer was cut off at its limit, MODEL_OUTPUT_TOKENS; nothing was stored")
    if answer["finish"] not in ("stop", None):
        raise SummaryFailed("the model did not finish its answer; nothing was stored")
    text = answer["text"]
    if not isinstance(text, str) or not has_words(text):
        raise SummaryFailed("the model gave an empty answer; nothing was stored")
    if unstorable(text) is not None:
        raise SummaryFailed("the answer holds a character no database takes; nothing was stored")
    return text


def _draft(text: str, prompt: str, answers: Sequence[Answer]) -> Draft:
    made = parse_answer(text, fallback="")
    costs = [answer["cost"] for answer in answers]
    known = all(cost is not None for cost in costs)
    return Draft(
        title=made.title,
        prose=made.prose,
        model=str(answers[-1]["model"])[:200],
        prompt_digest=prompt_digest(prompt),
        tokens_in=_sum(answers, "tokens_in"),
        tokens_out=_sum(answers, "tokens_out"),
        pins=tuple(dict.fromkeys(answer["key"] for answer in answers)),
        cost=sum(map(Decimal, costs), Decimal()).quantize(MILLIONTH) if known else None,
    )


def _sum(answers: Sequence[Answer], name: str) -> int | None:
    found = [answer[name] for answer in answers if answer[name] is not None]
    return sum(found) if found else None
