"""Zip archives that are a format of their own, read member by member as streams, never extracted.

Guarantees: no path of the archive is ever used as one; a member is read under a cap on its bytes and on
how far it inflates, and is refused by its name where it goes over, is encrypted, damaged, or compressed
in a way that this Python cannot read; the archive lists at most MEMBERS members.
"""

import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from chronicle.errors import BrokenFile
from chronicle.importers import lines
from chronicle.importers.protocol import Opened

MAGIC = b"PK\x03\x04"
MEMBERS = 100_000
MEMBER_CAP = 2 * 1024**3
RATIO, FREE = 200, 64 * 1024 * 1024  # a member may inflate this often, and to FREE bytes in any case

Damaged = (
    zlib.error,
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
)


class TooLarge(ValueError):
    """A member goes over a cap."""


def is_archive(opened: Opened) -> bool:
    """True where the file begins as zip archives do."""
    return opened.head.startswith(MAGIC)


@contextmanager
def archive(opened: Opened) -> Iterator[zipfile.ZipFile]:
    """Open an archive. Raises BrokenFile for one that is damaged or lists too many members."""
    with lines.open_regular(opened.path) as file:
        try:
            found = zipfile.ZipFile(file)
        except (*Damaged, MemoryError) as error:
            raise BrokenFile(f"a damaged archive: {error}; copy it again from where it came from") from error
        with found:
            if len(found.filelist) > MEMBERS:
                raise BrokenFile(f"an archive of {len(found.filelist):,} members is over the limit of {MEMBERS:,}")
            yield found


def stream(found: zipfile.ZipFile, member: zipfile.ZipInfo) -> BinaryIO:
    """Open a member as a stream. Reading raises TooLarge over a cap, and one of Damaged where it is damaged."""
    capped = _Capped(found.open(member), min(MEMBER_CAP, max(FREE, member.compress_size * RATIO)))
    return cast("BinaryIO", io.BufferedReader(capped, lines.CHUNK))


class _Capped(io.RawIOBase):
    """A member's bytes, up to a cap."""

    def __init__(self, file: Any, cap: int) -> None:
        self._file, self._cap, self._read = file, cap, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        self._read += len(data)
        if self._read > self._cap:
            raise TooLarge(f"it inflates to over {self._cap:,} bytes")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def why(error: BaseException) -> str:
    """Say in words why a member cannot be read."""
    if isinstance(error, NotImplementedError):
        return f"its compression is not known to this Python ({error}); write it again with deflate"
    return f"encrypted ({error})" if isinstance(error, RuntimeError) and "password" in str(error) else str(error)
