r"""Whole JSON documents read piece by piece: the elements of their arrays, with where each stands.

Guarantees: bounded memory (an element or member over the cap is measured and passed by); the encodings
of `lines`; several documents one after another, glued or indented; a document that is a JSON string
holding a document. An element that is no JSON is refused by its place and stops nothing; where the
document itself breaks off or cannot be followed, the rest is refused once, with its first byte.
`place` leads back: `3` is element 3 of a root array, `messages/3` of the member `messages`, `#` the
other members together; `2:` before it means the second document of the file, `~` inside a JSON string.
Refuses: what `lines` refuses, but a key given twice counts as its last value, and a bare NaN or
Infinity is kept as that word.
"""

import contextlib
import io
import json
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, BinaryIO, NamedTuple, cast

import msgspec
from pydantic_core import from_json

from chronicle import canonical
from chronicle.errors import InvalidPayload
from chronicle.importers import lines
from chronicle.importers.protocol import Ignored, Item, Opened, Refused, Survey

CAP = 32 * 1024 * 1024
KEY_CAP = 64 * 1024
HEADER, INSIDE = "#", "~"

_SPACE = re.compile(rb"[ \t\r\n\x00]*+")
_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
_SCALAR = re.compile(rb'[^ \t\r\n\x00,\]\[{}":]*+')


class Part(NamedTuple):
    """One record of a document: an element of an array (`path` names it, "" the root), or the header.

    `record` counts all parts of a file from 1; `position` is the element's place in its array, from 0.
    The header (`path` is "#") comes first in each document that is an object: a dict of every member
    that is no split array. `reason` says why there is no value; `data` are the bytes of the value
    (of one over the cap none), `start` the position of its first byte in the file read as UTF-8.
    """

    record: int
    document: int
    path: str
    position: int
    place: str
    value: Any = None
    reason: str = ""
    data: bytes = b""
    start: int = 0

    @property
    def is_header(self) -> bool:
        return self.path == HEADER


class Span(NamedTuple):
    """The bytes of one value; of one over the cap its length only."""

    start: int
    length: int
    data: bytes | None


class _Broken(Exception):
    """The structure of a document cannot be followed from this byte on."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(reason)
        self.at = at


@dataclass(slots=True)
class _Scanner:
    """A stream of bytes with a window on it; `at` is the place in the window, `base` the window's in the file."""

    stream: BinaryIO
    window: bytes = b""
    at: int = 0
    base: int = 0
    ended: bool = False

    @property
    def position(self) -> int:
        return self.base + self.at

    def fill(self) -> bool:
        """Read on, letting go of what was passed. False at the end of the file."""
        more = self.stream.read(lines.CHUNK)
        if not more:
            self.ended = True
            return False
        self.base, self.window, self.at = self.base + self.at, self.window[self.at :] + more, 0
        return True

    def peek(self) -> bytes:
        """Return the next byte that is not blank, without taking it; b"" at the end of the file."""
        while True:
            self.at = cast("re.Match[bytes]", _SPACE.match(self.window, self.at)).end()
            if self.at < len(self.window):
                return self.window[self.at : self.at + 1]
            if not self.fill():
                return b""

    def take(self, wanted: bytes) -> None:
        """Take one byte that must come next."""
        found = self.peek()
        if found != wanted:
            raise _Broken(f"{_shown(found)} where {wanted.decode()} must stand", self.position)
        self.at += 1

    def value(self, cap: int = CAP) -> Span:
        """Take one value, balanced but not proven; the bytes are kept up to `cap`."""
        first = self.peek()
        start, kept, length, state = self.position, [], 0, _Depth()
        walk = state.container if first in (b"{", b"[") else state.string if first == b'"' else state.scalar
        while True:
            end = walk(self.window, self.at)
            length += end - self.at
            if length <= cap:
                kept.append(self.window[self.at : end])
            else:
                kept.clear()
            self.at = end
            if state.done:
                break
            if not self.fill():
                if walk == state.scalar:
                    break
                raise _Broken("the file ends inside this value", start)
        if not length:
            raise _Broken(f"{_shown(first)} where a value must stand", start)
        return Span(start, length, b"".join(kept) if length <= cap else None)


@dataclass(slots=True)
class _Depth:
    """How far a value has been walked: resumed where one window ends and the next begins."""

    depth: int = 0
    inside: bool = False  # inside a string
    done: bool = False

    def container(self, window: bytes, at: int) -> int:
        if self.inside:
            at = self._on(window, at)
            if self.inside:
                return at
        for token in _TOKEN.finditer(window, at):
            found = token[0]
            if found[0] == 0x22:
                if len(found) == 1 or found[-1] != 0x22 or _cut(found):
                    self.inside = True
                    return self._on(window, token.start() + 1)
            elif found in b"{[":
                self.depth += 1
            else:
                self.depth -= 1
                if not self.depth:
                    self.done = True
                    return token.end()
        return len(window)

    def string(self, window: bytes, at: int) -> int:
        if not self.inside:
            self.inside, at = True, at + 1
        at = self._on(window, at)
        self.done = not self.inside
        return at

    def scalar(self, window: bytes, at: int) -> int:
        end = cast("re.Match[bytes]", _SCALAR.match(window, at)).end()
        self.done = end < len(window)
        return end

    def _on(self, window: bytes, at: int) -> int:
        """Go on inside a string, behind its closing quote if that is in the window."""
        end = cast("re.Match[bytes]", _STRING.match(window, at)).end()
        if end < len(window) and window[end : end + 1] == b'"':
            self.inside = False
            return end + 1
        return end


def _cut(token: bytes) -> bool:
    r"""True for a string token whose last quote is escaped, so that it goes on behind the window."""
    slashes = len(token) - 1 - len(token[:-1].rstrip(b"\\"))
    return bool(slashes % 2)


def _shown(found: bytes) -> str:
    return ascii(found.decode("latin-1")) if found else "the end of the file"


@dataclass(slots=True)
class _Walk:
    """One pass over a file. `split` are the members of a root object that are read by element."""

    scanner: _Scanner
    split: Collection[str]
    headers: Iterator[dict[str, Any]]
    inside: str = ""
    record: int = 0
    document: int = 0

    def parts(self) -> Iterator[Part]:
        """Yield the parts of every document. Where one cannot be followed, the last part says so."""
        try:
            for first in self._documents():
                if first == b"[":
                    yield from self._array("")
                elif first == b"{":
                    yield from self._object()
                else:
                    yield from self._root()
        except _Broken as broken:
            yield self._part("", -1, f"byte {broken.at + 1}", reason=f"not JSON: {broken}", start=broken.at)

    def _documents(self) -> Iterator[bytes]:
        """Yield the first byte of each document; a comma between two is passed by."""
        while first := self.scanner.peek():
            if self.document and first == b",":
                self.scanner.take(b",")
                continue
            self.document += 1
            yield first

    def _part(self, path: str, index: int, place: str, **given: Any) -> Part:
        self.record += 1
        before = f"{self.document}:" if self.document > 1 else ""
        return Part(self.record, self.document, path, index, before + self.inside + place, **given)

    def _read(self, span: Span, path: str, index: int, place: str) -> Part:
        value, reason = _decoded(span)
        return self._part(path, index, place, value=value, reason=reason, data=span.data or b"", start=span.start)

    def _root(self) -> Iterator[Part]:
        """A document that is one value: a text may hold a document of its own."""
        span = self.scanner.value()
        value, reason = _decoded(span)
        if self.inside or not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
            yield self._part("", 0, "0", value=value, reason=reason, data=span.data or b"", start=span.start)
            return
        walk = _Walk(_Scanner(_text(value)), self.split, _headers(_text(value), self.split), INSIDE, self.record)
        for part in walk.parts():
            before = f"{self.document}:" if self.document > 1 else ""
            yield part._replace(document=self.document, place=before + part.place)
        self.record = walk.record

    def _array(self, path: str) -> Iterator[Part]:
        for index in self._items(b"[", b"]"):
            yield self._read(self.scanner.value(), path, index, f"{path}/{index}" if path else str(index))

    def _object(self) -> Iterator[Part]:
        yield self._part(HEADER, 0, HEADER, value=next(self.headers, {}), start=self.scanner.position)
        for _ in self._items(b"{", b"}"):
            key = self._key()
            if self._splits(key):
                yield from self._array(key)
                continue
            span = self.scanner.value()
            if reason := _decoded(span)[1]:
                yield self._part(key, -1, key, reason=reason, start=span.start)

    def members(self) -> Iterator[dict[str, Any]]:
        """Yield the members of each document that is an object, but for the arrays that are split."""
        found: dict[str, Any] | None = None
        try:
            for first in self._documents():
                if first != b"{":
                    self.scanner.value(0)
                    continue
                found = {}
                for _ in self._items(b"{", b"}"):
                    self._learn(found)
                yield found
                found = None
        except _Broken:
            if found is not None:
                yield found

    def _learn(self, found: dict[str, Any]) -> None:
        key = self._key()
        if self._splits(key):
            self.scanner.value(0)
        else:
            found[key] = _decoded(self.scanner.value())[0]

    def _splits(self, key: str) -> bool:
        return key in self.split and self.scanner.peek() == b"["

    def _items(self, opens: bytes, closes: bytes) -> Iterator[int]:
        """Take an array's or object's brackets and commas; yield where an item stands, which must be taken then."""
        self.scanner.take(opens)
        count = 0
        while (found := self.scanner.peek()) != closes:
            if not found:
                raise _Broken(
                    f"the file ends inside {'an array' if opens == b'[' else 'an object'}", self.scanner.position
                )
            if count:
                self.scanner.take(b",")
                if self.scanner.peek() == closes:
                    break
            yield count
            count += 1
        self.scanner.take(closes)

    def _key(self) -> str:
        span = self.scanner.value(KEY_CAP)
        value = _decoded(span)[0] if span.data else None
        if not isinstance(value, str):
            raise _Broken("a member without a name", span.start)
        self.scanner.take(b":")
        return value


def _text(words: str) -> BinaryIO:
    return cast("BinaryIO", io.BytesIO(words.encode("utf-8", "surrogatepass")))


def _headers(stream: BinaryIO, split: Collection[str]) -> Iterator[dict[str, Any]]:
    return _Walk(_Scanner(stream), split, iter(())).members()


def _decoded(span: Span) -> tuple[Any, str]:
    if span.data is None:
        return None, f"a value of {span.length:,} bytes is over the limit of {CAP:,}; none of it was read"
    try:
        value = _plain(span.data)
        return (value, "") if value is not _ODD else (_exact(lines.decode(span.data)[0]), "")
    except InvalidPayload as error:
        return None, f"{error}; the value begins at byte {span.start + 1}"


_ODD = object()
_decode = msgspec.json.Decoder().decode


def _plain(data: bytes) -> Any:
    """Read a value that is good JSON, fast; what is odd in any way is left to the exact reader."""
    if lines.may_hold_a_huge_number(data):
        return _ODD
    try:
        value = _decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _ODD
    deep = data.count(b"{") + data.count(b"[") > canonical.MAX_DEPTH and lines.too_deep(value)
    return _ODD if deep else value


def _exact(text: str) -> Any:
    try:
        value, end = _lenient.raw_decode(text)
    except json.JSONDecodeError as error:
        raise InvalidPayload(f"not JSON: {error.msg} at character {error.pos + 1} of it") from None
    except RecursionError:
        raise InvalidPayload(f"nested deeper than {canonical.MAX_DEPTH}") from None
    if text[end:].strip(lines.BLANK):
        raise InvalidPayload(f"not JSON: something stands behind it, at character {end + 1} of it")
    if lines.too_deep(value):
        raise InvalidPayload(f"nested deeper than {canonical.MAX_DEPTH}")
    return value


_lenient = canonical.decoder(strict=False, lenient=True)


def parts(opened: Opened, *split: str) -> Iterator[Part]:
    """Yield the parts of a file: for each document its header, then the elements of the arrays in `split`, in order.

    A root array is always split. A document that is an object is read twice, side by side, for a member
    may stand behind the array that it says something of.
    """
    return parts_of(lambda: lines.utf8(opened), *split)


def parts_of(open_stream: Callable[[], BinaryIO], *split: str) -> Iterator[Part]:
    """Yield the parts of what a stream of UTF-8 holds; it is opened twice."""
    with open_stream() as stream, open_stream() as ahead:
        yield from _Walk(_Scanner(stream), split, _headers(ahead, split)).parts()


def survey(opened: Opened, *split: str, summary: re.Pattern[bytes] | None = None) -> Survey:
    """Count the parts of a file, and find the last on whose bytes `summary` matches."""
    count = last = 0
    for part in parts(opened, *split):
        count = part.record
        if summary is not None and summary.search(part.data):
            last = count
    return Survey(count, last)


def said_of(part: Part) -> Iterator[Item]:
    """Yield what the report says of a part that gives no events by itself: refused, or a header."""
    if part.reason:
        yield Refused(part.record, f"{part.place}: {part.reason}")
    elif part.is_header:
        yield Ignored("header", part.record)


def head(opened: Opened) -> Any:
    """Return the first JSON value of a file as far as its head goes, for sniffing; None where it is no JSON.

    What the head cuts is closed where it breaks off: a long text is short here, a list has its first elements.
    """
    return _head(opened.head)


@lru_cache(maxsize=8)
def _head(data: bytes) -> Any:
    with lines.utf8_of(cast("BinaryIO", io.BytesIO(data)), len(data)) as reader:
        text = reader.read().decode("utf-8", "replace").strip(lines.BLANK)
    value = _partial(text)
    return _partial(value) if isinstance(value, str) and value.lstrip().startswith(("{", "[")) else value


def _partial(text: str) -> Any:
    with contextlib.suppress(json.JSONDecodeError, InvalidPayload, RecursionError):
        return _lenient.raw_decode(text)[0]
    try:
        return from_json(text, allow_partial="trailing-strings")
    except ValueError:
        return None
