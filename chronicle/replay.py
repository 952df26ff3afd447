"""Pin keys, and recorded pins as a resolver.

Guarantees: a key names everything that a request says (`p1:<kind>:<sha256>`), the same on every machine
and in every fresh database, because no id, time or delivery setting belongs into a request. A strict
replay never runs an effect; a recording one runs it into a unit that announces the first miss.
Refuses: NaN, what is not JSON, and two keys of one object that NFC makes one (ValueError); a strict
replay that has somewhere to record, a recording one that has nowhere (ValueError).
"""

import unicodedata
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

from asgiref.sync import sync_to_async

from chronicle import canonical
from chronicle.errors import PinMiss

SCHEME = 1
PARTIAL = "partial"


def pin_key(kind: str, request: Any) -> str:
    """Return `p<scheme>:<kind>:<sha256>` over the canonical JSON of `request`, its strings in NFC."""
    return f"p{SCHEME}:{kind}:{canonical.sha256(canonical.dump(_nfc(request)).encode())}"


def _nfc(value: Any) -> Any:
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, dict):
        made = {_nfc(key): _nfc(one) for key, one in value.items()}
        if len(made) != len(value):
            raise ValueError("Two keys of a request are one after NFC; give each its own name.")
        return made
    return [_nfc(one) for one in value] if isinstance(value, list | tuple) else value


def joined(chunks: Iterable[Any], *, whole: bool = True) -> Any:
    """Return what a stream is pinned as: its text (or its list), and what arrived marked when it broke off."""
    arrived = list(chunks)
    result = "".join(arrived) if all(isinstance(chunk, str) for chunk in arrived) else arrived
    return result if whole else {PARTIAL: True, "result": result}


def is_partial(result: Any) -> bool:
    """True for the pin of a stream that broke off."""
    return isinstance(result, dict) and result.keys() == {PARTIAL, "result"} and result[PARTIAL] is True


def chunks_of(result: Any) -> list[Any]:
    """Return a pinned result as chunks, those that arrived where the stream broke off."""
    result = result["result"] if is_partial(result) else result
    return result if isinstance(result, list) else [result]


class Recorder(Protocol):
    """A resolver that a replay may record into; `diverged` announces the first miss with the new pins."""

    def resolve(self, key: str, kind: str, effect: Callable[[], Any]) -> Any: ...

    async def aresolve(self, key: str, kind: str, effect: Callable[[], Awaitable[Any]]) -> Any: ...

    def diverged(self, key: str, kind: str) -> None: ...

    def stream(self, key: str, kind: str, effect: Callable[[], Iterable[Any]]) -> Iterator[Any]: ...

    def astream(self, key: str, kind: str, effect: Callable[[], AsyncIterator[Any]]) -> AsyncIterator[Any]: ...


class ReplayPins:
    """Recorded results by key, as a resolver. `keys` are those asked for here, in order, each once.

    `recorded` maps keys to results; where it looks them up slowly it is asked once a request. `on_miss`:
    "raise" raises PinMiss at every miss; "record" draws into the resolver given as `into`.
    """

    def __init__(self, recorded: Mapping[str, Any], *, on_miss: str = "raise", into: Recorder | None = None) -> None:
        if on_miss not in ("raise", "record"):
            raise ValueError(f'on_miss is "raise" or "record", not {on_miss!r}.')
        if (on_miss == "record") != (into is not None):
            raise ValueError('on_miss="record" needs into=, and nothing else takes it.')
        self._recorded = recorded
        self._into = into
        self._missed = False
        self.keys: list[str] = []

    def resolve(self, key: str, kind: str, effect: Callable[[], Any]) -> Any:
        """Return the recorded result. Raises PinMiss when strict."""
        found = self._found(key)
        return found[0] if found else self._miss(key, kind).resolve(key, kind, effect)

    async def aresolve(self, key: str, kind: str, effect: Callable[[], Awaitable[Any]]) -> Any:
        """As `resolve`, awaiting the effect."""
        found = await sync_to_async(self._found)(key)
        return found[0] if found else await self._miss(key, kind).aresolve(key, kind, effect)

    def stream(self, key: str, kind: str, effect: Callable[[], Iterable[Any]]) -> Iterator[Any]:
        """Yield the recorded result, as chunks."""
        found = self._found(key)
        yield from chunks_of(found[0]) if found else self._miss(key, kind).stream(key, kind, effect)

    async def astream(self, key: str, kind: str, effect: Callable[[], AsyncIterator[Any]]) -> AsyncIterator[Any]:
        """As `stream`, awaiting the chunks."""
        found = await sync_to_async(self._found)(key)
        for chunk in chunks_of(found[0]) if found else ():
            yield chunk
        if not found:
            async for chunk in self._miss(key, kind).astream(key, kind, effect):
                yield chunk

    def _found(self, key: str) -> list[Any]:
        if key not in self.keys:
            self.keys.append(key)
        try:
            return [self._recorded[key]]
        except KeyError:
            return []

    def _miss(self, key: str, kind: str) -> Recorder:
        if self._into is None:
            raise PinMiss(f"No {kind} is recorded under {key}: the request is another than it was.", key=key, kind=kind)
        if not self._missed:
            self._missed = True
            self._into.diverged(key, kind)
        return self._into
