"""What an instrumented agent sends by OTLP/HTTP: the bytes of a post, its spans, and the logs that they land in.

Guarantees: the same mapping as of the importer `otlp`; a log is a conversation of the token's owner; what was told
before, in whatever post and order, is not told again; each log's events are one transaction under its lock.
Refuses: bytes that are no export (by name), spans without an id (counted).
"""

from collections.abc import Iterator
from itertools import islice

from chronicle.errors import InvalidPayload, InvalidRequest, TooLarge
from chronicle.importers import lines, otlp_spans
from chronicle.importers.otlp_spans import Placed
from chronicle.otlp import protobuf
from chronicle.otlp.landing import Received, receive

MAX_SPANS = 20_000

__all__ = ["MAX_SPANS", "Received", "receive", "spans"]


def spans(data: bytes, *, binary: bool) -> list[Placed]:
    """Return the spans of a post's bytes, in its order. Raises InvalidRequest and TooLarge."""
    found = list(islice(protobuf.spans(data) if binary else _of_json(data), MAX_SPANS + 1))
    if len(found) > MAX_SPANS:
        raise TooLarge(f"A post here holds at most {MAX_SPANS} spans; send smaller batches.", limit=MAX_SPANS)
    return found


def _of_json(data: bytes) -> Iterator[Placed]:
    text, invalid = lines.decode(data)
    if invalid is not None:
        raise InvalidRequest(f"The body is not UTF-8 at byte {invalid + 1}.", field="body")
    try:
        value, end = lines.parse(text.strip(lines.BLANK))
    except InvalidPayload as error:
        raise InvalidRequest(f"The body is {error}.", field="body") from error
    if not isinstance(value, dict) or text.strip(lines.BLANK)[end:].strip(lines.BLANK):
        raise InvalidRequest("The body is one JSON object: an ExportTraceServiceRequest.", field="body")
    if not isinstance(value.get("resourceSpans", value.get("resource_spans", [])), list):
        raise InvalidRequest("resourceSpans is a list.", field="resourceSpans")
    yield from otlp_spans.in_document(value)
