"""What a start says of a configuration or a database that is not right."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

from chronicle import checks, conf
from chronicle.errors import CannotStart


@pytest.mark.parametrize("url", ["nonsense", "mysql://u:secret@h/x", "postgres//u:secret@h"])
def test_an_address_of_no_database_is_one_sentence_without_its_password(url: str) -> None:
    with pytest.raises(CannotStart, match="DATABASE_URL") as caught:
        conf.database(url)
    assert "secret" not in str(caught.value)


def test_a_command_under_such_an_address_exits_with_two_and_no_traceback(tmp_path: Path) -> None:
    environment = {**os.environ, "DATABASE_URL": "nonsense", "DATA_DIR": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=settings.BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert "Traceback" not in ran.stderr


@pytest.mark.promise("K18")
@pytest.mark.django_db
def test_a_web_server_says_at_its_start_that_records_are_unprotected(caplog: pytest.LogCaptureFixture) -> None:
    checks.refuse_unsafe_start()
    assert "are gone" not in caplog.text
    with connection.cursor() as cursor:
        on = " ON chronicle_section" if connection.vendor == "postgresql" else ""
        cursor.execute(f"DROP TRIGGER protect_chronicle_section_delete{on}")
    checks.refuse_unsafe_start()
    assert "protect_chronicle_section_delete" in caplog.text


def test_the_kept_secret_is_its_owners_alone(tmp_path: Path) -> None:
    conf.kept_secret(tmp_path / "secret_key")
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600
