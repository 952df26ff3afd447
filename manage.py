#!/usr/bin/env python
"""Every command of the site: `uv run manage.py help`."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "anagrapheus_site.settings")
    from django.core.management import execute_from_command_line

    from chronicle.errors import CannotStart

    try:
        execute_from_command_line(sys.argv)
    except CannotStart as error:  # from the settings, before any command is there to say it
        sys.stderr.write(f"{error}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
