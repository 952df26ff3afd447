"""OTLP's binary form: what goes over the wire, read into the same spans as its JSON.

Guarantees: ids are hex, times whole nanoseconds, attributes plain values; bytes are base64, as in JSON.
Refuses: bytes that are no ExportTraceServiceRequest (InvalidRequest). Only this module knows the library.
"""

import base64
from collections.abc import Iterable, Iterator
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from chronicle.errors import InvalidRequest
from chronicle.importers import text
from chronicle.importers.otlp_spans import Happened, Placed, Span, failure

CODE, MESSAGE = 0x08, 0x12  # the tags of google.rpc.Status, which has no library of its own here


def spans(data: bytes) -> Iterator[Placed]:
    """Yield the spans of an ExportTraceServiceRequest. Raises InvalidRequest."""
    try:
        request = ExportTraceServiceRequest.FromString(data)
    except DecodeError as error:
        raise InvalidRequest("The body is no ExportTraceServiceRequest in protobuf.", field="body") from error
    for number, resource in enumerate(request.resource_spans):
        for place, scope in enumerate(resource.scope_spans):
            for index, span in enumerate(scope.spans):
                yield Placed(f"resourceSpans/{number}/scopeSpans/{place}/spans/{index}", _span(span))


def response(rejected: int, message: str) -> bytes:
    """Return an ExportTraceServiceResponse; without a word of a partial success where there is none."""
    made = ExportTraceServiceResponse()
    if rejected or message:
        made.partial_success.rejected_spans = rejected
        made.partial_success.error_message = message
    return bytes(made.SerializeToString())


def status(code: int, message: str) -> bytes:
    """Return a google.rpc.Status."""
    words = message.encode("utf-8", "replace")
    return bytes([CODE, code, MESSAGE]) + _varint(len(words)) + words


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _span(span: Any) -> Span | str:
    if not any(span.span_id):
        return "a span without an id"
    return Span(
        trace=_hex(span.trace_id),
        id=_hex(span.span_id),
        parent=_hex(span.parent_span_id),
        name=text.name(span.name, "span"),
        start=_time(span.start_time_unix_nano),
        end=_time(span.end_time_unix_nano),
        attributes=_attributes(span.attributes),
        happened=tuple(Happened(text.name(one.name, ""), _attributes(one.attributes)) for one in span.events),
        error=failure({"code": span.status.code, "message": span.status.message}),
    )


def _hex(given: bytes) -> str:
    return given.hex()[:64] if any(given) else ""


def _time(given: int) -> int | None:
    return given if 0 < given < 2**63 else None


def _attributes(pairs: Iterable[Any]) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(wrapped: Any) -> Any:
    which = wrapped.WhichOneof("value")
    if which == "array_value":
        return [_value(one) for one in wrapped.array_value.values]
    if which == "kvlist_value":
        return _attributes(wrapped.kvlist_value.values)
    if which == "bytes_value":
        return base64.b64encode(wrapped.bytes_value).decode()
    return getattr(wrapped, which) if which else None
