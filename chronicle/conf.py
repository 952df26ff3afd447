"""One function per setting of the project: its default and its meaning."""

import os
import secrets
from pathlib import Path


def kept_secret(path: Path) -> str:
    """Return the secret kept at `path`, made with 50 random bytes (mode 0600) when there is none yet.

    Two processes that start at once agree: the file is created exclusively, the loser reads.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return path.read_text().strip()
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_urlsafe(50))
    return path.read_text().strip()
