"""One site of its own for a fault: a database, an environment, processes that all end with the test.

Guarantees: nothing is shared with the suite's own database; every process carries the world's folder in its
environment, so `processes` finds orphans too; what is read of the database is read past the system under test.
"""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg

ROOT = Path(__file__).parents[2]
WITHIN = 60.0


class World:
    def __init__(self, url: str, folder: Path, **environment: str) -> None:
        self.url, self.folder = url, folder
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "DJANGO"))}
        self.environment = {
            **inherited,
            "DATABASE_URL": url,
            "DATA_DIR": str(folder),
            "FAULTS": str(folder),
            "SECRET_KEY": "faults" * 10,
            "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
            "SUMMARISER": "tests.faults.summarisers:Holding",
            **environment,
        }
        self._driver: subprocess.Popen[str] | None = None

    def start(self, *arguments: str, name: str = "process") -> subprocess.Popen[str]:
        """Start a Python process of this world; what it says goes to `<name>.log`."""
        with (self.folder / f"{name}.log").open("a") as log:
            return subprocess.Popen(
                [sys.executable, *arguments],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=log if name != "driver" else subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )

    def ask(self, what: str, **arguments: Any) -> Any:
        """Have the driver do something and return its answer."""
        if self._driver is None:
            self._driver = self.start("-m", "tests.faults.driver", name="driver")
        assert self._driver.stdin and self._driver.stdout
        self._driver.stdin.write(json.dumps([what, arguments]) + "\n")
        self._driver.stdin.flush()
        answer = self._driver.stdout.readline()
        assert answer, f"the driver died: {self.log('driver')[-3000:]}"
        return json.loads(answer)

    @property
    def driver_pid(self) -> int:
        """The driver's process; 0 while there is none."""
        return self._driver.pid if self._driver else 0

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        if self.url.startswith("sqlite"):
            connection = sqlite3.connect(self.url.removeprefix("sqlite:///"), timeout=30)
            try:
                return connection.execute(query).fetchall()
            finally:
                connection.close()
        with psycopg.connect(self.url, autocommit=True) as session:
            return session.execute(query).fetchall()  # type: ignore[call-overload, no-any-return]

    def value(self, query: str) -> Any:
        [(value,)] = self.rows(query)
        return value

    def job(self, job_id: int) -> tuple[str, int, str]:
        """State, attempts and last error of a job."""
        [(state, attempts, error)] = self.rows(
            f"SELECT state, attempts, last_error FROM chronicle_job WHERE id = {job_id}"
        )
        return state, attempts, error

    def lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def log(self, name: str) -> str:
        return "\n".join(self.lines(f"{name}.log"))

    def processes(self) -> dict[int, int]:
        """{process: parent} of everything alive in this world, orphans included."""
        mine, found = f"FAULTS={self.folder}".encode(), {}
        for path in Path("/proc").iterdir():
            if path.name.isdigit() and int(path.name) != os.getpid():
                try:
                    if mine in (path / "environ").read_bytes().split(b"\0"):
                        state, parent = (path / "stat").read_text().rpartition(")")[2].split()[:2]
                        if state != "Z":
                            found[int(path.name)] = int(parent)
                except OSError:
                    continue
        return found

    def below(self, pid: int) -> set[int]:
        """What descends from a process."""
        parents = self.processes()
        found, more = set[int](), {pid}
        while more:
            more = {child for child, parent in parents.items() if parent in more} - found
            found |= more
        return found

    def sound(self) -> None:
        """What must hold after every fault: gap-free seq, whole coverage, no half section, no job past its lease."""
        for log, last in self.rows("SELECT id, last_seq FROM chronicle_log"):
            seqs = [seq for (seq,) in self.rows(f"SELECT seq FROM chronicle_event WHERE log_id = {log} ORDER BY seq")]
            assert seqs == list(range(1, last + 1))
        for (edition,) in self.rows("SELECT id FROM chronicle_edition"):
            ranges = self.rows(
                f"SELECT from_seq, to_seq FROM chronicle_anchor WHERE edition_id = {edition} AND level = 0 ORDER BY 1"
            )
            ends = [0, *(last for _, last in ranges)]
            assert [first for first, _ in ranges] == [end + 1 for end in ends[:-1]]
        assert self.value("SELECT count(*) FROM chronicle_anchor") == self.value(
            "SELECT count(DISTINCT anchor_id) FROM chronicle_section"
        )
        assert self.value("SELECT count(*) FROM chronicle_job WHERE state = 'running'") == 0

    def end(self) -> None:
        """Kill everything of this world."""
        while found := self.processes():
            for pid in found:
                with_no_one_there(pid, signal.SIGKILL)
            time.sleep(0.02)
        if self._driver:
            self._driver.wait()


def with_no_one_there(pid: int, number: int) -> None:
    """Send a signal to a process that may be gone."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def until(condition: Callable[[], Any], within: float = WITHIN) -> Any:
    """Return the condition's answer once it is true; fail when it is not in time."""
    deadline = time.monotonic() + within
    while not (answer := condition()):
        assert time.monotonic() < deadline, f"not within {within} s"
        time.sleep(0.05)
    return answer


@contextmanager
def postgres_copy(server: str, template: str | None = None) -> Iterator[str]:
    """A database of its own on the server at `server`, a copy of `template` where one is given."""
    name = f"faults_{uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as session:
        copied = f' TEMPLATE "{urlsplit(template).path[1:]}"' if template else ""
        session.execute(f'CREATE DATABASE "{name}"{copied}')  # type: ignore[call-overload]
        try:
            yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
        finally:
            session.execute(f'DROP DATABASE "{name}" WITH (FORCE)')  # type: ignore[call-overload]


@contextmanager
def sqlite_copy(folder: Path, template: str | None = None) -> Iterator[str]:
    """A SQLite file of its own, a copy of `template` where one is given."""
    path = folder / "site.sqlite3"
    if template:
        shutil.copy(template.removeprefix("sqlite:///"), path)
    yield f"sqlite:///{path}"
