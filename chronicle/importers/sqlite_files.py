"""SQLite files of other programs, read without a trace: read-only, plain tables only, the original never touched.

Guarantees: nothing is written beside the file; no view, trigger or virtual table of it is run; no
class of it is made; text that is no UTF-8 is kept as lone surrogates; a value over the cap or a
damaged page is an error of its row. A file is told by the tables it has. What a write-ahead log beside
it holds is read with `reading`, from a copy of both (COPY_CAP) that a program writing meanwhile cannot tear.
Refuses: to take part in the file's locks; a rollback journal beside it is said, never played back.
"""

import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from chronicle import canonical
from chronicle.errors import BrokenFile, InvalidPayload
from chronicle.importers import lines
from chronicle.importers.protocol import Opened

MAGIC = b"SQLite format 3\x00"
VALUE_CAP = 16 * 1024 * 1024
COPY_CAP = 4 * 1024 * 1024 * 1024
COPIES = 3
STEP = 100_000  # instructions of SQLite's machine between two looks at the guard
STEPS_A_BYTE = 50
LEAST = 4  # no row takes fewer bytes
NOT_READ = "a write-ahead log lies beside the file; what it holds was not read: close the program that writes it"
ALSO_READ = "a write-ahead log lies beside the file and was read with it, from a copy of both"
WAL_HEADER = 32
JOURNAL = (
    "a rollback journal lies beside the file: its program was stopped while writing, and the last write may be torn"
)


class Reader(NamedTuple):
    """A database that is open for reading, and what the report should say of how it was read."""

    database: sqlite3.Connection
    notes: list[str]


class Row(NamedTuple):
    """A row by its key, or the reason why it cannot be had."""

    key: Any
    values: tuple[Any, ...] = ()
    reason: str = ""


def is_sqlite(opened: Opened) -> bool:
    """True where the file begins as SQLite files do."""
    return opened.head.startswith(MAGIC)


def connect(opened: Opened) -> sqlite3.Connection:
    """Open the database for reading only. The caller closes it. Raises BrokenFile for what is no regular file."""
    lines.open_regular(opened.path).close()
    return _connected(opened.path, "mode=ro&immutable=1")


def _connected(path: Path, how: str) -> sqlite3.Connection:
    address = f"file:{quote(str(path.absolute()))}?{how}"
    database = sqlite3.connect(address, uri=True, isolation_level=None)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, VALUE_CAP)
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA query_only = ON")
    database.text_factory = lambda data: lines.decode(data)[0]
    return database


@contextmanager
def reading(opened: Opened) -> Iterator[Reader]:
    """Open a database with what its write-ahead log holds. Raises BrokenFile for what is no regular file."""
    notes = [JOURNAL] if _beside(opened, "-journal") else []
    if not write_ahead(opened):
        with closing(connect(opened)) as database:
            yield Reader(database, notes)
        return
    with tempfile.TemporaryDirectory(prefix="sqlite-") as folder:
        copy = _copied(opened, Path(folder))
        with closing(_connected(copy, "mode=rw") if copy else connect(opened)) as database:
            yield Reader(database, [*notes, ALSO_READ if copy else NOT_READ])


def _copied(opened: Opened, folder: Path) -> Path | None:
    """Copy a file and its write-ahead log as they stand at one moment; None where they are too large or never still."""
    wal, copy = _wal(opened), folder / "copy"
    if opened.path.stat().st_size + wal.stat().st_size > COPY_CAP:
        return None
    for _ in range(COPIES):
        before = _state(opened.path, wal)
        for source, name in ((opened.path, "copy"), (wal, "copy-wal")):
            with lines.open_regular(source) as file, (folder / name).open("wb") as out:
                shutil.copyfileobj(file, out, lines.CHUNK)
        if _state(opened.path, wal) == before:
            return copy
    return None


def _state(path: Path, wal: Path) -> tuple[int, int, bytes]:
    """What changes when the log is written back into the file; frames added to the log meanwhile do no harm."""
    with lines.open_regular(wal) as file:
        found = path.stat()
        return found.st_mtime_ns, found.st_size, file.read(WAL_HEADER)


def tables(database: sqlite3.Connection) -> set[str]:
    """Return the names of the plain tables; a virtual one would run a module of the file's choosing."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'"
    try:
        return {name for (name,) in select(database, query) if isinstance(name, str)}
    except UnicodeDecodeError as error:  # of SQLite's own message, which repeats a name
        raise sqlite3.DatabaseError("malformed database schema") from error


def tables_of(opened: Opened) -> AbstractSet[str]:
    """Return the names of the plain tables of a file, for sniffing; none of one that is no readable database."""
    if not is_sqlite(opened):
        return frozenset()
    try:
        with closing(connect(opened)) as database:
            found = tables(database)
        if not found and write_ahead(opened):  # all that there is stands in the log still
            with reading(opened) as reader:
                found = tables(reader.database)
    except (sqlite3.Error, OSError, BrokenFile):
        return frozenset()
    return found


def columns(database: sqlite3.Connection, table: str) -> set[str]:
    """Return the names of a table's columns."""
    return {name for (name,) in database.execute("SELECT name FROM pragma_table_info(?)", (table,))}


def rows(database: sqlite3.Connection, keys: str, row: str, given: Sequence[Any] = ()) -> Iterator[Row]:
    """Yield rows one by one, a bad one harming no other: `keys` selects their keys in order, `row` one of them."""
    for found in _keys(database, keys, given):
        if found.reason:
            yield found
            continue
        try:
            values = database.execute(row, (found.key,)).fetchone()
        except (sqlite3.Error, OverflowError, UnicodeEncodeError) as error:
            yield Row(found.key, reason=f"the row cannot be read: {error}")
        else:
            yield Row(found.key, values or (), "" if values else "the row cannot be found again")


def count(database: sqlite3.Connection, keys: str, given: Sequence[Any] = ()) -> int:
    """Return how many rows `rows` will yield."""
    return sum(1 for _ in _keys(database, keys, given))


def _keys(database: sqlite3.Connection, keys: str, given: Sequence[Any]) -> Iterator[Row]:
    try:
        yield from (Row(key) for (key,) in select(database, keys, given))
    except (sqlite3.Error, OverflowError) as error:
        yield Row(None, reason=f"the database cannot be read from here on: {error}")


def select(database: sqlite3.Connection, query: str, given: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield what a query gives. Raises sqlite3.DatabaseError where damaged pages lead in circles, without end."""
    size: int = database.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").fetchone()[0]
    done = 0

    def endless() -> bool:
        nonlocal done
        done += STEP
        return done > 100 * STEP + STEPS_A_BYTE * size

    for number, found in enumerate(_guarded(database, query, given, endless)):
        if number * LEAST >= size:
            raise sqlite3.DatabaseError("it is damaged: it gives more rows than it can hold")
        done = 0
        yield found


def _guarded(
    database: sqlite3.Connection, query: str, given: Sequence[Any], endless: Callable[[], bool]
) -> Iterator[tuple[Any, ...]]:
    """Step through a query, each step under the guard, which the caller's own statements between are not."""
    cursor = database.cursor()
    database.set_progress_handler(endless, STEP)
    try:
        try:
            cursor.execute(query, given)
        except UnicodeEncodeError:
            raise sqlite3.DataError("a key in it is no UTF-8") from None
        while (found := cursor.fetchone()) is not None:
            database.set_progress_handler(None, 0)
            yield found
            database.set_progress_handler(endless, STEP)
    finally:
        database.set_progress_handler(None, 0)
        cursor.close()


def document(value: Any) -> Any:
    """Return the JSON document that a column holds. Raises InvalidPayload for what is none.

    A key given twice counts as its last value, a bare NaN or Infinity is kept as that word.
    """
    data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
    if not isinstance(data, bytes):
        raise InvalidPayload("no text where JSON must stand" if data is not None else "nothing where JSON must stand")
    try:
        found = _decode(data) if not lines.may_hold_a_huge_number(data) else _exact(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        found = _exact(data)
    if lines.too_deep(found):
        raise InvalidPayload(f"nested deeper than {canonical.MAX_DEPTH}")
    return found


def _exact(data: bytes) -> Any:
    text = lines.decode(data)[0].strip(lines.BLANK)
    try:
        found, end = _lenient.raw_decode(text)
    except ValueError as error:
        raise InvalidPayload(f"not JSON: {error}") from None
    except RecursionError:
        raise InvalidPayload(f"nested deeper than {canonical.MAX_DEPTH}") from None
    if text[end:].strip(lines.BLANK):
        raise InvalidPayload(f"not JSON: something stands behind it, at character {end + 1}")
    return found


_decode = msgspec.json.Decoder().decode
_lenient = canonical.decoder(strict=False, lenient=True)


def utc(value: Any) -> Any:
    """Return a time as SQLite's own clock writes it, which is UTC, with that zone; any other as it is."""
    return f"{value}+00:00" if isinstance(value, str) and _CLOCK.fullmatch(value) else value


_CLOCK = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{1,9})?", re.ASCII)


def unknown(opened: Opened) -> str:
    """Say why no importer takes a SQLite file: it is damaged (cut, as a rule), or it is of another program."""
    try:
        with closing(connect(opened)) as database:
            found = sorted(tables(database))
    except sqlite3.Error as error:
        return f"a damaged SQLite file, cut or overwritten ({error}); copy it again from where it came from"
    named = ", ".join(found[:5]) + (" and more" if len(found) > 5 else "")
    return f"a SQLite file of another program: its tables are {named}" if found else "a SQLite file without a table"


def write_ahead(opened: Opened) -> bool:
    """True where a write-ahead log with something in it lies beside the file."""
    return _beside(opened, "-wal")


def _beside(opened: Opened, ending: str) -> bool:
    beside = opened.path.with_name(opened.path.name + ending)
    return beside.is_file() and not beside.is_symlink() and beside.stat().st_size > 0


def _wal(opened: Opened) -> Path:
    return opened.path.with_name(opened.path.name + "-wal")
