"""Sessions of the OpenAI Agents SDK (SQLite), and Responses items in files: a list, lines, or a response.

Guarantees: order is the row's id inside its session, or the place in the list; a row is known by its id
and never by the item's own, which other providers write alike on all; times are UTC, as SQLite's clock is.
The tables are known by their columns, whatever they are called and however their DDL is spaced. An
item of a file is known by its id, without one by its bytes and how often they stood before.
Refuses nothing but rows that are no JSON object; see openai_items for what the items become.
"""

import itertools
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from chronicle.errors import BrokenFile, InvalidPayload
from chronicle.importers import lines, openai_items, parts, sqlite_files, text
from chronicle.importers.making import Maker, Place
from chronicle.importers.openai_items import Reading
from chronicle.importers.protocol import Item, Noted, Opened, Read, Refused, Session, Survey

COLUMNS = {"id", "session_id", "message_data"}
LISTS = ("input", "output", "items")


@dataclass(slots=True)
class Known:
    """The sessions of one file, by their ids."""

    sessions: dict[str, Reading] = field(default_factory=dict)

    def reading(self, session: str) -> Reading:
        if session not in self.sessions:
            self.sessions[session] = Reading(Maker(session))
        return self.sessions[session]

    def maker(self, session: str) -> Maker:
        return self.reading(session).maker

    def notes(self) -> Iterator[Noted]:
        for reading in self.sessions.values():
            yield from reading.notes()


class OpenAIAgents:
    """The importer."""

    name: ClassVar[str] = "openai-agents"

    def sniff(self, opened: Opened) -> bool:
        """True for a database with a table of the SDK's columns, and where items that only Responses writes stand."""
        if sqlite_files.is_sqlite(opened):
            return bool(_table(opened))
        found = list(_first_items(opened))
        return any(map(openai_items.is_specific, found)) and not any(map(_is_rollout, found))

    def survey(self, opened: Opened) -> Survey:
        """Count the rows, lines or elements; no summary can be read in any of them."""
        if sqlite_files.is_sqlite(opened):
            with sqlite_files.reading(opened) as reader:
                table = _table_in(reader.database)
                return Survey(sqlite_files.count(reader.database, _keys(table)) if table else 0)
        if _is_lines(opened):
            return Survey(sum(1 for _ in lines.raw_lines(opened)))
        return parts.survey(opened, *LISTS)

    def read(self, opened: Opened) -> Iterator[Item]:
        """Yield the items of a file. Raises BrokenFile for a database without such a table."""
        if sqlite_files.is_sqlite(opened):
            yield from _rows(opened)
        elif _is_lines(opened):
            yield from _lines(opened)
        else:
            yield from _elements(opened)


def _table(opened: Opened) -> str:
    if "checkpoints" in (names := sqlite_files.tables_of(opened)):
        return ""
    if not names:
        return ""
    try:
        with sqlite_files.reading(opened) as reader:
            return _table_in(reader.database)
    except (sqlite3.Error, OSError, BrokenFile):
        return ""


def _table_in(database: sqlite3.Connection) -> str:
    """Return the name of the table of items, fit to be written into a statement; "" for none."""
    for name in sorted(sqlite_files.tables(database)):
        if name.isidentifier() and sqlite_files.columns(database, name) >= COLUMNS:
            return name
    return ""


def _keys(table: str) -> str:
    return f'SELECT id FROM "{table}" ORDER BY id'


def _rows(opened: Opened) -> Iterator[Item]:
    try:
        with sqlite_files.reading(opened) as reader:
            table = _table_in(reader.database)
            if not table:
                raise BrokenFile("no table of items: it needs the columns id, session_id and message_data")
            yield from (Noted(0, words) for words in reader.notes)
            yield from _branches(reader.database)
            yield from _rows_of(reader.database, table)
    except sqlite3.Error as error:
        raise BrokenFile(f"the database cannot be read: {error}") from error


def _branches(database: sqlite3.Connection) -> Iterator[Noted]:
    """A session with branches keeps their rows together; which is in force stands in a table beside."""
    if "branch_id" in sqlite_files.columns(database, "message_structure"):
        query = "SELECT count(DISTINCT branch_id) FROM message_structure"
        with closing(database.execute(query)) as found:
            branches = found.fetchone()[0]
        if branches > 1:
            yield Noted(
                0, f"the sessions have {branches} branches; the rows of all of them stand here in the order written"
            )


def _rows_of(database: sqlite3.Connection, table: str) -> Iterator[Item]:
    dated = "created_at" if "created_at" in sqlite_files.columns(database, table) else "NULL"
    query = f'SELECT session_id, message_data, {dated} FROM "{table}" WHERE id = ?'
    known = Known()
    for number, row in enumerate(sqlite_files.rows(database, _keys(table), query), 1):
        if row.reason:
            yield Refused(number, row.reason)
            continue
        session, data, created = row.values
        try:
            value = sqlite_files.document(data)
        except InvalidPayload as error:
            yield Refused(number, f"row {row.key}: {error}")
            continue
        at = Place(number, text.storable(f"{table}:id={row.key}")[0], sqlite_files.utc(created))
        yield from _of_session(known, text.name(str(session), "session"), value, str(row.key), at)
    yield from known.notes()


def _of_session(known: Known, session: str, value: Any, native: str, at: Place, **payload: Any) -> Iterator[Item]:
    if not isinstance(value, dict):
        yield Refused(at.record, "not a JSON object")
        return
    reading = known.reading(session)
    if not reading.begun:
        reading.begun = True
        yield Session(session)
    found = list(openai_items.items(reading, value, text.name(native, "item"), at, payload))
    if not reading.titled and (title := openai_items.title_of(found)):
        reading.titled = True
        yield Session(session, text.storable(title)[0])
    yield from found


def _first_items(opened: Opened) -> Iterator[Any]:
    head = parts.head(opened)
    if isinstance(head, list):
        yield from head
    elif isinstance(head, dict) and head.get("object") == "response":
        yield from itertools.chain.from_iterable(head[key] for key in LISTS if isinstance(head.get(key), list))
    elif isinstance(head, dict):
        yield from lines.first_documents(opened)


def _is_rollout(value: Any) -> bool:
    """True for a record that Codex writes between the same items."""
    return isinstance(value, dict) and ("record_type" in value or "timestamp" in value or "payload" in value)


def _is_lines(opened: Opened) -> bool:
    head = parts.head(opened)
    return isinstance(head, dict) and head.get("object") != "response"


def _stem(opened: Opened) -> str:
    return opened.name.replace("\\", "/").rsplit("/", 1)[-1].rsplit(".", 1)[0] or "items"


def _lines(opened: Opened) -> Iterator[Item]:
    known, session = Known(), ""
    for document in lines.documents(opened, lenient=True):
        if document.value is None or document.invalid is not None:
            yield from lines.said_of(document)
        if document.value is None:
            continue
        session = session or openai_items.session_of(_stem(opened), document.value)
        at = Place(document.line, document.place)
        yield from _of_session(known, session, document.value, _native(known, session, document), at)
    yield from known.notes()


def _native(known: Known, session: str, found: lines.Document | parts.Part) -> str:
    """Return an item's own id; without one, and for an output, which may bear its call's, one over its bytes."""
    value = found.value
    if isinstance(value, dict) and openai_items.has_id(value) and not str(value.get("type")).endswith("_output"):
        return text.name(value["id"], "")
    return known.maker(session).counted(openai_items.bytes_of(value))


def _elements(opened: Opened) -> Iterator[Item]:
    known, session, header = Known(), "", dict[str, Any]()
    held: list[Item] = []
    for part in parts.parts(opened, *LISTS):
        if part.reason or part.is_header:
            yield from held
            held = []
            header = part.value if part.is_header else header
            session = _named(header) if part.is_header else session
            yield from parts.said_of(part)
            continue
        session = session or openai_items.session_of(_stem(opened), part.value)
        answered = part.path == "output"
        at = Place(part.record, part.place, header.get("created_at") if answered else None)
        made = _made_by(header) if answered else {}
        found = list(_of_session(known, session, part.value, _native(known, session, part), at, **made))
        if any(isinstance(item, Read) for item in found):
            yield from held
            held = []
        held += found
    yield from _with_usage(held, header)
    yield from known.notes()


def _named(header: dict[str, Any]) -> str:
    conversation = header.get("conversation")
    given = conversation.get("id") if isinstance(conversation, dict) else conversation
    return text.name(given, "") or text.name(header.get("id"), "")


def _made_by(header: dict[str, Any]) -> dict[str, Any]:
    named = {"model": header.get("model"), "response": header.get("id")}
    return {key: value for key, value in named.items() if isinstance(value, str)}


def _with_usage(held: list[Item], header: dict[str, Any]) -> Iterator[Item]:
    """A response's usage stands once, on the last event of it."""
    last = next((item for item in reversed(held) if isinstance(item, Read)), None)
    for item in held:
        if item is last and last is not None and header.get("usage"):
            payload = dict(last.event.payload or {}) | {"usage": header["usage"]}
            yield replace(last, event=replace(last.event, payload=payload))
        else:
            yield item


IMPORTERS = (OpenAIAgents(),)
