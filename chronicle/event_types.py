"""Registered event types, and bringing old shapes forward on read; what is stored is never rewritten.

Guarantees: a (namespace, type) has one model and a model one type; a payload of schema version n is
brought to the current version one step at a time.
Refuses: the reserved namespace (ValueError), a second registration, an unregistered type on read, a
missing step.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from chronicle.envelope import NAMESPACE, RESERVED_NAMESPACE, StoredEvent
from chronicle.errors import DuplicateEventType, UnknownEventType, UpcastGap

type Upcast = Callable[[dict[str, Any]], dict[str, Any]]
type Model = Callable[..., Any]


class Registered(NamedTuple):
    """A type's model, current schema version and steps: `upcasts[n]` makes a version n+1 payload of a version n one."""

    model: Model
    schema_version: int
    upcasts: Mapping[int, Upcast]


class EventTypes:
    """An application's types; the two namespaces of this project cannot be registered under."""

    def __init__(self) -> None:
        self._types: dict[tuple[str, str], Registered] = {}

    def register(
        self,
        model: Model,
        *,
        namespace: str,
        type: str,
        schema_version: int = 1,
        upcasts: Mapping[int, Upcast] | None = None,
    ) -> None:
        """Register `model` (called with the payload's fields). Raises ValueError, DuplicateEventType."""
        if namespace in (RESERVED_NAMESPACE, NAMESPACE):
            raise ValueError(f"The namespace {namespace!r} is reserved; register under one of your own.")
        if (namespace, type) in self._types or any(known.model is model for known in self._types.values()):
            raise DuplicateEventType(f"{namespace}/{type} or its model is registered already.")
        self._types[namespace, type] = Registered(model, schema_version, dict(upcasts or {}))

    def read(self, event: StoredEvent) -> Any:
        """Return the event's payload as its model, brought forward. Raises UnknownEventType, UpcastGap."""
        known = self._types.get((event.namespace, event.type))
        if known is None:
            raise UnknownEventType(f"Event {event.seq} is of the type {event.namespace}/{event.type}: not registered.")
        payload = dict(event.data() or {})
        for version in range(event.schema_version, known.schema_version):
            step = known.upcasts.get(version)
            if step is None:
                raise UpcastGap(f"{event.namespace}/{event.type} has no step from version {version} on.")
            payload = step(payload)
        return known.model(**payload)
