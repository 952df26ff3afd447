"""SQLite files that a program is writing: what stands in the write-ahead log is read, the original left alone."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from chronicle.errors import InvalidPayload
from chronicle.importers import lines, sqlite_files
from chronicle.importers.protocol import Opened


def running(path: Path) -> sqlite3.Connection:
    """A database that a program holds open, with one row in the file and one in the log."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA wal_autocheckpoint = 0")
    database.execute("CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT)")
    database.execute("INSERT INTO words (word) VALUES ('hedge')")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.execute("INSERT INTO words (word) VALUES ('yew')")
    return database


def bytes_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def words_of(opened: Opened) -> tuple[list[str], list[str]]:
    with sqlite_files.reading(opened) as reader:
        return [word for (word,) in reader.database.execute("SELECT word FROM words ORDER BY id")], reader.notes


def test_what_stands_in_the_log_alone_is_read(tmp_path: Path) -> None:
    path = tmp_path / "bot.db"
    with closing(running(path)):
        before = bytes_in(tmp_path)

        assert words_of(lines.open_file(path)) == (["hedge", "yew"], [sqlite_files.ALSO_READ])
        assert bytes_in(tmp_path) == before


def test_a_database_whose_tables_stand_in_the_log_alone_is_known(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE words (word TEXT)")

        assert "words" in sqlite_files.tables_of(lines.open_file(path))


def test_a_log_too_large_to_be_copied_is_said_not_to_have_been_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_files, "COPY_CAP", 1)
    with closing(running(tmp_path / "bot.db")):
        assert words_of(lines.open_file(tmp_path / "bot.db")) == (["hedge"], [sqlite_files.NOT_READ])


def test_a_value_over_the_cap_is_an_error_of_its_row_alone(tmp_path: Path) -> None:
    path = tmp_path / "large.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE words (id INTEGER PRIMARY KEY, word)")
        database.execute("INSERT INTO words VALUES (1, 'hedge'), (2, zeroblob(17000000)), (3, 'yew')")
        database.commit()
    with sqlite_files.reading(lines.open_file(path)) as reader:
        query = "SELECT word FROM words WHERE id = ?"
        found = list(sqlite_files.rows(reader.database, "SELECT id FROM words ORDER BY id", query))

    assert [(row.key, row.values) for row in found] == [(1, ("hedge",)), (2, ()), (3, ("yew",))]
    assert "too big" in found[1].reason


@pytest.mark.parametrize("given", [None, 7, "", "{", '{"a":1} x', "[" * 70 + "]" * 70, b"\xff"])
def test_a_column_that_is_no_json_says_why(given: object) -> None:
    with pytest.raises(InvalidPayload):
        sqlite_files.document(given)


def test_json_of_other_programs_may_hold_nan_and_a_key_twice() -> None:
    assert sqlite_files.document('{"a": NaN, "b": 1, "b": 2}') == {"a": "NaN", "b": 2}
