"""The process that measures: `python -m chronicle.bench FOLDER [--quick]` prints one JSON object.

Guarantees: the settings it loads name a database in FOLDER and nothing else; it refuses a FOLDER that holds
anything, so it cannot meet data that is not its own.
"""

import json
import logging
import os
import sys
from pathlib import Path


def main() -> None:
    """Set the environment up before anything of the site is imported, then measure."""
    folder = Path(sys.argv[1])
    if any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty, and the benchmark writes only where nothing is")
    os.environ.update(
        DJANGO_SETTINGS_MODULE="anagrapheus_site.settings",
        DATABASE_URL=f"sqlite:///{folder.resolve()}/bench.sqlite3",
        DATA_DIR=str(folder.resolve()),
        DJANGO_DEBUG="",
        ALLOWED_HOSTS="testserver",
    )
    import django

    django.setup()
    logging.disable(logging.WARNING)
    measure(folder, quick="--quick" in sys.argv)


def measure(folder: Path, *, quick: bool) -> None:
    """Migrate, measure part by part (said on stderr), print the figures."""
    from django.core.management import call_command

    from chronicle.bench import chronicles, logs, pages
    from chronicle.bench.figures import QUICK, Size

    call_command("migrate", verbosity=0)
    size = QUICK if quick else Size()
    figures = []
    for part in (pages.measure(size), logs.measure(size, folder), chronicles.measure(size)):  # pages while it is alone
        for figure in part:
            sys.stderr.write(f"{figure.name}\n")
            figures.append(figure.as_json())
    sys.stdout.write(json.dumps({"figures": figures}) + "\n")


if __name__ == "__main__":
    main()
