"""`python -m chronicle.child PARENT web|tasks|mcp …`: what `up` starts.

Guarantees: a process started here, and whatever it forks, ends when the process that started it ends, even
by kill -9: on Linux the kernel sends SIGKILL down the line, elsewhere a thread watches the parent.
"""

import ctypes
import os
import signal
import sys
import threading
import time

PR_SET_PDEATHSIG = 1
WATCH_EVERY = 1.0

_linux = ctypes.CDLL(None) if sys.platform == "linux" else None
_forker = 0


def die_with(parent: int) -> None:
    """End when `parent` ends; what this process forks will end with it."""
    _follow(parent)
    os.register_at_fork(before=_remember, after_in_child=lambda: _follow(_forker))
    if _linux is None:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _remember() -> None:
    global _forker
    _forker = os.getpid()


def _follow(parent: int) -> None:
    if _linux is not None:
        _linux.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before the kernel knew
            os._exit(1)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(WATCH_EVERY)
    os.killpg(os.getpgrp(), signal.SIGKILL)


def main(arguments: list[str]) -> None:
    parent, role, *rest = arguments
    die_with(int(parent))
    if role == "web":
        from gunicorn.app.wsgiapp import run

        sys.argv = ["gunicorn", *rest]
        run()
        return
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "anagrapheus_site.settings")
    from django.core.management import execute_from_command_line

    sys.argv = ["manage.py", *rest]  # the settings ask what is run
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main(sys.argv[1:])
