"""What an importer reads and what it gives back: bytes in, items out, in the order of the source.

Guarantees asked of every importer: it streams (a file larger than memory is read line by line), it
never raises for a bad line but yields Refused with the line's number and the reason, every record of
the source becomes events, or is Ignored by kind, or Refused; order is the order of appearance; a
record's native id is stable over snapshots, so that the same record read again is the same event.
An event's locator is `<place of its record>:<block>`; see `record_of`.
Refuses: a file that cannot be ingested at all (BrokenFile, raised before the first item).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

from chronicle.envelope import PendingEvent


@dataclass(frozen=True, slots=True)
class Session:
    """A session begins, or more is learnt about it. `id` is the source's own; one source may hold several."""

    id: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Blob:
    """An image or other large part taken out of a payload, which keeps its sha256, type and size in its place."""

    digest: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Read:
    """One event of a session. `line` counts the records of the source from 1: in a file of lines, the line.

    `native_id` is unique in the session and stable over snapshots (the record's id and the block's
    index); it becomes the idempotency key. `seq` is set only where the source's own seq must be kept.
    """

    session: str
    native_id: str
    event: PendingEvent
    line: int
    blobs: tuple[Blob, ...] = ()
    seq: int | None = None
    answers: str | None = None  # native_id of the request this responds to, where the source names it


@dataclass(frozen=True, slots=True)
class ReadSection:
    """A summary that the source holds: prose over the events up to and including `to_id` (a native id).

    `from_id` is the first event it replaced (None: from the first of the session). A `rolling` summary
    also swallowed the one before it. Generations and superseded sections of a source that has them
    keep their numbers; `pins` are keys it rests on; `unit_id` is what closed the unit (None: `to_id`).
    At a `level` of 1 or more it is a rollup of the sections one level down that end in its range, all read before it.
    """

    session: str
    to_id: str
    prose: str
    line: int
    title: str = ""
    from_id: str | None = None
    generation: int = 1
    pins: tuple[str, ...] = ()
    model: str = ""
    rolling: bool = False
    unit_id: str | None = None
    level: int = 0


@dataclass(frozen=True, slots=True)
class Ignored:
    """A record that is no event (a progress line, a file snapshot), counted by kind."""

    kind: str
    line: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A record that could not be read: the line (or index, from 1) and the reason in words.

    `marked` where an event (a stub) marks its place in the session, so that the record counts once.
    """

    line: int
    reason: str
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Noted:
    """Something a reader of the report should know, though nothing was refused. Line 0: of the whole file."""

    line: int
    words: str


Item = Session | Read | ReadSection | Ignored | Refused | Noted


@dataclass(frozen=True, slots=True)
class Opened:
    """A file to be read: its path, its first 64 KiB for sniffing, its name as shown.

    `size` is how many bytes there were when it was opened: what a running session writes behind that
    is left to the next ingest, so that a file's digest and its events are of the same bytes.

    `name` begins with the folder that was given, where the file was found by walking one. `dsn` is
    set instead of a path for what is read from a database server (see DatabaseImporter); it holds a password.
    """

    path: Path
    head: bytes
    name: str
    size: int
    dsn: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Survey:
    """How many lines (or rows) a file has, and on which the last summary stands (0: there is none).

    Events before a summary are written together with it, so that nothing is drawn over them in between.
    """

    lines: int
    last_summary: int = 0


class Importer(Protocol):
    """One format. `name` is what `--format` takes; `sniff` looks at content, never at the extension.

    `survey` is a quick first pass; `read` the second. Both raise BrokenFile for what must be refused whole.
    """

    name: ClassVar[str]

    def sniff(self, opened: Opened) -> bool: ...

    def survey(self, opened: Opened) -> Survey: ...

    def read(self, opened: Opened) -> Iterator[Item]: ...


@runtime_checkable
class DatabaseImporter(Importer, Protocol):
    """A format that is read from a database server: `Opened.dsn` says which, and nothing else of it is set.

    `digest` stands for the bytes of a file: 64 hex digits over every row that `read` yields. Such an importer raises
    BrokenFile for a server that cannot be reached, without the password, and sniffs nothing without a `dsn`.
    """

    def digest(self, opened: Opened) -> str: ...


def record_of(locator: str) -> str:
    """Return the place of an event's record: its locator without the number of the block at its end.

    The places that there are, before `:<block>`: a line `12`, `12.2` for the second document glued on it, or
    `12-18` for a run of lines; in a JSON document `3`, an element of the array that it is, `messages/3`, an
    element of a member of it, `#`, its other members (`2:messages/3` in a second document of the file, `~` before
    it in a document inside a JSON string); `table:seq=7`, a row of a database; `member!place` in an archive.
    """
    place, _, block = locator.rpartition(":")
    return place if place and block.replace(".", "").isdecimal() else locator
