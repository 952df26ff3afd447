"""R02: each process of a running site is killed in turn."""

import contextlib
import os
import re
import signal
import socket
import urllib.request
from pathlib import Path

import pytest

from tests.faults.world import World, until, with_no_one_there
from tests.plugins.worlds import MakeWorld

WORKS_AGAIN_WITHIN = 120.0
WEB = ("web server", "web worker")
MCP = "MCP server"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def answers(port: int, path: str = "/healthz/") -> bool:
    with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
        return bool(answer.status == 200)
    return False


def listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False


def works(world: World, port: int, key: str) -> None:
    """The web answers, and a job that is queued now is done soon."""
    until(lambda: answers(port), WORKS_AGAIN_WITHIN)
    job = world.ask("enqueue", kind="note", target="notes", key=f"{key}, {len(world.lines('notes'))}")
    until(lambda: world.job(job)[0] == "done", WORKS_AGAIN_WITHIN)


def orphans(world: World, root: int) -> set[int]:
    """Processes of the site that do not descend from `up`."""
    driver = world.driver_pid
    return set(world.processes()) - world.below(root) - {root, driver}


# Who is who inside the cluster: what each says of itself when it starts.
ROLES = {"pusher": "pushing tasks at", "monitor": "monitoring at", "worker": "ready for work at"}


def command_line(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


def role(world: World, site: int, name: str) -> int:
    """A living process of this role, once there is one."""

    def found() -> int | None:
        parents = world.processes()
        started_as = "web" if name in WEB else "mcp" if name == MCP else "tasks"
        head = next((pid for pid, above in parents.items() if above == site and started_as in command_line(pid)), None)
        if name in ("web server", "cluster", MCP):
            return head
        below = sorted(pid for pid, parent in parents.items() if parent == head)
        if name in ("web worker", "sentinel"):
            return below[0] if below else None
        said = [int(pid) for pid in re.findall(rf"{ROLES[name]} (\d+)", world.log("up"))]
        return next((pid for pid in reversed(said) if pid in parents), None)

    pid: int = until(found)
    return pid


@pytest.mark.promise("S24")
def test_work_goes_on_after_each_process_of_the_site_is_killed_and_nothing_is_orphaned(make_world: MakeWorld) -> None:
    world, port = make_world(JOB_LEASE="2", WORKER_SILENCE="10"), free_port()
    world.ask("units", log="dinner", contents=["unit"])  # so that the sample stays away
    mcp = free_port()
    site = world.start("manage.py", "up", "--port", str(port), "--mcp-port", str(mcp), name="up")
    world.ask("tick_often", every=0.5)
    works(world, port, "at first")

    for name in (*WEB, MCP, "cluster", "sentinel", "pusher", "monitor", "worker", "worker"):
        os.kill(role(world, site.pid, name), signal.SIGKILL)
        works(world, port, f"after the {name}")
        until(lambda: listens(mcp), WORKS_AGAIN_WITHIN)
        until(lambda: not orphans(world, site.pid), 5)
    os.kill(role(world, site.pid, "pusher"), signal.SIGSTOP)  # it lives, and nothing is done: only silence tells
    works(world, port, "after a stall")
    assert "no sign of life" in world.log("up")
    world.sound()

    with_no_one_there(site.pid, signal.SIGINT)
    assert site.wait(15) == 0
    until(lambda: set(world.processes()) == {world.driver_pid}, 1)
