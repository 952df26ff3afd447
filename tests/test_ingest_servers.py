"""A database server as a source: its rows are ingested like a file's, and its password is nowhere to be seen."""

import json
from collections.abc import Iterator
from io import StringIO
from typing import ClassVar

import pytest
from django.core.management import CommandError, call_command

from chronicle import canonical
from chronicle.envelope import ActorKind, Kind, PendingEvent
from chronicle.errors import BrokenFile, UnknownFormat
from chronicle.importers import lines, registry
from chronicle.importers.protocol import Item, Opened, Read, Refused, Session, Survey
from chronicle.models import AuditEntry, Event, Log, Source
from tests.importers.files import CLAUDE
from tests.ingesting import ingested

pytestmark = pytest.mark.django_db

DSN = "postgres://ida:s3cr%40t@db.example:5433/garden?password=s3cret2"
SHOWN = "postgres://ida@db.example:5433/garden"
ROWS = ["Plant the hedge.", "", "Water it."]


class Garden:
    """A format of a server, of our own making."""

    name: ClassVar[str] = "garden"

    def sniff(self, opened: Opened) -> bool:
        return opened.dsn.endswith("/garden")

    def survey(self, opened: Opened) -> Survey:
        if "down" in opened.dsn:
            raise BrokenFile("the server cannot be reached")
        return Survey(len(ROWS))

    def digest(self, opened: Opened) -> str:
        return canonical.sha256("\n".join(ROWS).encode())

    def read(self, opened: Opened) -> Iterator[Item]:
        yield Session("s1")
        for seq, words in enumerate(ROWS, 1):
            if not words:
                yield Refused(seq, "a row without words")
                continue
            event = PendingEvent(
                kind=Kind.MESSAGE,
                actor_kind=ActorKind.HUMAN,
                actor="Ida",
                content=words,
                locator=f"acta:seq={seq}",
            )
            yield Read("s1", f"{seq}", event, seq)


@pytest.fixture(autouse=True)
def garden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "IMPORTERS", (*registry.IMPORTERS, Garden()))


def test_rows_of_a_server_land_once_with_the_digest_of_the_rows(caplog: pytest.LogCaptureFixture) -> None:
    out = StringIO()
    for _ in range(2):
        with pytest.raises(CommandError, match="refused"):
            call_command("ingest", DSN, owner="demo", format="garden", json=True, stdout=out)
    first, second = (json.loads(line)["files"][0] for line in out.getvalue().splitlines())
    log = Log.objects.get()

    assert (first["path"], first["format"]) == (SHOWN, "garden")
    assert [file["logs"][0]["added"] for file in (first, second)] == [2, 0]
    assert first["refused"] == [{"line": 2, "reason": "a row without words"}]
    assert first["records"] == {"read": 3, "events": 2, "ignored": 0, "refused": 1}
    assert Source.objects.get().digest == first["digest"] == canonical.sha256("\n".join(ROWS).encode())
    assert (Source.objects.get().name, log.source_session) == (SHOWN, "s1")
    said = [out.getvalue(), caplog.text, *(str(entry.details) for entry in AuditEntry.objects.all())]
    assert not any("s3cr" in words for words in said)


@pytest.mark.parametrize(
    "dsn", ["postgres://ida:s3cret@h:70000/garden", "postgres://ida:s3cret@[::1/garden", "postgresql://x:s3cret@h:p/g"]
)
def test_an_address_that_cannot_be_read_is_refused_without_repeating_it(dsn: str) -> None:
    report = ingested(dsn, format="garden")

    assert report.refused[0].reason.startswith("not the address of a database; write postgres://")
    assert "s3cret" not in str(report)


def test_a_server_that_cannot_be_reached_or_is_not_known_is_refused_and_nothing_is_written() -> None:
    down = ingested("postgres://ida:s3cret@down/garden", format="garden")
    other = ingested("postgres://ida:s3cret@h/other")

    assert down.refused[0].reason == "the server cannot be reached"
    assert other.refused[0].reason == "no known tables; name what is read from it by --format (chronica, garden)"
    assert "s3cret" not in f"{down}{other}"
    assert not Event.objects.exists()


def test_a_format_of_files_reads_no_server_and_one_of_a_server_no_file() -> None:
    assert ingested(DSN, format="claude-code").refused[0].reason == "the format 'claude-code' is read from files"
    with pytest.raises(UnknownFormat, match="is read from a database server"):
        registry.importer_for(lines.open_file(CLAUDE / "image.jsonl"), "garden")


def test_an_opened_server_shows_no_password_when_it_is_printed() -> None:
    assert "s3cret" not in repr(Opened(CLAUDE, b"", SHOWN, 0, dsn="postgres://ida:s3cret@h/garden"))
