"""What must be right before the site starts.

Guarantees: a sample key stops every command while DEBUG is off; the checks of the database (triggers in
place, a SQLite without the WAL-reset bug) run with `up`, `migrate` and `check --database default`; a summariser
that could draw nothing is warned of.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register, run_checks
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from chronicle.errors import CannotStart, InvalidPolicy

SAMPLE_KEYS = ("django-insecure-", "changeme", "change-me", "change_me", "example", "sample", "insecure", "your-")
SAFE_SQLITE = (3, 51, 3)


def install() -> None:
    """Register the checks; called once, when the application is ready."""
    register(sample_key, Tags.security)
    register(database, Tags.database)
    register(summariser)


def sample_key(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """Refuse a key that anyone may know, unless DEBUG says that nobody else is here."""
    if settings.DEBUG or not settings.SECRET_KEY.lower().startswith(SAMPLE_KEYS):
        return []
    hint = "Set SECRET_KEY to a long random text, or leave it out: `up` makes one and keeps it in DATA_DIR."
    return [Error("SECRET_KEY is a sample key and DEBUG is off.", hint=hint, id="chronicle.E001")]


def database(
    app_configs: Sequence[AppConfig] | None = None, databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    """Look at each database asked for: are the triggers there, is its SQLite safe?"""
    found: list[CheckMessage] = []
    for alias in databases or ():
        connection = connections[alias]
        found += [*_triggers(connection), *_index(connection), *_sqlite(connection)]
    return found


def summariser(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """Say beforehand what every draw would say: the summariser is unknown, or it has no model to ask."""
    from chronicle import conf, summarisers  # late, as below

    try:
        summarisers.summariser_named(settings.SUMMARISER, model=conf.model(), settings=conf.model_settings())
    except (InvalidPolicy, CannotStart) as error:
        hint = "docs/operations.md lists the settings; SUMMARISER=outline needs no other."
        return [Warning(str(error), hint=hint, id="chronicle.W003")]
    return []


def refuse_unsafe_start() -> None:
    """For the web server, which runs no command: raise ImproperlyConfigured for what would stop one.

    Missing triggers are logged; they stop nothing, since a site that answers can still be verified.
    """
    from chronicle.health import warn_of_missing_triggers  # late: there are models only now

    for message in run_checks(tags=[Tags.security]):
        if message.is_serious():
            raise ImproperlyConfigured(f"{message.msg} {message.hint}")
    warn_of_missing_triggers()


def _triggers(connection: BaseDatabaseWrapper) -> list[CheckMessage]:
    from chronicle import append_only  # late: it declares models, and web servers import this before there are apps

    tables = connection.introspection.table_names()
    if "chronicle_event" not in tables:
        return []  # nothing was migrated here yet
    if not (missing := append_only.missing(connection)):
        return []
    words = f"{len(missing)} triggers that keep records from being changed are not in place: {', '.join(missing[:5])}."
    # A warning, because an error would stop `migrate` itself, which is the way out.
    return [Warning(words, hint="Run `manage.py migrate`, which installs them.", id="chronicle.W002")]


def _index(connection: BaseDatabaseWrapper) -> list[CheckMessage]:
    from chronicle import full_text  # late, as above

    if not (missing := full_text.missing(connection)):
        return []
    words = f"The index of the search is not whole: {', '.join(missing)} is not in place."
    return [Warning(words, hint="Run `manage.py migrate`, which makes it.", id="chronicle.W004")]


def _sqlite(connection: BaseDatabaseWrapper) -> list[CheckMessage]:
    if connection.vendor != "sqlite" or sqlite3.sqlite_version_info >= SAFE_SQLITE:
        return []
    words = f"SQLite {sqlite3.sqlite_version} can, very rarely, damage a database that is in WAL mode."
    hint = "Keep backups; SQLite 3.51.3 has the fix, and PostgreSQL is there for teams."
    return [Warning(words, hint=hint, id="chronicle.W001")]
