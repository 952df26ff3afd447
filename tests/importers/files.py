"""The files that the law tests run over: our own fixtures, and those of a folder that CORPUS_DIR names."""

import os
from collections.abc import Iterator
from pathlib import Path

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


def own_of(format: str, under: int = 200_000) -> list[Path]:
    """Our own fixtures of a format that are small enough to be changed a thousand times."""
    return [path for path in OWN if opened(path)[0].name == format and path.stat().st_size < under]


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
