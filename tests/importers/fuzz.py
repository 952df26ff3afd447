"""Fuzz every importer for a while of computing: `python -m tests.importers.fuzz --seconds 300`.

Each round takes one of a format's fixtures with bytes changed, or records of odd shapes, from hypothesis with a seed of
its own. What an importer raises is shrunk and printed with that seed; `--format NAME --seed N` makes it again.
"""

import argparse
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from chronicle.importers import registry
from tests.importers import shaping
from tests.importers.files import name_of, own_of
from tests.importers.formats import FORMATS, Format

EXAMPLES = 50
ROUND = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)

type Round = Callable[[], None]


def bytes_changed(format: Format, sample: Path, copy: Path) -> Round:
    importer, data = registry.named(format.name), sample.read_bytes()

    @given(edits=shaping.EDITS)
    def changed(edits: list[tuple[float, int, bytes]]) -> None:
        copy.write_bytes(shaping.mutated(data, edits))
        shaping.check(copy, importer)

    return changed


def shaped(format: Format, copy: Path) -> Round:
    importer = registry.named(format.name)

    @given(records=shaping.shaped(format))
    def odd(records: list[bytes]) -> None:
        format.file(copy, records)
        shaping.check(copy, importer)

    return odd


def one_round(format: Format, number: int, copy: Path) -> str:
    """Run the round of this seed; return what went wrong, or nothing."""
    samples = own_of(format.name)
    pick = random.Random(number).randrange(len(samples) + 1)
    what = name_of(samples[pick]) if pick < len(samples) else "odd records"
    found = bytes_changed(format, samples[pick], copy) if pick < len(samples) else shaped(format, copy)
    try:
        seed(number)(ROUND(found))()
    except Exception:  # whatever an importer raises is what is looked for
        return f"{format.name}, seed {number}, {what}: the file is kept as {copy}\n{traceback.format_exc()}"
    return ""


def fuzz(format: Format, seconds: float, first: int, folder: Path) -> str:
    """Run rounds until the time is over, or something went wrong."""
    number, end = first, time.process_time() + seconds
    while True:
        if wrong := one_round(format, number, folder / format.name):
            return wrong
        number += 1
        if time.process_time() >= end:
            sys.stdout.write(f"{format.name}: {(number - first) * EXAMPLES} files, seeds {first} to {number - 1}\n")
            sys.stdout.flush()
            return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="of computing, for each format")
    parser.add_argument("--format", action="append", help="this one alone; may be given again")
    parser.add_argument("--seed", type=int, default=1, help="the first of the seeds")
    given_args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    formats = [format for format in FORMATS if not given_args.format or format.name in given_args.format]
    wrong = [text for format in formats if (text := fuzz(format, given_args.seconds, given_args.seed, folder))]
    sys.stdout.write("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
