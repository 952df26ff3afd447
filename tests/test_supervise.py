"""Programs are kept running, and end with all that they started."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Timer

import pytest

from chronicle.supervise import Kept, Program, Supervisor
from tests.faults.world import until

BORN = "import os, pathlib, sys, time; pathlib.Path(sys.argv[1]).open('a').write(f'{os.getpid()}\\n')"
FOREVER = f"{BORN}; time.sleep(600)"
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {FOREVER}"
PARENT = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {FOREVER!r}, sys.argv[1]]); {FOREVER}"

type Make = Callable[..., Kept]


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def born(tmp_path: Path) -> Callable[[], list[int]]:
    path = tmp_path / "born"
    path.touch()
    return lambda: [int(line) for line in path.read_text().split()]


@pytest.fixture
def make(tmp_path: Path, said: list[str]) -> Iterator[Make]:
    made: list[Kept] = []

    def make(code: str, **more: object) -> Kept:
        command = (sys.executable, "-c", code, str(tmp_path / "born"))
        kept = Kept(Program("It", command, dict(os.environ), str(tmp_path), **more), said.append)  # type: ignore[arg-type]
        made.append(kept)
        kept.start()
        return kept

    yield make
    for kept in made:
        kept.kill()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_program_that_ends_is_started_again_after_a_wait_that_grows(
    make: Make, said: list[str], born: Callable[[], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, now = make(BORN), time.monotonic()
    monkeypatch.setattr("chronicle.supervise.time.monotonic", lambda: now)
    for round_, wait in enumerate((1, 2, 4, 8), start=1):
        until_ended(kept)
        kept.look()
        assert said[-1] == f"It ended (exit 0); it is started again in {wait} s."
        now += wait - 0.1
        kept.look()
        assert len(born()) == round_
        now += 0.2
        kept.look()


def until_ended(kept: Kept) -> None:
    while kept.running:
        pass


def test_a_program_that_ran_for_a_minute_is_started_again_at_once(
    make: Make, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, now = make(BORN), time.monotonic()
    until_ended(kept)
    monkeypatch.setattr("chronicle.supervise.time.monotonic", lambda: now + 61)
    kept.look()
    assert "in 1 s" in said[0]


def test_a_program_that_stalls_is_killed_with_its_children_once_its_grace_is_over(
    make: Make, said: list[str], born: Callable[[], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, now = make(PARENT, stalled=lambda: "it is silent", grace=5.0, ask_every=1.0), time.monotonic()
    until(lambda: len(born()) == 2)
    monkeypatch.setattr("chronicle.supervise.time.monotonic", lambda: now + 2)
    kept.look()
    assert not said and kept.running
    monkeypatch.setattr("chronicle.supervise.time.monotonic", lambda: now + 10)
    kept.look()
    assert said == ["It is stopped and started again: it is silent"]
    monkeypatch.undo()
    until(lambda: not any(map(alive, born())))


def test_the_end_asks_first_and_kills_a_deaf_program_when_hurried(
    make: Make, born: Callable[[], list[int]], said: list[str]
) -> None:
    kept, hurry = make(DEAF), Event()
    until(lambda: len(born()) == 1)
    supervisor = Supervisor([], said.append)
    supervisor.kept = [kept]
    Timer(0.3, hurry.set).start()
    supervisor.end(hurry)
    assert not kept.running and not alive(born()[0]) and not said
