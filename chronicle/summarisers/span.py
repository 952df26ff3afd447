"""A closed unit's events as a summariser is given them.

Guarantees: public content events only, oldest first; no bookkeeping, no markers, nothing private; no
id, no seq and no number of the log, so the same dialogue in two logs gives the same span.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from chronicle.envelope import CONTENT_KINDS, Kind, StoredEvent
from chronicle.summarisers.protocol import Draft, Said, Span

NOTHING_PUBLIC = "[Nothing to tell: this span holds no content that everyone may see.]"


@dataclass(slots=True)
class _Requests:
    """Where the tool requests of a span stand, by their event's id and by their call's."""

    by_id: dict[UUID, int]
    by_call: dict[str, int]

    def keep(self, event: StoredEvent, position: int) -> None:
        if event.kind == Kind.TOOL_REQUEST:
            self.by_id[event.event_id] = position
            if event.correlation:
                self.by_call[event.correlation] = position

    def answered_by(self, event: StoredEvent) -> int | None:
        if event.kind != Kind.TOOL_RESPONSE:
            return None
        if event.causation is not None and event.causation in self.by_id:
            return self.by_id[event.causation]
        return self.by_call.get(event.correlation) if event.correlation else None


def nothing_public() -> Draft:
    """Return the fixed draft of a span in which nothing is public; no model is asked for it."""
    return Draft("[no public content]", NOTHING_PUBLIC)


def span_of(events: Iterable[StoredEvent]) -> Span:
    """Return the span of a unit's events; without public content its `said` is empty and its times None.

    `began` and `ended` are the times that the source claims, where it claims any, else the log's.
    """
    requests = _Requests({}, {})
    said: list[Said] = []
    times: list[datetime] = []
    for event in events:
        if event.kind not in CONTENT_KINDS or not event.public:
            continue
        said.append(_said(event, requests.answered_by(event)))
        times.append(event.claimed_at or event.at)
        requests.keep(event, len(said) - 1)
    return Span(tuple(said), times[0] if times else None, times[-1] if times else None)


def _said(event: StoredEvent, answers: int | None) -> Said:
    return Said(event.kind, event.actor_kind, event.actor, event.content, event.payload, answers)
