"""Values that LangGraph stores, msgpack or JSON, read without importing what they name.

Guarantees: an object of a class is the class's name and its fields, never the class; what JSON does not know
(bytes, times, keys that are no text, NaN) is shown in words. Memory is bounded by the value's own size.
Refuses (InvalidPayload): pickle, which runs code when it is read; any other type; what is damaged or too deep.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from chronicle import canonical
from chronicle.errors import InvalidPayload
from chronicle.importers import sqlite_files

# Codes of the extension types: the position of the fields or the argument behind module and class.
MADE = range(6)
NUMPY = 6


class Made(NamedTuple):
    """An object: the name of its class, and what it was made of."""

    name: str
    fields: Any


def decoded(kind: Any, data: Any) -> Any:
    """Return the value of a column of values with its type. Raises InvalidPayload."""
    if kind in (None, "null") or data is None:
        return None
    if kind == "msgpack":
        return _unpacked(data)
    if kind == "json":
        return sqlite_files.document(data)
    if kind in ("bytes", "bytearray"):
        return f"[{len(data):,} bytes]" if isinstance(data, bytes | str) else None
    if kind == "pickle":
        raise InvalidPayload("a pickle is never read: it runs code")
    raise InvalidPayload(f"no known type of value: {str(kind)[:40]!r}")


def _unpacked(data: Any) -> Any:
    if not isinstance(data, bytes):
        raise InvalidPayload("no bytes where msgpack must stand")
    try:
        return _decoder.decode(data)
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError) as error:
        raise InvalidPayload(f"no msgpack: {str(error)[:200]}") from None


def _extension(code: int, data: memoryview) -> Any:
    if code not in MADE:
        return f"[{len(data):,} bytes of {'an array' if code == NUMPY else f'extension {code}'}]"
    found = _decoder.decode(data)
    if not isinstance(found, list) or len(found) < 3:
        return found
    return Made(str(found[1]), found[2])


_decoder = msgspec.msgpack.Decoder(ext_hook=_extension)


def plain(value: Any, depth: int = canonical.MAX_DEPTH - 8) -> Any:
    """Return a value as JSON can hold it, cut where it is too deep for a payload."""
    if isinstance(value, Made):
        return {"class": value.name, "fields": plain(value.fields, depth - 1)} if depth > 0 else f"[{value.name}]"
    if isinstance(value, Mapping):
        if depth <= 0:
            return f"[{len(value)} members]"
        return {key if isinstance(key, str) else str(key): plain(inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner, depth - 1) for inner in value] if depth > 0 else f"[{len(value)} elements]"
    if isinstance(value, bytes | bytearray | memoryview):
        return f"[{len(value):,} bytes]"
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, str | bool | int) else str(value)
