"""Which files a list of paths means: a folder stands for every file under it, in sorted order.

Guarantees: no link is followed and no folder entered twice; what is not a regular file is yielded with
the reason, never opened; the order is the same on every machine.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple


class Found(NamedTuple):
    """A file to ingest, or why not.

    `inside` is where it was found by walking a folder, from that folder's own name on; empty where it was named.
    """

    path: Path
    reason: str = ""
    inside: str = ""


def found(paths: Iterable[Path]) -> Iterator[Found]:
    """Yield the files that `paths` name or hold."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            yield from _under(path)
        else:
            yield _one(path)


def _under(folder: Path) -> Iterator[Found]:
    name = Path(folder.resolve().name)
    files: list[Path] = []
    refused: list[Found] = []

    def unreadable(error: OSError) -> None:
        refused.append(Found(Path(error.filename), f"cannot be listed: {error.strerror}"))

    for here, folders, names in os.walk(folder, onerror=unreadable):
        links = [name for name in folders if Path(here, name).is_symlink()]
        files += [Path(here, name) for name in (*names, *links)]
    for path in sorted(files, key=str):
        yield _one(path)._replace(inside=str(name / path.relative_to(folder)))
    yield from refused


def _one(path: Path) -> Found:
    try:
        mode = path.lstat().st_mode
    except (OSError, ValueError) as error:
        return Found(path, f"cannot be opened: {getattr(error, 'strerror', None) or error}")
    if stat.S_ISLNK(mode):
        return Found(path, "a symbolic link is not followed; name the file it leads to")
    return Found(path, "" if stat.S_ISREG(mode) else "not a regular file")
