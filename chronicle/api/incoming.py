"""What is sent: bodies within their limits, and events in them, one by one.

Guarantees: a body is read once and never past its limit; JSON is read as everywhere here (no NaN, no key twice, no
deep nesting), UTF-8 alone; each thing wrong names its place. A line that cannot be read refuses that line.
Refuses: a body over MAX_BODY or of unknown length or cut short, more than MAX_EVENTS events, a line over MAX_LINE,
fields that an event does not have. What only the log may set (`at`, `seq`, …) is ignored, and the answer says so.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.http import HttpRequest
from pydantic import BaseModel, ValidationError

from chronicle import canonical
from chronicle.api.shapes import NewEvent
from chronicle.envelope import RESERVED_NAMESPACE, PendingEvent
from chronicle.errors import (
    ChronicleError,
    InvalidEvent,
    InvalidPayload,
    InvalidRequest,
    LengthRequired,
    TooLarge,
    UnsupportedMediaType,
)
from chronicle.log import Item

MAX_BODY = 16 * 1024 * 1024
MAX_LINE = 4 * 1024 * 1024
MAX_EVENTS = 1000
MAX_SMALL = 64 * 1024
MAX_KEY = 200
JSON = "application/json"
LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl")
SET_HERE = frozenset({"at", "seq", "event_id", "size", "digest"})


class Given(NamedTuple):
    """One event as it was sent: what to record, or why not, and the fields that were ignored."""

    item: Item | None
    refused: ChronicleError | None = None
    ignored: tuple[str, ...] = ()


def media_type(request: HttpRequest) -> str:
    """Return the type a body is of: JSON, or the first of LINES. Raises UnsupportedMediaType."""
    given = (request.content_type or JSON).lower()
    if given == JSON:
        return JSON
    if given in LINES:
        return LINES[0]
    raise UnsupportedMediaType(f"{given} is not read here; send {JSON} or {LINES[0]}.")


def body(request: HttpRequest, limit: int = MAX_BODY) -> bytes:
    """Return the body. Raises LengthRequired, TooLarge, InvalidRequest when it was cut short."""
    if "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower():
        raise LengthRequired("Send a Content-Length; a body in chunks is not read here.")
    length = int(request.META.get("CONTENT_LENGTH") or 0)
    if length > limit:
        raise TooLarge(f"A body here holds at most {limit} bytes; this one has {length}.", limit=limit)
    try:
        found = request.read(length)
    except OSError as error:  # whoever sent it has gone
        raise InvalidRequest("The body was cut on its way.", field="body") from error
    if len(found) < length:
        raise InvalidRequest(f"The body was cut: {len(found)} of {length} bytes came.", field="body")
    return found


def read[Model: BaseModel](request: HttpRequest, model: type[Model]) -> Model:
    """Return a small JSON body as its model; none at all is `{}`. Raises InvalidRequest, TooLarge."""
    if media_type(request) != JSON:
        raise UnsupportedMediaType(f"Send {JSON} here.")
    text = body(request, MAX_SMALL)
    try:
        value = parse(text) if text.strip() else {}
        if not isinstance(value, dict):
            raise InvalidRequest("The body is a JSON object.", field="body")
        _check_text(value, InvalidRequest)
        return model.model_validate(value)
    except ValidationError as error:
        message, field = _first(error, model)
        raise InvalidRequest(message, field=field) from error
    except InvalidPayload as error:
        raise InvalidRequest(str(error), field="body") from error


def check_query(request: HttpRequest, model: type[BaseModel]) -> None:
    """Raise InvalidRequest for a parameter of the address that the route does not have."""
    for name in request.GET:
        if name not in model.model_fields:
            there = ", ".join(model.model_fields)
            raise InvalidRequest(f"there is no parameter {name!r} here; there are {there}", field=name)


def parse(text: bytes) -> Any:
    """Return the value of a JSON text in UTF-8. Raises InvalidPayload."""
    try:
        return canonical.parse(text.decode())
    except UnicodeDecodeError as error:
        raise InvalidPayload(f"not UTF-8 at byte {error.start}", position=error.start) from error


def key_of(request: HttpRequest) -> str:
    """Return the Idempotency-Key, "" for none. Raises InvalidRequest."""
    key = request.headers.get("Idempotency-Key", "").strip()
    if len(key) > MAX_KEY or not (key.isascii() and key.isprintable()):
        raise InvalidRequest(f"Idempotency-Key is at most {MAX_KEY} printable ASCII characters.", field="header")
    return key


def one(value: Any, key: str = "") -> Given:
    """Read one event; `key` is the request's. Raises InvalidEvent."""
    item, ignored = _event(value)
    if key and item.key:
        raise InvalidEvent("give the key in the header or in the event, not in both", field="idempotency_key")
    return Given(item._replace(key=item.key or key), None, ignored)


def many(values: list[Any]) -> list[Given]:
    """Read a list of events, all or none. Raises InvalidEvent with `item`, counted from 1, and TooLarge."""
    _check_count(len(values))
    found = []
    for place, value in enumerate(values, 1):
        try:
            found.append(one(value))
        except ChronicleError as error:
            error.details["item"] = place
            raise
    return found


def lines(text: bytes) -> Iterator[tuple[int, Given]]:
    """Yield (line number, event) for each line that is not empty. Raises TooLarge for too many."""
    rows = [(number, row) for number, row in enumerate(text.split(b"\n"), 1) if row.strip()]
    _check_count(len(rows))
    last = rows[-1][0] if rows and not text.endswith(b"\n") else 0
    for number, row in rows:
        yield number, _line(row, cut=number == last)


def _check_count(count: int) -> None:
    if count > MAX_EVENTS:
        raise TooLarge(f"A batch holds at most {MAX_EVENTS} events; this one has {count}.", limit=MAX_EVENTS)


def _line(row: bytes, *, cut: bool) -> Given:
    if len(row) > MAX_LINE:
        return Given(None, TooLarge(f"A line holds at most {MAX_LINE} bytes; this has {len(row)}.", limit=MAX_LINE))
    try:
        return one(parse(row))
    except InvalidPayload as error:
        if cut and error.name == InvalidPayload.name and str(error).startswith("not "):
            return Given(None, InvalidPayload(f"the last line has no end and is cut: {error}"))
        return Given(None, error)
    except ChronicleError as error:
        return Given(None, error)


def _event(value: Any) -> tuple[Item, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise InvalidEvent("an event is a JSON object", field="event")
    ignored = tuple(sorted(SET_HERE & value.keys()))
    given = {name: one for name, one in value.items() if name not in SET_HERE}
    _check_text(given, InvalidEvent)
    try:
        event = NewEvent.model_validate(given)
    except ValidationError as error:
        message, field = _first(error, NewEvent)
        raise InvalidEvent(message, field=field) from error
    return _item(event), ignored


def _check_text(given: dict[str, Any], refusal: type[ChronicleError]) -> None:
    """Refuse text that no database takes, by field and position; a payload is kept as JSON, which can hold it."""
    for name, text in given.items():
        for part in [name, *(text if isinstance(text, list) else [text])]:
            place = canonical.unstorable(part) if isinstance(part, str) else None
            if place is not None:
                shown = name if canonical.unstorable(name) is None else "a field's name"
                message = f"{shown} holds a character no database takes at position {place}"
                raise refusal(message, field=shown, position=place)


def _first(error: ValidationError, model: type[BaseModel]) -> tuple[str, str]:
    """Return the first thing wrong in words, and its field."""
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        return f"there is no field {field!r}; there are {', '.join(model.model_fields)}", field
    if first["type"] == "missing":
        return f"{field} must be given", field
    return f"{field}: {first['msg']}", field


def _item(given: NewEvent) -> Item:
    if given.namespace == RESERVED_NAMESPACE:
        raise InvalidEvent(f"the namespace {RESERVED_NAMESPACE!r} is the site's own", field="namespace")
    event = PendingEvent(
        kind=given.kind,
        actor_kind=given.actor_kind,
        actor=given.actor,
        content=given.content,
        payload=given.payload,
        namespace=given.namespace,
        type=given.type,
        schema_version=given.schema_version,
        correlation=given.correlation,
        claimed_at=_time(given.claimed_at),
        audience=tuple(given.audience),
    )
    return Item(event, given.idempotency_key, _cause(given.causation))


def _cause(given: str | int | None) -> UUID | int | None:
    if not isinstance(given, str):
        return given
    try:
        return UUID(given)
    except ValueError as error:
        raise InvalidEvent("causation is the event_id or the seq of an event of this log", field="causation") from error


def _time(given: str | None) -> datetime | None:
    if given is None:
        return None
    try:
        found = datetime.fromisoformat(given)
        return found.astimezone(UTC) if found.tzinfo else found
    except (ValueError, OverflowError) as error:
        raise InvalidEvent(
            "claimed_at is a time as ISO 8601 writes it, with its zone: 2026-03-01T12:00:00Z", field="claimed_at"
        ) from error
