"""`ingest PATH… --owner NAME`."""

import json
import os
import pty
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from chronicle.management.terminal import plain
from chronicle.models import Event, Log, Section
from tests.builders import log_of
from tests.importers.files import ANAGRAPHEUS, CLAUDE, EVENTS

pytestmark = pytest.mark.django_db


def answer(*paths: Path, code: int = 0, **options: Any) -> dict[str, Any]:
    """What `--json` prints; `code` is the exit code that is expected."""
    out = StringIO()
    try:
        call_command("ingest", *map(str, paths), **{"owner": "demo", "json": True, "stdout": out, **options})
    except CommandError as error:
        assert error.returncode == code, error
    else:
        assert code == 0
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def words(*paths: Path, **options: Any) -> str:
    out = StringIO()
    try:
        call_command("ingest", *map(str, paths), **{"owner": "demo", "stdout": out, **options})
    except CommandError as error:
        assert error.returncode == 1
    return out.getvalue()


def test_the_answer_is_one_json_object_with_the_names_that_scripts_rely_on() -> None:
    path = CLAUDE / "compaction.jsonl"
    (file,) = answer(path)["files"]
    log = Log.objects.get()

    assert (file["path"], file["format"], file["refused"]) == (str(path), "claude-code", [])
    assert file["ignored"] == {"file-history-snapshot": 1}
    assert {name: file["logs"][0][name] for name in ("log", "owner", "added", "replayed", "refused", "sections")} == {
        "log": log.public_id,
        "owner": "demo",
        "added": 18,
        "replayed": 0,
        "refused": 0,
        "sections": 2,
    }
    assert file["logs"][0]["last_seq"] == log.last_seq == 18
    assert answer(path)["files"][0]["logs"][0]["added"] == 0


def test_consolidate_draws_what_is_closed_and_leaves_the_imported_sections_alone() -> None:
    found = answer(CLAUDE / "compaction.jsonl", EVENTS / "small.jsonl", consolidate=True)

    assert [entry["log"] for entry in found["logs"]] == [log["log"] for file in found["files"] for log in file["logs"]]
    assert found["logs"][0]["through"] == 15
    assert set(Section.objects.values_list("origin", flat=True)) == {"imported"}


def test_a_folder_is_walked_and_a_file_of_no_known_format_in_it_is_passed_by() -> None:
    files = answer(CLAUDE / "project", ANAGRAPHEUS / "run.sqlite")["files"]
    (notes,) = [file["path"] for file in files if file["skipped"]]

    assert [(file["format"], len(file["logs"])) for file in files] == [
        ("", 0),
        ("claude-code", 1),
        ("claude-code", 1),
        ("anagrapheus", 1),
    ]
    assert (files[0]["refused"], files[0]["skipped"]) == ([], "no known format")
    assert "passed by, no known format" in words(CLAUDE / "project")
    assert answer(Path(notes), code=1)["files"][0]["refused"] == [{"line": 0, "reason": "no known format"}]


def test_refused_lines_make_the_exit_1_and_the_rest_is_in() -> None:
    (file,) = answer(CLAUDE / "refused.jsonl", code=1)["files"]

    assert [refused["line"] for refused in file["refused"]] == [2, 3, 4, 5, 6, 7, 8, 9, 11, 12]
    assert file["logs"][0]["added"] == 3
    assert file["records"] == {"read": 13, "events": 3, "ignored": 0, "refused": 10}


@pytest.mark.parametrize(
    "options",
    [{"owner": " "}, {"log_id": "none"}, {"format": "word"}],
    ids=["no owner", "no such log", "no such format"],
)
def test_wrong_use_is_exit_2_and_writes_nothing(options: dict[str, str]) -> None:
    given = ["--log", options.pop("log_id")] if "log_id" in options else []
    given += ["--format", options.pop("format")] if "format" in options else []
    owner = options.get("owner", "demo")
    with pytest.raises(CommandError) as refused:
        call_command("ingest", str(CLAUDE / "image.jsonl"), "--owner", owner, *given, stdout=StringIO())

    assert refused.value.returncode in (1, 2) if "--format" in given else refused.value.returncode == 2
    assert not Event.objects.exists()


def test_a_named_log_is_appended_to() -> None:
    log = log_of(2)
    found = answer(CLAUDE / "resume-a.jsonl", log=log.public_id)

    assert [part["log"] for part in found["files"][0]["logs"]] == [log.public_id]
    assert Event.objects.filter(log=log).count() == 8


def test_the_report_says_per_file_what_became_of_it() -> None:
    ours = words(CLAUDE / "conflict-a.jsonl", CLAUDE / "conflict-b.jsonl")

    assert "7 records: 6 with events, 1 ignored, 0 refused" in ours
    assert "6 added, 0 there already, 0 refused" in ours
    assert "2 added (2 of them say otherwise under a known id), 4 there already, 0 refused" in ours
    assert "line 7: same id, other content: kept as event 8" in ours


def test_a_dry_run_says_what_would_come_and_writes_nothing() -> None:
    path = CLAUDE / "compaction.jsonl"
    found = answer(path, dry_run=True)
    (file,) = found["files"]

    assert (found["dry_run"], file["format"], file["new"], file["held"], file["compactions"]) == (
        True,
        "claude-code",
        18,
        0,
        2,
    )
    assert "18 new; 2 summaries for sections; a new log" in words(path, dry_run=True)
    assert "Nothing was written." in words(path, dry_run=True)
    assert not Log.objects.exists()
    answer(path)
    assert f"0 new; 2 summaries for sections; log {Log.objects.get().public_id} has 18" in words(path, dry_run=True)
    assert [
        line["line"] for line in answer(CLAUDE / "refused.jsonl", dry_run=True, code=1)["files"][0]["refused_lines"]
    ]
    assert answer(path, dry_run=True, consolidate=True, code=2)["error"] == "wrong_use"


def test_no_control_character_of_a_source_reaches_the_terminal(tmp_path: Path) -> None:
    odd = "\x1b[31mred\x1b[0m \u202etxt \u200b\x9b"
    path = tmp_path / f"{odd.replace('/', '')}.jsonl"
    path.write_text(
        json.dumps({"type": odd, "sessionId": "s"})
        + "\n"
        + json.dumps({"type": "progress", "data": {"type": odd}, "sessionId": "s"})
        + f'\n{{"{odd}":1,"{odd}":2\n'
    )
    out = words(path, format="claude-code", dry_run=True) + words(path, format="claude-code")

    assert not set(out) & set("\x1b\u202e\u200b\x9b")
    assert "progress/\\x1b[31mred\\x1b[0m \\u202etxt \\u200b\\x9b" in out


def test_what_a_terminal_shows_is_seen_and_never_obeyed() -> None:
    assert plain("ärger 蘋果 – fine") == "ärger 蘋果 – fine"
    assert plain("\x1b[2J\n\t\x7f\u2028\u200d\ud800") == "\\x1b[2J\\n\\t\\x7f\\u2028\\u200d\\ud800"


def test_a_terminal_gets_a_bar_on_stderr_and_stdout_stays_one_json_object(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'bar.sqlite3'}"
    environment = {**os.environ, "DATABASE_URL": database, "SECRET_KEY": "k" * 50, "TERM": "xterm"}
    run = [sys.executable, "manage.py"]
    root = Path(__file__).parents[2]
    subprocess.run([*run, "migrate", "-v0"], cwd=root, env=environment, check=True, capture_output=True)
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [*run, "ingest", str(CLAUDE / "image.jsonl"), "--owner", "demo", "--json"],
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=True,
    )
    os.close(theirs)

    assert json.loads(done.stdout)["files"][0]["logs"][0]["added"] == 6
    assert b"image.jsonl" in os.read(ours, 65536)
    os.close(ours)
