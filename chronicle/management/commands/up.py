"""`up`: everything for one machine, until Ctrl-C.

Guarantees: the page answers, and says where, before work that takes long begins; the web server, the task cluster
and the MCP server are started again when they end or stall; when this command ends, however it ends, all end with it.
Refuses, with one sentence and exit 2: a busy port, a folder that cannot be written, a database that is away.
"""

import getpass
import http.client
import logging
import os
import signal
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from threading import Event
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connections
from django.utils import timezone

from chronicle import conf, first_start, health, jobs, tasks
from chronicle.errors import CannotStart
from chronicle.management import listening
from chronicle.management.listening import ANYWHERE, shown
from chronicle.management.terminal import plain
from chronicle.supervise import Program, Supervisor

ANSWERS_WITHIN = 60.0


class Command(BaseCommand):
    help = "Runs the site on this machine: database, first admin, sample, web server, tasks and MCP. Ctrl-C ends it."
    requires_system_checks: list[str] = []  # handle runs them, the database's too, once there are tables

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (127.0.0.1)")
        parser.add_argument("--port", default=8000, type=listening.port, help="the port to listen on (8000)")
        parser.add_argument(
            "--mcp-port", type=int, metavar="PORT", help="the port for MCP (the one after --port); 0 for none"
        )
        parser.add_argument("--ingest", action="append", default=[], metavar="PATH", help="a file or folder to ingest")

    def handle(self, *_: Any, host: str, port: int, mcp_port: int | None, ingest: list[str], **__: Any) -> None:
        os.umask(0o077)  # transcripts are nobody else's: the database, uploads and logs made from here on
        logging.getLogger("chronicle").setLevel(os.environ.get("LOG_LEVEL", "WARNING"))  # here; not in the children
        try:
            paths = [_there(path) for path in ingest]
            listening.check_free(host, port)
            mcp = self.port_of_mcp(host, port, mcp_port)
            self._prepare()
            self._serve(host, port, mcp, paths)
        except CannotStart as error:
            raise CommandError(str(error), returncode=2) from error

    def port_of_mcp(self, host: str, port: int, asked: int | None) -> int:
        """Return the port for MCP, 0 for none. One that was not asked for and is taken is told, and done without."""
        wanted = port + 1 if asked is None else asked
        if not wanted:
            return 0
        try:
            listening.check_port(wanted)
            listening.check_free(host, wanted, option="--mcp-port")
        except CannotStart as error:
            if asked is not None:
                raise
            self._say(f"MCP is not served over HTTP. {error}")
            return 0
        return wanted

    def _serve(self, host: str, port: int, mcp: int, paths: list[Path]) -> None:
        programs = [_web(host, port), _cluster(), *([_mcp(host, mcp)] if mcp else [])]
        supervisor, hurry = Supervisor(programs, self._say), _signals()
        try:
            supervisor.start()  # while they start, there is time for the sample
            self._fill(paths, f"http://{shown(host)}:{port}/")
            _wait_for_an_answer(host, port, supervisor)
            self._say(f"The site is at http://{shown(host)}:{port}/ (Ctrl-C ends it)")
            if mcp:
                self._say(f"MCP is at http://{shown(host)}:{mcp}/mcp/LOG (docs/mcp.md)")
            supervisor.watch()
        except KeyboardInterrupt:
            pass
        finally:
            supervisor.end(hurry)

    def _prepare(self) -> None:
        first_start.folders()
        if health.warn_of_missing_triggers():  # before migrate puts them back: that they were gone is a finding
            self._say("They are installed again now.")
        first_start.tables()
        self._check()
        if admin := first_start.first_admin():
            self._say(f"First admin: user {admin[0]}, password {admin[1]} (shown this once)")
        connections.close_all()

    def _fill(self, paths: list[Path], site: str) -> None:
        if first_start.sample():
            self._say("The sample log, a dinner planned by three agents, is ingested and consolidated.")
        for path in paths:
            key = f"ingest_path:{path}"[:300]
            job = jobs.enqueue("ingest_path", path.name[:300], key=key, args=_ingest_args(path), made_by="up")
            self._say(
                f"{plain(path)} is ingested in the background, into logs of the owner {plain(job.args['owner'])}."
                f" What became of each file, and what was refused: {site}ingest/{job.pk}/"
            )
        for job in jobs.due(timezone.now()):
            tasks.kick(job)
        tasks.kick_tick()
        connections.close_all()

    def _check(self) -> None:
        found = checks.run_checks(databases=["default"])
        for message in found:
            self.stderr.write(f"{message.msg} {message.hint or ''}".strip())
        if any(message.is_serious() for message in found):
            raise CannotStart("The site is not started, for the reason above.")

    def _say(self, words: str) -> None:
        self.stdout.write(words)
        self.stdout.flush()


def _signals() -> Event:
    """The first signal interrupts, whatever is being done; the event is set by the second, which asks to hurry."""
    asked, hurry = Event(), Event()

    def handler(*_: object) -> None:
        if asked.is_set():
            hurry.set()
            return
        asked.set()
        raise KeyboardInterrupt

    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, handler)
    return hurry


def _there(given: str) -> Path:
    path = Path(given).expanduser().resolve()
    if not path.exists():
        raise CannotStart(f"There is nothing to ingest at {path}.")
    return path


def _ingest_args(path: Path) -> dict[str, str]:
    try:
        owner = getpass.getuser()
    except (OSError, KeyError):  # no name for this user, as in some containers
        owner = "me"
    return {"path": str(path), "owner": owner}


def _program(name: str, *arguments: str, **more: Any) -> Program:
    command = (sys.executable, "-m", "chronicle.child", str(os.getpid()), *arguments)
    return Program(name, command, dict(os.environ), str(settings.BASE_DIR), **more)


def _web(host: str, port: int) -> Program:
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    options = ["--bind", address, "--workers", "2", "--threads", "4", "--timeout", "60", "--graceful-timeout", "5"]
    program = _program(
        "The web server", "web", *options, "--no-control-socket", "--log-level", "warning", "anagrapheus_site.wsgi"
    )
    return _answering_to(host, program)


def _mcp(host: str, port: int) -> Program:
    options = ["--http", "--host", host, "--port", str(port)]
    return _answering_to(host, _program("The MCP server", "mcp", "mcp", *options))


def _answering_to(host: str, program: Program) -> Program:
    """Have a program answer to the name it listens on, too."""
    if host not in ANYWHERE:
        program.environment["ALLOWED_HOSTS"] = ",".join(dict.fromkeys([*settings.ALLOWED_HOSTS, shown(host)]))
    return program


def _cluster() -> Program:
    grace = conf.worker_silence().total_seconds()
    return _program(
        "The task cluster", "tasks", "qcluster", stalled=_stalled, grace=grace, ask_every=min(10, grace / 3)
    )


def _stalled() -> str:
    """Why the cluster must be started again; a database that is away is no reason."""
    try:
        found = health.worker_health()
        return found.words if found.stalled else ""
    except DatabaseError:
        return ""
    finally:
        connections.close_all()


def _wait_for_an_answer(host: str, port: int, supervisor: Supervisor) -> None:
    """Ask for /healthz/ until it answers, starting again what ends meanwhile. Raises CannotStart after a minute."""
    deadline = time.monotonic() + ANSWERS_WITHIN
    while not _answers(host, port):
        if time.monotonic() > deadline:
            raise CannotStart(f"The site has not answered within {ANSWERS_WITHIN:.0f} s; what it says is above.")
        supervisor.look()
        time.sleep(0.1)


def _answers(host: str, port: int) -> bool:
    asked = http.client.HTTPConnection(shown(host).strip("[]"), port, timeout=2)
    try:
        asked.request("GET", "/healthz/")
        return asked.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        asked.close()
