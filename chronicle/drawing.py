"""Running draws: one way of writing a fold's steps, driven synchronously or awaited.

Guarantees: a step asks for a draw by yielding it and gets back a Draft or the exception that the draw
raised; no transaction is open while a draw runs; the awaited driver does all database work on one
thread and all draws on the event loop, one after another.
Refuses: an asynchronous summariser under the synchronous driver (TypeError, before it is called).
"""

import inspect
from collections.abc import Awaitable, Callable, Generator
from typing import Any, cast

from asgiref.sync import sync_to_async

from chronicle.errors import SummaryFailed
from chronicle.summarisers.protocol import Draft, Summariser
from chronicle.unseen import blank

type Draw = Callable[[], Draft | Awaitable[Draft]]
type Steps[T] = Generator[Draw, Draft | Exception | None, T]


def refuse_asynchronous(summariser: Summariser) -> None:
    """Raise TypeError when only the awaited path can take this summariser; it is not called."""
    if inspect.iscoroutinefunction(summariser.section) or inspect.iscoroutinefunction(summariser.rollup):
        raise TypeError(f"{summariser.name} is asynchronous; use the awaited path.")


def run[T](steps: Steps[T]) -> T:
    """Drive the steps to their end; a draw that turns out awaitable is closed and raises TypeError."""
    answer: Draft | Exception | None = None
    while True:
        try:
            draw = steps.send(answer)
        except StopIteration as end:
            return cast("T", end.value)
        answer = _drawn(draw)


async def arun[T](steps: Steps[T]) -> T:
    """Drive the steps from an event loop, awaiting what is awaitable."""
    answer: Draft | Exception | None = None
    step = sync_to_async(_step, thread_sensitive=True)
    while True:
        draw, result = await step(steps, answer)
        if draw is None:
            return cast("T", result)
        answer = await _awaited(draw)


def _step[T](steps: Steps[T], answer: Draft | Exception | None) -> tuple[Draw | None, T | None]:
    try:
        return steps.send(answer), None
    except StopIteration as end:
        return None, end.value


def _drawn(draw: Draw) -> Draft | Exception:
    try:
        result: Any = draw()
    except Exception as error:
        return error
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise TypeError("A summariser answered with an awaitable; use the awaited path.")
    return checked(result)


async def _awaited(draw: Draw) -> Draft | Exception:
    try:
        result: Any = draw()
        return checked(await result if inspect.isawaitable(result) else result)
    except Exception as error:
        return error


def checked(result: Any) -> Draft | Exception:
    """Return the draft, or SummaryFailed for what is none: nothing, another type, or no words."""
    if not isinstance(result, Draft):
        return SummaryFailed(f"The summariser gave {type(result).__name__}, not a draft.")
    if not isinstance(result.prose, str) or blank(result.prose):
        return SummaryFailed("The summariser gave no words.")
    return result
