"""What every test shares: the databases, triggers that let a flush through, a clock that stands still.

A transactional test is emptied by `flush` at its end, and the triggers that keep rows from being deleted would
refuse it: they are dropped after the test and installed again before the next one.
"""

import datetime as dt
import os
from collections.abc import Iterator

import hypothesis
import pytest
from django.conf import settings

pytest_plugins = ("tests.plugins.databases", "tests.plugins.worlds", "tests.plugins.promises")

hypothesis.settings.register_profile("default", deadline=None, print_blob=True)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "default")

TRANSACTIONAL = {"transactional_db", "live_server", "django_db_reset_sequences"}


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """SQLite in a file, as in production: an in-memory one locks whole tables between threads."""
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3"):
        name = tmp_path_factory.mktemp("database") / "test.sqlite3"
        database.setdefault("TEST", {})["NAME"] = str(name)
        # A test database outlives no crash, so it need not wait for the disk; faults start sites of their own.
        command = database["OPTIONS"]["init_command"]
        database["OPTIONS"]["init_command"] = command.replace("synchronous=FULL", "synchronous=OFF")


@pytest.fixture(autouse=True)
def flushable(request: pytest.FixtureRequest) -> Iterator[None]:
    """After a transactional test, drop the append-only triggers so that its flush may delete."""
    marker = request.node.get_closest_marker("django_db")
    transactional = bool(marker and marker.kwargs.get("transaction")) or TRANSACTIONAL & set(request.fixturenames)
    if not transactional:
        yield
        return
    from django.db import connection

    from chronicle import append_only

    request.getfixturevalue("transactional_db")
    yield
    append_only.drop(connection)  # post_migrate, which a flush sends, installs them again


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.time = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)

    def __call__(self) -> dt.datetime:
        return self.time

    def move(self, **by: float) -> dt.datetime:
        """Move by `timedelta` arguments (`minutes=5`, `hours=-1`)."""
        self.time += dt.timedelta(**by)
        return self.time


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """`django.utils.timezone.now`, standing at 2026-03-01 12:00 UTC."""
    clock = Clock()
    monkeypatch.setattr("django.utils.timezone.now", clock)
    return clock
