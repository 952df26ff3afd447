"""Policies: read every row, write the next one; values out of range are refused with the range."""

from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from ninja import Router

from chronicle import audit, policies
from chronicle.access import log_of
from chronicle.api import incoming
from chronicle.api.answers import answer
from chronicle.api.auth import ADMIN, READ, who
from chronicle.api.described import refusals, sends
from chronicle.api.shapes import NewPolicy, PolicyAnswer, PolicyRow
from chronicle.models import Policy
from chronicle.seal import moment

router = Router(tags=["policy"])


@router.get("/logs/{api_log:log_id}/policy", auth=READ, response={200: PolicyAnswer, **refusals(400, 404)})
def policy(request: HttpRequest, log_id: str) -> HttpResponse:
    """Read how the log is consolidated: every row with the seq it holds from, and the ranges of its values."""
    log = log_of(who(request).owner, log_id)
    rows = [as_json(row) for row in policies.rows(log)]
    return answer({"log": log.public_id, "rows": rows, "ranges": policies.RANGES})


@router.post(
    "/logs/{api_log:log_id}/policy",
    auth=ADMIN,
    response={201: PolicyRow, **refusals(400, 404, 411, 413, 415)},
    openapi_extra=sends(NewPolicy),
)
def change(request: HttpRequest, log_id: str) -> HttpResponse:
    """Write the next row; it holds for events that no section covers yet. What is left out stays as it is."""
    given = incoming.read(request, NewPolicy)
    credential = who(request)
    log = log_of(credential.owner, log_id)
    values = given.model_dump(include=given.model_fields_set - {"from_seq"})
    with transaction.atomic():
        made = policies.set_for(log, made_by=credential.name, from_seq=given.from_seq, **values)
        audit.record(credential.name, "policy.made", log.public_id, policy=made.pk, from_seq=made.from_seq)
    return answer(as_json(made), 201)


def as_json(row: Policy) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in policies.VALUES}
    return {"from_seq": row.from_seq, **values, "made_by": row.made_by, "made_at": moment(row.made_at)}
