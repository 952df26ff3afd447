"""What a machine that has just been given the site needs: a folder, tables, an admin, something to look at.

Guarantees: every step does nothing where it was done before; the admin's password is returned once and kept
nowhere; the sample is ingested only into a site without any log.
Refuses, in a sentence: a folder that cannot be written, a database that does not answer.
"""

import secrets
import tempfile
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import OperationalError, connection

from chronicle import jobs
from chronicle.errors import CannotStart
from chronicle.ingest import ingest_file
from chronicle.log.database import ALPHABET
from chronicle.models import Log

SAMPLE = Path(__file__).parent / "sample" / "dinner.jsonl"
SAMPLE_OWNER = "demo"


def folders() -> None:
    """Make the folders for data, uploads and the SQLite file. Raises CannotStart naming one that cannot be written."""
    wanted = [Path(settings.DATA_DIR), Path(settings.INGEST_ROOT)]
    if connection.vendor == "sqlite" and not connection.is_in_memory_db():  # type: ignore[attr-defined]
        wanted.append(Path(str(settings.DATABASES["default"]["NAME"])).parent)
    for folder in wanted:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise CannotStart(
                f"The folder {folder} cannot be written ({error.strerror}); set DATA_DIR or DATABASE_URL anew."
            ) from error


def tables() -> None:
    """Bring the database up to date. Raises CannotStart when it does not answer."""
    try:
        connection.ensure_connection()
    except OperationalError as error:
        raise CannotStart(
            f"The database does not answer ({str(error).splitlines()[0]}); start it, or set DATABASE_URL."
        ) from error
    call_command("migrate", verbosity=0, interactive=False)


def first_admin() -> tuple[str, str] | None:
    """Make a superuser where there is none; return name and password, which are not kept anywhere."""
    users = get_user_model()._default_manager
    if users.filter(is_superuser=True).exists():
        return None
    taken = set(users.filter(username__startswith="admin").values_list("username", flat=True))
    name = next(name for name in ("admin", *(f"admin{n}" for n in range(2, 1000))) if name not in taken)
    password = "".join(secrets.choice(ALPHABET) for _ in range(16))
    users.create_superuser(name, password=password)
    return name, password


def sample() -> bool:
    """Ingest and consolidate the sample into a site without logs; True when it did."""
    if Log.objects.exists():
        return False
    ingest_file(SAMPLE, owner=SAMPLE_OWNER, name=SAMPLE.name)
    for log in Log.objects.filter(owner=SAMPLE_OWNER):
        jobs.run(jobs.consolidation(log, made_by="first start").pk)
    return True
