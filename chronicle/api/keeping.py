"""What is done to a log as a whole or to a section of it: another generation, the proof, the file.

Guarantees: without its bill accepted nothing is drawn (409 with the bill); the same generation superseded again is a
replay, with or without an Idempotency-Key, because an id here names its generation; an export holds every event,
whoever may see it, so it is the admin's.
"""

import tempfile
from pathlib import Path

from django.http import FileResponse, HttpRequest, HttpResponse
from ninja import Router

from chronicle import asking, carry, tasks
from chronicle.access import log_of
from chronicle.api import incoming
from chronicle.api.answers import answer
from chronicle.api.auth import ADMIN, READ, who
from chronicle.api.described import refusals, sends
from chronicle.api.shapes import Redraw, RedrawAnswer, VerifyAnswer
from chronicle.asking import Asked
from chronicle.models import JobState
from chronicle.reading import parse_ref
from chronicle.verify import verify_log

router = Router(tags=["keeping"])

FILE_TYPE = "application/x-ndjson"


@router.post(
    "/logs/{api_log:log_id}/chronicle/{section}/reconsolidate",
    auth=ADMIN,
    response={200: RedrawAnswer, 202: RedrawAnswer, **refusals(400, 404, 409, 411, 413, 415)},
    openapi_extra=sends(Redraw, key=True),
)
def reconsolidate(request: HttpRequest, log_id: str, section: str) -> HttpResponse:
    """Have the next generation of a section drawn (202; 200 for a replay), once `accept_divergence` is true."""
    incoming.key_of(request)
    given = incoming.read(request, Redraw)
    credential = who(request)
    log = log_of(credential.owner, log_id)
    level, from_seq, to_seq, generation = parse_ref(section)
    ref = f"{f'L{level}:' if level else ''}{from_seq}-{to_seq}#{generation or 1}"
    words = given.model_dump(exclude={"accept_divergence"})
    asked = asking.reconsolidation(log, ref, accepted=given.accept_divergence, by=credential.name, **words)
    if asked.job.state != JobState.DONE:
        tasks.kick(asked.job)
    return answer({"log": log.public_id, **_as_json(asked)}, 200 if asked.replayed else 202)


@router.get("/logs/{api_log:log_id}/verify", auth=READ, response={200: VerifyAnswer, **refusals(400, 404)})
def verify(request: HttpRequest, log_id: str) -> HttpResponse:
    """Prove the log: chain, gaplessness, coverage, digests. `status` says how it ended, `why` what does not fit."""
    log = log_of(who(request).owner, log_id)
    verdict = verify_log(log)
    return answer({"log": log.public_id, **verdict._asdict(), "status": str(verdict.status)})


@router.get(
    "/logs/{api_log:log_id}/export",
    auth=ADMIN,
    response=refusals(400, 404),
    openapi_extra={
        "responses": {
            200: {"description": "JSON lines", "content": {FILE_TYPE: {"schema": {"type": "string"}}}},
        }
    },
)
def export(request: HttpRequest, log_id: str) -> FileResponse:
    """Carry the log away: one file, JSON lines, everything that stands over it; `load` takes it in elsewhere."""
    log = log_of(who(request).owner, log_id)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        carry.export([log], path)
        file = path.open("rb")  # it stays readable after its name is gone, and goes when the answer is sent
    response = FileResponse(file, as_attachment=True, filename="log.jsonl", content_type=FILE_TYPE)
    response["Cache-Control"] = "no-store"
    return response


def _as_json(asked: Asked) -> dict[str, object]:
    return {
        "job": asked.job.pk,
        "state": str(asked.job.state),
        "supersedes": asked.supersedes,
        "section": asked.section,
        "replayed": asked.replayed,
        "payload_differs": asked.payload_differs,
    }
