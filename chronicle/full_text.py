"""The index that finds sections by their words: an FTS5 table on SQLite, a table of tsvectors on PostgreSQL.

Guarantees: a trigger indexes every section as it is written, whoever writes it; `install`, run after every
migration, makes what is missing, indexes sections of older databases and forgets those that a test's flush
removed. Words are the same on both: letters and digits, whatever their case and accents, in no language's
grammar (no stemming, no stop words); PostgreSQL keeps the first 200,000 characters of a section.
Superseded sections stay in it: who asks leaves them out. It holds nothing that is not in the sections.
"""

from django.db.backends.base.base import BaseDatabaseWrapper

SECTIONS, TABLE, TRIGGER = "chronicle_section", "chronicle_section_search", "search_chronicle_section_insert"
TITLE_WEIGHT = 4.0


def install(connection: BaseDatabaseWrapper) -> None:
    """Create what is missing and index what is not indexed yet (idempotent). Call it after any migration."""
    if SECTIONS not in connection.introspection.table_names():  # not there while migrating back
        return
    with connection.cursor() as cursor:
        for statement in _SQLITE if connection.vendor == "sqlite" else _POSTGRESQL:
            cursor.execute(statement)
        if connection.vendor == "sqlite":
            cursor.execute(_SQLITE_GONE)
            if cursor.fetchone() is not None:
                cursor.execute(_SQLITE_REBUILD)


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """Return the names of what `install` makes and is not there; nothing is asked where there are no sections yet."""
    there = set(connection.introspection.table_names())
    if SECTIONS not in there:
        return []
    query = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name = %s"
    if connection.vendor == "postgresql":
        query = "SELECT tgname FROM pg_trigger WHERE tgname = %s AND tgrelid = to_regclass('chronicle_section')"
    with connection.cursor() as cursor:
        cursor.execute(query, [TRIGGER])
        triggers = {str(name) for (name,) in cursor.fetchall()}
    return [name for name in (TABLE, TRIGGER) if name not in there | triggers]


# The words stay in the sections' own table ("external content"); only the index is kept beside it.
_SQLITE = (
    f"""
CREATE VIRTUAL TABLE IF NOT EXISTS "{TABLE}" USING fts5(
  title, prose, content='{SECTIONS}', content_rowid='id', tokenize='unicode61 remove_diacritics 2')
""",
    f'DROP TRIGGER IF EXISTS "{TRIGGER}"',
    f"""
CREATE TRIGGER "{TRIGGER}" AFTER INSERT ON "{SECTIONS}" BEGIN
  INSERT INTO "{TABLE}"(rowid, title, prose) VALUES (NEW.id, NEW.title, NEW.prose);
END
""",
    f"""
INSERT INTO "{TABLE}"(rowid, title, prose) SELECT id, title, prose FROM "{SECTIONS}" AS section
WHERE NOT EXISTS (SELECT 1 FROM "{TABLE}_docsize" AS kept WHERE kept.id = section.id)
""",
)
_SQLITE_GONE = f"""
SELECT 1 FROM "{TABLE}_docsize" AS kept
WHERE NOT EXISTS (SELECT 1 FROM "{SECTIONS}" AS section WHERE section.id = kept.id) LIMIT 1
"""
_SQLITE_REBUILD = f"""INSERT INTO "{TABLE}"("{TABLE}") VALUES ('rebuild')"""

# Written out, because the parser would take a.b, a/b and a-b for one word; accents go as FTS5 lets them go.
_POSTGRESQL = (
    r"""
CREATE OR REPLACE FUNCTION chronicle_words(given text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT translate(regexp_replace(normalize(given, NFD), '[\u0300-\u036f]', '', 'g'),
                   '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32))
$$
""",
    """
CREATE OR REPLACE FUNCTION chronicle_section_words(title text, prose text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT setweight(to_tsvector('simple', chronicle_words(title)), 'A')
      || to_tsvector('simple', chronicle_words(left(prose, 200000)))
$$
""",
    f'CREATE TABLE IF NOT EXISTS "{TABLE}" (section_id bigint PRIMARY KEY, words tsvector NOT NULL)',
    f'CREATE INDEX IF NOT EXISTS "{TABLE}_words" ON "{TABLE}" USING gin (words)',
    f"""
CREATE OR REPLACE FUNCTION chronicle_index_section() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "{TABLE}" VALUES (NEW.id, chronicle_section_words(NEW.title, NEW.prose))
  ON CONFLICT (section_id) DO UPDATE SET words = EXCLUDED.words;
  RETURN NULL;
END $$
""",
    f'DROP TRIGGER IF EXISTS "{TRIGGER}" ON "{SECTIONS}"',
    f"""
CREATE TRIGGER "{TRIGGER}" AFTER INSERT ON "{SECTIONS}" FOR EACH ROW EXECUTE FUNCTION chronicle_index_section()
""",
    f"""
DELETE FROM "{TABLE}" AS kept
WHERE NOT EXISTS (SELECT 1 FROM "{SECTIONS}" AS section WHERE section.id = kept.section_id)
""",
    f"""
INSERT INTO "{TABLE}" SELECT id, chronicle_section_words(title, prose) FROM "{SECTIONS}" AS section
WHERE NOT EXISTS (SELECT 1 FROM "{TABLE}" AS kept WHERE kept.section_id = section.id)
""",
)
