"""One event: facts, content, payload, the bytes as stored, its request or responses, where it stands.

Guarantees: the raw tab shows each stored field exactly (text as JSON, so that every character shows)
and the payload's own bytes; what is too long for a page is counted and leads to a file that is whole.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from chronicle import canonical
from chronicle.access import log_for
from chronicle.envelope import SPOKEN_KINDS, Kind
from chronicle.errors import InvalidFilter
from chronicle.ingest import versions
from chronicle.models import Anchor, Attachment, EditionState, Event, Log
from chronicle.web.respond import respond
from chronicle.web.rows import SIGNS, Row, rows_of

WHOLE = 100_000  # characters of a text on a page; the rest is a file
NEAR = 2000  # events after a request without a call id, in which its responses are looked for
MAX_RELATED = 50
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
FILES = {"content": "content", "payload": "payload"}
STORED = (
    "seq", "event_id", "kind", "actor_kind", "actor", "content", "namespace", "type", "schema_version", "causation",
    "correlation", "at", "claimed_at", "audience", "locator", "text_form", "idempotency_key", "size", "salt",
    "content_digest", "digest",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Text:
    """A text as far as a page shows it, and its whole length in characters."""

    shown: str
    length: int

    @property
    def cut(self) -> bool:
        return len(self.shown) < self.length


class EventPage:
    """What the page says of one event; each part is asked of the database when it is first shown."""

    def __init__(self, log: Log, event: Event) -> None:
        self.log = log
        self.event = event

    near = NEAR
    images = IMAGES

    @property
    def sign(self) -> tuple[str, str]:
        return SIGNS[Kind(self.event.kind)]

    @property
    def spoken(self) -> bool:
        return self.event.kind in SPOKEN_KINDS

    @cached_property
    def whole(self) -> Text:
        """The content, or where there is none the type and payload on one line, as lists show it."""
        event = self.event
        if event.content:
            return Text(event.content[:WHOLE], len(event.content))
        text = ("" if event.type == event.kind else f"{event.type} ") + event.payload
        return Text(text[:WHOLE], len(text))

    @cached_property
    def payload(self) -> Text:
        return Text(self.event.payload[:WHOLE], len(self.event.payload))

    @property
    def indented(self) -> str:
        return indented(self.payload.shown)

    @property
    def audience(self) -> list[str]:
        return list(canonical.parse(self.event.audience)) if self.event.audience else []

    @cached_property
    def previous_digest(self) -> str:
        """The digest that this event's own commits to: its predecessor's, or the log's own for the first."""
        if self.event.seq == 1:
            return canonical.genesis(self.log.public_id)
        return self.log.events.values_list("digest", flat=True).filter(seq=self.event.seq - 1).first() or ""

    @cached_property
    def cause(self) -> list[Row]:
        """What caused it, as a list of one or none: for a response, its request."""
        if self.event.causation is None:
            return []
        return rows_of(self.log.events.filter(event_id=self.event.causation)[:1])

    @cached_property
    def responses(self) -> list[Row]:
        """What answers a request, by call id, or among the next NEAR events by what they name as their cause."""
        event = self.event
        if event.kind != Kind.TOOL_REQUEST:
            return []
        return rows_of(self._answers(event).order_by("seq")[:MAX_RELATED])

    def _answers(self, event: Event) -> QuerySet[Event]:
        answers = self.log.events.filter(kind=Kind.TOOL_RESPONSE)
        if event.correlation:
            return answers.filter(correlation=event.correlation)
        return answers.filter(causation=event.event_id, seq__gt=event.seq, seq__lte=event.seq + NEAR)

    @cached_property
    def others(self) -> list[tuple[int, versions.Key]]:
        """The other versions of the same id: what the source said of this record at another time, at most 50."""
        if not (key := self.event.idempotency_key):
            return []
        first = versions.parsed(key).first
        others = self.log.events.filter(idempotency_key__in=[first, *versions.keys_of(first)]).exclude(
            seq=self.event.seq
        )
        found = others.order_by("seq").values_list("seq", "idempotency_key")
        return [(seq, versions.parsed(str(key))) for seq, key in found]

    @property
    def version(self) -> versions.Key:
        return versions.parsed(self.event.idempotency_key or "")

    @cached_property
    def section(self) -> Anchor | None:
        """The level-0 section that covers it."""
        covering = Anchor.objects.filter(edition__log=self.log, edition__state=EditionState.CURRENT, level=0)
        return covering.filter(from_seq__lte=self.event.seq).order_by("-from_seq").first()

    @property
    def covering(self) -> Anchor | None:
        return self.section if self.section and self.section.to_seq >= self.event.seq else None

    @cached_property
    def attachments(self) -> list[Attachment]:
        """What was taken out of the payload, without its bytes; at most MAX_RELATED."""
        digests = named_attachments(self.event.payload)
        return list(Attachment.objects.filter(digest__in=digests[:MAX_RELATED]).defer("data").order_by("pk"))

    @property
    def stored(self) -> Iterator[tuple[str, str]]:
        """Each column as JSON in ASCII: nothing in it is unseen."""
        for name in STORED:
            value = getattr(self.event, name)
            yield name, json.dumps(value if isinstance(value, int | None) else str(value))[:WHOLE]


def named_attachments(payload: str) -> list[str]:
    """Return the digests under `attachment` in a payload's text, in order, each once."""
    return list(dict.fromkeys(re.findall(r'"attachment":"([0-9a-f]{64})"', payload)))


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|\{\}|\[\]|[{}\[\],:]|[^"{}\[\],:]+')


def indented(text: str) -> str:
    """Return canonical JSON over several lines with its characters unescaped; numbers stay as they are written.

    Works on the text, not on values, so that nothing is changed by reading it and a cut text is shown too.
    """
    parts: list[str] = []
    depth = 0
    for token in _TOKEN.findall(text):
        if token in {"}", "]"}:
            depth -= 1
            parts.append("\n" + "  " * depth)
        parts.append(_readable(token))
        if token in {"{", "["}:
            depth += 1
        if token in {"{", "[", ","}:
            parts.append("\n" + "  " * depth)
    return "".join(parts)


def _readable(piece: str) -> str:
    if piece == ":":
        return ": "
    if "\\u" not in piece:
        return piece
    try:
        return json.dumps(json.loads(piece), ensure_ascii=False)
    except ValueError:
        return piece  # cut inside a string


def event(request: HttpRequest, log_id: str, seq: int) -> HttpResponse:
    log = log_for(request.user, log_id)
    found = get_object_or_404(log.events.select_related("source"), seq=seq)
    if (part := request.GET.get("as")) is not None:
        return _file(found, part)
    tab = request.GET.get("tab", "payload")
    if tab not in {"payload", "raw"}:
        raise InvalidFilter("The tabs of an event are payload and raw.")
    context: dict[str, Any] = {"log": log, "event": found, "page": EventPage(log, found), "tab": tab}
    return respond(request, "web/event.html", context, {f"c{seq}": "whole", "payload": "payload"})


def attachment(request: HttpRequest, log_id: str, seq: int, digest: str) -> HttpResponse:
    """The bytes of one attachment: an image as itself, anything else as a file to keep."""
    log = log_for(request.user, log_id)
    payload = log.events.filter(seq=seq).values_list("payload", flat=True).first() or ""
    if digest not in named_attachments(payload):
        raise Http404
    found = get_object_or_404(Attachment, digest=digest)
    shown = found.media_type in IMAGES
    response = HttpResponse(bytes(found.data), content_type=found.media_type if shown else "application/octet-stream")
    name = f"{digest[:16]}.{found.media_type.rpartition('/')[2]}" if shown else f"{digest[:16]}.bin"
    response["Content-Disposition"] = f'{"inline" if shown else "attachment"}; filename="{name}"'
    response["Cache-Control"] = "no-store"
    return response


def _file(event: Event, part: str) -> HttpResponse:
    """One stored text, byte for byte, as a file."""
    if part not in FILES:
        raise InvalidFilter("An event gives its content or its payload as a file.")
    response = HttpResponse(getattr(event, FILES[part]).encode(), content_type="application/octet-stream")
    suffix = "json" if part == "payload" else "txt"
    response["Content-Disposition"] = f'attachment; filename="event-{event.seq}-{part}.{suffix}"'
    response["Cache-Control"] = "no-store"
    return response
