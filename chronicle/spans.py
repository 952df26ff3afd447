"""From events to what a summariser is given: public content only, no ids, no seqs, no running numbers.

Guarantees: two fresh databases with the same dialogue give the same span; private events and
bookkeeping are not in it; a response says by its place in the span which request it answers.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from chronicle.envelope import CONTENT_KINDS, Kind, StoredEvent
from chronicle.models import Event, Log, Origin, Section
from chronicle.summarisers.protocol import Child, Said, Span


def span_of(events: Iterable[StoredEvent]) -> Span:
    """Return the span of one unit's events, oldest first. Its times are the claimed ones where there are any."""
    shown = [event for event in events if event.public and event.kind in CONTENT_KINDS]
    requests: dict[str, int] = {}
    said = []
    for place, event in enumerate(shown):
        if event.kind == Kind.TOOL_REQUEST:
            requests[str(event.event_id)] = place
            if event.correlation:
                requests[event.correlation] = place
        said.append(_said(event, requests))
    times = [happened(event.at, event.claimed_at) for event in shown]
    return Span(tuple(said), min(times, default=None), max(times, default=None))


def _said(event: StoredEvent, requests: dict[str, int]) -> Said:
    answers = None
    if event.kind == Kind.TOOL_RESPONSE:
        answers = requests.get(str(event.causation), requests.get(event.correlation))
    return Said(event.kind, event.actor_kind, event.actor, event.content, event.payload, answers)


def happened(at: datetime, claimed_at: datetime | None) -> datetime:
    """Return the time to show a reader: the source's where it states one."""
    return claimed_at or at


def children_of(log: Log, sections: Sequence[Section]) -> list[Child]:
    """Return what a rollup is drawn from, oldest first; a unit closed without summary has no words to give."""
    ends = {seq for section in sections for seq in (section.anchor.from_seq, section.anchor.to_seq)}
    found = Event.objects.filter(log=log, seq__in=ends).values_list("seq", "at", "claimed_at")
    times = {seq: happened(at, claimed) for seq, at, claimed in found}
    return [
        Child(
            section.title,
            section.prose,
            section.anchor.event_count,
            times.get(section.anchor.from_seq),
            times.get(section.anchor.to_seq),
        )
        for section in sections
        if section.origin != Origin.CLOSED_WITHOUT_SUMMARY
    ]
