"""What a summariser is given and what it gives back; no provider, no database.

Guarantees: a span holds public content events only, and no id, seq or running number, so two fresh
databases with the same dialogue give the same request. A draft is refused by the caller when its
prose is empty: nothing is stored in its place.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Said:
    """One public content event as a summariser sees it. `answers` is the position in the span of the request."""

    kind: str
    actor_kind: str
    actor: str
    content: str
    payload: str = ""
    answers: int | None = None


@dataclass(frozen=True, slots=True)
class Child:
    """A section that a rollup reads: its words, how many content events it covers, its time span."""

    title: str
    prose: str
    event_count: int
    began: datetime | None = None
    ended: datetime | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """A closed unit: what was said, oldest first, and when the first and last of it happened (UTC).

    `story` is empty unless a policy turns it on: the sections before it, oldest first, as context only.
    """

    said: tuple[Said, ...]
    began: datetime | None = None
    ended: datetime | None = None
    story: tuple[Child, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """Words for a section, and how they came about. `pins` are the keys of the draws, in order; `cost` is in USD."""

    title: str
    prose: str
    model: str = ""
    prompt_digest: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    pins: tuple[str, ...] = ()
    cost: Decimal | None = None


class Prompts(NamedTuple):
    """The two texts a model is asked with: for a section and for a rollup."""

    section: str
    rollup: str


class Resolver(Protocol):
    """Where draws are kept: what was drawn under a key is given again, what was not is drawn by `effect` and kept.

    Results are plain JSON. The key says everything about the request (`replay.pin_key`); `kind` is a word.
    """

    def resolve(self, key: str, kind: str, effect: Callable[[], Any]) -> Any: ...

    async def aresolve(self, key: str, kind: str, effect: Callable[[], Awaitable[Any]]) -> Any: ...


class Summariser(Protocol):
    """Draws prose. Raises SummaryFailed when it has none; may be asynchronous (then only `afold` takes it)."""

    @property
    def name(self) -> str: ...

    def section(self, span: Span) -> Draft | Awaitable[Draft]: ...

    def rollup(self, children: Sequence[Child]) -> Draft | Awaitable[Draft]: ...


@runtime_checkable
class Pinnable(Protocol):
    """A summariser whose draws can be pinned: `pinned` returns the same one, drawing through a resolver."""

    def pinned(self, resolver: Resolver) -> Summariser: ...
