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
from chronicle.summarisers.model import Settings
from chronicle.summarisers.requests import Generation


def kept_secret(path: Path, *, setting: str = "SECRET_KEY") -> str:
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
            f"A secret key cannot be kept at {path} ({error.strerror}); set DATA_DIR to a folder that can be"
            f" written, or set {setting}."
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


def token_key() -> str:
    """TOKEN_KEY (made on the first use, kept in DATA_DIR): hashes tokens; another one ends every token there is."""
    from django.conf import settings  # late, as below

    return _text("TOKEN_KEY") or kept_secret(settings.DATA_DIR / "token_key", setting="TOKEN_KEY")


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


def model() -> str:
    """MODEL, `provider:name` (none): the model that `model` asks where a policy names none."""
    return _text("MODEL")


def model_input_tokens() -> int:
    """MODEL_INPUT_TOKENS (24000, at least 1000): what one request may hold, estimated; what is longer is parted."""
    return _between("MODEL_INPUT_TOKENS", 1000, 10_000_000)


def model_output_tokens() -> int:
    """MODEL_OUTPUT_TOKENS (1500, from 16 to 100000): what one answer may hold; one that is cut off is not used."""
    return _between("MODEL_OUTPUT_TOKENS", 16, 100_000)


def model_temperature() -> float | None:
    """MODEL_TEMPERATURE, 0 to 2 (the provider's own): how freely a model chooses its words."""
    given = _text("MODEL_TEMPERATURE")
    if not given:
        return None
    with contextlib.suppress(ValueError):
        if 0 <= (number := float(given)) <= 2:
            return number
    raise CannotStart("MODEL_TEMPERATURE is a number from 0 to 2, or empty for the provider's own.")


def model_timeout() -> float:
    """MODEL_TIMEOUT, seconds (120, at most 540): how long one call may take, all its tries together."""
    return float(_between("MODEL_TIMEOUT", 1, 540))


def model_retries() -> int:
    """MODEL_RETRIES (3, at most 10): how often a call that failed is tried again, with growing waits."""
    return _between("MODEL_RETRIES", 0, 10)


def model_settings() -> Settings:
    """How a model is asked, by all of these. Raises CannotStart for a value outside its range."""
    generation = Generation(output_tokens=model_output_tokens(), temperature=model_temperature())
    return Settings(
        generation=generation,
        input_tokens=model_input_tokens(),
        timeout=model_timeout(),
        retries=model_retries(),
    )


def _between(name: str, low: int, high: int) -> int:
    if not low <= (number := _number(name)) <= high:
        raise CannotStart(f"{name} is a number from {low} to {high}, not {number:g}.")
    return int(number)


def _text(name: str) -> str:
    from django.conf import settings  # late, as below

    return str(getattr(settings, name)).strip()


def _number(name: str) -> float:
    from django.conf import settings  # late: the settings themselves use this module

    return float(getattr(settings, name))
