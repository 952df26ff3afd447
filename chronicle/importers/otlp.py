"""OpenTelemetry's spans of model calls, tools and agents, in OTLP's JSON: of the collector, of Tempo, of a receiver.

Guarantees: `resourceSpans`, `resource_spans`, `batches` and `instrumentationLibrarySpans`, log records beside them,
in one document, JSON lines, or documents one after another; each model call once and each message once, in the
order of the calls' starts within an export; plumbing is Ignored by kind. Refuses: a span without an id, by its place.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, ClassVar

from chronicle.importers import lines, otlp_spans, parts
from chronicle.importers.lines import Document
from chronicle.importers.otlp_reading import Found, Line, Reading
from chronicle.importers.protocol import Item, Opened, Survey

LOOKED_AT = 20


class Otlp:
    """The importer; it keeps nothing between files."""

    name: ClassVar[str] = "otlp"

    def sniff(self, opened: Opened) -> bool:
        if any(map(otlp_spans.is_export, otlp_spans.documents_in(parts.head(opened)))):
            return True
        return any(map(otlp_spans.is_export, lines.first_documents(opened, LOOKED_AT)))

    def survey(self, opened: Opened) -> Survey:
        if of_lines(opened):
            return Survey(sum(1 for _ in lines.raw_lines(opened)))
        return Survey(sum(len(list(export)) for export in _exports(opened)))

    def read(self, opened: Opened) -> Iterator[Item]:
        reading = Reading()
        if of_lines(opened):
            reading.learn(one for line in _lines(opened) for one in line.found)
            for document in lines.documents(opened, lenient=True):
                yield from told(reading, document)
        else:
            reading.learn(one for export in _exports(opened) for one in export)
            for export in _exports(opened):
                yield from reading.spans(export)
        yield from reading.notes()


def of_lines(opened: Opened) -> bool:
    """True for a file of lines, each a document: more than one, and one of the first is whole JSON."""
    given = list(islice((raw for raw in lines.raw_lines(opened) if raw.data.strip()), LOOKED_AT))
    if len(given) < 2:
        return False
    return any(isinstance(one.value, Mapping) for raw in given for one in lines.line_documents(raw))


def told(reading: Reading, document: Document) -> Iterator[Item]:
    """Yield the items of a line that holds exports."""
    if isinstance(document.value, Mapping):
        yield from lines.said_of(document)
        yield from reading.line(_line(document))
    elif document.value is not None:
        yield from lines.said_of(document._replace(value=None, reason="not a JSON object"))
    else:
        yield from lines.said_of(document)


def _lines(opened: Opened) -> Iterator[Line]:
    for document in lines.documents(opened, lenient=True):
        if isinstance(document.value, Mapping):
            yield _line(document)


def _line(document: Document) -> Line:
    found = [Found(one.path, one.span) for one in otlp_spans.in_document(document.value)]
    return Line(document.line, document.place, found or [_foreign(document.place, document.value)])


def _foreign(place: str, value: Any) -> Found:
    """What is no export of spans: measurements, or a document that is none of this format's."""
    if isinstance(value, Mapping):
        return Found(place, ignored="metrics" if "resourceMetrics" in value else "export without spans")
    return Found(place, "not a JSON object")


def _exports(opened: Opened) -> Iterator[Iterator[Found]]:
    """Yield the exports of a file, one for each document, or for each element of a list."""
    waiting: list[parts.Part] = []
    found = parts.parts(opened, *otlp_spans.RESOURCES)
    while True:
        first = waiting.pop() if waiting else next(found, None)
        if first is None:
            return
        yield _export(first, found, waiting)


def _export(first: parts.Part, found: Iterator[parts.Part], waiting: list[parts.Part]) -> Iterator[Found]:
    yield from _of_part(first)
    if first.path == "":
        return
    for part in found:
        if part.document != first.document:
            waiting.append(part)
            return
        yield from _of_part(part)


def _of_part(part: parts.Part) -> Iterator[Found]:
    if part.reason:
        yield Found(part.place, part.reason)
        return
    before = (
        ""
        if part.path == ""
        else part.place.removesuffix(part.path if part.is_header else f"{part.path}/{part.position}")
    )
    placed = otlp_spans.in_document(inner(part.value), "") if part.is_header or part.path == "" else None
    if placed is None:
        placed = otlp_spans.in_resource(part.value, f"{part.path}/{part.position}")
    count = 0
    for count, one in enumerate(placed, 1):
        place = f"{part.place}/{one.path}" if part.path == "" else f"{before}{one.path}"
        yield Found(place, one.span, size=max(len(part.data), 1000) if count == 1 else 1000)
    if part.is_header:
        yield Found(part.place, ignored="header")
    elif not count:
        yield _foreign(part.place, part.value)


def inner(value: Any) -> Mapping[str, Any]:
    """Return a document as a mapping, empty where it is none."""
    return value if isinstance(value, Mapping) else {}


IMPORTERS = (Otlp(),)
