"""Database servers as sources: `postgres://user@host/database` where a file could be named.

Guarantees: a password is never part of what is shown, stored or logged, and nothing here connects.
Refuses (BrokenFile): an address that cannot be read, without repeating it.
"""

from pathlib import Path
from urllib.parse import urlsplit

from chronicle.errors import BrokenFile
from chronicle.importers.protocol import Opened

SCHEMES = ("postgres://", "postgresql://")


def is_dsn(source: str) -> bool:
    """True for what names a database server and no file."""
    return source.casefold().startswith(SCHEMES)


def open_dsn(dsn: str) -> Opened:
    """Return what an importer needs to know of a server."""
    return Opened(path=Path(), head=b"", name=shown(dsn), size=0, dsn=dsn)


def shown(dsn: str) -> str:
    """Return an address without its password and its options, which may hold one too."""
    try:
        parts = urlsplit(dsn)
        user = f"{parts.username}@" if parts.username else ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise BrokenFile("not the address of a database; write postgres://user:password@host:5432/database") from None
    return f"{parts.scheme}://{user}{parts.hostname or ''}{port}{parts.path}"
