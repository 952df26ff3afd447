"""Summarisers for tests: they note what they are given, and fail, block or await as told."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connection

from chronicle.errors import SummaryFailed
from chronicle.replay import pin_key
from chronicle.summarisers.protocol import Child, Draft, Resolver, Span


class Noting:
    """Gives prose made of what it read; `fails` decides by the call's number (from 1) whether it raises."""

    name = "noting"

    def __init__(self, prose: str = "Account", fails: Callable[[int], bool] = lambda _: False) -> None:
        self.prose, self.fails = prose, fails
        self.spans: list[Span] = []
        self.children: list[Sequence[Child]] = []
        self.in_transaction: list[bool] = []
        self.calls = 0

    def section(self, span: Span) -> Any:
        self.spans.append(span)
        return self._draft(f"{self.prose} of {len(span.said)} events: {span.said[0].content}")

    def rollup(self, children: Sequence[Child]) -> Any:
        self.children.append(children)
        return self._draft(f"{self.prose} of {len(children)} sections: {children[0].title}")

    def _draft(self, words: str) -> Draft:
        self.calls += 1
        self.in_transaction.append(connection.in_atomic_block)
        if self.fails(self.calls):
            raise SummaryFailed(f"no words at call {self.calls}")
        return Draft(words, words, model="noting-1", tokens_in=10, tokens_out=3)


class Giving:
    """Gives the same answer, whatever it is."""

    name = "giving"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def section(self, span: Span) -> Any:
        return self.answer

    def rollup(self, children: Sequence[Child]) -> Any:
        return self.answer


class Awaited:
    """An asynchronous summariser, which counts its calls."""

    name = "awaited"

    def __init__(self) -> None:
        self.calls = 0

    async def section(self, span: Span) -> Draft:
        self.calls += 1
        return Draft("Awaited", f"Awaited words over {len(span.said)} events.")

    async def rollup(self, children: Sequence[Child]) -> Draft:
        self.calls += 1
        return Draft("Awaited", f"Awaited words over {len(children)} sections.")


class Scripted:
    """A pinnable summariser: one request a slot, answered by `answer(prompt, lines)`; it counts its calls."""

    name = "scripted"

    def __init__(self, answer: Callable[[str, list[str]], Any] | None = None, *, prompt: str = "Tell it.") -> None:
        self.prompt = prompt
        self.answer = answer or (lambda _, lines: f"Words {self.calls} on {lines[0]}")
        self.calls = 0

    def section(self, span: Span) -> Draft:
        raise AssertionError("a pinnable summariser was asked without pins")

    def rollup(self, children: Sequence[Child]) -> Draft:
        raise AssertionError("a pinnable summariser was asked without pins")

    def pinned(self, resolver: Resolver) -> "_Pinned":
        return _Pinned(self, resolver)

    def draw(self, lines: list[str]) -> Any:
        self.calls += 1
        return self.answer(self.prompt, lines)


class _Pinned:
    """Draws through its resolver; awaited where an event loop runs, for no table may be read on one."""

    name = "scripted"

    def __init__(self, script: Scripted, resolver: Resolver) -> None:
        self._script, self._resolver = script, resolver

    def section(self, span: Span) -> Any:
        return self._ask([said.content for said in span.said])

    def rollup(self, children: Sequence[Child]) -> Any:
        return self._ask([child.prose for child in children])

    def _ask(self, lines: list[str]) -> Any:
        key = pin_key("model_call", {"model": "scripted-1", "prompt": self._script.prompt, "lines": lines})
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return _draft(self._resolver.resolve(key, "model_call", lambda: self._script.draw(lines)))
        return self._awaited(key, lines)

    async def _awaited(self, key: str, lines: list[str]) -> Draft:
        draw = sync_to_async(self._script.draw)
        return _draft(await self._resolver.aresolve(key, "model_call", lambda: draw(lines)))


def _draft(words: Any) -> Draft:
    if not words:
        raise SummaryFailed("The script gave no words.")
    return Draft(words, words, model="scripted-1", tokens_in=100, tokens_out=20)


class Pinned:
    """Asks a model that never says the same twice, through a resolver; `meanwhile` is called while it draws."""

    def __init__(self, name: str = "pinned", meanwhile: Callable[[], None] = lambda: None) -> None:
        self.name = name
        self.meanwhile = meanwhile
        self.draws = 0
        self._resolver: Resolver | None = None

    def pinned(self, resolver: Resolver) -> "Pinned":
        self._resolver = resolver
        return self

    def section(self, span: Span) -> Draft:
        return self._draft([said.content for said in span.said])

    def rollup(self, children: Sequence[Child]) -> Draft:
        return self._draft([child.prose for child in children])

    def _draft(self, request: list[str]) -> Draft:
        assert self._resolver is not None
        key = pin_key(self.name, request)
        words = self._resolver.resolve(key, self.name, self._ask)
        return Draft(words, words, model=self.name, tokens_in=20, tokens_out=4)

    def _ask(self) -> str:
        self.draws += 1
        self.meanwhile()
        return f"Draw {self.draws} of {self.name}"
