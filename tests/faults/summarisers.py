"""A summariser that stops in mid-draw: at words that say so, for as long as a file is there."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from chronicle.replay import pin_key
from chronicle.summarisers.protocol import Child, Draft, Resolver, Span

HOLD = "HOLD"


class Holding:
    """Writes its process id to `drawing` and waits while `hold` is there, when what was said begins with HOLD."""

    name = "holding"

    def section(self, span: Span) -> Draft:
        folder = Path(os.environ["FAULTS"])
        if span.said[0].content.startswith(HOLD) and (folder / "hold").exists():
            with (folder / "drawing").open("a") as file:
                file.write(f"{os.getpid()}\n")
            while (folder / "hold").exists():
                time.sleep(0.01)
        words = f"{len(span.said)} events, from: {span.said[0].content}"
        return Draft(words[:80], words, model="holding-1", tokens_in=100, tokens_out=10)

    def rollup(self, children: Sequence[Child]) -> Draft:
        words = f"{len(children)} sections, from: {children[0].title}"
        return Draft(words[:80], words, model="holding-1", tokens_in=100, tokens_out=10)


class Paid:
    """As `Holding`, but each draw is a call that is pinned, and leaves a line in `calls`."""

    name = "paid"

    def __init__(self, resolver: Resolver | None = None) -> None:
        self._resolver = resolver

    def pinned(self, resolver: Resolver) -> "Paid":
        return Paid(resolver)

    def section(self, span: Span) -> Draft:
        return self._ask([said.content for said in span.said], lambda: Holding().section(span).prose)

    def rollup(self, children: Sequence[Child]) -> Draft:
        return self._ask([child.prose for child in children], lambda: Holding().rollup(children).prose)

    def _ask(self, lines: list[str], draw: Callable[[], str]) -> Draft:
        def call() -> str:
            words = draw()
            with (Path(os.environ["FAULTS"]) / "calls").open("a") as file:
                file.write(f"{lines[0]}\n")
            return words

        assert self._resolver is not None, "a pinnable summariser was asked without pins"
        words = self._resolver.resolve(pin_key("model_call", lines), "model_call", call)
        return Draft(words[:80], words, model="paid-1", tokens_in=100, tokens_out=10)
