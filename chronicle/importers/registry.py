"""Which importers there are, and which of them a file is for.

Guarantees: a file is known by its content, never by its name; the first importer whose `sniff` says
yes takes it, the strictest forms being asked first. Refuses: what none knows (UnknownFormat).
"""

from chronicle.errors import UnknownFormat
from chronicle.importers import anagrapheus_sqlite
from chronicle.importers.anagrapheus import Anagrapheus
from chronicle.importers.claude_code import ClaudeCode
from chronicle.importers.events import PlainEvents
from chronicle.importers.protocol import DatabaseImporter, Importer, Opened

IMPORTERS: tuple[Importer, ...] = (PlainEvents(), Anagrapheus(), ClaudeCode())


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
    """Return the importer for a file, or the one named. Raises UnknownFormat."""
    if name:
        return named(name)
    for importer in IMPORTERS:
        if importer.sniff(opened):
            return importer
    raise UnknownFormat(_why_unknown(opened))


def _why_unknown(opened: Opened) -> str:
    if not opened.size:
        return "an empty file"
    return anagrapheus_sqlite.unknown(opened) if anagrapheus_sqlite.is_sqlite(opened) else "no known format"
