"""The indexes that find sections and events by their words: FTS5 tables on SQLite, tables of tsvectors on PostgreSQL.

Guarantees: a trigger indexes every section and event as it is written, whoever writes it; `install`, run after every
migration, makes what is missing, indexes rows of older databases and forgets those that a test's flush removed.
Words are the same on both: letters and digits, whatever their case and accents, in no language's grammar (no
stemming, no stop words); of an event its type, content and payload, keys and values without JSON's escapes, the
first 100,000 characters of each; PostgreSQL keeps the first 200,000 of a section.
Superseded sections stay in it: who asks leaves them out. It holds nothing that is not in the rows.
"""

from dataclasses import dataclass

from django.db.backends.base.base import BaseDatabaseWrapper

from chronicle.full_text_sql import POSTGRESQL, SQLITE


@dataclass(frozen=True, slots=True)
class Index:
    """The index of a table: where it is kept, the columns that it holds and what each counts on SQLite."""

    rows: str
    columns: tuple[str, ...]
    weights: tuple[float, ...]

    @property
    def table(self) -> str:
        return f"{self.rows}_search"

    @property
    def trigger(self) -> str:
        return f"search_{self.rows}_insert"

    @property
    def key(self) -> str:
        return f"{self.rows.removeprefix('chronicle_')}_id"

    def matching(self, vendor: str) -> str:
        """Return SQL for (id, rank) of what holds the words of its one parameter; the smallest rank is the best."""
        if vendor == "sqlite":
            weights = ", ".join(map(str, self.weights))
            return (
                f'SELECT rowid AS id, bm25("{self.table}", {weights}) AS rank FROM "{self.table}"'
                f' WHERE "{self.table}" MATCH %s'
            )
        return (
            f"SELECT {self.key} AS id, -ts_rank('{{0.1, 0.2, 0.4, 1.0}}', words, asked, 1) AS rank"
            f""" FROM "{self.table}", to_tsquery('simple', %s) AS asked WHERE words @@ asked"""
        )


SECTIONS = Index("chronicle_section", ("title", "prose"), (4.0, 1.0))
EVENTS = Index("chronicle_event", ("type", "content", "payload"), (1.0, 4.0, 1.0))
INDEXES = (SECTIONS, EVENTS)


def install(connection: BaseDatabaseWrapper) -> None:
    """Create what is missing and index what is not indexed yet (idempotent). Call it after any migration."""
    there = set(connection.introspection.table_names())
    if not {index.rows for index in INDEXES} <= there:  # not there while migrating back
        return
    with connection.cursor() as cursor:
        for index in INDEXES:
            if connection.vendor == "sqlite":
                _forget(connection, index, there)
            for statement in (SQLITE if connection.vendor == "sqlite" else POSTGRESQL)[index.rows]:
                cursor.execute(statement)


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """Return the names of what `install` makes and is not there; nothing is asked where there are no rows yet."""
    there = set(connection.introspection.table_names())
    query = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
    if connection.vendor == "postgresql":
        query = (
            "SELECT tgname FROM pg_trigger"
            " WHERE tgrelid IN (to_regclass('chronicle_section'), to_regclass('chronicle_event'))"
        )
    with connection.cursor() as cursor:
        cursor.execute(query)
        triggers = {str(name) for (name,) in cursor.fetchall()}
    wanted = [name for index in INDEXES if index.rows in there for name in (index.table, index.trigger)]
    return [name for name in wanted if name not in there | triggers]


def _forget(connection: BaseDatabaseWrapper, index: Index, there: set[str]) -> None:
    """Empty an index that holds rows which are gone, so that it is filled anew: FTS5 forgets single rows badly."""
    if index.table not in there:
        return
    gone = (
        f'SELECT 1 FROM "{index.table}_docsize" AS kept'
        f' WHERE NOT EXISTS (SELECT 1 FROM "{index.rows}" AS row WHERE row.id = kept.id) LIMIT 1'
    )
    with connection.cursor() as cursor:
        cursor.execute(gone)
        if cursor.fetchone() is not None:
            cursor.execute(f"""INSERT INTO "{index.table}"("{index.table}") VALUES ('delete-all')""")
