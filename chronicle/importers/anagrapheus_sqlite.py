"""The SQLite file of the library anagrapheus, read without a trace: read-only, immutable, tables only.

Guarantees: nothing is written beside the file, no view or trigger of it is run, a damaged row is
refused by its seq. The chronicle is proven whole before the first item: ranges inside the log, joined
from seq 1 without a hole, one successor a section over the same range, no prose empty.
Refuses (BrokenFile, naming the section): a chronicle that is not whole; another schema version.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from chronicle.errors import BrokenFile
from chronicle.importers import sqlite_files, text
from chronicle.importers.protocol import Opened, ReadSection, Refused

TABLES = {"events", "schema_versions"}
VERSIONS = {"timeline": 1, "chronicle": 1}


class Row(NamedTuple):
    seq: int
    envelope: dict[str, Any]
    payload: str


@dataclass(slots=True)
class Kept:
    """A section as the file holds it; `generation` counts from 1 along the chain of `supersedes`."""

    id: str
    from_seq: int
    to_seq: int
    unit: int
    supersedes: str | None
    prose: str
    pins: tuple[str, ...]
    generation: int = 0


@dataclass(slots=True)
class Source:
    opened: Opened
    ids: dict[int, str]  # the event ids of the seqs at which sections begin, end and close
    last_seq: int
    sections: dict[int, list[Kept]] = field(default_factory=dict)  # by the seq they end at
    said: list[str] = field(default_factory=list)

    def notes(self) -> list[str]:
        return self.said

    def events(self) -> Iterator[Row | Refused]:
        """Yield the rows of `events` by seq. Where the file is damaged, what follows is refused once."""
        seq = 0
        try:
            with closing(sqlite_files.connect(self.opened)) as database:
                for row in database.execute(_EVENTS):
                    seq = row[0]
                    yield _row(row)
        except (sqlite3.Error, OverflowError) as error:
            yield Refused(seq + 1, f"the database cannot be read behind seq {seq}: {error}")

    def marker_types(self) -> frozenset[tuple[str, str]]:
        """Return the types, one at most, of which every event closes a section and which close them all."""
        units = {kept.unit for ending in self.sections.values() for kept in ending}
        if not units:
            return frozenset()
        through = max(self.sections)
        with closing(sqlite_files.connect(self.opened)) as database:
            closing_types = Counter(_types_at(database, units))
            if len(closing_types) != 1:
                return frozenset()
            (found,) = closing_types
            count = "SELECT count(*) FROM events WHERE namespace = ? AND type = ? AND seq <= ?"
            total = database.execute(count, (*found, through)).fetchone()[0]
        return frozenset({found}) if total == len(units) else frozenset()

    def sections_ending_at(self, session: str, seq: int) -> Iterator[ReadSection]:
        for kept in self.sections.get(seq, ()):
            yield ReadSection(
                session=session,
                to_id=self.ids[kept.to_seq],
                prose=text.storable(kept.prose)[0],
                line=seq,
                title=text.storable(text.first_line(kept.prose))[0],
                from_id=self.ids[kept.from_seq],
                generation=kept.generation,
                pins=kept.pins,
                unit_id=self.ids[kept.unit],
            )


_EVENTS = (
    "SELECT seq, event_id, namespace, type, schema_version, causation_id, correlation_id, created_at, payload "
    "FROM events ORDER BY seq"
)
_SECTIONS = "SELECT section_id, from_seq, to_seq, unit, supersedes, prose, pins FROM chronicle_sections"


def sniff(opened: Opened) -> bool:
    """True for a database that holds the library's tables."""
    return sqlite_files.tables_of(opened) >= TABLES


def open_source(opened: Opened) -> Source:
    """Return what the file holds, its chronicle proven. Raises BrokenFile."""
    try:
        with closing(sqlite_files.connect(opened)) as database:
            tables = sqlite_files.tables(database)
            _check_versions(database, tables)
            source = Source(opened, {}, database.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()[0])
            kept = list(_kept(database)) if "chronicle_sections" in tables else []
            prove(kept, source.last_seq)
            _arrange(source, kept, database)
            source.said += _left_out(opened, database, tables)
            return source
    except (sqlite3.Error, OverflowError) as error:
        raise BrokenFile(f"the database cannot be read: {error}") from error


def _check_versions(database: sqlite3.Connection, tables: set[str]) -> None:
    if missing := TABLES - tables:
        raise BrokenFile(f"not a log of anagrapheus: it has no table {sorted(missing)[0]}")
    found = dict(database.execute("SELECT component, version FROM schema_versions").fetchall())
    if "timeline" not in found:
        raise BrokenFile("schema_versions names no version of the timeline")
    for component, known in VERSIONS.items():
        if component in found and found[component] != known:
            raise BrokenFile(f"version {found[component]!r} of {component} is not known; {known} is")


def _kept(database: sqlite3.Connection) -> Iterator[Kept]:
    for section_id, from_seq, to_seq, unit, supersedes, prose, pins in database.execute(_SECTIONS):
        if not all(isinstance(seq, int) for seq in (from_seq, to_seq, unit)) or not isinstance(prose, str):
            raise BrokenFile(f"section {section_id!r}: a range of whole numbers and a prose are needed")
        keys = tuple(str(pins or "").replace(",", " ").split())
        yield Kept(str(section_id), from_seq, to_seq, unit, supersedes, prose, keys)


def prove(kept: list[Kept], last_seq: int) -> None:
    """Raise BrokenFile naming the first section that no chronicle of this log can hold; number generations."""
    for section in sorted(kept, key=lambda one: (one.from_seq, one.to_seq)):
        _prove_alone(section, last_seq)
    _number(kept)
    slots = sorted({(section.from_seq, section.to_seq) for section in kept})
    if slots and slots[0][0] != 1:
        raise BrokenFile(f"section {slots[0][0]}-{slots[0][1]}: events 1 to {slots[0][0] - 1} are in no section")
    for before, after in pairwise(slots):
        if after[0] <= before[1]:
            raise BrokenFile(f"section {after[0]}-{after[1]} overlaps {before[0]}-{before[1]}")
        if after[0] != before[1] + 1:
            raise BrokenFile(
                f"section {after[0]}-{after[1]}: events {before[1] + 1} to {after[0] - 1} before it are in no section"
            )


def _prove_alone(section: Kept, last_seq: int) -> None:
    if section.from_seq > section.to_seq:
        raise BrokenFile(f"section {section.id!r}: its range is inverted, {section.from_seq} to {section.to_seq}")
    if section.from_seq < 1 or section.to_seq > last_seq:
        raise BrokenFile(f"section {section.id!r} goes past the log, which holds 1 to {last_seq}")
    if not section.from_seq <= section.unit <= section.to_seq:
        raise BrokenFile(f"section {section.id!r}: its unit {section.unit} is outside its range")
    if not section.prose.strip():
        raise BrokenFile(f"section {section.id!r}: its prose is empty")


def _number(kept: list[Kept]) -> None:
    """Number the generations along `supersedes`; a fork, a loop or a lost predecessor is refused."""
    by_id = {section.id: section for section in kept}
    successors: dict[str, str] = {}
    for section in kept:
        if section.supersedes is None:
            continue
        old = by_id.get(section.supersedes)
        if old is None:
            raise BrokenFile(f"section {section.id!r} supersedes {section.supersedes!r}, which is not there")
        if (old.from_seq, old.to_seq) != (section.from_seq, section.to_seq):
            raise BrokenFile(f"section {section.id!r} covers another range than {old.id!r}, which it supersedes")
        if successors.setdefault(old.id, section.id) != section.id:
            raise BrokenFile(f"section {section.id!r}: {old.id!r} is superseded already, by {successors[old.id]!r}")
    firsts = [section for section in kept if section.supersedes is None]
    if len({(first.from_seq, first.to_seq) for first in firsts}) != len(firsts):
        raise BrokenFile("two sections of one range, and neither supersedes the other")
    for first in firsts:
        _count_from(first, by_id, successors)
    if unnumbered := [section for section in kept if not section.generation]:
        raise BrokenFile(f"section {unnumbered[0].id!r} supersedes itself in a circle")


def _count_from(first: Kept, by_id: dict[str, Kept], successors: dict[str, str]) -> None:
    section, generation = first, 1
    section.generation = generation
    while section.id in successors:
        section, generation = by_id[successors[section.id]], generation + 1
        section.generation = generation


def _arrange(source: Source, kept: list[Kept], database: sqlite3.Connection) -> None:
    ending: dict[int, list[Kept]] = defaultdict(list)
    for section in sorted(kept, key=lambda one: (one.from_seq, one.generation)):
        ending[section.to_seq].append(section)
    source.sections = dict(ending)
    for seq in {seq for one in kept for seq in (one.from_seq, one.to_seq, one.unit)}:
        row = database.execute("SELECT event_id FROM events WHERE seq = ?", (seq,)).fetchone()
        if row is None:
            raise BrokenFile(f"a section begins or ends at seq {seq}, which the log does not hold")
        source.ids[seq] = str(row[0])


def _types_at(database: sqlite3.Connection, seqs: set[int]) -> Iterator[tuple[str, str]]:
    for seq in seqs:
        yield from database.execute("SELECT namespace, type FROM events WHERE seq = ?", (seq,))


def _row(row: tuple[Any, ...]) -> Row | Refused:
    seq, event_id, namespace, type_name, version, causation, correlation, created_at, payload = row
    if not isinstance(payload, str):
        return Refused(seq, "payload is not text")
    return Row(
        seq,
        {
            "event_id": event_id,
            "namespace": namespace,
            "type": type_name,
            "schema_version": version,
            "causation_id": causation,
            "correlation_id": correlation,
            "created_at": created_at,
        },
        payload,
    )


def _left_out(opened: Opened, database: sqlite3.Connection, tables: set[str]) -> Iterator[str]:
    if sqlite_files.write_ahead(opened):
        yield sqlite_files.NOT_READ
    if "pin_scratch" in tables:
        count = database.execute("SELECT count(*) FROM pin_scratch").fetchone()[0]
        if count:
            yield f"{count} pins of units that were still open were left out"
