"""The tables: made by migrations alone, which agree with the models and change nothing when run again."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection

from chronicle import append_only


def migrate(folder: Path) -> str:
    environment = {**os.environ, "DATABASE_URL": f"sqlite:///{folder}/new.sqlite3", "DATA_DIR": str(folder)}
    command = [sys.executable, "manage.py", "migrate", "--no-color"]
    done = subprocess.run(command, cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.promise("C50")
def test_an_empty_database_gets_its_tables_once(tmp_path: Path) -> None:
    assert "Applying chronicle.0001_initial... OK" in migrate(tmp_path)

    assert "No migrations to apply" in migrate(tmp_path)


@pytest.mark.django_db
def test_models_and_migrations_agree() -> None:
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)


@pytest.mark.django_db
def test_a_migrated_database_has_every_trigger() -> None:
    assert append_only.missing(connection) == []
