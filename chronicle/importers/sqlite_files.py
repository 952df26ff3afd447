"""SQLite files of other programs, read without a trace: read-only, immutable, plain tables only.

Guarantees: nothing is written beside the file; no view, trigger or virtual table of it is run; no
class of it is made; text that is no UTF-8 is kept as lone surrogates; a value over the cap is an
error of its row. A file is told by the tables it has, and what a write-ahead log beside it holds is
said not to have been read.
"""

import sqlite3
from collections.abc import Set as AbstractSet
from contextlib import closing
from urllib.parse import quote

from chronicle.errors import BrokenFile
from chronicle.importers import lines
from chronicle.importers.protocol import Opened

MAGIC = b"SQLite format 3\x00"
VALUE_CAP = 16 * 1024 * 1024
NOT_READ = "a write-ahead log lies beside the file; what it holds was not read: close the program that writes it"


def is_sqlite(opened: Opened) -> bool:
    """True where the file begins as SQLite files do."""
    return opened.head.startswith(MAGIC)


def connect(opened: Opened) -> sqlite3.Connection:
    """Open the database for reading only. The caller closes it. Raises BrokenFile for what is no regular file."""
    lines.open_regular(opened.path).close()
    address = f"file:{quote(str(opened.path.absolute()))}?mode=ro&immutable=1"
    database = sqlite3.connect(address, uri=True, isolation_level=None)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, VALUE_CAP)
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA query_only = ON")
    database.text_factory = lambda data: lines.decode(data)[0]
    return database


def tables(database: sqlite3.Connection) -> set[str]:
    """Return the names of the plain tables; a virtual one would run a module of the file's choosing."""
    found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'")
    return {name for (name,) in found}


def tables_of(opened: Opened) -> AbstractSet[str]:
    """Return the names of the plain tables of a file, for sniffing; none of one that is no readable database."""
    if not is_sqlite(opened):
        return frozenset()
    try:
        with closing(connect(opened)) as database:
            return tables(database)
    except (sqlite3.Error, BrokenFile):
        return frozenset()


def columns(database: sqlite3.Connection, table: str) -> set[str]:
    """Return the names of a table's columns."""
    return {name for (name,) in database.execute("SELECT name FROM pragma_table_info(?)", (table,))}


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
    beside = opened.path.with_name(opened.path.name + "-wal")
    return beside.is_file() and beside.stat().st_size > 0
