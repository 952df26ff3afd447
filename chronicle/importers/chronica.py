"""Chronica on PostgreSQL, from its address: the tables `chronica` and `acta`, read and never locked or written.

Guarantees: one read-only transaction that sees one moment, rows streamed by a cursor on the server; a chronicum
is a session, in the order of `seq`, which is counted anew from 1 and stays in the locator; an actum is known by its
id, and its own idempotency key stands in its payload. A response is joined to the request before it where no other
was open, for acta name no calls. The password is in no message.
Refuses (BrokenFile): a server that cannot be reached, a database without these tables; by row, one without an id
or with a content over CAP.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple
from urllib.parse import unquote, urlsplit

import psycopg

from chronicle.envelope import ActorKind, Kind, PendingEvent
from chronicle.errors import BrokenFile
from chronicle.importers import lines, text
from chronicle.importers.protocol import Ignored, Item, Noted, Opened, Read, Refused, Session, Survey

CAP = 16 * 1024 * 1024
AT_ONCE = 1000
WAIT = 10
COLUMNS = {
    "chronica": {"id", "owner_id"},
    "acta": {"seq", "id", "chronicum_id", "kind", "actor_kind", "actor", "content", "at", "idempotency_key"},
}

_COLUMNS = (
    "SELECT table_name::text, column_name::text FROM information_schema.columns "
    "WHERE table_name IN ('chronica', 'acta') AND table_schema = ANY (current_schemas(false))"
)
_ACTA = (
    "SELECT seq, id::text, chronicum_id::text, kind::text, actor_kind::text, actor::text, "
    f"CASE WHEN octet_length(content) <= {CAP} THEN content::text END, octet_length(content), "
    "at::text, idempotency_key::text FROM acta ORDER BY chronicum_id, seq"
)
_EMPTY = "SELECT count(*) FROM chronica c WHERE NOT EXISTS (SELECT 1 FROM acta a WHERE a.chronicum_id = c.id)"


class Actum(NamedTuple):
    """A row of `acta`; what is text in the database is text here, whatever its encoding."""

    seq: int
    id: str | None
    chronicum: str | None
    kind: str | None
    actor_kind: str | None
    actor: str | None
    content: str | None
    size: int | None
    at: str | None
    key: str | None


@dataclass(slots=True)
class Chronicum:
    """One session being read: whether a person named it, and the requests without a response."""

    session: str
    titled: bool = False
    open: list[str] = field(default_factory=list)
    passed: int = 0  # responses that could be of several requests

    def asked(self, native: str) -> None:
        self.open.append(native)

    def answered(self) -> str | None:
        """Return the request that a response is of, where there is no other it could be of."""
        if len(self.open) == 1 and not self.passed:
            return self.open.pop()
        self.passed += bool(self.open)
        if self.passed >= len(self.open):
            self.open, self.passed = [], 0
        return None


class Chronica:
    """The importer."""

    name: ClassVar[str] = "chronica"

    def sniff(self, opened: Opened) -> bool:
        """True for a database that has the tables; no file is one."""
        if not opened.dsn:
            return False
        try:
            with _reading(opened):
                return True
        except BrokenFile:
            return False

    def survey(self, opened: Opened) -> Survey:
        """Count the acta; none of them is a summary."""
        with _reading(opened) as connection:
            row = connection.execute("SELECT count(*) FROM acta").fetchone()
            return Survey(row[0] if row else 0)

    def digest(self, opened: Opened) -> str:
        """Return a digest over every row, in the order read."""
        hashed = hashlib.sha256()
        with _reading(opened) as connection:
            for actum in _acta(connection):
                hashed.update(repr(tuple(actum)).encode("utf-8", "surrogatepass") + b"\n")
        return hashed.hexdigest()

    def read(self, opened: Opened) -> Iterator[Item]:
        """Yield the items of all chronica. Raises BrokenFile before the first item only."""
        with _reading(opened) as connection:
            number = 0
            try:
                yield from _notes(connection)
                for number, item in _items(connection):  # noqa: B007 - for the refusal
                    yield item
            except psycopg.Error as error:
                yield Refused(number + 1, f"the database cannot be read on: {_plain(error, opened.dsn)}")


@contextmanager
def _reading(opened: Opened) -> Iterator[psycopg.Connection[Any]]:
    """Connect, for reading at one moment. Raises BrokenFile, without the password."""
    if not opened.dsn:
        raise BrokenFile("no address of a database; write postgres://user:password@host/database")
    try:
        connection = psycopg.connect(opened.dsn, connect_timeout=WAIT, client_encoding="utf8")
    except (psycopg.Error, ValueError) as error:
        raise BrokenFile(f"the server cannot be reached: {_plain(error, opened.dsn)}") from None
    with connection:
        try:
            connection.read_only = True
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.execute("SET LOCAL timezone = 'UTC'")
            _check(connection)
        except psycopg.Error as error:
            raise BrokenFile(f"the database cannot be read: {_plain(error, opened.dsn)}") from None
        yield connection


def _check(connection: psycopg.Connection[Any]) -> None:
    found: dict[str, set[str]] = {}
    for table, column in connection.execute(_COLUMNS):
        found.setdefault(_text(table) or "", set()).add(_text(column) or "")
    for table, wanted in COLUMNS.items():
        if missing := wanted - found.get(table, set()):
            what = f"column {sorted(missing)[0]} in its table {table}" if table in found else f"table {table}"
            raise BrokenFile(f"not a database of Chronica: it has no {what}")


def _plain(error: Exception, dsn: str) -> str:
    """Return the first line of an error, without the password, however it was written."""
    words = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    try:
        given = urlsplit(dsn).password or ""
    except ValueError:
        return "its address cannot be read"
    for secret in filter(None, {given, unquote(given)}):
        words = words.replace(secret, "…")
    return words if dsn not in words else "its address cannot be read"


def _notes(connection: psycopg.Connection[Any]) -> Iterator[Noted]:
    row = connection.execute("SELECT count(DISTINCT owner_id) FROM chronica").fetchone()
    if row and row[0] > 1:
        yield Noted(0, f"its chronica are of {row[0]} owners; here all are of the one named")
    row = connection.execute(_EMPTY).fetchone()
    if row and row[0]:
        yield Noted(0, f"{row[0]} chronica have no acta; nothing is made of them")


def _acta(connection: psycopg.Connection[Any]) -> Iterator[Actum]:
    with connection.cursor(name="acta") as cursor:
        cursor.itersize = AT_ONCE
        for row in cursor.execute(_ACTA):
            yield Actum._make(value if isinstance(value, int) else _text(value) for value in row)


def _text(value: Any) -> str | None:
    """A database without an encoding gives bytes."""
    return lines.decode(value)[0] if isinstance(value, bytes) else value


def _items(connection: psycopg.Connection[Any]) -> Iterator[tuple[int, Item]]:
    current: Chronicum | None = None
    for number, actum in enumerate(_acta(connection), 1):
        session = text.name(actum.chronicum, "chronicum")
        if current is None or current.session != session:
            current = Chronicum(session)
            yield number, Session(session)
        for item in _of_actum(current, actum, number):
            yield number, item


def _of_actum(chronicum: Chronicum, actum: Actum, number: int) -> Iterator[Item]:
    kind = _one_of(Kind, actum.kind) or Kind.MESSAGE
    if not actum.id or (actum.content is None and actum.size is not None):
        size = f"its content of {actum.size:,} bytes is over the limit of {CAP:,}" if actum.id else "it has no id"
        yield Refused(number, f"actum {actum.seq}: {size}")
        return
    words = actum.content or ""
    if not words.strip() and kind in (Kind.MESSAGE, Kind.THOUGHT):
        yield Ignored(f"{kind} without content", number)
        return
    by = _one_of(ActorKind, actum.actor_kind) or ActorKind.SYSTEM
    if by is ActorKind.HUMAN and kind is Kind.MESSAGE and not chronicum.titled:
        chronicum.titled = True
        yield Session(chronicum.session, text.storable(text.first_line(words))[0])
    native = text.name(actum.id, "")
    answers = chronicum.answered() if kind is Kind.TOOL_RESPONSE else None
    if kind is Kind.TOOL_REQUEST:
        chronicum.asked(native)
    yield Read(chronicum.session, native, _event(actum, kind, by, words), number, seq=actum.seq, answers=answers)


def _event(actum: Actum, kind: Kind, by: ActorKind, words: str) -> PendingEvent:
    content, text_form = text.storable(words)
    claimed = text.when(actum.at)
    kept = {"idempotency_key": actum.key} if actum.key else {}
    kept |= {"timestamp": actum.at} if claimed is None and actum.at else {}
    known = _one_of(Kind, actum.kind) is not None
    return PendingEvent(
        kind=kind,
        actor_kind=by,
        actor=text.name(actum.actor, str(by)),
        content=content,
        payload=kept or None,
        type="" if known else f"acta.{text.name(actum.kind, 'unknown')[:100]}",
        claimed_at=claimed,
        locator=f"acta:seq={actum.seq}:0",
        text_form=text_form,
    )


def _one_of[T: (Kind, ActorKind)](names: type[T], given: str | None) -> T | None:
    try:
        return names((given or "").strip().lower())
    except ValueError:
        return None


IMPORTERS = (Chronica(),)
