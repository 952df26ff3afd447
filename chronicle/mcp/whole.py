"""A client that says its last word is still answered: the end of what it says waits for the answers it has asked for.

Guarantees: `printf … | manage.py mcp` gets an answer to every request before the server ends, at most PATIENCE seconds
after the last. Without this the SDK drops what is under way when its input ends.
"""

from types import TracebackType
from typing import Any, Self

import anyio

PATIENCE = 60.0


class Asked:
    """The ids of the requests that are not answered yet."""

    def __init__(self) -> None:
        self._open: set[Any] = set()
        self._changed = anyio.Event()

    def came(self, said: Any) -> None:
        message = getattr(said, "message", None)  # else an error in the place of a message
        method, id = getattr(message, "method", None), getattr(message, "id", None)
        if method is not None and id is not None:
            self._open.add(id)
        elif method == "notifications/cancelled":
            self._over((getattr(message, "params", None) or {}).get("requestId"))

    def went(self, said: Any) -> None:
        if getattr(said.message, "method", None) is None:  # an answer, or a refusal
            self._over(getattr(said.message, "id", None))

    def _over(self, id: Any) -> None:
        self._open.discard(id)
        self._changed.set()

    async def answered(self) -> None:
        """Return when all is answered, or after PATIENCE."""
        with anyio.move_on_after(PATIENCE):
            while self._open:
                self._changed = anyio.Event()
                await self._changed.wait()


class _Stream:
    """One of the SDK's streams, listened to."""

    def __init__(self, inner: Any, asked: Asked) -> None:
        self._inner = inner
        self._asked = asked

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._inner.aclose()


class Given(_Stream):
    """What the client says."""

    async def receive(self) -> Any:
        try:
            said = await self._inner.receive()
        except anyio.EndOfStream:
            await self._asked.answered()
            raise
        self._asked.came(said)
        return said

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class Told(_Stream):
    """What the client is told."""

    async def send(self, said: Any) -> None:
        await self._inner.send(said)
        self._asked.went(said)
