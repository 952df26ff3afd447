r"""Files read a line at a time, and the JSON documents on each line.

Guarantees: bounded memory (a line over the cap is measured and passed by, its edges kept), any of UTF-8,
UTF-16 and UTF-32 with a byte-order mark, LF or CRLF, several documents glued on one line, NUL padding
and raw control characters; every line gives its documents or the reason why not, with its number.
Bytes that are not UTF-8 are kept as lone surrogates (`surrogateescape`), which a content stores in
its escaped form. Refuses: what is not a regular file (links are not followed), JSON with a key twice,
NaN, a number no float holds, or nesting over 64.
"""

import codecs
import hashlib
import io
import itertools
import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import msgspec

from chronicle import canonical
from chronicle.errors import BrokenFile, InvalidPayload
from chronicle.importers.protocol import Ignored, Item, Noted, Opened, Refused, Survey

LINE_CAP = 8 * 1024 * 1024
HEAD = 64 * 1024
EDGE = 16 * 1024
CHUNK = 1024 * 1024
BLANK = " \t\r\n\x00\ufeff"

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Raw(NamedTuple):
    """A line as bytes, without its end; of one over the cap, only its first and last EDGE bytes."""

    number: int
    data: bytes
    length: int
    ended: bool


class Document(NamedTuple):
    """One JSON document of a line, or why there is none (`reason`); without either the line is blank.

    `data` are its bytes; `place` is the line's number, with `.2` and on for the documents glued behind
    its first; `invalid` is the position of the first byte that is not UTF-8; `edges` are the first and
    last bytes of a line over the cap.
    """

    line: int
    place: str
    value: Any = None
    reason: str = ""
    data: bytes = b""
    invalid: int | None = None
    edges: bytes = b""

    @property
    def blank(self) -> bool:
        return not self.reason and not self.data


def open_file(path: Path, name: str | None = None) -> Opened:
    """Return what an importer needs to know of a file. Raises BrokenFile for anything but a regular file."""
    with open_regular(path) as file:
        return Opened(path=path, head=file.read(HEAD), name=name or str(path), size=os.fstat(file.fileno()).st_size)


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading. A link, FIFO, folder or device raises BrokenFile, and never blocks."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        raise BrokenFile(_why_not_opened(path, error)) from error
    mode = os.fstat(number).st_mode
    if not stat.S_ISREG(mode):
        os.close(number)
        raise BrokenFile("a folder, not a file" if stat.S_ISDIR(mode) else "not a regular file")
    return open(number, "rb", buffering=CHUNK)  # noqa: PTH123 - a descriptor; the caller closes it


def _why_not_opened(path: Path, error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and path.is_symlink():
        return "a symbolic link is not followed; name the file it leads to"
    return f"cannot be opened: {error.strerror if isinstance(error, OSError) else error}"


def digest(opened: Opened) -> str:
    """Return the sha256 of the bytes that an importer reads of this file."""
    hashed, left = hashlib.sha256(), opened.size
    with open_regular(opened.path) as file:
        while left > 0 and (chunk := file.read(min(CHUNK, left))):
            hashed.update(chunk)
            left -= len(chunk)
    return hashed.hexdigest()


class _Bounded(io.RawIOBase):
    """The first `size` bytes of a file as UTF-8, whatever encoding its byte-order mark names."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._left, self._ready = file, size, b""
        head = file.read(4)
        file.seek(0)
        mark, encoding = next((pair for pair in _MARKS if head.startswith(pair[0])), (b"", "utf-8"))
        self._left -= len(file.read(len(mark)))
        self._decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)("surrogatepass")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and self._left > 0:
            self._ready = self._next()
        given = self._ready[: len(buffer)]
        buffer[: len(given)] = given
        self._ready = self._ready[len(given) :]
        return len(given)

    def _next(self) -> bytes:
        chunk = self._file.read(min(CHUNK, self._left))
        self._left = self._left - len(chunk) if chunk else 0
        return self._utf8(chunk, self._decoder) if self._decoder else chunk

    @staticmethod
    def _utf8(chunk: bytes, decoder: codecs.IncrementalDecoder) -> bytes:
        try:
            return decoder.decode(chunk).encode("utf-8", "surrogatepass")
        except UnicodeDecodeError:  # no such character: shown as U+FFFD, and the line is most likely refused
            decoder.errors = "replace"
            return decoder.decode(chunk).encode("utf-8", "surrogatepass")

    def close(self) -> None:
        self._file.close()
        super().close()


def raw_lines(opened: Opened) -> Iterator[Raw]:
    """Yield each line of a file, LF or CRLF cut off, holding at most LINE_CAP bytes of it."""
    yield from _split(open_regular(opened.path), opened.size)


def utf8(opened: Opened) -> BinaryIO:
    """Open what is read of a file as a stream of UTF-8, whatever its byte-order mark names. The caller closes it."""
    return utf8_of(open_regular(opened.path), opened.size)


def utf8_of(file: BinaryIO, size: int) -> BinaryIO:
    """Return the first `size` bytes of `file` as a stream of UTF-8."""
    return cast("BinaryIO", io.BufferedReader(_Bounded(file, size), CHUNK))


def _split(file: BinaryIO, size: int) -> Iterator[Raw]:
    with utf8_of(file, size) as stream:
        number = 0
        while data := stream.readline(LINE_CAP + 1):
            number += 1
            length, ended = len(data), data.endswith(b"\n")
            if length > LINE_CAP and not ended:
                data, length, ended = _pass_by(stream, data)
            yield Raw(number, data.rstrip(b"\r\n"), length, ended)


def survey(opened: Opened, summary: re.Pattern[bytes]) -> Survey:
    """Count the lines of a file, and find the last on which `summary` matches."""
    number = last = 0
    for raw in raw_lines(opened):
        number = raw.number
        if summary.search(raw.data):
            last = number
    return Survey(number, last)


def _pass_by(stream: BinaryIO, begun: bytes) -> tuple[bytes, int, bool]:
    """Read to the end of a line without holding it: its edges, its length, whether it has an end."""
    head, tail, length = begun[:EDGE], begun[-EDGE:], len(begun)
    while data := stream.readline(CHUNK):
        tail, length = (tail + data)[-EDGE:], length + len(data)
        if data.endswith(b"\n"):
            return head + b" " + tail, length, True
    return head + b" " + tail, length, False


def documents(opened: Opened, *, lenient: bool = False) -> Iterator[Document]:
    """Yield the JSON documents of a file with where each stands, and each line that holds none.

    Lenient, a key given twice counts as its last value, as for the programs that write such files, and
    a line that is plain good JSON is read three times as fast.
    """
    for raw in raw_lines(opened):
        if lenient and (document := _plain(raw)) is not None:
            yield document
        else:
            yield from line_documents(raw)


def _plain(raw: Raw) -> Document | None:
    """Read a line that is one JSON document with nothing odd in it; None leaves it to the exact reader."""
    if raw.length > LINE_CAP or may_hold_a_huge_number(raw.data):
        return None
    try:
        value = _decode(raw.data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    deep = raw.data.count(b"{") + raw.data.count(b"[") > canonical.MAX_DEPTH and too_deep(value)
    return None if deep else Document(raw.number, str(raw.number), value, "", raw.data)


def _over_long(length: int) -> str:
    return f"a line of {length:,} bytes is over the limit of {LINE_CAP:,}; none of it was read"


def decode(data: bytes) -> tuple[str, int | None]:
    """Return bytes as text, and the position of the first that is not UTF-8 (kept as a lone surrogate)."""
    try:
        return data.decode(), None
    except UnicodeDecodeError as error:
        place = error.start
    try:
        return data.decode("utf-8", "surrogatepass"), place
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogateescape"), place


def line_documents(raw: Raw) -> Iterator[Document]:
    """Yield the JSON documents of one line, or the reason why it has none."""
    if raw.length > LINE_CAP:
        yield Document(raw.number, str(raw.number), reason=_over_long(raw.length), edges=raw.data)
        return
    text, invalid = decode(raw.data)
    text = text.strip(BLANK)
    if not text:
        yield Document(raw.number, str(raw.number), reason="only NUL bytes" if b"\x00" in raw.data else "")
        return
    part, start = 1, 0
    while start < len(text):
        place = f"{raw.number}.{part}" if part > 1 else str(raw.number)
        try:
            value, end = parse(text, start)
        except InvalidPayload as error:
            reason = str(error) if raw.ended else f"{error}; the file ends in this line, without a line end"
            yield Document(raw.number, place, reason=reason)
            return
        yield Document(raw.number, place, value, "", text[start:end].encode("utf-8", "surrogatepass"), invalid)
        start, part = _skip(text, end), part + 1


def may_hold_a_huge_number(data: bytes) -> bool:
    """A number of over MAX_DIGITS digits shows in two neighbours of a sample; only then is every byte looked at."""
    sample = data[:: canonical.MAX_DIGITS // 2].translate(_DIGITS)
    return b"00" in sample and _LONG in data.translate(_DIGITS)


def _skip(text: str, start: int) -> int:
    while start < len(text) and text[start] in BLANK:
        start += 1
    return start


_DIGITS = bytes(ord("0") if chr(byte) in "0123456789" else ord(" ") for byte in range(256))
_LONG = b"0" * (canonical.MAX_DIGITS + 1)
_decode = msgspec.json.Decoder().decode
_STRICT, _LOOSE = canonical.decoder(), canonical.decoder(strict=False)


def parse(text: str, start: int = 0) -> tuple[Any, int]:
    """Return the JSON value that begins at `start`, and where it ends. Raises InvalidPayload with the place.

    Control characters that stand raw in a string (a NUL from a torn write) are kept.
    """
    try:
        try:
            value, end = _STRICT.raw_decode(text, start)
        except json.JSONDecodeError as error:
            if not error.msg.startswith("Invalid control character"):
                raise
            value, end = _LOOSE.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise InvalidPayload(f"not JSON: {error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise InvalidPayload(f"nested deeper than {canonical.MAX_DEPTH}") from None
    if too_deep(value):
        raise InvalidPayload(f"nested deeper than {canonical.MAX_DEPTH}")
    return value, end


def too_deep(value: Any) -> bool:
    """True for a value nested deeper than a payload may be. Looks at containers only: scalars have no depth."""
    level, depth = [value], 0
    while level:
        if depth >= canonical.MAX_DEPTH:
            return True
        level = [
            child
            for parent in level
            for child in (parent.values() if type(parent) is dict else parent if type(parent) is list else ())
            if type(child) is dict or type(child) is list
        ]
        depth += 1
    return False


def said_of(document: Document) -> Iterator[Item]:
    """Yield what the report says of a document beside its events: refused, blank, or kept in escaped form."""
    if document.reason:
        yield Refused(document.line, document.reason)
    elif document.blank:
        yield Ignored("blank line", document.line)
    elif document.value is None:
        yield Refused(document.line, "not a JSON object")
    elif document.invalid is not None and document.place == str(document.line):
        yield Noted(document.line, f"not UTF-8 at byte {document.invalid + 1}; the text is kept in escaped form")


def first_documents(opened: Opened, count: int = 40) -> Iterator[dict[str, Any]]:
    """Yield JSON objects from the head of a file, for sniffing; a line that the head cuts is not among them."""
    for raw in itertools.islice(_split(io.BytesIO(opened.head), len(opened.head)), count):
        yield from (document.value for document in line_documents(raw) if isinstance(document.value, dict))
