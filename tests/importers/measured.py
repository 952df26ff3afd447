"""Read a file with one importer in a process of its own, and print how many events it gave and the peak of memory.

The peak is this program's alone: what getrusage gives begins with the size of the process that started it.
"""

import re
import sys
from pathlib import Path

from chronicle.importers import lines, registry
from chronicle.importers.protocol import Read


def main(format: str, path: str) -> None:
    importer, opened = registry.named(format), lines.open_file(Path(path))
    importer.survey(opened)
    count = sum(isinstance(item, Read) for item in importer.read(opened))
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert peak is not None
    print(count, int(peak[1]) * 1024)  # noqa: T201 - its answer


if __name__ == "__main__":
    main(*sys.argv[1:])
