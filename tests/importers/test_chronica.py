"""Chronica, from a real PostgreSQL: its two tables made here, read from the address, and never written."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from chronicle.errors import BrokenFile
from chronicle.importers import registry
from chronicle.importers.protocol import Ignored, Item, Noted, Opened, Read, Refused, Session
from chronicle.ingest import servers
from chronicle.models import Event, Log
from tests.ingesting import ingested
from tests.plugins.databases import postgres_url

TABLES = """
CREATE TABLE chronica (
    id text PRIMARY KEY, owner_id text NOT NULL, started_at timestamptz, last_activity_at timestamptz
);
CREATE TABLE acta (
    seq bigserial PRIMARY KEY, id text NOT NULL, chronicum_id text NOT NULL, kind text NOT NULL,
    actor_kind text NOT NULL, actor text NOT NULL, content text, at timestamptz NOT NULL, idempotency_key text
);
CREATE INDEX ON acta (chronicum_id, seq);
CREATE UNIQUE INDEX ON acta (chronicum_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
INSERT INTO chronica VALUES ('garden', 'ida'), ('dinner', 'otto'), ('empty', 'ida');
"""
ACTA = [
    (3, "a1", "garden", "message", "human", "Ida", "When do we plant?", "2026-05-04 08:00+07", "k-1"),
    (4, "b1", "dinner", "message", "human", "Otto", "Soup?", "2026-05-04 08:00Z", None),
    (9, "a2", "garden", "thought", "agent", "gardener", "It is autumn.", "2026-05-04 07:59+07", None),
    (10, "a3", "garden", "tool_request", "agent", "gardener", "calendar {}", "2026-05-04 08:01+07", None),
    (11, "a4", "garden", "tool_response", "system", "calendar", "November.", "2026-05-04 08:01+07", None),
    (12, "a5", "garden", "tool_request", "agent", "gardener", "shop {}", "2026-05-04 08:02+07", None),
    (13, "a6", "garden", "tool_request", "agent", "gardener", "bank {}", "2026-05-04 08:02+07", None),
    (14, "a7", "garden", "tool_response", "system", "bank", "300.", "2026-05-04 08:02+07", None),
    (15, "a8", "garden", "tool_response", "system", "shop", "Ninety.", "2026-05-04 08:02+07", None),
    (17, "a9", "garden", "weather", "robot", "vane", "Rain.", "infinity", None),
    (20, "a10", "garden", "message", "agent", "gardener", " ", "2026-05-04 08:03+07", None),
]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres_url() as url:
        yield url


@pytest.fixture
def dsn(server: str) -> Iterator[str]:
    """A database with the two tables, for one test."""
    name = "chronica_of_a_test"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        admin.execute(f"CREATE DATABASE {name}")
        address = urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
        with psycopg.connect(address) as database:
            database.execute(TABLES)
            put(database, ACTA)
        yield address
        admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def put(database: psycopg.Connection[Any], acta: list[tuple[Any, ...]]) -> None:
    with database.cursor() as cursor:
        cursor.executemany("INSERT INTO acta VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)", acta)


def items(dsn: str) -> list[Item]:
    return list(registry.named("chronica").read(servers.open_dsn(dsn)))


def reads(dsn: str) -> list[Read]:
    return [item for item in items(dsn) if isinstance(item, Read)]


def test_a_chronicum_is_a_session_in_the_order_of_seq_which_the_locator_keeps(dsn: str) -> None:
    found = reads(dsn)

    assert [read.native_id for read in found] == ["b1", *(f"a{number}" for number in range(1, 10))]
    assert [read.event.locator for read in found][:3] == ["acta:seq=4:0", "acta:seq=3:0", "acta:seq=9:0"]
    assert [item.id for item in items(dsn) if isinstance(item, Session) and item.title] == ["dinner", "garden"]
    assert [item.kind for item in items(dsn) if isinstance(item, Ignored)] == ["message without content"]


def test_a_response_is_joined_where_one_request_alone_was_open(dsn: str) -> None:
    assert {read.native_id: read.answers for read in reads(dsn) if read.event.kind == "tool_response"} == {
        "a4": "a3",
        "a7": None,
        "a8": None,
    }


def test_kinds_and_times_that_are_not_known_are_kept_in_words(dsn: str) -> None:
    weather = next(read.event for read in reads(dsn) if read.native_id == "a9")

    assert (weather.kind, weather.actor_kind, weather.type) == ("message", "system", "acta.weather")
    assert (weather.claimed_at, weather.payload) == (None, {"timestamp": "infinity"})


def test_its_idempotency_keys_are_kept_and_owners_and_empty_chronica_said(dsn: str) -> None:
    assert reads(dsn)[1].event.payload == {"idempotency_key": "k-1"}
    assert [item.words for item in items(dsn) if isinstance(item, Noted)] == [
        "its chronica are of 2 owners; here all are of the one named",
        "1 chronica have no acta; nothing is made of them",
    ]


def test_the_digest_is_of_the_rows(dsn: str) -> None:
    importer = registry.named("chronica")
    assert registry.is_of_a_server(importer)
    before = importer.digest(servers.open_dsn(dsn))  # type: ignore[attr-defined]
    assert before == importer.digest(servers.open_dsn(dsn))  # type: ignore[attr-defined]
    with psycopg.connect(dsn) as database:
        database.execute("UPDATE acta SET content = 'Stew?' WHERE id = 'b1'")

    assert before != importer.digest(servers.open_dsn(dsn))  # type: ignore[attr-defined]


def test_nothing_can_be_written_by_being_read(dsn: str) -> None:
    with psycopg.connect(dsn) as database:
        database.execute("ALTER TABLE acta RENAME TO kept")
        database.execute("CREATE FUNCTION wrote() RETURNS text LANGUAGE sql AS $$ DELETE FROM kept RETURNING id $$")
        database.execute("CREATE VIEW acta AS SELECT *, wrote() FROM kept WHERE wrote() IS NOT NULL")
    (refused,) = [item for item in items(dsn) if isinstance(item, Refused)]

    assert "read-only transaction" in refused.reason
    assert not reads(dsn)


@pytest.mark.django_db
def test_twice_adds_nothing_and_what_was_written_meanwhile_is_added(dsn: str) -> None:
    first, second = ingested(dsn), ingested(dsn)
    with psycopg.connect(dsn) as database:
        put(database, [(21, "a11", "garden", "message", "human", "Ida", "Thank you.", "2026-05-04 09:00Z", None)])
    third = ingested(dsn, format="chronica")
    garden = Log.objects.get(source="chronica", source_session="garden")

    assert first.format == "chronica"
    assert [sum(log.added for log in report.logs) for report in (first, second, third)] == [10, 0, 1]
    assert first.records == {"read": 11, "events": 10, "ignored": 1, "refused": 0}
    assert list(Event.objects.filter(log=garden).order_by("seq").values_list("seq", flat=True)) == list(range(1, 11))
    assert any("seq 3 of the source is 1 here" in note.words for note in first.notes)


@pytest.mark.django_db
def test_a_server_that_cannot_be_reached_or_read_is_refused_without_the_password(dsn: str) -> None:
    down = ingested("postgres://ida:s3cr%40t@127.0.0.1:1/garden", format="chronica")
    with psycopg.connect(dsn) as database:
        database.execute("ALTER TABLE acta DROP COLUMN actor")
    other = ingested(dsn, format="chronica")

    assert down.refused[0].reason.startswith("the server cannot be reached")
    assert "s3cr" not in str(down.as_json())
    assert other.refused[0].reason == "not a database of Chronica: it has no column actor in its table acta"


def test_no_file_is_one() -> None:
    importer = registry.named("chronica")
    file = Opened(servers.Path(), b"SQLite format 3", "x", 15)

    assert not importer.sniff(file)
    with pytest.raises(BrokenFile):
        importer.survey(file)
