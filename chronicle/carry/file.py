"""A carry as a file: read a line at a time under a cap, written whole or not at all.

Guarantees: what is read is one form only (canonical JSON, LF, a last line with the counts and the sha256 of all
bytes before it), so no byte of a file can differ unseen; memory holds one line. What is written appears under its
name when it is complete, readable by its owner alone.
Refuses (CarryRefused, naming the line): anything else, before whoever reads sees a row of that line.
"""

import contextlib
import hashlib
import os
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

import msgspec

from chronicle import canonical
from chronicle.carry import shapes
from chronicle.errors import BrokenFile, CarryRefused, InvalidPayload
from chronicle.importers.lines import open_regular

HEADER_CAP = 64 * 1024 * 1024


class Line(NamedTuple):
    """A row with the number of its line."""

    number: int
    row: Any


def refuse(line: int, why: str, **details: Any) -> NoReturn:
    """Raise CarryRefused naming the line."""
    raise CarryRefused(f"line {line}: {why}", line=line, **details)


class Reader:
    """One pass over a file: `header` is there from the start; then `rows`; then `finish` checks the last line."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = open_regular(path)
        except BrokenFile as error:
            raise CarryRefused(f"The file cannot be read: {error}") from error
        self._hash = hashlib.sha256()
        self._before = self._hash
        self._number = 0
        self._end: shapes.End | None = None
        self.counts: Counter[str] = Counter()
        self.sha256 = ""
        try:
            self.header = _header(self._line(HEADER_CAP))
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def before(self) -> str:
        """Return the sha256 of every byte before the line that was read last."""
        return self._before.hexdigest()

    def rows(self) -> Iterator[Line]:
        """Yield the rows between the header and the last line, each in its one form. Raises CarryRefused."""
        yield from self._rows(self._row)

    def proven_rows(self) -> Iterator[Line]:
        """Yield the rows of a file that was proven; whoever reads asks `before` whether it is still the same file."""
        yield from self._rows(lambda data: _decoded(shapes.decoder, data, self._number))

    def _rows(self, decode: Callable[[bytes], Any]) -> Iterator[Line]:
        while True:
            self._before = self._hash.copy()
            data = self._line(shapes.LINE_CAP)
            if not data:
                refuse(self._number + 1, "the file ends without its last line: it was cut off", cut=True)
            row = decode(data)
            if isinstance(row, shapes.End):
                self._end = row
                return
            count(self.counts, row)
            yield Line(self._number, row)

    def _line(self, cap: int) -> bytes:
        try:
            data = self._file.readline(cap + 1)
        except OSError as error:
            refuse(self._number + 1, f"the file cannot be read on: {error.strerror}")
        if not data:
            return b""
        self._number += 1
        if len(data) > cap:
            refuse(self._number, f"it is over the limit of {cap:,} bytes")
        if not data.endswith(b"\n"):
            refuse(self._number, "it does not end: the file was cut off in it", cut=True)
        if data.endswith(b"\r\n"):
            refuse(self._number, "line ends are LF, not CR LF")
        self._hash.update(data)
        return data[:-1]

    def _row(self, data: bytes) -> Any:
        row = _decoded(shapes.decoder, data, self._number)
        if shapes.line_of(row) != data:
            refuse(self._number, "it is not in the one form of its row (sorted keys, no spaces, no key twice)")
        if b"\\u0000" in data:
            _check_storable(row, self._number)
        return row

    def finish(self) -> None:
        """Check the last line, behind which there is nothing. Raises CarryRefused."""
        assert self._end is not None  # noqa: S101 - `rows` was read to its end
        if self._end.counts != dict(self.counts):
            refuse(self._number, f"it counts {_words(self._end.counts)}, there are {_words(self.counts)}", whole=True)
        if self._end.sha256 != self.before():
            refuse(self._number, "the bytes before it are not those that were exported (sha256)", whole=True)
        if self._file.read(1):
            refuse(self._number + 1, "there is something behind the last line", whole=True)
        self.sha256 = self._hash.hexdigest()


def count(counts: Counter[str], row: Any) -> None:
    """Count a row, and what lies inside it."""
    counts[shapes.kind_of(row)] += 1
    if isinstance(row, shapes.Section):
        _add(counts, section_pin=len(row.pins), section_source=len(row.sources))
    elif isinstance(row, shapes.Receipt):
        _add(counts, receipt_part=len(row.parts))


def _add(counts: Counter[str], **more: int) -> None:
    counts.update({kind: number for kind, number in more.items() if number})


def _words(counts: Any) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in sorted(counts.items())) or "no rows"


def _header(data: bytes) -> shapes.Header:
    """Return the first line. Raises CarryRefused that says what is wrong with it."""
    if not data:
        raise CarryRefused("line 1: the file is empty; a carry begins with its header", line=1)
    try:
        given = canonical.parse(data)
    except InvalidPayload as error:
        refuse(1, f"no header of a carry: {error}")
    if not isinstance(given, dict) or given.get("format") != shapes.FORMAT:
        refuse(1, f'no header of a carry: it begins with {{"format":"{shapes.FORMAT}"}} among its keys')
    version = given.get("version")
    if type(version) is not int or version != shapes.VERSION:
        refuse(1, f"version {str(version)[:40]!r} of a carry is not known; {shapes.VERSION} is")
    header: shapes.Header = _decoded(shapes.header_decoder, data, 1)
    if shapes.line_of(header) != data:
        refuse(1, "it is not in the one form of a header (sorted keys, no spaces)")
    _check_storable(header, 1)
    ids = [log.id for log in header.logs]
    if len(set(ids)) != len(ids):
        refuse(1, "it names a log twice")
    return header


def _decoded(decoder: Any, data: bytes, line: int) -> Any:
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        refuse(line, str(error)[:300])
    except UnicodeDecodeError:
        refuse(line, "it is not UTF-8")
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        refuse(line, f"it is not JSON: {str(error)[:200]}")


def _check_storable(row: msgspec.Struct, line: int) -> None:
    """Refuse a NUL, which no database takes, naming the field."""
    for name, text in _texts(msgspec.to_builtins(row), ""):
        if (place := canonical.unstorable(text)) is not None:
            refuse(line, f"{name} holds a character no database takes at position {place}")


def _texts(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            yield from _texts(inner, f"{name}[{place}]")


class Writer:
    """Lines into a file, with the counts and the digest of the last one."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.counts: Counter[str] = Counter()
        self.size = 0
        self.sha256 = ""

    def write(self, row: msgspec.Struct) -> None:
        """Write a row. Raises CarryRefused for one that is too long to be read again."""
        line = shapes.line_of(row) + b"\n"
        if len(line) > shapes.LINE_CAP:
            raise CarryRefused(f"A {shapes.kind_of(row)} of {len(line):,} bytes is over the limit of a carry's line.")
        if not isinstance(row, shapes.Header):
            count(self.counts, row)
        self._put(line)

    def end(self) -> None:
        """Write the last line."""
        self._put(shapes.line_of(shapes.End(counts=dict(self.counts), sha256=self._hash.hexdigest())) + b"\n")
        self.sha256 = self._hash.hexdigest()

    def _put(self, line: bytes) -> None:
        self._hash.update(line)
        self.size += len(line)
        self._file.write(line)


@contextlib.contextmanager
def written(path: Path) -> Iterator[BinaryIO]:
    """Give a file that stands under `path` (mode 0600) once the block has ended well; `-` is standard output."""
    if str(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    beside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}.part")
    number = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(number, "wb") as file:  # noqa: PTH123 - a descriptor
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
