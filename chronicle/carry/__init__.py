"""Carry: logs with all that stands over them in one file, and back, on any database, byte for byte.

`export` writes, `check` proves a file against itself, `load` proves it, compares it with what is here, and writes.
"""

from chronicle.carry.checking import AGAINST, CarryReport, LogReport, check
from chronicle.carry.exporting import Exported, export
from chronicle.carry.loading import Loaded, load
from chronicle.carry.recording import FORMAT as RECORDING
from chronicle.carry.recording import Recorded, record

__all__ = [
    "AGAINST",
    "RECORDING",
    "CarryReport",
    "Exported",
    "Loaded",
    "LogReport",
    "Recorded",
    "check",
    "export",
    "load",
    "record",
]
