"""Which importers there are, and which of them a file is for.

An importer is there because its module is in this package and names it: `IMPORTERS = (Format(),)`.
Guarantees: a file is known by its content, never by its name; no two importers' `sniff` say yes to one
file (a law that the tests hold over every file), so their order means nothing. Refuses: what none knows
(UnknownFormat).
"""

import importlib
import pkgutil

from chronicle.errors import UnknownFormat
from chronicle.importers import sqlite_files
from chronicle.importers.protocol import DatabaseImporter, Importer, Opened


def _found() -> tuple[Importer, ...]:
    """Return the importers that the modules of this package name, by the modules' names."""
    package = __name__.rpartition(".")[0]
    names = sorted(module.name for module in pkgutil.iter_modules(importlib.import_module(package).__path__))
    modules = (importlib.import_module(f"{package}.{name}") for name in names if f"{package}.{name}" != __name__)
    return tuple(importer for module in modules for importer in getattr(module, "IMPORTERS", ()))


IMPORTERS = _found()


def names() -> list[str]:
    """Return what `--format` takes."""
    return [importer.name for importer in IMPORTERS]


def named(name: str) -> Importer:
    """Return an importer by name. Raises UnknownFormat, naming those there are."""
    for importer in IMPORTERS:
        if importer.name == name:
            return importer
    raise UnknownFormat(f"no format {name!r}; known are {', '.join(names())}")


def is_of_a_server(importer: Importer) -> bool:
    """True for a format that is read from a database server and never from a file."""
    return isinstance(importer, DatabaseImporter)


def importer_for(opened: Opened, name: str | None = None) -> Importer:
    """Return the importer for a file or a server, or the one named. Raises UnknownFormat."""
    if name:
        return _fitting(named(name), opened)
    for importer in IMPORTERS:
        if is_of_a_server(importer) == bool(opened.dsn) and importer.sniff(opened):
            return importer
    raise UnknownFormat(_why_unknown(opened))


def _fitting(importer: Importer, opened: Opened) -> Importer:
    if is_of_a_server(importer) != bool(opened.dsn):
        source = "a database server" if is_of_a_server(importer) else "files"
        raise UnknownFormat(f"the format {importer.name!r} is read from {source}")
    return importer


def _why_unknown(opened: Opened) -> str:
    if opened.dsn:
        known = ", ".join(importer.name for importer in IMPORTERS if is_of_a_server(importer))
        return f"no known tables; name what is read from it by --format ({known or 'none is known'})"
    if not opened.size:
        return "an empty file"
    return sqlite_files.unknown(opened) if sqlite_files.is_sqlite(opened) else "no known format"
