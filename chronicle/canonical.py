"""Canonical JSON, sha256, and the digest chain of a log.

Guarantees: the same value gives the same text on every machine (sorted keys, no spaces, ASCII
escapes, no NaN), and a text is hashed as it is stored, never re-serialised. Fields are hashed with
their length before them, so no two lists of fields share a digest.
Refuses: NaN and infinities (1e999 too), keys given twice, nesting deeper than 64, integers of over 1,000 digits.
A change in this module re-keys every digest; that is why each digest starts with a version tag.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any

from chronicle.errors import InvalidPayload

MAX_DEPTH = 64
MAX_DIGITS = 1000

CONTENT_TAG = "anagrapheus/content/1"
ENTRY_TAG = "anagrapheus/entry/1"
GENESIS_TAG = "anagrapheus/log/1"
SECTION_TAG = "anagrapheus/section/1"

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def dump(value: Any) -> str:
    """Return `value` as canonical JSON. Raises InvalidPayload for NaN, depth or what JSON has no form for."""
    check_shape(value)
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidPayload(f"payload cannot be written as JSON: {error}") from error


def parse(text: str | bytes) -> Any:
    """Return the value of a JSON text; a repeated key, NaN or an over-deep text raises InvalidPayload."""
    try:
        value = json.loads(text, **_HOOKS)
    except InvalidPayload:
        raise
    except RecursionError as error:
        raise InvalidPayload(f"JSON is nested deeper than {MAX_DEPTH}") from error
    except ValueError as error:
        raise InvalidPayload(f"not JSON: {error}") from error
    check_shape(value)
    return value


def check_shape(value: Any) -> None:
    """Raise InvalidPayload when `value` is nested deeper than MAX_DEPTH or a key is not text."""
    level, depth = [value], 0
    while level:
        if depth > MAX_DEPTH:
            raise InvalidPayload(f"payload is nested deeper than {MAX_DEPTH}")
        level = [child for parent in level for child in _children(parent)]
        depth += 1


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise InvalidPayload(f"payload key {key!r} is not text")
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InvalidPayload(f"key {twice!r} is given twice in one object")
    return found


def _refuse_constant(name: str) -> Any:
    raise InvalidPayload(f"{name} is not JSON")


def _bounded_int(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise InvalidPayload(f"a number of {len(text)} digits is over the limit of {MAX_DIGITS}")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise InvalidPayload(f"the number {text[:40]} is larger than any that can be kept")
    return number


_HOOKS: dict[str, Any] = {
    "object_pairs_hook": _unique,
    "parse_constant": _refuse_constant,
    "parse_int": _bounded_int,
    "parse_float": _finite,
}


def decoder(*, strict: bool = True, lenient: bool = False) -> json.JSONDecoder:
    """Return a decoder that refuses what `parse` refuses, but for depth; not strict takes raw control characters.

    Lenient, a key given twice counts as its last value, and a bare NaN or Infinity is that word.
    """
    hooks = _HOOKS | {"object_pairs_hook": dict, "parse_constant": str} if lenient else _HOOKS
    return json.JSONDecoder(strict=strict, **hooks)


def sha256(data: bytes) -> str:
    """Return the sha256 of `data` as 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def digest(tag: str, *fields: str) -> str:
    """Return the sha256 over `tag` and `fields`, each preceded by its length in bytes (8, big endian)."""
    parts = [field.encode() for field in (tag, *fields)]
    return sha256(b"".join([piece for part in parts for piece in (len(part).to_bytes(8, "big"), part)]))


def genesis(log_id: str) -> str:
    """Return the digest that the first event of a log takes as its predecessor's."""
    return digest(GENESIS_TAG, log_id)


def unstorable(text: str) -> int | None:
    """Return the position of the first character no database takes (NUL, lone surrogate), or None."""
    if "\x00" not in text and (text.isascii() or _encodes(text)):  # a search by pattern is ten times slower
        return None
    found = _UNSTORABLE.search(text)
    return found.start() if found else None


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def escape_text(text: str) -> str:
    r"""Return `text` with NUL and lone surrogates as \uXXXX and each backslash doubled; `restore_text` undoes it."""
    return _UNSTORABLE.sub(lambda m: f"\\u{ord(m.group()):04x}", text.replace("\\", "\\\\"))


def restore_text(text: str) -> str:
    """Return what `escape_text` was given."""
    return re.sub(r"\\(\\|u([0-9a-f]{4}))", lambda m: "\\" if m.group(1) == "\\" else chr(int(m.group(2), 16)), text)
