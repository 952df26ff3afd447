"""Jaeger's JSON: traces with their spans, tags and processes, as its page and its API hand them out.

Guarantees: tags are the attributes that they were, logs are events, CHILD_OF is the parent; microseconds become
nanoseconds; read like the spans of `otlp`, over all traces of a file, since no export of Jaeger is in order of time.
Refuses: a span without an id, by its place.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from chronicle.importers import otlp_spans, parts, text
from chronicle.importers.otlp_reading import Found, Reading
from chronicle.importers.otlp_spans import Happened, Span, first, identity, inside, listed, whole
from chronicle.importers.protocol import Item, Opened, Survey

TRACES = "data"


class Jaeger:
    """The importer; it keeps nothing between files."""

    name: ClassVar[str] = "jaeger"

    def sniff(self, opened: Opened) -> bool:
        head = inside(parts.head(opened))
        traces = head[TRACES][:2] if isinstance(head.get(TRACES), list) else [head]
        return any(_is_trace(trace) for trace in traces)

    def survey(self, opened: Opened) -> Survey:
        return Survey(sum(1 for _ in _found(opened)))

    def read(self, opened: Opened) -> Iterator[Item]:
        reading = Reading()
        reading.learn(_found(opened))
        yield from reading.spans(_found(opened))
        yield from reading.notes()


def _is_trace(trace: Any) -> bool:
    spans = inside(trace).get("spans")
    if not isinstance(spans, list) or not spans:
        return False
    return isinstance(spans[0], Mapping) and "spanID" in spans[0] and "operationName" in spans[0]


def _found(opened: Opened) -> Iterator[Found]:
    """Yield the spans of a file: of the elements of `data`, or of a trace that stands alone."""
    for part in parts.parts(opened, TRACES):
        if part.reason:
            yield Found(part.place, part.reason)
        elif part.is_header:
            yield Found(part.place, ignored="header")
            yield from _of_trace(part.value, part.place.removesuffix(parts.HEADER))
        elif not isinstance(part.value, Mapping):
            yield Found(part.place, "not a JSON object")
        elif not listed(part.value.get("spans")):
            yield Found(part.place, ignored="trace without spans")
        else:
            yield from _of_trace(part.value, f"{part.place}/", len(part.data))


def _of_trace(trace: Any, before: str, size: int = 0) -> Iterator[Found]:
    spans = listed(inside(trace).get("spans"))
    for index, record in enumerate(spans):
        yield Found(f"{before}spans/{index}", span(record), size=max(size // len(spans), 1000))


def span(record: Any) -> Span | str:
    """Return a span of Jaeger's, or why it is none."""
    if not isinstance(record, Mapping):
        return "not a JSON object"
    span_id = identity(first(record, "spanID", "spanId"), 8)
    if not span_id:
        return "a span without an id"
    tags, start, took = _tags(record.get("tags")), whole(record.get("startTime")), whole(record.get("duration"))
    start = otlp_spans.nanoseconds(start * 1000 if isinstance(start, int) else None)
    return Span(
        trace=identity(first(record, "traceID", "traceId"), 16),
        id=span_id,
        parent=_parent(record),
        name=text.name(record.get("operationName"), "span"),
        start=start,
        end=start + max(took, 0) * 1000 if start is not None and isinstance(took, int) else None,
        attributes=tags,
        happened=tuple(_happened(record.get("logs"))),
        error=_failure(tags),
    )


def _tags(given: Any) -> dict[str, Any]:
    if isinstance(given, Mapping):
        return dict(given)
    found = {}
    for tag in listed(given):
        if isinstance(tag, Mapping) and isinstance(tag.get("key"), str):
            number = tag.get("type") in ("int64", "long")
            found[tag["key"]] = whole(tag.get("value"), tag.get("value")) if number else tag.get("value")
    return found


def _parent(record: Mapping[str, Any]) -> str:
    for reference in listed(record.get("references")):
        if isinstance(reference, Mapping) and reference.get("refType", "CHILD_OF") == "CHILD_OF":
            return identity(first(reference, "spanID", "spanId"), 8)
    return identity(first(record, "parentSpanID", "parentSpanId"), 8)


def _happened(logs: Any) -> Iterator[Happened]:
    for log in listed(logs):
        fields = _tags(inside(log).get("fields"))
        named = fields.get("event") or fields.get("name")
        yield Happened(text.name(named, ""), fields)


def _failure(tags: Mapping[str, Any]) -> str:
    if tags.get("otel.status_code") != "ERROR" and str(tags.get("error")).lower() != "true":
        return ""
    words = tags.get("otel.status_description")
    return words if isinstance(words, str) and words.strip() else "error"


IMPORTERS = (Jaeger(),)
