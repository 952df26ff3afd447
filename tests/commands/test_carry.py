"""`export`, `load` and `verify --bundle` as people and scripts use them, and a carry between two databases."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from chronicle import carry
from chronicle.fold import consolidate
from chronicle.models import AuditEntry, Log
from tests.builders import log_of, units_of
from tests.carry.bundle import Bundle
from tests.carry.world import emptied, whole_log
from tests.faults.world import ROOT, postgres_copy
from tests.plugins.databases import POSTGRES, database_here, postgres_url
from tests.summarisers import Noting

pytestmark = pytest.mark.django_db


@pytest.fixture
def log() -> Log:
    log = units_of(3)
    consolidate(log, summariser=Noting())
    return log


def said(*arguments: Any) -> str:
    out = StringIO()
    call_command(*map(str, arguments), stdout=out, stderr=StringIO())
    return out.getvalue()


def answered(*arguments: Any) -> Any:
    return json.loads(said(*arguments, "--json"))


def refused(code: int, *arguments: Any) -> str:
    with pytest.raises(CommandError) as caught:
        said(*arguments)
    assert caught.value.returncode == code
    return str(caught.value)


def test_export_says_how_many_of_how_many_rows_of_every_kind(log: Log, tmp_path: Path) -> None:
    words = said("export", log.public_id, "-o", tmp_path / "a")
    for line in ("event: 6 of 6", "section: 3 of 3", "attachment: 0 of 0"):
        assert line in words
    answer = answered("export", "--all", "-o", tmp_path / "b")
    assert answer["logs"] == [log.public_id]
    assert answer["kinds"]["event"] == {"written": 6, "of": 6}
    assert answer["size"] == (tmp_path / "b").stat().st_size
    assert answer["sha256"] == carry.check(tmp_path / "b").sha256


def test_export_refuses_what_it_cannot_do(log: Log, tmp_path: Path) -> None:
    assert "Name logs, or --all" in refused(2, "export", "-o", tmp_path / "a")
    assert "no log nowhere" in refused(2, "export", "nowhere", "-o", tmp_path / "a")
    assert "both want standard output" in refused(2, "export", log.public_id, "-o", "-", "--json")
    assert "cannot be written" in refused(1, "export", log.public_id, "-o", tmp_path / "no" / "a")
    assert "cannot be written" in refused(1, "export", log.public_id, "-o", tmp_path)
    log_of(1)
    assert "holds one log, not 2" in refused(2, "export", "--all", "--format", "anagrapheus", "-o", tmp_path / "a")
    assert not list(tmp_path.iterdir())


def test_export_writes_to_standard_output(log: Log, tmp_path: Path, capsysbinary: Any) -> None:
    said("export", log.public_id, "-o", "-")
    said("export", log.public_id, "-o", tmp_path / "a")
    assert capsysbinary.readouterr().out == (tmp_path / "a").read_bytes()


def test_export_as_a_recording_says_what_was_written(log: Log, tmp_path: Path) -> None:
    words = said("export", log.public_id, "--format", "anagrapheus", "-o", tmp_path / "a")
    assert "a recording of 6 of 6 events" in words
    answer = answered("export", log.public_id, "--format", "anagrapheus", "-o", tmp_path / "a")
    assert answer["kinds"] == {"event": {"written": 6, "of": 6}}


@pytest.mark.promise("K24", "A65")
def test_load_says_what_landed_what_was_there_and_what_had_other_words(log: Log, tmp_path: Path) -> None:
    said("export", log.public_id, "-o", tmp_path / "a")
    emptied()
    first = answered("load", tmp_path / "a", "--by", "ada")
    assert (first["landed"], first["there"], first["other"], first["replayed"]) == (15, 0, 0, False)
    assert first["logs"][0]["kinds"]["event"] == {"landed": 6, "there": 0, "other": 0, "other_ids": []}
    second = answered("load", tmp_path / "a")
    assert (second["landed"], second["there"], second["replayed"]) == (0, 15, True)
    assert "0 rows landed, 15 were there, 0 were there with other words." in said("load", tmp_path / "a")
    entry = AuditEntry.objects.get(what="carry.loaded")
    assert (entry.who, entry.target, json.loads(entry.details)["file"]) == ("ada", log.public_id, first["sha256"])
    bundle = Bundle(tmp_path / "a")
    section = bundle.one("section")
    section["prose"] = "Other words."
    bundle.reseal(section)
    words = said("load", bundle.write(tmp_path / "b"))
    assert "section: 0 landed, 2 there already, 1 there with other words (kept): edition 1: 1-2" in words


@pytest.mark.promise("K24")
def test_load_refuses_by_line_and_says_that_nothing_was_written(log: Log, tmp_path: Path) -> None:
    said("export", log.public_id, "-o", tmp_path / "a")
    data = (tmp_path / "a").read_bytes()
    (tmp_path / "a").write_bytes(data.replace(b"message 2.1", b"message 2.\\u001b"))
    emptied()
    words = refused(1, "load", tmp_path / "a")
    assert "event 3: its content is not what was recorded" in words
    assert "Nothing was written." in words
    assert not Log.objects.exists()
    assert "cannot be read" in refused(1, "load", tmp_path / "nowhere")
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("load", str(tmp_path / "a"), "--json", stdout=out)
    assert json.loads(out.getvalue())["error"] == "carry_refused"


@pytest.mark.promise("K48", "K49")
def test_verify_proves_a_file_and_names_what_does_not_fit(log: Log, tmp_path: Path) -> None:
    said("export", log.public_id, "-o", tmp_path / "a")
    emptied()
    answer = answered("verify", "--bundle", tmp_path / "a")
    (row,) = answer["logs"]
    assert set(row) >= {"log", "status", "seq", "sections", "tail", "holes", "against"}
    assert (row["log"], row["status"], row["seq"], row["sections"], row["tail"], row["holes"]) == (
        log.public_id, "OK", 6, 3, 0, [],
    )  # fmt: skip
    assert "no checkpoint" in row["against"]
    assert "OK to seq 6" in said("verify", "--bundle", tmp_path / "a")
    bundle = Bundle(tmp_path / "a")
    bundle.one("event", seq=3)["content"] = "forged"
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("verify", "--bundle", str(bundle.write(tmp_path / "b")), "--json", stdout=out)
    assert ended.value.code == 1
    (row,) = json.loads(out.getvalue())["logs"]
    assert (row["status"], row["seq"]) == ("BROKEN", 2)
    assert "event 3" in row["why"]
    refused(2, "verify", "--bundle", tmp_path / "a", "--all")


@pytest.fixture
def other_database(tmp_path: Path) -> Iterator[str]:
    """A database of the other kind, empty."""
    if database_here() == POSTGRES:
        yield f"sqlite:///{tmp_path / 'other.sqlite3'}"
        return
    with ExitStack() as stack:
        yield stack.enter_context(postgres_copy(stack.enter_context(postgres_url())))


def there(url: str, folder: Path, *arguments: Any) -> str:
    """Run a command on another database, in a process of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "DJANGO"))}
    run = subprocess.run(
        [sys.executable, "manage.py", *map(str, arguments)],
        cwd=ROOT,
        env={**environment, "DATABASE_URL": url, "DATA_DIR": str(folder), "SECRET_KEY": "carry" * 12},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout


@pytest.mark.promise("K23", "A64", "A65", "K9")
def test_eleven_generations_go_to_the_other_database_and_back(tmp_path: Path, other_database: str) -> None:
    log = whole_log(tmp_path, generations=11)
    carry.export([log], tmp_path / "here")
    there(other_database, tmp_path, "migrate", "-v0")
    there(other_database, tmp_path, "load", tmp_path / "here")
    there(other_database, tmp_path, "export", log.public_id, "-o", tmp_path / "there")
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()
    (row,) = json.loads(there(other_database, tmp_path, "verify", "--all", "--json"))["logs"]
    assert row["status"] == "OK"
    emptied()
    carry.load(tmp_path / "there")
    carry.export(list(Log.objects.all()), tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == (tmp_path / "here").read_bytes()
    refs = [row["generation"] for row in Bundle(tmp_path / "back").of("section", level=0, from_seq=5)]
    assert refs == [1, *range(1, 12)], "one of the first edition, eleven of the second, in the order of numbers"


@pytest.mark.parametrize("form", ["markdown", "html", "csv", "otlp"])
def test_a_log_is_written_for_people_and_counted_against_what_is_there(log: Log, tmp_path: Path, form: str) -> None:
    found = answered("export", log.public_id, "-o", tmp_path / "log", "--format", form, "--from", 2, "--to", 4)

    assert found["kinds"]["event"] == {"written": 3, "of": log.last_seq}
    assert found["files"] == [str(tmp_path / "log")]
    assert found["lossy"]
    assert (tmp_path / "log").stat().st_size > 100


def test_a_range_that_is_none_and_a_range_of_a_carry_are_refused_with_the_way_out(log: Log, tmp_path: Path) -> None:
    out = ("-o", tmp_path / "log")

    assert "1 to 6" in refused(1, "export", log.public_id, *out, "--format", "csv", "--to", 99)
    assert "whole logs" in refused(2, "export", log.public_id, *out, "--from", 2)
    log_of([])
    assert "one log" in refused(2, "export", "--all", *out, "--format", "csv")
    assert not (tmp_path / "log").exists()
