"""A world for whoever starts real processes, on the database that the run is for."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from tests.faults.world import World, postgres_copy, sqlite_copy
from tests.plugins.databases import POSTGRES, database_here


def copy(folder: Path, template: str | None = None) -> AbstractContextManager[str]:
    if database_here() == POSTGRES:
        return postgres_copy(os.environ["DATABASE_URL"], template)
    return sqlite_copy(folder, template)


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database with every table and trigger, to be copied."""
    folder = tmp_path_factory.mktemp("migrated")
    with copy(folder) as url:
        process = World(url, folder).start("manage.py", "migrate", "-v0", name="migrate")
        assert process.wait() == 0, (folder / "migrate.log").read_text()
        yield url


type MakeWorld = Callable[..., World]


@pytest.fixture
def make_world(migrated: str, tmp_path: Path) -> Iterator[MakeWorld]:
    """Worlds with settings from the environment, as `make_world(JOB_LEASE="2")`."""
    with ExitStack() as stack:

        def make(**environment: str) -> World:
            world = World(stack.enter_context(copy(tmp_path, migrated)), tmp_path, **environment)
            stack.callback(world.end)
            return world

        yield make
