"""Spans and log records of OpenTelemetry as values, however they are written.

Guarantees: attributes are plain JSON values under their dotted names, however they were wrapped or nested; times are
whole nanoseconds, exact where they are written as numbers beyond 2^53 or as texts; ids are lower-case hex without
`0x`, also where they were base64. Refuses: a span without an id, in words (a str is returned).
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from chronicle.importers import text

RESOURCES = ("resourceSpans", "resource_spans", "batches", "resourceLogs", "resource_logs")
SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "scopeLogs", "scope_logs")
RECORDS = ("spans", "logRecords", "log_records")
LOGS = frozenset({"logRecords", "log_records"})

_HEX = re.compile(r"(?:0x)?([0-9a-fA-F]{1,64})")
_VALUES = ("stringValue", "boolValue", "doubleValue", "bytesValue", "string_value", "bool_value", "double_value")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Happened(NamedTuple):
    """An event of a span, or what a log record says: its name, its time, its attributes and body."""

    name: str
    attributes: Mapping[str, Any]
    body: Any = None


@dataclass(frozen=True, slots=True)
class Span:
    """One span; of a log record `log` is set, and `id` is the span that it belongs to.

    `start` and `end` are nanoseconds since 1970, None where there is no such time; `error` says why it failed.
    """

    trace: str
    id: str
    parent: str
    name: str
    start: int | None
    end: int | None
    attributes: dict[str, Any]
    happened: tuple[Happened, ...] = ()
    error: str = ""
    log: bool = False

    def get(self, *names: str) -> Any:
        """Return the first of these attributes that says anything."""
        return next((self.attributes[name] for name in names if self.attributes.get(name) not in (None, "")), None)

    def word(self, *names: str) -> str:
        """Return the first of these attributes that is a text."""
        for name in names:
            found = self.attributes.get(name)
            if found and isinstance(found, str) and not found.isspace():
                return found
        return ""


def value(wrapped: Any) -> Any:
    """Return what an AnyValue holds; a plain value as it is."""
    if not isinstance(wrapped, Mapping):
        return wrapped
    for name in _VALUES:
        if name in wrapped:
            return wrapped[name]
    for name in ("intValue", "int_value"):
        if name in wrapped:
            return whole(wrapped[name], wrapped[name])
    for name in ("arrayValue", "array_value"):
        if name in wrapped:
            return [value(one) for one in listed(inside(wrapped[name]).get("values"))]
    for name in ("kvlistValue", "kvlist_value"):
        if name in wrapped:
            return attributes(inside(wrapped[name]).get("values"))
    return None if not wrapped else dict(wrapped)


def attributes(given: Any) -> dict[str, Any]:
    """Return attributes as a dict, whether a list of keys and values or a dict already."""
    if isinstance(given, Mapping):
        return {str(key): value(one) for key, one in given.items()}
    pairs = (pair for pair in listed(given) if isinstance(pair, Mapping) and isinstance(pair.get("key"), str))
    return {pair["key"]: value(pair.get("value")) for pair in pairs}


def listed(given: Any) -> list[Any]:
    """Return a list as it is, and anything else as none."""
    return given if isinstance(given, list) else []


def inside(given: Any) -> Mapping[str, Any]:
    """Return a mapping as it is, and anything else as an empty one."""
    return given if isinstance(given, Mapping) else {}


def first(given: Mapping[str, Any], *names: str) -> Any:
    """Return the first of these members that is there."""
    return next((given[name] for name in names if given.get(name) is not None), None)


def whole(given: Any, otherwise: Any = None) -> Any:
    """Return a whole number, also from its digits in a text."""
    if isinstance(given, bool):
        return otherwise
    if isinstance(given, str) and given.isascii() and given.removeprefix("-").isdigit() and len(given) < 40:
        return int(given)
    if isinstance(given, float) and given.is_integer():
        return int(given)
    return given if isinstance(given, int) else otherwise


def identity(given: Any, length: int) -> str:
    """Return an id as lower-case hex without `0x`; one of `length` bytes in base64 too. "" for none, or all zeros."""
    if not isinstance(given, str):
        return ""
    if (found := _HEX.fullmatch(given)) is not None:
        return found[1].lower() if found[1].strip("0") else ""
    try:
        decoded = base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError):
        decoded = b""
    if len(decoded) == length:
        return decoded.hex() if any(decoded) else ""
    return text.name(given, "")[:64]


def nanoseconds(given: Any) -> int | None:
    """Return a time in nanoseconds since 1970: a number or digits of them, or an ISO text. Zero is no time."""
    number = whole(given)
    if isinstance(number, int):
        return number if 0 < number < 2**63 else None
    moment = text.when(given)
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000 if moment is not None else None


def of_record(record: Any, *, log: bool) -> Span | str:
    """Return a span or a log record of OTLP's JSON, or why it is none."""
    if not isinstance(record, Mapping):
        return "not a JSON object"
    return _of_log(record) if log else _of_span(record)


def _of_span(record: Mapping[str, Any]) -> Span | str:
    span_id = identity(first(record, "spanId", "span_id", "spanID"), 8)
    if not span_id:
        return "a span without an id"
    happened = (one for one in listed(record.get("events")) if isinstance(one, Mapping))
    return Span(
        trace=identity(first(record, "traceId", "trace_id", "traceID"), 16),
        id=span_id,
        parent=identity(first(record, "parentSpanId", "parent_span_id", "parentSpanID"), 8),
        name=text.name(record.get("name"), "span"),
        start=nanoseconds(first(record, "startTimeUnixNano", "start_time_unix_nano")),
        end=nanoseconds(first(record, "endTimeUnixNano", "end_time_unix_nano")),
        attributes=attributes(record.get("attributes")),
        happened=tuple(Happened(text.name(one.get("name"), ""), attributes(one.get("attributes"))) for one in happened),
        error=failure(record.get("status")),
    )


def _of_log(record: Mapping[str, Any]) -> Span | str:
    given = attributes(record.get("attributes"))
    name = first(record, "eventName", "event_name") or given.get("event.name")
    at = nanoseconds(first(record, "timeUnixNano", "time_unix_nano"))
    at = at or nanoseconds(first(record, "observedTimeUnixNano", "observed_time_unix_nano"))
    said = Happened(text.name(name, ""), given, value(record.get("body")))
    return Span(
        trace=identity(first(record, "traceId", "trace_id"), 16),
        id=identity(first(record, "spanId", "span_id"), 8),
        parent="",
        name=said.name or "log record",
        start=at,
        end=at,
        attributes=given,
        happened=(said,),
        log=True,
    )


def failure(status: Any) -> str:
    """Return why a span failed, from its status: "" where it did not."""
    given = inside(status)
    if str(first(given, "code", "status_code")).upper() not in ("2", "STATUS_CODE_ERROR", "ERROR"):
        return ""
    words = first(given, "message", "description")
    return words if isinstance(words, str) and words.strip() else "error"


class Placed(NamedTuple):
    """A span, or why there is none, with the steps that lead to it from where it was found."""

    path: str
    span: Span | str


def in_resource(element: Any, path: str) -> Iterator[Placed]:
    """Yield the spans and log records of one element of `resourceSpans`, in the source's order."""
    for scopes, scope, at in _elements(inside(element), SCOPES, path):
        if not isinstance(scope, Mapping):
            yield Placed(at, f"{scopes}: not a JSON object")
            continue
        for records, record, place in _elements(scope, RECORDS, at):
            yield Placed(place, of_record(record, log=records in LOGS))


def in_document(document: Mapping[str, Any], path: str = "") -> Iterator[Placed]:
    """Yield the spans and log records of one export, in the source's order; one may be inside `trace` or `result`."""
    before = f"{path}/" if path else ""
    for name in ("trace", "result"):
        if isinstance(document.get(name), Mapping):
            yield from in_document(document[name], before + name)
    for _, element, place in _elements(document, RESOURCES, path):
        yield from in_resource(element, place)


def _elements(given: Mapping[str, Any], names: tuple[str, ...], path: str) -> Iterator[tuple[str, Any, str]]:
    for name in names:
        for index, element in enumerate(listed(given.get(name))):
            yield name, element, f"{path}/{name}/{index}" if path else f"{name}/{index}"


def is_export(value: Any) -> bool:
    """True for a document that holds resources with spans or log records, in any of its spellings."""
    if not isinstance(value, Mapping):
        return False
    if any(is_export(value[name]) for name in ("trace", "result") if name in value):
        return True
    for name in RESOURCES:
        if isinstance(value.get(name), list) and (name != "batches" or _is_of_batches(value[name])):
            return True
    return False


def _is_of_batches(given: list[Any]) -> bool:
    return all(isinstance(one, Mapping) and ("resource" in one or any(n in one for n in SCOPES)) for one in given[:1])


def documents_in(head: Any) -> list[Any]:
    """Return what may be documents in the head of a file: itself, or the elements of a list."""
    return head[:3] if isinstance(head, list) else [head]
