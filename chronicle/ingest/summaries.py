"""Summaries that a source holds, as sections with the origin "imported", through the one door.

Guarantees: a section covers what is free up to the summary's end, never a seq that another covers, and
says from which seq on the summary claims to stand (`replaces_from`); a rolling summary names the one it
swallowed; generations keep their numbers; a summary that is there already is not written again.
A rollup stands for the sections one level down that end in its range, which are stamped once.
A few events that a compaction kept word for word before what it replaced get a section without a summary.
A summary whose range has nothing free, or that would leave a wide hole, stays an event: the report says so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from django.db.models import QuerySet

from chronicle import sections
from chronicle.envelope import CONTENT_KINDS
from chronicle.errors import ChronicleError
from chronicle.importers.protocol import ReadSection
from chronicle.importers.text import first_line
from chronicle.ingest.batch import seqs
from chronicle.models import AnchorKind, Edition, Event, Log, Origin, Section
from chronicle.sections import NewSection

UNTITLED = "Imported summary"
KEPT = 100  # so many events may stand between the section before and a summary that claims to begin after them


@dataclass(slots=True)
class Imported:
    """What became of a batch's summaries; `notes` and `refused` are (line, words)."""

    added: int = 0
    present: int = 0
    notes: list[tuple[int, str]] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)


class Place(NamedTuple):
    """Where a summary stands in the log: its end, what closed it, and the first seq it claims to replace."""

    to_seq: int
    unit_seq: int
    claim: int


def land(log: Log, found: Sequence[ReadSection], key_of: Callable[[str], str], made_by: str) -> Imported:
    """Store the summaries that have a free slot. Call it in the transaction that wrote their events."""
    done = Imported()
    if not found:
        return done
    edition = sections.current_edition(log)
    ids = {native for read in found for native in (read.to_id, read.from_id, read.unit_id) if native}
    known = seqs(log, map(key_of, ids))
    for read in found:
        place = _place(read, known, key_of)
        if place is None:
            done.notes.append((read.line, "a summary whose first or last event was refused; it stays an event"))
            continue
        try:
            (_land_rollup if read.level else _land_one)(edition, read, place, done, made_by)
        except ChronicleError as error:
            done.refused.append((read.line, f"summary: {error}"))
    return done


def _place(read: ReadSection, known: dict[str, int], key_of: Callable[[str], str]) -> Place | None:
    to_seq = known.get(key_of(read.to_id))
    claim = known.get(key_of(read.from_id)) if read.from_id else 1
    if to_seq is None or claim is None:
        return None
    unit_seq = known.get(key_of(read.unit_id)) if read.unit_id else None
    return Place(to_seq, unit_seq or to_seq, claim)


def _land_one(edition: Edition, read: ReadSection, place: Place, done: Imported, made_by: str) -> None:
    there = list(_generations(edition, place.to_seq))
    if there:
        _next_generation(edition, there, read, place, done, made_by)
        return
    start = sections.consolidated_through(edition) + 1
    if place.to_seq < start:
        done.notes.append(
            (read.line, f"a summary up to seq {place.to_seq}: sections cover that already; it stays an event")
        )
    elif place.claim > start + KEPT:
        done.notes.append(
            (read.line, f"a summary from seq {place.claim}: {start} to {place.claim - 1} have no section yet")
        )
    elif read.generation != 1:
        done.notes.append((read.line, f"generation {read.generation} of a section whose first is not here"))
    else:
        if place.claim > start:
            sections.append_new(edition, _kept(edition, start, place.claim - 1, made_by))
            start = place.claim
        new = _new(edition, read, place, start, made_by)
        sections.append_new(edition, new, sources=_swallowed(edition, start) if read.rolling else ())
        done.added += 1


def _land_rollup(edition: Edition, read: ReadSection, place: Place, done: Imported, made_by: str) -> None:
    there = Section.objects.filter(anchor__edition=edition, anchor__level=read.level, anchor__to_seq=place.to_seq)
    stored = there.select_related("anchor").order_by("generation").first()
    if stored is not None:
        _met(stored, read, place, done)
        return
    found = sections.current_sections(edition).filter(anchor__level=read.level - 1, anchor__to_seq__gte=place.claim)
    children = list(found.filter(anchor__to_seq__lte=place.to_seq))
    if len(children) < 2 or children[-1].anchor.to_seq != place.to_seq:
        words = f"a rollup up to seq {place.to_seq}: the sections that it folds are not all here; it is not kept"
        done.notes.append((read.line, words))
    elif any(child.anchor.rolled_up_into_id for child in children):
        done.notes.append((read.line, f"a rollup up to seq {place.to_seq}: another stands for its sections already"))
    else:
        new = _new(edition, read, place, children[0].anchor.from_seq, made_by)
        counted = sum(child.anchor.event_count for child in children)
        sections.append_rollup(edition, replace(new, level=read.level, event_count=counted), children)
        done.added += 1


def _met(stored: Section, read: ReadSection, place: Place, done: Imported) -> None:
    """A rollup that ends where one is stored: the same, or another's."""
    if stored.origin != Origin.IMPORTED:
        done.notes.append((read.line, f"a rollup up to seq {place.to_seq}: {stored.ref} stands there already"))
    elif stored.prose == read.prose:
        done.present += 1
    else:
        done.refused.append((read.line, f"rollup {stored.ref} is stored with other words"))


def _kept(edition: Edition, start: int, end: int, made_by: str) -> NewSection:
    """The few events that a compaction kept word for word before what it replaced: covered, and summed up by nobody."""
    named = f"Events {start} to {end} were" if start < end else f"Event {start} was"
    return NewSection(
        from_seq=start,
        to_seq=end,
        unit_seq=end,
        kind=AnchorKind.IMPORTED,
        event_count=_counted(edition, start, end),
        title="Kept word for word",
        prose=f"{named} kept word for word beside the summary that follows; the source has no summary of them.",
        origin=Origin.CLOSED_WITHOUT_SUMMARY,
        made_by=made_by,
    )


def _generations(edition: Edition, to_seq: int) -> QuerySet[Section]:
    found = Section.objects.filter(anchor__edition=edition, anchor__level=0, anchor__to_seq=to_seq)
    return found.select_related("anchor").order_by("generation")


def _next_generation(
    edition: Edition, there: Sequence[Section], read: ReadSection, place: Place, done: Imported, made_by: str
) -> None:
    anchor = there[0].anchor
    if anchor.kind != AnchorKind.IMPORTED:
        done.notes.append((read.line, f"a summary up to seq {place.to_seq}: section {anchor.ref} covers that already"))
    elif read.generation <= len(there):
        if there[read.generation - 1].prose == read.prose:
            done.present += 1
        else:
            done.refused.append((read.line, f"summary {anchor.ref}#{read.generation} is stored with other words"))
    else:
        new = _new(edition, read, place, anchor.from_seq, made_by)
        sections.supersede(edition, there[-1], new)
        done.added += 1


def _new(edition: Edition, read: ReadSection, place: Place, start: int, made_by: str) -> NewSection:
    return NewSection(
        from_seq=start,
        to_seq=place.to_seq,
        unit_seq=max(place.unit_seq, start),
        kind=AnchorKind.IMPORTED,
        event_count=_counted(edition, start, place.to_seq),
        title=read.title.strip() or first_line(read.prose) or UNTITLED,
        prose=read.prose,
        origin=Origin.IMPORTED,
        replaces_from=place.claim,
        model=read.model[:200],
        made_by=made_by,
        pins=tuple(key[:200] for key in read.pins),
    )


def _counted(edition: Edition, start: int, end: int) -> int:
    kinds = [str(kind) for kind in CONTENT_KINDS]
    return Event.objects.filter(log=edition.log_id, seq__gte=start, seq__lte=end, kind__in=kinds).count()


def _swallowed(edition: Edition, start: int) -> Sequence[Section]:
    """The imported summary before this one, in force: it was in the context that this one was written from."""
    found = sections.current_sections(edition).filter(anchor__level=0, anchor__to_seq__lt=start, origin=Origin.IMPORTED)
    return list(found.order_by("-anchor__to_seq")[:1])
