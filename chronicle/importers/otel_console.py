"""Spans as the Python SDK's console exporter prints them: one object after another, or a list, or one a line.

Guarantees: attributes may be flat or nested (Phoenix hands them out so); a span that was printed at its start and
again at its end is told once, as it ended; read like the spans of `otlp`: by their starts, but in a file of lines
in the order of the lines. Refuses: a span without an id, by its place.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from chronicle.importers import lines, otlp_spans, parts, text
from chronicle.importers.otlp import of_lines
from chronicle.importers.otlp_reading import Found, Line, Reading
from chronicle.importers.otlp_spans import Happened, Span, first, identity, inside, listed, nanoseconds
from chronicle.importers.protocol import Item, Opened, Survey

LISTS = ("data", "spans")
DEEPEST = 8


class OtelConsole:
    """The importer; it keeps nothing between files."""

    name: ClassVar[str] = "otel-console"

    def sniff(self, opened: Opened) -> bool:
        head = parts.head(opened)
        for name in LISTS:
            if isinstance(head, Mapping) and isinstance(head.get(name), list):
                head = head[name]
        if any(map(_is_span, otlp_spans.documents_in(head))):
            return True
        return any(map(_is_span, lines.first_documents(opened)))

    def survey(self, opened: Opened) -> Survey:
        if of_lines(opened):
            return Survey(sum(1 for _ in lines.raw_lines(opened)))
        return Survey(sum(1 for _ in _found(opened)))

    def read(self, opened: Opened) -> Iterator[Item]:
        reading = Reading()
        if of_lines(opened):
            reading.learn(_of(one) for one in lines.documents(opened, lenient=True) if not one.reason and not one.blank)
            for document in lines.documents(opened, lenient=True):
                yield from _line(reading, document)
        else:
            reading.learn(_found(opened))
            yield from reading.spans(_found(opened))
        yield from reading.notes()


def _is_span(value: Any) -> bool:
    context = inside(inside(value).get("context"))
    return "trace_id" in context and "span_id" in context and "name" in inside(value)


def _of(document: lines.Document) -> Found:
    return _other("", document.value) or Found("", span(document.value))


def _line(reading: Reading, document: lines.Document) -> Iterator[Item]:
    if document.reason or document.blank:
        yield from lines.said_of(document)
        return
    if document.invalid is not None:
        yield from lines.said_of(document)
    yield from reading.line(Line(document.line, document.place, [_of(document)]))


def _found(opened: Opened) -> Iterator[Found]:
    for part in parts.parts(opened, *LISTS):
        if part.reason:
            yield Found(part.place, part.reason)
        else:
            yield _other(part.place, part.value, part.is_header) or Found(
                part.place, span(part.value), size=max(len(part.data), 1000)
            )


def _other(place: str, value: Any, header: bool = False) -> Found | None:
    """What the console prints beside spans: measurements, and what a list of spans stands in."""
    if "resource_metrics" in inside(value):
        return Found(place, ignored="metrics")
    return Found(place, ignored="header") if header and not {"context", "body"} & set(inside(value)) else None


def _is_log(value: Any) -> bool:
    given = inside(value)
    return "body" in given and "trace_id" in given and "severity_number" in given


def span(record: Any) -> Span | str:
    """Return a span as the console exporter prints it, or why it is none."""
    if not isinstance(record, Mapping):
        return "not a JSON object"
    if _is_log(record):
        return otlp_spans.of_record(_log(record), log=True)
    context = inside(record.get("context"))
    span_id = identity(first(context, "span_id", "spanId"), 8)
    if not span_id:
        return "a span without an id"
    happened = (one for one in listed(record.get("events")) if isinstance(one, Mapping))
    status = record.get("status") or {"code": record.get("status_code"), "message": record.get("status_message")}
    return Span(
        trace=identity(first(context, "trace_id", "traceId"), 16),
        id=span_id,
        parent=identity(record.get("parent_id"), 8),
        name=text.name(record.get("name"), "span"),
        start=nanoseconds(record.get("start_time")),
        end=nanoseconds(record.get("end_time")),
        attributes=_attributes(record),
        happened=tuple(Happened(text.name(one.get("name"), ""), inside(one.get("attributes"))) for one in happened),
        error=otlp_spans.failure(status),
    )


def _log(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a log record under the names that OTLP gives its members."""
    return {**record, "timeUnixNano": nanoseconds(record.get("timestamp") or record.get("observed_timestamp"))}


def _attributes(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes under their dotted names; of nested ones, those of known namespaces are flattened."""
    given = inside(record.get("attributes"))
    found: dict[str, Any] = {}
    for name, one in given.items():
        if isinstance(one, Mapping) and "." not in name:
            _flatten(found, name, one, 0)
        else:
            found[str(name)] = one
    if isinstance(kind := record.get("span_kind"), str) and "openinference.span.kind" not in found:
        found["openinference.span.kind"] = kind
    return found


def _flatten(found: dict[str, Any], before: str, given: Any, depth: int) -> None:
    pairs = given.items() if isinstance(given, Mapping) else enumerate(given)
    for name, one in pairs:
        deeper = isinstance(one, Mapping) or (isinstance(one, list) and one and isinstance(one[0], Mapping))
        if deeper and depth < DEEPEST:
            _flatten(found, f"{before}.{name}", one, depth + 1)
        else:
            found[f"{before}.{name}"] = one


IMPORTERS = (OtelConsole(),)
