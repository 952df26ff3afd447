"""Appending against raw `sqlite3` into a table of the same columns, and ingesting against `json.loads`."""

import json
import sqlite3
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from django.db import connection

from chronicle import log as logs
from chronicle.bench import material
from chronicle.bench.figures import Figure, Size, compare, seconds
from chronicle.importers import lines, registry
from chronicle.ingest import ingest_file
from chronicle.models import Event, Log


def measure(size: Size, folder: Path) -> Iterator[Figure]:
    """Yield the figures of the log and of ingest."""
    with raw_table(folder / "raw.sqlite3") as raw:
        yield _append_one(size, raw)
        yield _append_many(size, raw)
    yield _read(size, folder)
    yield _ingest(size, folder)


@contextmanager
def raw_table(path: Path) -> Iterator[sqlite3.Connection]:
    """A table of an event's columns without key, index or trigger, on a connection set up as the site's."""
    columns = [str(field.column) for field in Event._meta.concrete_fields]
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;")
        raw.execute(f"CREATE TABLE raw ({', '.join(columns)})")
        yield raw


def _stored_rows(log: Log) -> Sequence[tuple[object, ...]]:
    """The rows of a log as the database holds them, to be written again without anything around it."""
    columns = ", ".join(f'"{field.column}"' for field in Event._meta.concrete_fields)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {columns} FROM {Event._meta.db_table} WHERE log_id = %s ORDER BY seq", [log.pk])
        rows: list[tuple[object, ...]] = cursor.fetchall()
        return rows


def _insert(raw: sqlite3.Connection, rows: Sequence[tuple[object, ...]]) -> None:
    raw.execute("BEGIN IMMEDIATE")
    raw.executemany(f"INSERT INTO raw VALUES ({', '.join('?' * len(rows[0]))})", rows)
    raw.execute("COMMIT")


def _append_one(size: Size, raw: sqlite3.Connection) -> Figure:
    log, waiting = logs.create_log("bench"), iter(material.events(size.singles))
    ours = seconds(lambda: logs.append(log, [next(waiting)]), size.singles)
    rows = iter(_stored_rows(log))
    theirs = seconds(lambda: _insert(raw, [next(rows)]), size.singles)
    against = "an INSERT of the same row and its commit in raw sqlite3"
    return compare("append one event", ours, unit="ms", scale=1e3, against=against, yardstick=theirs)


def _append_many(size: Size, raw: sqlite3.Connection) -> Figure:
    log, batch = logs.create_log("bench"), size.batch
    waiting = iter([material.events(batch) for _ in range(size.batches)])
    ours = seconds(lambda: logs.append(log, next(waiting)), size.batches)
    rows = _stored_rows(log)
    places = iter(range(0, len(rows), batch))

    def again() -> None:
        place = next(places)
        _insert(raw, rows[place : place + batch])

    theirs = seconds(again, size.batches)
    against = f"executemany of the same {batch} rows in raw sqlite3"
    name = f"append in batches of {batch}, per event"
    return compare(name, ours / batch, unit="µs", scale=1e6, against=against, yardstick=theirs / batch)


def _read(size: Size, folder: Path) -> Figure:
    """The importer alone: lines into events, nothing written."""
    path = material.write_transcript(folder / "read.jsonl", size.lines, "session-read")
    importer, times = registry.named("claude-code"), 3
    ours = seconds(lambda: deque(importer.read(lines.open_file(path)), maxlen=0), times)
    text = path.read_text().splitlines()
    theirs = seconds(lambda: [json.loads(line) for line in text], times)
    each = len(text)
    return compare(
        f"read a transcript of {size.lines} lines into events, per line",
        ours / each,
        unit="µs",
        scale=1e6,
        against="json.loads of the same lines",
        yardstick=theirs / each,
    )


def _ingest(size: Size, folder: Path) -> Figure:
    paths = [material.write_transcript(folder / f"{n}.jsonl", size.lines, f"session-{n}") for n in range(3)]
    waiting = iter(paths)
    ours = seconds(lambda: ingest_file(next(waiting), owner="bench"), len(paths))
    text = paths[0].read_text().splitlines()
    theirs = seconds(lambda: [json.loads(line) for line in text], len(paths))
    name = f"ingest a transcript of {size.lines} lines, per line"
    against = "json.loads of the same lines"
    each = len(text)
    return compare(name, ours / each, unit="µs", scale=1e6, against=against, yardstick=theirs / each)
