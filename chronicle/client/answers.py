"""What the API answers, as frozen values; keys of a later version are passed over."""

from dataclasses import dataclass, fields
from typing import Any, Self


class Answered:
    """A value that is taken from an answer by the names of its fields."""

    @classmethod
    def of(cls, answer: dict[str, Any]) -> Self:
        names = {field.name for field in fields(cls)}  # type: ignore[arg-type]
        return cls(**{name: value for name, value in answer.items() if name in names})


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded(Answered):
    """An event's place. `replayed`: an earlier call stored it; `payload_differs`: with other words."""

    seq: int
    event_id: str
    at: str
    replayed: bool
    payload_differs: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(Answered):
    """An event as recorded; times are ISO 8601 in UTC. Of an expanded section, the fields below `at` are not told."""

    seq: int
    event_id: str
    kind: str
    actor_kind: str
    actor: str
    type: str
    content: str
    payload: Any
    at: str
    claimed_at: str | None
    audience: list[str]
    causation: str | None = None
    correlation: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of events, of so many; go on after `next_since`, None on the last page."""

    events: list[Event]
    of: int
    next_since: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief(Answered):
    """A brief, exactly as given: `digest` is the sha256 of `text`, which the receipt keeps."""

    text: str
    receipt: int
    digest: str
    upto_seq: int
    tokens: int
    sections: list[dict[str, Any]]
    not_shown: list[list[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Answered):
    """A section in a list: its current generation and the events it stands for."""

    id: str
    level: int
    title: str
    from_seq: int
    to_seq: int
    events: int
    stale: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """`entries` of the `of` that stand for the log, newest first; events after `through` are in raw context."""

    entries: list[Entry]
    of: int
    through: int
    text: str
    receipt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened(Answered):
    """One generation of a section; `current` is the id of the one that stands now."""

    id: str
    current: str
    title: str
    prose: str
    origin: str
    text: str
    receipt: int
    children: list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expanded:
    """A page of a section's events; go on after `next_after`, None on the last page."""

    events: list[Event]
    of: int
    next_after: int | None
    text: str
    receipt: int
