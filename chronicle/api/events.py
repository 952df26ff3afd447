"""Events: record one, a list, or lines; read them by filters.

Guarantees: a list is stored whole or not at all, lines one by one with a report that names each line; a retry says
that it is one. What is read is what the token's reader may see; every filter runs before the limit.
"""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, Field

from chronicle import canonical
from chronicle.access import events_for, log_of
from chronicle.api import incoming
from chronicle.api.answers import answer, as_json
from chronicle.api.auth import EXPAND, RECORD, who
from chronicle.api.described import refusals, sends
from chronicle.api.incoming import Given
from chronicle.api.logs import named
from chronicle.api.shapes import (
    MAX_SEQ,
    Close,
    EventsAnswer,
    LinesReport,
    NewEvent,
    RecordedEvent,
    RecordedList,
    Refusal,
)
from chronicle.envelope import MAX_NAME, UNIT_CLOSED, ActorKind, Kind, PendingEvent, StoredEvent, is_bookkeeping
from chronicle.errors import ChronicleError, InvalidPayload, InvalidRequest, LogNotFound
from chronicle.log import Item, Recorded, record_all, record_each
from chronicle.log.rows import stored
from chronicle.models import Event, Log
from chronicle.seal import moment

router = Router(tags=["events"])

SHOWN, MOST_SHOWN = 100, 1000
SOME_REFUSED = 207
STORED, REPLAYED, REFUSED = "stored", "replayed", "refused"


class Recording(BaseModel):
    """How events are recorded."""

    create: bool = Field(False, description="create the log where it is none of this owner's; its id is then a name")
    expected_last_seq: int | None = Field(None, ge=0, le=MAX_SEQ, description="409 unless the log ends here")


class Filters(BaseModel):
    """Which events are read. Bookkeeping is left out unless `kind` names it."""

    kind: list[Kind] = []
    actor_kind: list[ActorKind] = []
    since: int = Field(0, ge=0, le=MAX_SEQ, description="after this seq")
    upto: int | None = Field(None, ge=0, le=MAX_SEQ, description="up to this seq")
    last: int | None = Field(None, ge=1, le=MOST_SHOWN, description="the newest so many of those that pass")
    limit: int = Field(SHOWN, ge=1, le=MOST_SHOWN, description="a page of the oldest so many that pass")


@router.post(
    "/logs/{api_log:log_id}/events",
    auth=RECORD,
    response={
        200: RecordedEvent | RecordedList | LinesReport,
        201: RecordedEvent | RecordedList | LinesReport,
        207: LinesReport,
        400: Refusal | LinesReport,
        **refusals(404, 409, 411, 413, 415),
    },
    openapi_extra=sends(NewEvent, key=True, required=True, batches=True),
)
def record(request: HttpRequest, log_id: str, given: Query[Recording]) -> HttpResponse:
    """Record one event (201; 200 when it is a replay), a list, whole or not at all, or lines, each for itself.

    Lines answer 201 when something was stored and nothing refused, 200 when all were replays, 207 when some were
    refused, 400 when all were. At most 1,000 events and 16 MiB a request, 4 MiB a line.
    """
    incoming.check_query(request, Recording)
    kind, key, text = incoming.media_type(request), incoming.key_of(request), incoming.body(request)
    if kind != incoming.JSON:
        _check_no_key(key)
        return _lines(_log(request, log_id, given), text, given.expected_last_seq)
    value = _parsed(text)
    if isinstance(value, list):
        _check_no_key(key)
        return _list(request, log_id, given, incoming.many(value))
    return _one(request, log_id, given, incoming.one(value, key))


@router.get("/logs/{api_log:log_id}/events", auth=EXPAND, response={200: EventsAnswer, **refusals(400, 404)})
def events(request: HttpRequest, log_id: str, given: Query[Filters]) -> HttpResponse:
    """Read events as recorded, oldest first, that pass every filter: a page after `since`, or the `last` so many."""
    incoming.check_query(request, Filters)
    credential = who(request)
    log = log_of(credential.owner, log_id)
    passing = events_for(_filtered(log, given), credential.reader)
    of = passing.count()
    if given.last is not None:
        newest = passing.order_by("-seq")[: given.last].values("pk")
        page, more = list(stored(Event.objects.filter(pk__in=newest).order_by("seq"))), False
    else:
        page = list(stored(passing.order_by("seq")[: given.limit + 1]))
        page, more = page[: given.limit], len(page) > given.limit
    facts = {"shown": len(page), "of": of, "next_since": page[-1].seq if more else None, "last_seq": log.last_seq}
    return answer({"events": [event_as_json(event) for event in page], **facts})


@router.post(
    "/logs/{api_log:log_id}/close",
    auth=RECORD,
    response={200: RecordedEvent, 201: RecordedEvent, **refusals(400, 404, 411, 413, 415)},
    openapi_extra=sends(Close, key=True),
)
def close(request: HttpRequest, log_id: str) -> HttpResponse:
    """End the open unit by a `unit.closed` marker, so that it is consolidated within the minute."""
    key = incoming.key_of(request)
    reason = incoming.read(request, Close).reason
    log = log_of(who(request).owner, log_id)
    marker = PendingEvent(
        kind=Kind.MARKER,
        actor_kind=ActorKind.SYSTEM,
        actor=who(request).name,
        type=UNIT_CLOSED,
        payload={"reason": reason},
    )
    [recorded] = record_all(log, [Item(marker, key)])
    return answer(_recorded(recorded), 200 if recorded.replayed else 201)


def event_as_json(event: StoredEvent) -> dict[str, Any]:
    """Return an event as the API shows it."""
    return {
        "seq": event.seq,
        "event_id": str(event.event_id),
        "kind": event.kind,
        "actor_kind": event.actor_kind,
        "actor": event.actor,
        "namespace": event.namespace,
        "type": event.type,
        "schema_version": event.schema_version,
        "content": event.content,
        "text_form": event.text_form,
        "payload": event.data(),
        "causation": event.causation and str(event.causation),
        "correlation": event.correlation,
        "at": moment(event.at),
        "claimed_at": event.claimed_at and moment(event.claimed_at),
        "audience": list(event.audience),
        "size": event.size,
        "digest": event.digest,
    }


def _filtered(log: Log, given: Filters) -> QuerySet[Event]:
    found = Event.objects.filter(log=log, seq__gt=given.since)
    if given.upto is not None:
        found = found.filter(seq__lte=given.upto)
    if given.actor_kind:
        found = found.filter(actor_kind__in=[str(kind) for kind in given.actor_kind])
    kinds = given.kind or [kind for kind in Kind if not is_bookkeeping(kind)]
    return found.filter(kind__in=[str(kind) for kind in kinds])


def _log(request: HttpRequest, log_id: str, given: Recording) -> Log:
    owner = who(request).owner
    try:
        return log_of(owner, log_id)
    except LogNotFound:
        if not given.create or canonical.unstorable(log_id) is not None or len(log_id) > MAX_NAME:
            raise
        return named(owner, log_id, title=log_id)[0]


def _check_no_key(key: str) -> None:
    if key:
        raise InvalidRequest("A batch takes its keys inside the events, as idempotency_key.", field="Idempotency-Key")


def _parsed(text: bytes) -> Any:
    try:
        return incoming.parse(text)
    except InvalidPayload as error:
        error.details["field"] = "body"
        raise


def _one(request: HttpRequest, log_id: str, how: Recording, given: Given) -> HttpResponse:
    items = [given.item] if given.item else []
    [recorded] = record_all(_log(request, log_id, how), items, expected_last_seq=how.expected_last_seq)
    return answer(_recorded(recorded, given.ignored), 200 if recorded.replayed else 201)


def _list(request: HttpRequest, log_id: str, how: Recording, given: list[Given]) -> HttpResponse:
    items = [one.item for one in given if one.item]
    log = _log(request, log_id, how)
    found = record_all(log, items, expected_last_seq=how.expected_last_seq)
    told = [_recorded(recorded, one.ignored) for recorded, one in zip(found, given, strict=True)]
    replayed = sum(recorded.replayed for recorded in found)
    counts = {"stored": len(found) - replayed, "replayed": replayed, "last_seq": log.last_seq}
    return answer({"events": told, **counts}, 201 if counts["stored"] else 200)


def _lines(log: Log, text: bytes, expected: int | None) -> HttpResponse:
    given = list(incoming.lines(text))
    items = [one.item for _, one in given if one.item]
    outcomes = iter(record_each(log, items, expected_last_seq=expected))
    found = [(number, one, next(outcomes) if one.item else one.refused) for number, one in given]
    told = [{"line": number, **_told(outcome, one.ignored)} for number, one, outcome in found]
    counts = {status: sum(line["status"] == status for line in told) for status in (STORED, REPLAYED, REFUSED)}
    return answer({"lines": told, **counts, "last_seq": log.last_seq}, _status(counts))


def _status(counts: dict[str, int]) -> int:
    if counts[REFUSED]:
        return SOME_REFUSED if counts[STORED] or counts[REPLAYED] else 400
    return 201 if counts[STORED] else 200


def _told(outcome: Recorded | ChronicleError | None, ignored: Sequence[str]) -> dict[str, Any]:
    if isinstance(outcome, Recorded):
        return {"status": REPLAYED if outcome.replayed else STORED, **_recorded(outcome, ignored)}
    return {"status": REFUSED, **(as_json(outcome) if outcome else {})}


def _recorded(recorded: Recorded, ignored: Sequence[str] = ()) -> dict[str, Any]:
    event, replayed, differs = recorded
    place = {"seq": event.seq, "event_id": str(event.event_id), "at": moment(event.at)}
    return {**place, "replayed": replayed, "payload_differs": differs, "ignored": list(ignored)}
