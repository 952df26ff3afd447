"""Two kinds of jobs that only faults need."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chronicle.jobs import Held


def die(held: Held) -> Mapping[str, Any]:
    """Kill the worker that does this job."""
    note(held)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def note(held: Held) -> Mapping[str, Any]:
    """Leave a line in the file of the job's target."""
    with Path(os.environ["FAULTS"], held.target).open("a") as file:
        file.write(f"{os.getpid()}\n")
    return {"pid": os.getpid()}
