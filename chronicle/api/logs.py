"""Logs: create one, look at one.

Guarantees: the site makes the ids; a name that a client chooses is its owner's own, so nothing can be learnt of what
others chose; creating again under one name or key answers with the first log.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from chronicle.access import chosen_id, log_of
from chronicle.api import incoming
from chronicle.api.answers import answer
from chronicle.api.auth import READ, RECORD, who
from chronicle.api.described import refusals, sends
from chronicle.api.shapes import CreatedLog, LogAnswer, NewLog
from chronicle.errors import InvalidRequest, LogExists
from chronicle.log import create_log
from chronicle.models import Log
from chronicle.seal import moment

router = Router(tags=["logs"])


@router.post(
    "/logs",
    auth=RECORD,
    response={200: CreatedLog, 201: CreatedLog, **refusals(400, 411, 413, 415)},
    openapi_extra=sends(NewLog, key=True),
)
def create(request: HttpRequest) -> HttpResponse:
    """Create a log, empty. With an Idempotency-Key or an `id` of one's own, again is a replay (200)."""
    key = incoming.key_of(request)
    given = incoming.read(request, NewLog)
    if key and given.id:
        raise InvalidRequest("Give an Idempotency-Key or an id of your own, not both: either makes a retry safe.")
    name = given.id or (f"key {key}" if key else "")
    log, made = named(who(request).owner, name, title=given.title or given.id)
    facts = as_json(log) | {"replayed": not made, "payload_differs": log.title != (given.title or given.id)}
    return answer(facts, 201 if made else 200)


@router.get("/logs/{api_log:log_id}", auth=READ, response={200: LogAnswer, **refusals(400, 404)})
def show(request: HttpRequest, log_id: str) -> HttpResponse:
    """Look at a log: how far it is, its head, when it was last written."""
    return answer(as_json(log_of(who(request).owner, log_id)))


def named(owner: str, name: str, *, title: str = "") -> tuple[Log, bool]:
    """Return the owner's log of this name and whether it was made now; no name always makes one."""
    if not name:
        return create_log(owner, title=title), True
    public_id = chosen_id(owner, name)
    found = Log.objects.filter(owner=owner, public_id=public_id).first()
    if found is not None:
        return found, False
    try:
        return create_log(owner, public_id=public_id, title=title), True
    except LogExists:  # two at once
        return log_of(owner, public_id), False


def as_json(log: Log) -> dict[str, Any]:
    return {
        "id": log.public_id,
        "title": log.title,
        "owner": log.owner,
        "source": log.source,
        "last_seq": log.last_seq,
        "head": log.head,
        "started_at": moment(log.started_at),
        "last_activity_at": moment(log.last_activity_at),
    }
