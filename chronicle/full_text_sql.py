"""The statements that make the full text indexes, by database and table; each may be run again.

Guarantees: nothing of a recorded text can stop a row from being written: what is no JSON, or has more words than
an index takes, is indexed as far as it goes. Refuses nothing.
"""

UPTO = 100_000  # characters of a content and of a payload; a tsvector holds a megabyte

# A \u0000 would end a string for json_tree, and is no letter; \\ goes first, so that \\u0000 is not taken for one.
_SQLITE_PAYLOAD = f"""
CASE WHEN {{row}}.payload = '' THEN ''
  WHEN json_valid({{row}}.payload) THEN substr((
    SELECT group_concat(CASE WHEN typeof(key) = 'text' THEN key || ' ' ELSE '' END || coalesce(atom, ''), ' ')
    FROM json_tree(replace(replace({{row}}.payload, '\\\\', '/'), '\\u0000', ' '))), 1, {UPTO})
  ELSE substr({{row}}.payload, 1, {UPTO}) END
"""
_SQLITE_EVENT = (
    "{row}.id, CASE WHEN {row}.type = {row}.kind THEN '' ELSE {row}.type END,"
    f" substr({{row}}.content, 1, {UPTO}), {_SQLITE_PAYLOAD}"
)
# The words of sections stay in their own table ("external content"), those of events nowhere ("contentless").
SQLITE = {
    "chronicle_section": (
        """
CREATE VIRTUAL TABLE IF NOT EXISTS "chronicle_section_search" USING fts5(
  title, prose, content='chronicle_section', content_rowid='id', tokenize='unicode61 remove_diacritics 2')
""",
        'DROP TRIGGER IF EXISTS "search_chronicle_section_insert"',
        """
CREATE TRIGGER "search_chronicle_section_insert" AFTER INSERT ON "chronicle_section" BEGIN
  INSERT INTO "chronicle_section_search"(rowid, title, prose) VALUES (NEW.id, NEW.title, NEW.prose);
END
""",
        """
INSERT INTO "chronicle_section_search"(rowid, title, prose)
SELECT id, title, prose FROM "chronicle_section" AS section
WHERE NOT EXISTS (SELECT 1 FROM "chronicle_section_search_docsize" AS kept WHERE kept.id = section.id)
""",
    ),
    "chronicle_event": (
        """
CREATE VIRTUAL TABLE IF NOT EXISTS "chronicle_event_search" USING fts5(
  type, content, payload, content='', tokenize='unicode61 remove_diacritics 2')
""",
        'DROP TRIGGER IF EXISTS "search_chronicle_event_insert"',
        f"""
CREATE TRIGGER "search_chronicle_event_insert" AFTER INSERT ON "chronicle_event" BEGIN
  INSERT INTO "chronicle_event_search"(rowid, type, content, payload) SELECT {_SQLITE_EVENT.format(row="NEW")};
END
""",
        f"""
INSERT INTO "chronicle_event_search"(rowid, type, content, payload)
SELECT {_SQLITE_EVENT.format(row="event")} FROM "chronicle_event" AS event
WHERE NOT EXISTS (SELECT 1 FROM "chronicle_event_search_docsize" AS kept WHERE kept.id = event.id)
""",
    ),
}

# Written out, because the parser would take a.b, a/b and a-b for one word; accents go as FTS5 lets them go.
_WORDS = r"""
CREATE OR REPLACE FUNCTION chronicle_words(given text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT translate(regexp_replace(normalize(given, NFD), '[\u0300-\u036f]', '', 'g'),
                   '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32))
$$
"""
# JSON's escapes: those of one letter, then NUL, halves of surrogate pairs alone and what a cut left; the rest is read.
_PAYLOAD = rf"""
CREATE OR REPLACE FUNCTION chronicle_payload_words(payload text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN strpos(payload, '\') = 0 THEN left(payload, {UPTO}) ELSE
    left(unistr(regexp_replace(regexp_replace(regexp_replace(left(payload, {2 * UPTO}),
      '\\(?:[\\"/bfnrt]|u?[0-9a-f]{{0,3}}$)', ' ', 'g'),
      '\\u0000|\\ud[89ab][0-9a-f]{{2}}(?!\\ud[c-f])', ' ', 'g'),
      '(?<!\\ud[89ab][0-9a-f]{{2}})\\ud[c-f][0-9a-f]{{2}}', ' ', 'g')), {UPTO}) END
$$
"""
_EVENT = f"""
CREATE OR REPLACE FUNCTION chronicle_event_words(kind text, type text, content text, payload text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN setweight(to_tsvector('simple', chronicle_words(left(content, {UPTO}))), 'B')
      || to_tsvector('simple', CASE WHEN type = kind THEN '' ELSE chronicle_words(type) || ' ' END
                               || chronicle_words(chronicle_payload_words(payload)));
EXCEPTION WHEN OTHERS THEN
  RETURN to_tsvector('simple', chronicle_words(left(content, 10000)) || ' ' || chronicle_words(left(payload, 10000)));
END $$
"""


def _postgresql(rows: str, key: str, words: str) -> tuple[str, ...]:
    """Return what makes and fills the index of a table; `words` is the call that makes a row's tsvector."""
    table, trigger, function = (
        f'"{rows}_search"',
        f'"search_{rows}_insert"',
        f"chronicle_index_{key.removesuffix('_id')}",
    )
    return (
        f"CREATE TABLE IF NOT EXISTS {table} ({key} bigint PRIMARY KEY, words tsvector NOT NULL)",
        f'CREATE INDEX IF NOT EXISTS "{rows}_search_words" ON {table} USING gin (words)',
        f"""
CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO {table} VALUES (NEW.id, {words.format(row="NEW")})
  ON CONFLICT ({key}) DO UPDATE SET words = EXCLUDED.words;
  RETURN NULL;
END $$
""",
        f'DROP TRIGGER IF EXISTS {trigger} ON "{rows}"',
        f'CREATE TRIGGER {trigger} AFTER INSERT ON "{rows}" FOR EACH ROW EXECUTE FUNCTION {function}()',
        f'DELETE FROM {table} AS kept WHERE NOT EXISTS (SELECT 1 FROM "{rows}" AS one WHERE one.id = kept.{key})',
        f"""
INSERT INTO {table} SELECT one.id, {words.format(row="one")} FROM "{rows}" AS one
WHERE NOT EXISTS (SELECT 1 FROM {table} AS kept WHERE kept.{key} = one.id)
""",
    )


POSTGRESQL = {
    "chronicle_section": (
        _WORDS,
        """
CREATE OR REPLACE FUNCTION chronicle_section_words(title text, prose text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT setweight(to_tsvector('simple', chronicle_words(title)), 'A')
      || to_tsvector('simple', chronicle_words(left(prose, 200000)))
$$
""",
        *_postgresql("chronicle_section", "section_id", "chronicle_section_words({row}.title, {row}.prose)"),
    ),
    "chronicle_event": (
        _WORDS,
        _PAYLOAD,
        _EVENT,
        *_postgresql(
            "chronicle_event",
            "event_id",
            "chronicle_event_words({row}.kind, {row}.type, {row}.content, {row}.payload)",
        ),
    ),
}
