"""What an agent reads: the brief, and the chronicle by list, open and expand. Each answer leaves a receipt.

Guarantees: how much and whose events are shown is the token's, never an argument; the text that a receipt's digest is
of is in the answer, or is the answer where `Accept` asks for text/plain; the receipt's number and digest stand in the
answer and in its headers.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, Field

from chronicle import receipts, tool
from chronicle.access import log_of
from chronicle.api import incoming
from chronicle.api.answers import answer
from chronicle.api.auth import EXPAND, READ, who
from chronicle.api.described import reads, refusals
from chronicle.api.shapes import MAX_SEQ, BriefAnswer, ExpandAnswer, ListAnswer, OpenAnswer
from chronicle.fitting import MAX_BUDGET
from chronicle.models import Edition, Receipt
from chronicle.sections import current_edition

router = Router(tags=["reading"])

TEXT = "text/plain"


class Asked(BaseModel):
    """Which brief: as of an event, within a budget of tokens."""

    upto: int | None = Field(None, ge=1, le=MAX_SEQ, description="as of this seq (the last)")
    budget: int | None = Field(None, ge=1, le=MAX_BUDGET, description="tokens for the whole text (the policy's view)")


class Listing(BaseModel):
    limit: int = Field(tool.LISTED, ge=1, le=tool.MOST_LISTED)


class Opening(BaseModel):
    pass


class Page(BaseModel):
    after: int | None = Field(None, ge=0, le=MAX_SEQ, description="the events after this seq")
    limit: int = Field(tool.MOST_EXPANDED, ge=1, le=tool.MOST_EXPANDED)


@router.get(
    "/logs/{api_log:log_id}/brief",
    auth=READ,
    response={200: BriefAnswer, **refusals(400, 404)},
    openapi_extra=reads(TEXT),
)
def brief(request: HttpRequest, log_id: str, given: Query[Asked]) -> HttpResponse:
    """Read the brief: header, sections, tail, as an agent is given it."""
    incoming.check_query(request, Asked)
    credential = who(request)
    reading = receipts.read_brief(
        log_of(credential.owner, log_id),
        by=credential.name,
        capability=str(credential.capability),
        upto_seq=given.upto,
        budget=given.budget,
        reader=credential.reader,
    )
    return _given(request, reading.text, reading.receipt, brief_as_json(reading))


@router.get(
    "/logs/{api_log:log_id}/chronicle",
    auth=READ,
    response={200: ListAnswer, **refusals(400, 404)},
    openapi_extra=reads(TEXT),
)
def listed(request: HttpRequest, log_id: str, given: Query[Listing]) -> HttpResponse:
    """List what stands for the log, newest first."""
    incoming.check_query(request, Listing)
    found = receipts.read_list(_edition(request, log_id), limit=given.limit, **_reader(request))
    return _browsed(request, found)


@router.get(
    "/logs/{api_log:log_id}/chronicle/{section}",
    auth=READ,
    response={200: OpenAnswer, **refusals(400, 404)},
    openapi_extra=reads(TEXT),
)
def opened(request: HttpRequest, log_id: str, section: str) -> HttpResponse:
    """Open one generation of a section: `12-31#2` is written `12-31%232`; `12-31` is generation 1."""
    incoming.check_query(request, Opening)
    return _browsed(request, receipts.read_open(_edition(request, log_id), section, **_reader(request)))


@router.get(
    "/logs/{api_log:log_id}/chronicle/{section}/events",
    auth=EXPAND,
    response={200: ExpandAnswer, **refusals(400, 404)},
    openapi_extra=reads(TEXT),
)
def expanded(request: HttpRequest, log_id: str, section: str, given: Query[Page]) -> HttpResponse:
    """Expand a section into the events that it stands for, a page at a time."""
    incoming.check_query(request, Page)
    edition, reader = _edition(request, log_id), _reader(request)
    return _browsed(request, receipts.read_expand(edition, section, after=given.after, limit=given.limit, **reader))


def brief_as_json(reading: receipts.Reading) -> dict[str, Any]:
    """Return the brief and where it came from, for whoever reads JSON."""
    written, receipt = reading.written, reading.receipt
    return {
        "log": receipt.log.public_id,
        "receipt": receipt.number,
        "digest": receipt.text_digest,
        "upto_seq": written.upto_seq,
        "reader": written.reader,
        "budget": written.budget,
        "bounds": "all" if written.cut.whole else "view",
        "tokens": written.tokens,
        "view_tokens": written.view_tokens,
        "sections": [
            {"id": one.section.ref, "form": form, "recent": one.recent, "stale": one.stale}
            for one, form in written.parts
        ],
        "tail": {
            "from_seq": written.tail_from,
            "to_seq": written.upto_seq,
            "events": written.events,
            "withheld": written.withheld,
        },
        "not_shown": [list(one) for one in written.not_shown],
        "text": written.text,
    }


def _edition(request: HttpRequest, log_id: str) -> Edition:
    return current_edition(log_of(who(request).owner, log_id))


def _reader(request: HttpRequest) -> dict[str, Any]:
    credential = who(request)
    return {"by": credential.name, "capability": str(credential.capability), "reader": credential.reader}


def _browsed(request: HttpRequest, found: receipts.Browsed[Any]) -> HttpResponse:
    receipt = found.receipt
    where = {"log": receipt.log.public_id, "receipt": receipt.number, "digest": receipt.text_digest}
    return _given(request, found.text, receipt, {**where, **found.shown.as_json(), "text": found.text})


def _given(request: HttpRequest, text: str, receipt: Receipt, facts: dict[str, Any]) -> HttpResponse:
    headers: dict[str, Any] = {
        "Chronicle_Receipt": receipt.number,
        "Chronicle_Digest": receipt.text_digest,
        "Vary": "Accept",
    }
    if request.get_preferred_type(["application/json", TEXT]) == TEXT:
        return answer(text, content_type=f"{TEXT}; charset=utf-8", **headers)
    return answer(facts, **headers)
