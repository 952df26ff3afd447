"""What of a log an export shows: a range of its events, and the sections in force that touch it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from chronicle import sections
from chronicle.errors import InvalidFilter
from chronicle.models import Event, Log, Section

PAGE = 500


@dataclass(slots=True)
class Tally:
    """How many rows were written, of how many the log holds."""

    events: int = 0
    events_there: int = 0
    sections: int = 0
    sections_there: int = 0

    def as_json(self) -> dict[str, dict[str, int]]:
        """Return `{kind: {written, of}}`, as the other exports answer."""
        return {
            "event": {"written": self.events, "of": self.events_there},
            "section": {"written": self.sections, "of": self.sections_there},
        }


@dataclass(frozen=True, slots=True)
class Taken:
    """A range of a log, from_seq to to_seq inclusive; of an empty log 1 to 0."""

    log: Log
    from_seq: int
    to_seq: int
    tally: Tally = field(default_factory=Tally)

    def events(self) -> Iterator[Event]:
        """Yield the events of the range by seq, read page by page; each is counted as it is given."""
        after = self.from_seq - 1
        while after < self.to_seq:
            rows = self.log.events.filter(seq__gt=after, seq__lte=self.to_seq).select_related("source")
            found = list(rows.order_by("seq")[:PAGE])
            if not found:
                return
            self.tally.events += len(found)
            yield from found
            after = found[-1].seq

    def sections(self) -> Iterator[Section]:
        """Yield the sections in force that touch the range, rollups first where they begin at the same seq."""
        edition = sections.current_edition(self.log)
        rows = sections.current_sections(edition).filter(
            anchor__from_seq__lte=self.to_seq, anchor__to_seq__gte=self.from_seq
        )
        for section in rows.order_by("anchor__from_seq", "-anchor__level").iterator(chunk_size=PAGE):
            self.tally.sections += 1
            yield section

    def part(self, from_seq: int, to_seq: int) -> "Taken":
        """Return a part of the range, counted in the same tally."""
        return Taken(self.log, from_seq, to_seq, self.tally)


def take(log: Log, from_seq: int | None = None, to_seq: int | None = None) -> Taken:
    """Look at a range of a log; what is not given is its first or last event. Raises InvalidFilter."""
    log.refresh_from_db()
    first, last = from_seq or 1, to_seq or log.last_seq
    for name, seq in (("from", from_seq), ("to", to_seq)):
        if seq is not None and not 1 <= seq <= log.last_seq:
            raise InvalidFilter(f"{name} {seq} is outside the log, which holds 1 to {log.last_seq}", field=name)
    if first > last and log.last_seq:
        raise InvalidFilter(f"from {first} stands behind to {last}; turn them round", field="from")
    held = sections.current_sections(sections.current_edition(log)).count()
    return Taken(log, first, last, Tally(events_there=log.last_seq, sections_there=held))
