"""The files that the law tests run over: our own fixtures, and those of a folder that CORPUS_DIR names."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chronicle.errors import BrokenFile
from chronicle.importers import lines, registry
from chronicle.importers.protocol import Importer, Item, Opened

DATA = Path(__file__).parents[1] / "data"
CLAUDE = DATA / "claude-code"
EVENTS = DATA / "events"
ANAGRAPHEUS = DATA / "anagrapheus"


def _known(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            opened = lines.open_file(path)
            if any(importer.sniff(opened) for importer in registry.IMPORTERS):
                yield path


OWN = list(_known(DATA))
CORPUS = list(_known(Path(os.environ["CORPUS_DIR"]))) if os.environ.get("CORPUS_DIR") else []
FILES = OWN + CORPUS


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def opened(path: Path) -> tuple[Importer, Opened]:
    file = lines.open_file(path)
    return registry.importer_for(file), file


def items(path: Path) -> list[Item]:
    importer, file = opened(path)
    return list(importer.read(file))


def items_or_broken(path: Path, importer: Importer) -> list[Item] | BrokenFile:
    """What an importer makes of a file; a refusal of the whole may come before the first item only."""
    reading = importer.read(lines.open_file(path))
    try:
        first = next(reading, None)
    except BrokenFile as broken:
        return broken
    return [first, *reading] if first is not None else []


def text_lines(path: Path) -> list[str]:
    """A file's lines, decoded here and not by the code under test."""
    data = path.read_bytes()
    if data.startswith(b"\xff\xfe"):
        text = data.decode("utf-16", "surrogatepass")
    else:
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    found = text.split("\n")
    return found[:-1] if found[-1] == "" else found


def records_on(line: str) -> int:
    """How many records a line counts as: its JSON documents, and one more for a rest that is none."""
    rest, count = line.strip("\r\x00 \t"), 0
    decoder = json.JSONDecoder(strict=False)
    while rest:
        try:
            _, end = decoder.raw_decode(rest)
        except ValueError:
            return count + 1
        count, rest = count + 1, rest[end:].lstrip()
    return max(count, 1)


def document(path: Path, place: str) -> Any:
    """The JSON document that a locator's `line.part` names."""
    number, _, part = place.partition(".")
    rest = text_lines(path)[int(number) - 1].strip("\r\x00 \t\ufeff")
    decoder = json.JSONDecoder(strict=False)
    for _ in range(int(part or 1)):
        value, end = decoder.raw_decode(rest)
        rest = rest[end:].lstrip()
    return value
