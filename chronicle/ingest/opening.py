"""What an ingest and a preview open alike: a file or a server, its importer, and the log that is meant.

Guarantees: a server's password is in nothing that is returned here but `Opened.dsn`.
Refuses: no owner (OwnerEmpty), a format that does not exist (UnknownFormat), a log not of the owner (LogNotFound).
"""

from pathlib import Path

from chronicle.errors import BrokenFile, LogNotFound, OwnerEmpty
from chronicle.importers import lines, registry
from chronicle.importers.protocol import Opened, Read
from chronicle.ingest import servers
from chronicle.models import Log

BATCH = 2000
BATCH_BYTES = 16 * 1024 * 1024


def check(owner: str, format: str | None) -> None:
    """Refuse an empty owner and an unknown format, before anything is opened."""
    if not owner.strip():
        raise OwnerEmpty("An owner must be given: whose logs are these?")
    if format is not None:
        registry.named(format)


def target(owner: str, log_id: str | None) -> Log | None:
    """Return the log that all sessions go to, where one is named."""
    if log_id is None:
        return None
    found = Log.objects.filter(public_id=log_id, owner=owner).first()
    if found is None:
        raise LogNotFound
    return found


def opened(path: Path | str, name: str | None) -> Opened:
    """Open a file under this name, or return what there is to know of a server."""
    return servers.open_dsn(str(path)) if servers.is_dsn(str(path)) else lines.open_file(Path(path), name)


def shown(path: Path | str) -> str:
    """Return what a report calls a file or a server that has no other name."""
    try:
        return servers.shown(str(path)) if servers.is_dsn(str(path)) else str(path)
    except BrokenFile:
        return "a database"


def weight(read: Read) -> int:
    """About how many bytes an event holds in memory."""
    return len(read.event.content) + sum(len(blob.data) for blob in read.blobs) + 1000
