"""LangGraph's SQLite checkpoints, and LangChain messages dumped as JSON: a list, lines, or a state.

Guarantees: a thread is a session; its messages come from the writes of its channel of messages, in the order of
the checkpoints, what a sub-graph wrote before the write of the task that ran it; of versions whose checkpoints
repeat the whole list, each message once, where it first stands. A message is known by its id, without one by
its write. Times are those of the checkpoints. Interrupts, resumptions and errors are system messages.
Refuses, by row: pickle, and values that are damaged; see langgraph_values.
"""

import re
import sqlite3
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from chronicle import canonical
from chronicle.envelope import ActorKind
from chronicle.errors import BrokenFile, InvalidPayload
from chronicle.importers import langchain_messages, lines, openai_items, parts, sqlite_files, text
from chronicle.importers.langchain_messages import Message, Speaker, message_of
from chronicle.importers.langgraph_values import decoded, plain
from chronicle.importers.making import Maker, Place
from chronicle.importers.protocol import Ignored, Item, Noted, Opened, Read, ReadSection, Refused, Session, Survey

TABLES = {"checkpoints", "writes"}
NEEDED = {"thread_id", "checkpoint_ns", "checkpoint_id"}
MESSAGES = "messages"
SPOKEN = {"__interrupt__": "interrupt", "__resume__": "resume", "__error__": "error"}
LISTS = ("messages",)

_TIME = re.compile(rb"ts[\"']?.{1,4}?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.]*(?:\+\d\d:\d\d|Z)?)", re.DOTALL)


class Row(NamedTuple):
    """A row of either table, and where it stands: ancestors' checkpoints, its own, and inside that one."""

    order: tuple[str | int, ...]
    table: str
    rowid: int
    namespace: str
    checkpoint: str
    channel: str = ""
    task: str = ""
    place: int = 0

    @property
    def native(self) -> str:
        return text.name(f"{self.checkpoint}/{self.task}/{self.place}" if self.task else self.checkpoint, "row")


@dataclass(slots=True)
class Thread:
    """One session being read."""

    key: Any
    session: str
    maker: Maker
    titled: bool = False
    compactions: int = 0
    before: dict[str, str] = field(default_factory=dict)  # the ids of messages → the event before their first
    said: set[str] = field(default_factory=set)  # digests of what messages say
    nameless: Counter[str] = field(default_factory=Counter)  # of those without an id, how often, by their namespace
    times: dict[tuple[str, str], Any] = field(default_factory=dict)

    def is_new(self, message: Message, namespace: str = "", listed: Counter[str] | None = None) -> bool:
        """Learn a message. `listed` counts the nameless of a list, which repeats those before it; a write does not."""
        digest = canonical.sha256(message.said.encode("utf-8", "surrogatepass"))[:16]
        if message.id in self.before and not message.removes_all:
            met = digest in self.said
        else:
            met = listed is not None and self._is_again(f"{namespace}/{digest}", listed)
            self.nameless[f"{namespace}/{digest}"] += not met and not message.id
        if message.id:
            self.before.setdefault(message.id, self.maker.last)
        self.said.add(digest)
        return not met

    def _is_again(self, nameless: str, listed: Counter[str]) -> bool:
        """True for as many in a list as were met without an id; a tool's gets one when it is put into the list."""
        listed[nameless] += 1
        return self.nameless[nameless] >= listed[nameless]


class LangGraph:
    """The importer."""

    name: ClassVar[str] = "langgraph"

    def sniff(self, opened: Opened) -> bool:
        """True for a database with the two tables and their columns, and for JSON with messages of LangChain's."""
        if not sqlite_files.is_sqlite(opened):
            return any(map(langchain_messages.is_plain, _first_values(opened)))
        if not sqlite_files.tables_of(opened) >= TABLES:
            return False
        with suppress(sqlite3.Error, OSError, BrokenFile), sqlite_files.reading(opened) as reader:
            return all(sqlite_files.columns(reader.database, table) >= NEEDED for table in TABLES)
        return False

    def survey(self, opened: Opened) -> Survey:
        """Count the rows, lines or elements; summaries of a middleware are sought in what is read."""
        if sqlite_files.is_sqlite(opened):
            try:
                with sqlite_files.reading(opened) as reader:
                    database = reader.database
                    found = sum(1 for thread in _threads(database) for _ in _rows(database, thread))
                    return Survey(found, found)
            except sqlite3.Error as error:
                raise BrokenFile(f"the database cannot be read: {error}") from error
        if _is_lines(opened):
            return Survey(sum(1 for _ in lines.raw_lines(opened)))
        return parts.survey(opened, *LISTS)

    def read(self, opened: Opened) -> Iterator[Item]:
        """Yield the items of a file. Raises BrokenFile for a database that is not LangGraph's."""
        if not sqlite_files.is_sqlite(opened):
            yield from _dumped(opened)
            return
        with sqlite_files.reading(opened) as reader:
            try:
                if not sqlite_files.tables(reader.database) >= TABLES:
                    raise BrokenFile("not checkpoints of LangGraph: it has no tables checkpoints and writes")
                plan = [(thread, _rows(reader.database, thread)) for thread in _threads(reader.database)]
            except sqlite3.Error as error:
                raise BrokenFile(f"the database cannot be read: {error}") from error
            yield from (Noted(0, words) for words in reader.notes)
            yield from _Reading(reader.database).items(plan)


def _threads(database: sqlite3.Connection) -> list[Any]:
    """Return the threads in the order of their first checkpoints, which sort by time."""
    query = "SELECT thread_id, min(checkpoint_id) FROM {} GROUP BY 1"
    first: dict[Any, str] = {}
    for table in sorted(TABLES):
        for thread, checkpoint in sqlite_files.select(database, query.format(table)):
            first[thread] = min(first.get(thread, "~"), str(checkpoint))
    return sorted(first, key=lambda thread: (first[thread], str(thread)))


def _rows(database: sqlite3.Connection, thread: Any) -> list[Row]:
    """Return the rows of a thread in the order in which what they hold was written."""
    found: list[Row] = []
    above: dict[tuple[str, str], tuple[str | int, ...]] = {}
    query = "SELECT rowid, checkpoint_ns, checkpoint_id, metadata FROM checkpoints WHERE thread_id IS ?"
    for rowid, namespace, checkpoint, metadata in sqlite_files.select(database, query, (thread,)):
        key = (str(namespace), str(checkpoint))
        above[key] = _ancestors(metadata, key[0])
        found.append(Row((*above[key], key[1], 0), "checkpoints", rowid, *key))
    query = "SELECT rowid, checkpoint_ns, checkpoint_id, channel, task_id, idx FROM writes WHERE thread_id IS ?"
    for rowid, namespace, checkpoint, channel, task, index in sqlite_files.select(database, query, (thread,)):
        key = (str(namespace), str(checkpoint))
        place = index if isinstance(index, int) else 0
        order = (*above.get(key, ()), key[1], 2, str(task), place)
        found.append(Row(order, "writes", rowid, *key, str(channel), str(task), place))
    return sorted(found, key=lambda row: (tuple(map(_sortable, row.order)), row.rowid))


def _sortable(part: str | int) -> tuple[int, str]:
    return (part, "") if isinstance(part, int) else (0, part)


def _ancestors(metadata: Any, namespace: str) -> tuple[str | int, ...]:
    """Return where a sub-graph's checkpoint hangs: below its parents' checkpoints, before what they wrote."""
    if not namespace:
        return ()
    with suppress(InvalidPayload):
        value = decoded("msgpack", metadata) if _is_packed(metadata) else sqlite_files.document(metadata)
        parents = value.get("parents") if isinstance(value, dict) else None
        if isinstance(parents, dict):
            named = sorted(((str(name), str(given)) for name, given in parents.items()), key=lambda pair: len(pair[0]))
            return tuple(part for _, checkpoint in named for part in (checkpoint, 1))
    return ()


def _is_packed(data: Any) -> bool:
    return isinstance(data, bytes) and data[:1] not in (b"{", b" ")


@dataclass(slots=True)
class _Reading:
    database: sqlite3.Connection
    record: int = 0

    def items(self, plan: list[tuple[Any, list[Row]]]) -> Iterator[Item]:
        timeless: set[int] = set()
        for given, rows in plan:
            session = text.name(str(given), "thread")
            thread = Thread(given, session, Maker(session))
            yield Session(session)
            yield from self._thread(thread, rows)
            timeless |= thread.maker.timeless
        yield from text.timeless(timeless)

    def _thread(self, thread: Thread, rows: list[Row]) -> Iterator[Item]:
        written = any(row.channel == MESSAGES for row in rows)
        last = {row.namespace: row for row in rows if row.table == "checkpoints"}
        for row in rows:
            self.record += 1
            if row.table == "writes":
                yield from self._write(thread, row, written)
            elif not written or last[row.namespace] is row:
                yield from self._checkpoint(thread, row)
            else:
                yield Ignored("checkpoint", self.record)

    def _write(self, thread: Thread, row: Row, written: bool) -> Iterator[Item]:
        aside = written or row.channel.startswith(("__", "branch:"))
        if row.channel not in (MESSAGES, *SPOKEN) and aside:
            yield Ignored(f"write/{text.name(row.channel.partition(':')[0], 'unknown')[:80]}", self.record)
            return
        found = yield from self._value(row, "SELECT type, value FROM writes WHERE rowid = ?")
        if found is not None and row.channel in SPOKEN:
            yield self._spoken(thread, row, found[0])
        elif found is not None:
            yield from self._messages(thread, row, found[0], "write without messages")

    def _checkpoint(self, thread: Thread, row: Row) -> Iterator[Item]:
        """Of a version without writes of messages, each list's new ones; else what the last list alone holds."""
        found = yield from self._value(row, "SELECT type, checkpoint FROM checkpoints WHERE rowid = ?")
        if found is not None:
            values = found[0].get("channel_values") if isinstance(found[0], dict) else None
            listed = values.get(MESSAGES) if isinstance(values, dict) else None
            yield from self._messages(thread, row, listed, "checkpoint", Counter())

    def _value(self, row: Row, query: str) -> Generator[Item, None, list[Any] | None]:
        """Return a row's value in a list of one; None where it was refused."""
        found = next(sqlite_files.rows(self.database, "SELECT ?", query, (row.rowid,)))
        try:
            if found.reason:
                raise InvalidPayload(found.reason)
            return [decoded(*found.values)]
        except InvalidPayload as error:
            yield Refused(self.record, f"{row.table} row {row.rowid}: {error}")
            return None

    def _messages(
        self, thread: Thread, row: Row, value: Any, kind: str, listed: Counter[str] | None = None
    ) -> Iterator[Item]:
        given = value if isinstance(value, list) else [value]
        found = [message for one in given if (message := message_of(one)) is not None]
        speaker, at, made = _speaker(thread, row), self._at(thread, row), list[Item]()
        kept = _kept(thread, found)
        for number, message in enumerate(found):
            if thread.is_new(message, row.namespace, listed):
                native = f"{row.native}/{number}" if message.removes_all or not message.id else message.id
                block = sum(isinstance(item, Read) for item in made)
                made += _of_message(thread, speaker, message, native, at, block, kept)
        yield from made or [Ignored("repeated messages" if found else kind, self.record)]

    def _spoken(self, thread: Thread, row: Row, value: Any) -> Read:
        words = value if isinstance(value, str) else text.readable(plain(value))
        by, at = ActorKind.SYSTEM, self._at(thread, row)
        return thread.maker.message(row.native, at, by, "langgraph", words or "[nothing]", type=SPOKEN[row.channel])

    def _at(self, thread: Thread, row: Row) -> Place:
        key = (row.namespace, row.checkpoint)
        if key not in thread.times:
            where = "(thread_id, checkpoint_ns, checkpoint_id) IS (?, ?, ?)"
            query = f"SELECT substr(checkpoint, 1, 400) FROM checkpoints WHERE {where}"
            with suppress(sqlite3.Error, OverflowError, UnicodeEncodeError):
                found = self.database.execute(query, (thread.key, *key)).fetchone()
                head = found[0] if found else b""
                match = _TIME.search(head.encode("utf-8", "replace") if isinstance(head, str) else head or b"")
                thread.times = {key: match[1].decode() if match else None}  # the next row is of the same, as a rule
        return Place(self.record, f"{row.table}:rowid={row.rowid}", thread.times.get(key))


def _kept(thread: Thread, found: list[Message]) -> str:
    """Return the event before the first message that a summary kept beside it; "" where it kept none."""
    if not any(message.is_summary for message in found):
        return ""
    return next(
        (thread.before[message.id] for message in found if message.id in thread.before and message.kind != "remove"), ""
    )


def _speaker(thread: Thread, row: Row) -> Speaker:
    if not row.namespace:
        return Speaker(thread.maker)
    node = row.namespace.rpartition("|")[2].partition(":")[0]
    return Speaker(thread.maker, text.name(node, "sub-graph"), {"agent": {"id": text.storable(row.namespace)[0]}})


def _of_message(
    thread: Thread, speaker: Speaker, message: Message, native: str, at: Place, block: int, kept: str = ""
) -> Iterator[Item]:
    before = thread.maker.last
    for read in langchain_messages.reads(speaker, message, native, at, block):
        if read.event.actor_kind is ActorKind.HUMAN and not thread.titled and read.event.content.strip():
            thread.titled = True
            yield Session(thread.session, text.storable(text.first_line(read.event.content))[0])
        yield read
        if message.is_summary and (kept or before) and not speaker.agent:
            thread.compactions += 1
            prose = text.storable(read.event.content)[0]
            title = text.first_line(prose.removeprefix(langchain_messages.SUMMARIZED).lstrip(": \n"))
            rolling = thread.compactions > 1
            yield ReadSection(thread.session, kept or before, prose, at.record, title, rolling=rolling)


def _first_values(opened: Opened) -> Iterator[Any]:
    head = parts.head(opened)
    if isinstance(head, list):
        yield from head
    elif isinstance(head, dict) and isinstance(head.get(MESSAGES), list):
        yield from head[MESSAGES]
    elif isinstance(head, dict):
        yield from lines.first_documents(opened)


def _is_lines(opened: Opened) -> bool:
    head = parts.head(opened)
    return isinstance(head, dict) and not isinstance(head.get(MESSAGES), list)


def _dumped(opened: Opened) -> Iterator[Item]:
    """Yield the messages of a JSON file, which names no session but in a state's `thread_id`."""
    thread: Thread | None = None
    header: dict[str, Any] = {}
    found = lines.documents(opened, lenient=True) if _is_lines(opened) else parts.parts(opened, *LISTS)
    for one in found:
        if isinstance(one, parts.Part):
            record = one.record
            if one.reason or one.is_header:
                header = one.value if one.is_header else header
                yield from parts.said_of(one)
                continue
        else:
            record = one.line
            if one.value is None or one.invalid is not None:
                yield from lines.said_of(one)
            if one.value is None:
                continue
        message = message_of(one.value)
        if message is None:
            yield _no_message(one.value, record)
            continue
        if thread is None:
            session = text.name(header.get("thread_id"), "") or openai_items.session_of(_stem(opened), one.value)
            thread = Thread(session, session, Maker(session))
            yield Session(session)
        thread.is_new(message)
        known = "" if message.removes_all else message.id
        native = known or thread.maker.counted(openai_items.bytes_of(message.fields))
        made = list(_of_message(thread, Speaker(thread.maker), message, native, Place(record, one.place), 0))
        yield from made or [Ignored(f"{message.kind} without content", record)]
    if thread is not None:
        yield from text.timeless(thread.maker.timeless)


def _no_message(value: Any, record: int) -> Item:
    if not isinstance(value, dict):
        return Refused(record, "not a JSON object")
    return Ignored(text.name(value.get("type"), "no message")[:100], record)


def _stem(opened: Opened) -> str:
    return opened.name.replace("\\", "/").rsplit("/", 1)[-1].rsplit(".", 1)[0] or "messages"


IMPORTERS = (LangGraph(),)
