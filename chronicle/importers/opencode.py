"""opencode's sessions: an export (JSON), the files of its storage, or its SQLite database.

Guarantees: an export is read message by message; in a database messages stand by their time and id, which ascend,
and each part is a record; a file of `storage/part/` is one part, of the session that it names, its speaker told by
the file of its message beside it. A part that grew, or whose tool has answered since, adds what is new.
A session that another began is a log of its own; the call that began it names it in `payload.session`.
Refuses, by row or element: what is no JSON object, and messages that do not say whose they are.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from chronicle.errors import BrokenFile, InvalidPayload
from chronicle.importers import lines, opencode_parts, parts, sqlite_files, text
from chronicle.importers.making import Maker, Place
from chronicle.importers.opencode_parts import Known
from chronicle.importers.protocol import Ignored, Item, Noted, Opened, Refused, Survey

TABLES = {"session", "message", "part"}
COLUMNS = {"message": {"id", "session_id", "data"}, "part": {"id", "message_id", "session_id", "data"}}
BESIDE = 1024 * 1024  # the file of a message or a session is far smaller

_SESSIONS = "SELECT id FROM session ORDER BY time_created, id"
_MESSAGES = "SELECT id FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = "SELECT id FROM part WHERE message_id = ? ORDER BY id"


class OpenCode:
    """The importer."""

    name: ClassVar[str] = "opencode"

    def sniff(self, opened: Opened) -> bool:
        """True for a database with its three tables, an export, or one file of its storage."""
        if not sqlite_files.is_sqlite(opened):
            return bool(_form(parts.head(opened)))
        if not sqlite_files.tables_of(opened) >= TABLES:
            return False
        with suppress(sqlite3.Error, OSError, BrokenFile), sqlite_files.reading(opened) as reader:
            return all(sqlite_files.columns(reader.database, table) >= wanted for table, wanted in COLUMNS.items())
        return False

    def survey(self, opened: Opened) -> Survey:
        """Count the rows or elements, and find the last that may hold a compaction's summary."""
        if not sqlite_files.is_sqlite(opened):
            count = parts.survey(opened, "messages").lines
            return Survey(count, count)
        try:
            with sqlite_files.reading(opened) as reader:
                database, found = reader.database, 0
                for (session,) in sqlite_files.select(database, _SESSIONS):
                    for (message,) in sqlite_files.select(database, _MESSAGES, (session,)):
                        found += 1 + sqlite_files.count(database, _PARTS, (message,))
                return Survey(found, found)
        except sqlite3.Error as error:
            raise BrokenFile(f"the database cannot be read: {error}") from error

    def read(self, opened: Opened) -> Iterator[Item]:
        """Yield the items of a file. Raises BrokenFile for a database that is not opencode's."""
        if not sqlite_files.is_sqlite(opened):
            yield from _document(opened)
            return
        with sqlite_files.reading(opened) as reader:
            try:
                if not sqlite_files.tables(reader.database) >= TABLES:
                    raise BrokenFile("not a database of opencode: it needs the tables session, message and part")
                plan = [session for (session,) in sqlite_files.select(reader.database, _SESSIONS)]
            except sqlite3.Error as error:
                raise BrokenFile(f"the database cannot be read: {error}") from error
            yield from (Noted(0, words) for words in reader.notes)
            yield from _Rows(reader.database).items(plan)


def _form(head: Any) -> str:
    """Return which form a JSON document is in; "" for none of opencode's."""
    if not isinstance(head, dict):
        return ""
    listed = head.get("messages")
    if isinstance(listed, list) and opencode_parts.is_session(head.get("info")):
        return "export"
    if opencode_parts.is_part(head):
        return "part"
    if opencode_parts.is_message(head) and isinstance(head.get("sessionID"), str):
        return "message"
    stored = ("projectID", "directory", "version")
    return "session" if opencode_parts.is_session(head) and any(key in head for key in stored) else ""


def _document(opened: Opened) -> Iterator[Item]:
    known: Known | None = None
    for part in parts.parts(opened, "messages"):
        if part.reason:
            yield from parts.said_of(part)
        elif part.is_header and _form(part.value) in ("part", "message", "session"):
            yield from _stored(opened, part)
        elif part.is_header:
            yield from parts.said_of(part)
            info = part.value.get("info")
            known = _known(info if isinstance(info, dict) else {}, opened)
            yield from opencode_parts.greeting(known, info.get("title") if isinstance(info, dict) else "")
        else:
            known = known or _known({}, opened)
            yield from opencode_parts.greeting(known, "")
            yield from _element(known, part)
    if known is not None:
        yield from text.timeless(known.maker.timeless)


def _known(info: dict[str, Any], opened: Opened) -> Known:
    stem = opened.name.replace("\\", "/").rsplit("/", 1)[-1].rsplit(".", 1)[0]
    session = text.name(info.get("id"), "") or text.name(stem, "session")
    return Known(Maker(session), child=isinstance(info.get("parentID"), str))


def _element(known: Known, part: parts.Part) -> Iterator[Item]:
    value = part.value if isinstance(part.value, dict) else {}
    info, listed = value.get("info"), value.get("parts")
    if not isinstance(info, dict) or not isinstance(info.get("role"), str):
        yield Refused(part.record, f"{part.place}: no message; it does not say whose it is")
        return
    yield from opencode_parts.message(known, info, listed if isinstance(listed, list) else [], _at(part))


def _at(part: parts.Part) -> Place:
    return Place(part.record, part.place)


def _stored(opened: Opened, part: parts.Part) -> Iterator[Item]:
    """One file of the storage: a part gives events; a message and a session are read beside their parts."""
    form, value = _form(part.value), part.value
    if form != "part":
        yield Ignored(form, part.record)
        return
    root = opened.path.parent.parent.parent
    session, message = value["sessionID"], value["messageID"]
    info = _beside(root / "message" / _safe(session) / f"{_safe(message)}.json")
    about = next(map(_beside, sorted((root / "session").glob(f"*/{_safe(session)}.json"))[:1]), {})
    known = Known(Maker(text.name(session, "session")), child=isinstance(about.get("parentID"), str))
    if not info:
        yield Noted(part.record, f"no file of message {text.name(message, '')}: who speaks is not known")
    greeting = list(opencode_parts.greeting(known, about.get("title")))
    made = list(opencode_parts.events(known, info, value, _at(part)))
    if info.get("summary") is True and made:
        yield Noted(part.record, "a compaction's summary in a file of its own stays an event")
    if not made:
        yield Ignored(f"part/{text.name(value.get('type'), 'unknown')[:80]}", part.record)
        return
    yield from greeting
    yield from opencode_parts.with_usage(info, made) if _is_last(opened.path) else made
    yield from text.timeless(known.maker.timeless)


def _safe(name: str) -> str:
    """Return a name that leads to no other folder."""
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else "none"


def _beside(path: Path) -> dict[str, Any]:
    """Return the JSON object of a file of the storage; an empty one where there is none that can be read."""
    with suppress(BrokenFile, OSError, InvalidPayload), lines.open_regular(path) as file:
        data = file.read(BESIDE + 1)
        value = sqlite_files.document(data) if len(data) <= BESIDE else None
        return value if isinstance(value, dict) else {}
    return {}


def _is_last(path: Path) -> bool:
    """True for the last part of its message that gives an event."""
    with suppress(OSError):
        later = [other for other in path.parent.glob("*.json") if other.name > path.name]
        return not any(_beside(other).get("type") in opencode_parts.GIVES for other in later)
    return True


class _Rows:
    """One database being read."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database, self._record = database, 0

    def items(self, plan: list[Any]) -> Iterator[Item]:
        timeless: set[int] = set()
        for session in plan:
            names = ("title", "parent_id")
            have = sqlite_files.columns(self._database, "session")
            picked = ", ".join(name if name in have else "NULL" for name in names)
            row = next(
                sqlite_files.rows(self._database, "SELECT ?", f"SELECT {picked} FROM session WHERE id = ?", (session,))
            )
            title, parent = row.values or ("", None)
            known = Known(Maker(text.name(str(session), "session")), child=isinstance(parent, str))
            yield from opencode_parts.greeting(known, title)
            yield from self._messages(known, session)
            timeless |= known.maker.timeless
        yield from text.timeless(timeless)

    def _messages(self, known: Known, session: Any) -> Iterator[Item]:
        """Yield the parts of each message, and then its own row: what ended it stands behind what it said."""
        for row in sqlite_files.rows(self._database, _MESSAGES, "SELECT data FROM message WHERE id = ?", (session,)):
            info, reason = _object(row)
            info = info | {"id": row.key}
            made = list(self._parts(known, info, row.key)) if row.key is not None else []
            self._record += 1
            if reason:
                yield from made
                yield Refused(self._record, f"message {row.key}: {reason}")
                continue
            at = Place(self._record, text.storable(f"message:id={row.key}")[0])
            failed: list[Item] = list(opencode_parts.error(known, info, at))
            yield from opencode_parts.with_usage(info, made + (failed or [Ignored("message", self._record)]))

    def _parts(self, known: Known, info: dict[str, Any], message: Any) -> Iterator[Item]:
        for row in sqlite_files.rows(self._database, _PARTS, "SELECT data FROM part WHERE id = ?", (message,)):
            self._record += 1
            value, reason = _object(row)
            if reason:
                yield Refused(self._record, f"part {row.key}: {reason}")
                continue
            at = Place(self._record, text.storable(f"part:id={row.key}")[0])
            made = list(opencode_parts.events(known, info, value | {"id": row.key}, at))
            kind = text.name(value.get("type"), "unknown")[:80]
            yield from made or [Ignored(f"part/{kind}", self._record)]


def _object(row: sqlite_files.Row) -> tuple[dict[str, Any], str]:
    if row.reason:
        return {}, row.reason
    try:
        value = sqlite_files.document(row.values[0])
    except InvalidPayload as error:
        return {}, str(error)
    return (value, "") if isinstance(value, dict) else ({}, "not a JSON object")


IMPORTERS = (OpenCode(),)
