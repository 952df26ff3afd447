"""`up`: what it makes, what it refuses, and that all it started ends with it."""

import json
import os
import re
import signal
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from chronicle import first_start
from chronicle.errors import CannotStart
from chronicle.management.commands import up
from tests.faults.test_cluster import answers, free_port
from tests.faults.world import World, until
from tests.plugins.worlds import MakeWorld


def levels(world: World) -> dict[int, int]:
    return dict(world.rows("SELECT level, count(*) FROM chronicle_anchor GROUP BY level"))


def test_the_first_start_makes_an_admin_and_a_sample_and_ctrl_c_leaves_nothing_behind(make_world: MakeWorld) -> None:
    world, port, mcp = make_world(), free_port(), free_port()
    mine = world.folder / "mine.jsonl"
    mine.write_text('{"type": "nonsense"}\n')
    command = (
        "manage.py",
        "up",
        "--port",
        str(port),
        "--mcp-port",
        str(mcp),
        "--ingest",
        str(world.folder / "mine.jsonl"),
    )
    site = world.start(*command, name="up")
    until(lambda: f"The site is at http://127.0.0.1:{port}/" in world.log("up"))

    assert answers(port) and answers(port, "/login/")
    assert f"MCP is at http://127.0.0.1:{mcp}/mcp/LOG" in world.log("up")
    until(lambda: refuses(mcp, "/mcp/LOG"))
    assert levels(world)[0] > 100 and levels(world)[1] > 8 and levels(world)[2] >= 1
    password = re.findall(r"user admin, password (\w{16}) \(shown this once\)", world.log("up"))
    assert len(password) == 1 and world.ask("may_sign_in", name="admin", password=password[0])
    ingest = "SELECT state FROM chronicle_job WHERE kind = 'ingest_path'"
    until(lambda: world.rows(ingest) == [("done",)])
    [(job, owner)] = world.rows("SELECT id, args FROM chronicle_job WHERE kind = 'ingest_path'")
    owner = (json.loads(owner) if isinstance(owner, str) else owner)["owner"]
    assert f"into logs of the owner {owner}. " in world.log("up")
    assert f"what was refused: http://127.0.0.1:{port}/ingest/{job}/" in world.log("up")
    until(lambda: answers(port, "/healthz/worker"))

    os.killpg(site.pid, signal.SIGINT)
    assert site.wait(15) == 0
    assert set(world.processes()) <= {world.driver_pid}

    again = world.start(*command, name="again")
    until(lambda: "The site is at" in world.log("again"))
    assert "password" not in world.log("again") and "sample" not in world.log("again")
    os.kill(again.pid, signal.SIGKILL)
    until(lambda: set(world.processes()) <= {world.driver_pid}, 5)


def refuses(port: int, path: str) -> bool:
    """Whether who brings no token is told to."""
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", data=b"{}", timeout=5)
    except urllib.error.HTTPError as error:
        return error.code == 401
    except OSError:
        return False
    return False


@pytest.fixture
def busy() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def refusal(*arguments: str) -> str:
    with pytest.raises(CommandError) as refused:
        call_command("up", *arguments, stdout=StringIO(), stderr=StringIO())
    assert refused.value.returncode == 2
    return str(refused.value)


def test_a_busy_port_is_refused_with_the_way_out(busy: int) -> None:
    assert re.search(rf"port {busy} \(.* in use\); choose another with --port", refusal("--port", str(busy)))


def test_a_busy_port_for_mcp_is_refused_where_it_was_asked_for_and_told_where_it_was_not(busy: int) -> None:
    assert "choose another with --mcp-port" in refusal("--port", str(free_port()), "--mcp-port", str(busy))
    assert "a port is a number from 1 to 65535" in refusal("--port", "65535", "--mcp-port", "65536").lower()

    out = StringIO()
    command = up.Command(stdout=out)
    assert command.port_of_mcp("127.0.0.1", busy - 1, None) == 0
    assert f"MCP is not served over HTTP. Cannot listen on 127.0.0.1 port {busy}" in out.getvalue()
    assert command.port_of_mcp("127.0.0.1", 65535, None) == command.port_of_mcp("127.0.0.1", busy, 0) == 0


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert str(tmp_path / "gone") in refusal("--ingest", str(tmp_path / "gone"))


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path, settings: pytest.FixtureRequest) -> None:
    (tmp_path / "file").touch()
    settings.DATA_DIR = tmp_path / "file" / "data"  # type: ignore[attr-defined]
    with pytest.raises(CannotStart, match="cannot be written"):
        first_start.folders()


def test_a_key_that_cannot_be_kept_is_said_in_one_sentence(make_world: MakeWorld) -> None:
    world = make_world()
    (world.folder / "file").touch()
    world.environment |= {"SECRET_KEY": "", "DATA_DIR": str(world.folder / "file")}
    assert world.start("manage.py", "up", name="up").wait(60) == 2
    [sentence] = world.lines("up.log")
    assert "set DATA_DIR to a folder that can be written" in sentence


def test_a_database_that_is_away_is_said_in_one_sentence(make_world: MakeWorld) -> None:
    world = make_world(DATABASE_URL="postgres://nobody@127.0.0.1:1/nothing")
    assert world.start("manage.py", "up", "--port", str(free_port()), name="up").wait(60) == 2
    [sentence] = world.lines("up.log")
    assert "The database does not answer" in sentence


@pytest.mark.django_db
def test_an_admin_is_made_where_there_is_no_superuser_and_only_there() -> None:
    made = first_start.first_admin()
    assert made and made[0] == "admin" and len(made[1]) == 16
    assert first_start.first_admin() is None
