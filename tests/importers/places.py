"""Where a locator leads: the record that a place names, had from the bytes alone and not by the code under test."""

import json
import re
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any

LINE = re.compile(r"(\d+)(?:\.(\d+)|-(\d+)|:seq=\d+)?")
DECODER = json.JSONDecoder(strict=False)
BLANK = "\r\x00 \t\ufeff"


def text_of(data: bytes) -> str:
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"), (b"\xef\xbb\xbf", "utf-8")):
        if data.startswith(mark):
            return data.removeprefix(mark).decode(encoding, "surrogateescape" if mark == b"\xef\xbb\xbf" else "replace")
    return data.decode("utf-8", "surrogateescape")


def text_lines(path: Path) -> list[str]:
    found = text_of(path.read_bytes()).split("\n")
    return found[:-1] if found[-1] == "" else found


def is_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\x00"


def is_archive(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PK\x03\x04"


@lru_cache(maxsize=4)
def _documents(path: Path) -> list[Any]:
    """The JSON documents of a file that is read whole; where it breaks off, those before."""
    return list(_glued(text_of(path.read_bytes())))


def _glued(text: str) -> Iterator[Any]:
    rest = text.strip(BLANK + "\n")
    while rest:
        try:
            value, end = DECODER.raw_decode(rest)
        except ValueError:
            return
        yield value
        rest = rest[end:].lstrip(BLANK + "\n,")


def is_lines(path: Path) -> bool:
    """True for a file of lines, each for itself: JSON lines, or no JSON at all."""
    if is_database(path) or is_archive(path):
        return False
    text = text_of(path.read_bytes()).lstrip(BLANK + "\n")
    if not text.startswith(("{", "[", '"')):
        return True
    try:
        return isinstance(DECODER.raw_decode(text.split("\n", 1)[0].strip(BLANK))[0], dict)
    except ValueError:
        return False


def is_words(path: Path) -> bool:
    """True for a file of lines of which none is a JSON document."""
    return is_lines(path) and not text_of(path.read_bytes()).lstrip(BLANK + "\n").startswith(("{", "[", '"'))


def lines_of(place: str) -> int:
    """How many lines a place in a file of lines stands for."""
    line = LINE.fullmatch(place)
    return int(line[3]) - int(line[1]) + 1 if line and line[3] else 1


def records_on(line: str) -> int:
    """How many records a line counts as: its JSON documents, and one more for a rest that is none."""
    rest, count = line.strip(BLANK), 0
    while rest:
        try:
            _, end = DECODER.raw_decode(rest)
        except ValueError:
            return count + 1
        count, rest = count + 1, rest[end:].lstrip()
    return max(count, 1)


def record_at(path: Path, place: str) -> Any:
    """The record that a place names. Raises LookupError where it leads to none."""
    if is_database(path):
        return _row(path, place)
    if is_archive(path):
        member, _, inside = place.partition("!")
        with zipfile.ZipFile(path) as archive:
            return _pointed([json.loads(archive.read(member))], inside)
    if (line := LINE.fullmatch(place)) and is_lines(path):
        if line[3]:
            return "\n".join(text_lines(path)[int(line[1]) - 1 : int(line[3])])
        return _on_line(path, int(line[1]), int(line[2] or 1))
    return _pointed(_documents(path), place)


def _on_line(path: Path, number: int, part: int) -> Any:
    rest = text_lines(path)[number - 1].strip(BLANK)
    if not rest.startswith(("{", "[")):
        return rest
    for _ in range(part):
        value, end = DECODER.raw_decode(rest)
        rest = rest[end:].lstrip()
    return value


def _pointed(documents: list[Any], place: str) -> Any:
    if place.startswith("~"):
        documents, place = [found for text in documents for found in _glued(str(text))], place[1:]
    number, _, rest = place.rpartition(":")
    value = documents[int(number or 1) - 1]
    for step in [] if rest in ("", "#") else rest.split("/"):
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def _row(path: Path, place: str) -> dict[str, Any]:
    table, _, where = place.partition(":")
    column, _, value = where.partition("=")
    assert table.isidentifier()
    assert column.isidentifier()
    with closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        database.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        row = database.execute(f"SELECT * FROM {table} WHERE {column} = ?", (value,)).fetchone()
    if row is None:
        raise LookupError(place)
    return dict(row)


def array_of(place: str) -> str | None:
    """The array whose element a place in a document names, or None: `2:messages/3` gives `2:messages`."""
    before, slash, index = place.rpartition("/")
    if slash:
        return before if index.isdecimal() else None
    document, _, index = place.rpartition(":")
    return (f"{document}:" if document else "") if index.isdecimal() else None


def words_of(value: Any) -> str:
    """All that a record says, as one text: texts as they are, so that what an event took from it is found in it."""
    match value:
        case str():
            return value
        case bytes():
            return value.decode("utf-8", "replace")
        case dict():
            return " ".join(f"{key} {words_of(inner)}" for key, inner in value.items())
        case list() | tuple():
            return " ".join(map(words_of, value))
        case _:
            return json.dumps(value)
