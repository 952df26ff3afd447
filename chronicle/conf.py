"""One function per setting of the project: its default and its meaning."""

import contextlib
import os
import secrets
import tempfile
from datetime import timedelta
from pathlib import Path

import dj_database_url
from dj_database_url import DBConfig

from chronicle.errors import CannotStart


def kept_secret(path: Path) -> str:
    """Return the secret kept at `path`, made with 50 random bytes (mode 0600) when there is none yet.

    Two processes that start at once agree: the file is linked into place whole, the loser reads it.
    Raises CannotStart when the folder cannot be made, written or read.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            _make_secret(path)
        return path.read_text().strip()
    except OSError as error:
        raise CannotStart(
            f"The secret key cannot be kept at {path} ({error.strerror}); set DATA_DIR to a folder that can be"
            " written, or set SECRET_KEY."
        ) from error


def _make_secret(path: Path) -> None:
    handle, made = tempfile.mkstemp(dir=path.parent)  # mode 0600
    try:
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_urlsafe(50))
        with contextlib.suppress(FileExistsError):
            os.link(made, path)
    finally:
        Path(made).unlink()


def database(url: str) -> DBConfig:
    """DATABASE_URL, `sqlite:///file` or `postgres://user:password@host/name`: where everything is kept.

    Raises CannotStart for another scheme or what is no address; the address itself is not repeated: it may
    hold a password.
    """
    try:
        found = dj_database_url.parse(url)
    except (ValueError, dj_database_url.ParseError, dj_database_url.UnknownSchemeError) as error:
        raise CannotStart(_DATABASE_URL) from error
    if not found.get("ENGINE", "").endswith(("sqlite3", "postgresql")):
        raise CannotStart(_DATABASE_URL)
    return found


_DATABASE_URL = "DATABASE_URL is no address of a database: give sqlite:///file or postgres://user:password@host/name."


def job_lease() -> timedelta:
    """JOB_LEASE, seconds (60): how long a worker that gives no sign keeps a job before another may take it."""
    return timedelta(seconds=_number("JOB_LEASE"))


def worker_silence() -> timedelta:
    """WORKER_SILENCE, seconds (180): how long the task cluster may give no sign of life before it counts as stalled."""
    return timedelta(seconds=_number("WORKER_SILENCE"))


def queue_age() -> timedelta:
    """QUEUE_AGE, seconds (900): how long a job may be due before the worker counts as behind."""
    return timedelta(seconds=_number("QUEUE_AGE"))


def max_upload() -> int:
    """MAX_UPLOAD, bytes (512 MiB): how much one upload may hold, all its files together."""
    return int(_number("MAX_UPLOAD"))


def _number(name: str) -> float:
    from django.conf import settings  # late: the settings themselves use this module

    return float(getattr(settings, name))
