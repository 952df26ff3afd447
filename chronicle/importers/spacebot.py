"""The SQLite file of a Spacebot agent: its channels, with their checkpoints, rollups, branches and workers.

Guarantees: a channel is a session, in the order of `seq`; a run stands before the first message of a later
second; a checkpoint is a section, a rollup stands for the sections that it folds, with their stamps. Ranges are
half-open in the file, after `covers_from_seq` (0: the beginning) up to `covers_to_seq`; here both ends are in.
A database older than `seq` is read in the order of its rows, and says so. `metadata.tool_calls` repeats the
transcripts and is left out. A worker of no channel has a session of its own.
Refuses, by row: a content or a summary that is no text; a transcript as spacebot_runs says.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from chronicle.envelope import ActorKind
from chronicle.errors import BrokenFile, InvalidPayload
from chronicle.importers import spacebot_runs, sqlite_files, text
from chronicle.importers.making import Maker, Place
from chronicle.importers.protocol import Ignored, Item, Noted, Opened, Read, ReadSection, Refused, Session, Survey
from chronicle.importers.spacebot_runs import AGENT, Run

MESSAGES, CHECKPOINTS = "conversation_messages", "channel_chronicle_checkpoints"
NEEDED = {"id", "channel_id", "role", "sender_name", "content"}
RUNS = {"branch_runs": ("branch", "description", "conclusion"), "worker_runs": ("worker", "task", "result")}
LONE = "worker"
OLD = "the database is older than its column seq: messages stand in the order of their rows"
MORE = (
    "status", "lifecycle", "outcome_kind", "outcome_summary", "worker_type", "agent_id", "profile", "model", "input",
    "origin_branch_id", "run_id",
)  # fmt: skip


class Waiting(NamedTuple):
    """A run or a checkpoint that waits for its place: when it began, or how far it covers."""

    table: str
    key: Any
    when: str = ""
    level: int = 0
    after: int = 0
    upto: int = 0


@dataclass(slots=True)
class Source:
    """The open database and what it has: which tables, which columns, how messages are ordered."""

    database: sqlite3.Connection
    tables: dict[str, set[str]]

    @property
    def old(self) -> bool:
        return "seq" not in self.tables[MESSAGES]

    @property
    def keys(self) -> str:
        order = "rowid" if self.old else "seq IS NULL, seq, rowid"
        return f"SELECT rowid FROM {MESSAGES} WHERE channel_id IS ? ORDER BY {order}"

    def picked(self, table: str, *wanted: str) -> str:
        """Return a list of columns for a statement, NULL for those that the table does not have."""
        return ", ".join(name if name in self.tables.get(table, ()) else f"NULL AS {name}" for name in wanted)


@dataclass(slots=True)
class Channel:
    """One session being read."""

    id: Any
    session: str
    maker: Maker
    runs: list[Waiting]
    checkpoints: list[Waiting]
    title: str = ""
    titled: bool = False
    position: int = 0
    last: str = ""
    starts: list[int] = field(default_factory=list)  # of ranges, the earliest last, that have no event behind them yet
    firsts: dict[int, str] = field(default_factory=dict)  # the first event behind each start of a range

    def behind(self, native: str, position: int) -> None:
        """Learn that an event was read: it is the first behind every start before this position that has none yet."""
        while self.starts and self.starts[-1] < position:
            self.firsts[self.starts.pop()] = native


class Spacebot:
    """The importer."""

    name: ClassVar[str] = "spacebot"

    def sniff(self, opened: Opened) -> bool:
        """True for a database with a table of messages in channels, and one of its runs or checkpoints."""
        names = sqlite_files.tables_of(opened)
        if MESSAGES not in names or not names & {CHECKPOINTS, *RUNS, "channels"}:
            return False
        with suppress(sqlite3.Error, OSError, BrokenFile), sqlite_files.reading(opened) as reader:
            return sqlite_files.columns(reader.database, MESSAGES) >= NEEDED
        return False

    def survey(self, opened: Opened) -> Survey:
        """Count the rows; where there are checkpoints, all that is read is held for them."""
        try:
            with sqlite_files.reading(opened) as reader:
                source = _source(reader.database)
                count = summaries = 0
                for channel in _channels(source):
                    count += sqlite_files.count(source.database, source.keys, (channel.id,))
                    count += len(channel.runs) + len(channel.checkpoints)
                    summaries += len(channel.checkpoints)
                count += len(_lone(source))
                return Survey(count, count if summaries else 0)
        except sqlite3.Error as error:
            raise BrokenFile(f"the database cannot be read: {error}") from error

    def read(self, opened: Opened) -> Iterator[Item]:
        """Yield the items of all channels. Raises BrokenFile for a database that is not Spacebot's."""
        try:
            with sqlite_files.reading(opened) as reader:
                source = _source(reader.database)
                reading = _Reading(source, list(_channels(source)), _lone(source))
                yield from (Noted(0, words) for words in reader.notes)
                if source.old:
                    yield Noted(0, OLD)
                yield from reading.items()
        except sqlite3.Error as error:
            raise BrokenFile(f"the database cannot be read: {error}") from error


def _source(database: sqlite3.Connection) -> Source:
    names = sqlite_files.tables(database) & {MESSAGES, CHECKPOINTS, *RUNS, "channels"}
    if MESSAGES not in names:
        raise BrokenFile(f"not a database of Spacebot: it has no table {MESSAGES}")
    return Source(database, {name: sqlite_files.columns(database, name) for name in sorted(names)})


def _channels(source: Source) -> Iterator[Channel]:
    """Yield the channels, in the order in which they first spoke."""
    found = [
        key
        for (key,) in sqlite_files.select(
            source.database, f"SELECT channel_id FROM {MESSAGES} GROUP BY 1 ORDER BY min(rowid)"
        )
    ]
    for table in (*RUNS, CHECKPOINTS):
        if table in source.tables:
            query = f"SELECT DISTINCT channel_id FROM {table} WHERE channel_id IS NOT NULL ORDER BY 1"
            found += [key for (key,) in sqlite_files.select(source.database, query) if key not in found]
    for key in found:
        session = text.name(key if isinstance(key, str) else str(key), "channel")
        runs = _runs(source, "channel_id IS ?", key) if key is not None else []
        yield Channel(key, session, Maker(session), runs, _checkpoints(source, key), _name(source, key))


def _name(source: Source, key: Any) -> str:
    if "display_name" not in source.tables.get("channels", ()):
        return ""
    row = next(sqlite_files.select(source.database, "SELECT display_name FROM channels WHERE id IS ?", (key,)), None)
    return text.first_line(row[0]) if row and isinstance(row[0], str) else ""


def _runs(source: Source, where: str, *given: Any) -> list[Waiting]:
    found = []
    for table in RUNS:
        if table in source.tables:
            query = f"SELECT id, {source.picked(table, 'started_at')} FROM {table} WHERE {where} ORDER BY rowid"
            found += [
                Waiting(table, key, _clock(started))
                for key, started in sqlite_files.select(source.database, query, given)
            ]
    return sorted(found, key=lambda run: run.when or "~")  # one without a time comes last


def _lone(source: Source) -> list[Waiting]:
    return _runs(source, "channel_id IS NULL")


def _clock(given: Any) -> str:
    return given.replace("T", " ")[:19] if isinstance(given, str) else ""


def _checkpoints(source: Source, key: Any) -> list[Waiting]:
    if CHECKPOINTS not in source.tables:
        return []
    names = ("level", "covers_from_seq", "covers_to_seq", "covers_from_message_id", "covers_to_message_id", "seq")
    query = f"SELECT id, {source.picked(CHECKPOINTS, *names)} FROM {CHECKPOINTS} WHERE channel_id IS ?"
    found = []
    for row, level, after, upto, first, last, seq in sqlite_files.select(source.database, query, (key,)):
        if source.old or upto is None:
            after, upto = _position(source, key, first), _position(source, key, last)
        found.append(
            (
                _whole(upto),
                _whole(level),
                _whole(seq),
                Waiting(CHECKPOINTS, row, "", _whole(level), _whole(after), _whole(upto)),
            )
        )
    return [waiting for *_, waiting in sorted(found, key=lambda one: one[:3])]


def _whole(given: Any) -> int:
    return given if isinstance(given, int) else 0


def _position(source: Source, channel: Any, message: Any) -> int:
    """Return the place of a message among those of its channel, for a range that names it by its id."""
    query = (
        f"SELECT count(*) FROM {MESSAGES} WHERE channel_id IS ? AND rowid <= "
        f"(SELECT rowid FROM {MESSAGES} WHERE id = ? AND channel_id IS ?)"
    )
    return _whole(next(sqlite_files.select(source.database, query, (channel, message, channel)))[0])


@dataclass(slots=True)
class _Reading:
    source: Source
    channels: list[Channel]
    lone: list[Waiting]
    record: int = 0

    def items(self) -> Iterator[Item]:
        timeless: set[int] = set()
        for channel in self.channels:
            yield Session(channel.session, text.storable(channel.title)[0])
            channel.starts = sorted({waiting.after for waiting in channel.checkpoints}, reverse=True)
            yield from self._channel(channel)
            timeless |= channel.maker.timeless
        for run in self.lone:
            session = text.name(f"{LONE}-{run.key}", LONE)
            yield Session(session)
            yield from self._run(Maker(session), run)
        yield from text.timeless(timeless)

    def _channel(self, channel: Channel) -> Iterator[Item]:
        names = ("role", "sender_name", "sender_id", "content", "metadata", "created_at", "seq", "id")
        query = f"SELECT {self.source.picked(MESSAGES, *names)} FROM {MESSAGES} WHERE rowid = ?"
        for row in sqlite_files.rows(self.source.database, self.source.keys, query, (channel.id,)):
            created, seq = (row.values[5], row.values[6]) if row.values else ("", None)
            position = seq if isinstance(seq, int) else channel.position + 1
            yield from self._due(channel, position, _clock(created))
            self.record += 1
            channel.position = position
            yield from self._message(channel, row)
        yield from self._due(channel, None, "")

    def _due(self, channel: Channel, position: int | None, clock: str) -> Iterator[Item]:
        """Yield what stands before a message: checkpoints of what came before it, runs that began before it."""
        while channel.checkpoints and (position is None or channel.checkpoints[0].upto < position):
            yield from self._checkpoint(channel, channel.checkpoints.pop(0))
        while channel.runs and (position is None or (channel.runs[0].when or "~") < clock):
            before, found = channel.maker.last, list(self._run(channel.maker, channel.runs.pop(0)))
            if channel.maker.last != before:
                channel.behind(next(item.native_id for item in found if isinstance(item, Read)), channel.position + 1)
            yield from found

    def _message(self, channel: Channel, row: sqlite_files.Row) -> Iterator[Item]:
        if row.reason or not isinstance(row.values[3], str):
            yield Refused(self.record, f"row {row.key} of the messages: {row.reason or 'its content is no text'}")
            return
        role, sender, sender_id, content, metadata, created, _, key = row.values
        if not content.strip():
            yield Ignored("message without content", self.record)
            return
        by = {"user": ActorKind.HUMAN, "assistant": ActorKind.AGENT}.get(role, ActorKind.SYSTEM)
        actor = text.name(sender, "") or (AGENT if by is ActorKind.AGENT else text.name(role, "spacebot"))
        payload = {"sender": sender_id} if isinstance(sender_id, str) and sender_id else {}
        payload |= {"metadata": kept} if (kept := _kept(metadata)) else {}
        native = text.name(key, f"row-{row.key}")
        place = _place(MESSAGES, key) if isinstance(key, str) else f"{MESSAGES}:rowid={row.key}"
        at = Place(self.record, place, sqlite_files.utc(created))
        if by is ActorKind.HUMAN and not channel.titled and not channel.title:
            channel.titled = True
            yield Session(channel.session, text.storable(text.first_line(content))[0])
        yield channel.maker.message(native, at, by, actor, content, payload=payload)
        channel.last = native
        channel.behind(native, channel.position)

    def _checkpoint(self, channel: Channel, waiting: Waiting) -> Iterator[Item]:
        self.record += 1
        query = f"SELECT {self.source.picked(CHECKPOINTS, 'title', 'summary', 'model')} FROM {CHECKPOINTS} WHERE id = ?"
        row = next(sqlite_files.rows(self.source.database, "SELECT ?", query, (waiting.key,)))
        title, summary, model = row.values or (None, None, None)
        if row.reason or not isinstance(summary, str) or not summary.strip():
            yield Refused(self.record, f"checkpoint {waiting.key}: {row.reason or 'its summary is no text'}")
            return
        first = channel.firsts.get(waiting.after, "")
        if not first or not channel.last or waiting.upto <= waiting.after:
            yield Refused(self.record, f"checkpoint {waiting.key}: the messages it covers are not in this database")
            return
        yield ReadSection(
            session=channel.session,
            to_id=channel.last,
            prose=text.storable(summary)[0],
            line=self.record,
            title=text.storable(text.first_line(title if isinstance(title, str) else summary))[0],
            from_id=first,
            model=text.name(model, ""),
            level=waiting.level,
        )

    def _run(self, maker: Maker, waiting: Waiting) -> Iterator[Item]:
        self.record += 1
        kind, task, result = RUNS[waiting.table]
        names = (task, result, "started_at", "completed_at", "transcript", *MORE)
        query = f"SELECT {self.source.picked(waiting.table, *names)} FROM {waiting.table} WHERE id = ?"
        row = next(sqlite_files.rows(self.source.database, "SELECT ?", query, (waiting.key,)))
        if row.reason:
            yield Refused(self.record, f"{kind} {waiting.key}: {row.reason}")
            return
        asked, gave, started, ended, transcript, *more = row.values
        run = Run(
            kind, text.name(str(waiting.key), kind), _text(asked), _text(gave), started, ended, transcript, _named(more)
        )
        try:
            steps = spacebot_runs.steps(transcript)
        except InvalidPayload as error:
            steps = []
            yield Noted(self.record, f"the transcript of {kind} {run.id} is not read: {error}")
        yield from spacebot_runs.reads(maker, run, steps, self.record, _place(waiting.table, waiting.key))


def _named(values: list[Any]) -> dict[str, Any]:
    given = zip(MORE, values, strict=True)
    return {name: value for name, value in given if isinstance(value, str | int) and value != ""}


def _text(given: Any) -> str:
    return given if isinstance(given, str) else ""


def _kept(metadata: Any) -> Any:
    """Return what a message's metadata says beside the tool calls, which the transcripts hold; None for nothing."""
    with suppress(InvalidPayload):
        found = sqlite_files.document(metadata)
        if isinstance(found, dict):
            return {key: value for key, value in found.items() if key != "tool_calls"}
    return None


def _place(table: str, key: Any) -> str:
    return text.storable(f"{table}:id={key}")[0]


IMPORTERS = (Spacebot(),)
