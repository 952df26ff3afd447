"""`--json`: one object on stdout, also when a command refuses."""

import json
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command, get_commands

from chronicle import fold
from chronicle.errors import SummaryFailed
from chronicle.management.answering import AnsweringCommand
from chronicle.models import Event
from tests.builders import log_of, units_of
from tests.importers.files import CLAUDE

pytestmark = pytest.mark.django_db

OURS = sorted(name for name, application in get_commands().items() if application == "chronicle")
FILE = str(CLAUDE / "image.jsonl")


def refusal(code: int, *arguments: str) -> dict[str, Any]:
    """The one object on stdout of a command that is expected to end with this exit code."""
    out = StringIO()
    with pytest.raises(CommandError) as refused:
        call_command(*arguments, "--json", stdout=out)
    assert refused.value.returncode == code
    found: dict[str, Any] = json.loads(out.getvalue())
    if "error" in found:
        assert found["message"] == str(refused.value)
    return found


def test_every_command_of_ours_answers_as_json_but_those_that_do_not_end() -> None:
    commands = {name: import_module(f"chronicle.management.commands.{name}").Command for name in OURS}
    assert [name for name, command in commands.items() if not issubclass(command, AnsweringCommand)] == ["mcp", "up"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["ingest", FILE, "--owner", ""], "owner_empty"),
        (["ingest", FILE, "--owner", "demo", "--log", "nosuch"], "log_not_found"),
        (["verify", "nosuch"], "log_not_found"),
        (["verify"], "wrong_use"),
        (["consolidate", "nosuch"], "log_not_found"),
        (["consolidate"], "wrong_use"),
        (["consolidate", "nosuch", "--all"], "wrong_use"),
        (["close", "nosuch"], "log_not_found"),
    ],
    ids=lambda given: " ".join(given).replace(FILE, "FILE") if isinstance(given, list) else given,
)
def test_wrong_use_is_one_object_with_a_name_and_a_sentence(arguments: list[str], error: str) -> None:
    found = refusal(2, *arguments)

    assert set(found) == {"error", "message"}
    assert found["error"] == error
    assert found["message"].endswith((".", "?"))
    assert not Event.objects.exists()


def test_the_log_of_another_owner_is_refused_as_one_that_is_not_there() -> None:
    log = log_of(2, owner="alice")

    assert refusal(2, "ingest", FILE, "--owner", "bob", "--log", log.public_id)["error"] == "log_not_found"
    assert Event.objects.count() == 2


def test_what_was_answered_is_answered_once_and_the_exit_is_1(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Buy fish.")
    assert set(refusal(1, "ingest", str(tmp_path / "notes.txt"), "--owner", "demo")) == {"files"}

    def fails(*_: Any, **__: Any) -> None:
        raise SummaryFailed("no model today")

    monkeypatch.setattr(fold, "consolidate", fails)
    [entry] = refusal(1, "consolidate", units_of(1).public_id)["logs"]
    assert entry["failed"] == 1


def test_a_benchmark_that_fails_says_so_in_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chronicle.management.commands.bench.sys.executable", "/bin/false")
    assert refusal(1, "bench")["error"] == "refused"


def test_without_json_a_refusal_prints_nothing_on_stdout() -> None:
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("verify", "nosuch", stdout=out)
    assert out.getvalue() == ""


def test_a_reader_that_has_seen_enough_ends_a_command_without_a_traceback() -> None:
    class Closed(StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    log = log_of(3)
    with pytest.raises(SystemExit) as ended:
        call_command("verify", log.public_id, stdout=Closed())

    assert ended.value.code == 141
