"""Events as values: what a writer hands in (PendingEvent) and what a log holds (StoredEvent).

Guarantees: frozen, no Django, seq and `at` exist only on a StoredEvent because only the log sets
them. Kinds and actor kinds are closed lists.
Refuses: nothing by itself; `validate` says the first thing wrong, in a fixed order.
"""

import os
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, SafeUUID

from chronicle import canonical
from chronicle.errors import InvalidEvent, OwnerEmpty

NAMESPACE = "chronicle"
RESERVED_NAMESPACE = "anagrapheus"
PROMOTED, ABANDONED, DIVERGED = "PinPromoted", "PinsAbandoned", "ReplayDiverged"
PIN_EVENTS = frozenset({PROMOTED, ABANDONED, DIVERGED})
UNIT_CLOSED = "unit.closed"
COMPACTION = "compaction"
MAX_CONTENT = 8 * 1024 * 1024
MAX_NAME = 200
MAX_VERSION = 2**31 - 1


_VERSION_4 = 0x4000_8000_0000_0000_0000
_ALL_BUT_VERSION = ~0xF000_C000_0000_0000_0000 & (1 << 128) - 1


def new_id() -> UUID:
    """Return a random UUID of version 4: as uuid4(), which proves its argument anew each time, in half the time."""
    made = UUID.__new__(UUID)
    object.__setattr__(made, "int", int.from_bytes(os.urandom(16)) & _ALL_BUT_VERSION | _VERSION_4)
    object.__setattr__(made, "is_safe", SafeUUID.unknown)
    return made


class Kind(StrEnum):
    MESSAGE = "message"
    THOUGHT = "thought"
    TOOL_REQUEST = "tool_request"
    TOOL_RESPONSE = "tool_response"
    MARKER = "marker"
    BOOKKEEPING = "bookkeeping"


class ActorKind(StrEnum):
    HUMAN = "human"
    AGENT = "agent"
    SYSTEM = "system"


CONTENT_KINDS = frozenset({Kind.MESSAGE, Kind.THOUGHT, Kind.TOOL_REQUEST, Kind.TOOL_RESPONSE})
SPOKEN_KINDS = frozenset({Kind.MESSAGE, Kind.THOUGHT})


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingEvent:
    """An event before it has a seq.

    `payload` is any JSON object or None; `causation` is the event_id of what caused it (a response
    names its request); `correlation` joins a request and its response (a tool call id); `audience`
    empty means public; `claimed_at` is the time a source states, never used for order; `locator`
    leads back into an ingested file (`line:block`); `text_form` is "escaped" when content holds the
    reversible escape of text that no database takes.
    """

    kind: str
    actor_kind: str
    actor: str
    content: str = ""
    payload: dict[str, Any] | None = None
    event_id: UUID = field(default_factory=new_id)
    namespace: str = NAMESPACE
    type: str = ""
    schema_version: int = 1
    causation: UUID | None = None
    correlation: str = ""
    claimed_at: datetime | None = None
    audience: tuple[str, ...] = ()
    locator: str = ""
    text_form: str = "plain"

    @property
    def type_name(self) -> str:
        """The type as stored: the kind's own name where none was given."""
        return self.type or str(self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    """An event as its log holds it. `payload` is the canonical JSON text that was hashed, "" for none.

    seq ≥ 1 and gapless per log; `at` is when this log wrote it (UTC, aware); digests are 64 hex digits.
    """

    seq: int
    event_id: UUID
    kind: str
    actor_kind: str
    actor: str
    content: str
    namespace: str
    type: str
    schema_version: int
    payload: str
    causation: UUID | None
    correlation: str
    at: datetime
    claimed_at: datetime | None
    audience: tuple[str, ...]
    locator: str
    text_form: str
    idempotency_key: str
    size: int
    salt: str
    content_digest: str
    digest: str

    @property
    def public(self) -> bool:
        return not self.audience

    def data(self) -> Any:
        """The payload as a value (None for none)."""
        return canonical.parse(self.payload) if self.payload else None


def is_bookkeeping(kind: str) -> bool:
    """True for what keeps the books (pins) and is hidden from tail, counts and expand unless asked for."""
    return kind == Kind.BOOKKEEPING


def is_pin_event(namespace: str, type: str) -> bool:
    """True for the three types that a pin ledger writes, of any schema version: what makes an event bookkeeping."""
    return namespace == RESERVED_NAMESPACE and type in PIN_EVENTS


def check_owner(owner: str) -> None:
    """Raise OwnerEmpty for none, InvalidEvent for an owner's name that cannot be kept and shown on one line."""
    if not owner.strip():
        raise OwnerEmpty("An owner must be given.")
    if len(owner) > MAX_NAME:
        raise _invalid("owner", f"owner is over {MAX_NAME} characters")
    if not owner.isprintable():
        raise _invalid("owner", "owner holds a control or formatting character; give it printable ones only")


def validate(event: PendingEvent) -> None:
    """Raise InvalidEvent naming the first thing wrong: actor, kind, actor kind, content, then the rest."""
    check_name("actor", event.actor, required=True)
    if event.kind not in Kind:
        raise _invalid("kind", f"kind {event.kind!r} is none of {', '.join(Kind)}")
    if event.actor_kind not in ActorKind:
        raise _invalid("actor_kind", f"actor_kind {event.actor_kind!r} is none of {', '.join(ActorKind)}")
    if is_pin_event(event.namespace, event.type_name) and not is_bookkeeping(event.kind):
        raise _invalid("kind", f"{event.namespace}/{event.type_name} is bookkeeping, whatever it holds")
    _check_content(event)
    for name in ("type", "namespace", "correlation"):
        check_name(name, getattr(event, name), required=False)
    if not 1 <= event.schema_version <= MAX_VERSION:
        raise _invalid("schema_version", f"schema_version is a whole number from 1 to {MAX_VERSION}")
    if event.claimed_at is not None and event.claimed_at.tzinfo is None:
        raise _invalid("claimed_at", "claimed_at needs a time zone; leave it out where the source states none")
    for actor in event.audience:
        check_name("audience", actor, required=True)


def _check_content(event: PendingEvent) -> None:
    if event.kind in SPOKEN_KINDS and not event.content.strip():
        raise _invalid("content", f"a {event.kind} needs content")
    if (place := canonical.unstorable(event.content)) is not None:
        raise _invalid("content", f"content holds a character no database takes at position {place}", position=place)
    if len(event.content) > MAX_CONTENT:
        raise _invalid("content", f"content is over {MAX_CONTENT} characters; put it in an attachment")


def check_name(name: str, text: str, *, required: bool) -> None:
    """Raise InvalidEvent for a name that is missing where it must be given, too long, or that no database takes."""
    if required and not text.strip():
        raise _invalid(name, f"{name} must be given")
    if len(text) > MAX_NAME:
        raise _invalid(name, f"{name} is over {MAX_NAME} characters")
    if (place := canonical.unstorable(text)) is not None:
        raise _invalid(name, f"{name} holds a character no database takes at position {place}", position=place)


def _invalid(name: str, message: str, **details: Any) -> InvalidEvent:
    return InvalidEvent(message, field=name, **details)
