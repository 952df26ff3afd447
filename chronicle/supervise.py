"""Keep programs running: start them, start them again when they end or stall, end them without orphans.

Guarantees: each program is the head of a session of its own, and when it ends, stalls or is to be ended the
whole group goes with it. What ends by itself is started again after 1 s, doubled each time up to a minute, until
one has run for a minute; what stalls has had its time already and is started again after 1 s.
Knows nothing of Django: what "stalled" means is the caller's.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event

LOOK_EVERY = 0.5
PATIENCE = 8.0
FIRST_WAIT, LONGEST_WAIT, STEADY = 1.0, 60.0, 60.0


def _never_stalls() -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Program:
    """What to run. `stalled` says in words why it must be started again ("" for well), asked every `ask_every`
    seconds once it has run for `grace` seconds."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str]
    folder: str
    stalled: Callable[[], str] = _never_stalls
    grace: float = 0.0
    ask_every: float = 10.0


class Kept:
    """One program that is kept running."""

    def __init__(self, program: Program, say: Callable[[str], None]) -> None:
        self.program, self._say = program, say
        self._process: subprocess.Popen[bytes] | None = None
        self._started = self._asked = self._start_at = 0.0
        self._failures = 0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self) -> None:
        self._started = self._asked = time.monotonic()
        self._process = subprocess.Popen(  # noqa: S603 - what to run is ours
            self.program.command,
            cwd=self.program.folder,
            env=self.program.environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    def look(self) -> None:
        """Start it when its time has come; note that it ended; end it when it stalls."""
        now = time.monotonic()
        if self._process is None:
            if now >= self._start_at:
                self.start()
        elif (code := self._process.poll()) is not None:
            self._failures = 0 if now - self._started > STEADY else self._failures + 1
            wait = min(FIRST_WAIT * 2 ** max(self._failures - 1, 0), LONGEST_WAIT)
            self._start_again(now + wait, f"ended ({_manner(code)}); it is started again in {wait:.0f} s.")
        elif now - self._started > self.program.grace and now - self._asked > self.program.ask_every:
            self._asked = now
            if why := self.program.stalled():
                self._start_again(now + FIRST_WAIT, f"is stopped and started again: {why}")

    def ask_to_end(self) -> None:
        if self._process and self._process.poll() is None:
            self._process.terminate()

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """Kill the whole group, and wait for its head."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _start_again(self, at: float, what: str) -> None:
        self.kill()
        self._start_at = at
        self._say(f"{self.program.name} {what}")


class Supervisor:
    """Several programs under one roof."""

    def __init__(self, programs: Sequence[Program], say: Callable[[str], None]) -> None:
        self.kept = [Kept(program, say) for program in programs]

    def start(self) -> None:
        for kept in self.kept:
            kept.start()

    def look(self) -> None:
        """Look after each program once."""
        for kept in self.kept:
            kept.look()

    def watch(self) -> None:
        """Look after the programs until interrupted."""
        while True:
            time.sleep(LOOK_EVERY)
            self.look()

    def end(self, hurry: Event) -> None:
        """Ask each program to end, kill what is left of their groups after a while, or at once when `hurry` is set."""
        for kept in self.kept:
            kept.ask_to_end()
        deadline = time.monotonic() + PATIENCE
        while any(kept.running for kept in self.kept) and time.monotonic() < deadline and not hurry.wait(0.05):
            pass
        for kept in self.kept:
            kept.kill()


def _manner(code: int) -> str:
    return f"exit {code}" if code >= 0 else f"by {signal.Signals(-code).name}"
