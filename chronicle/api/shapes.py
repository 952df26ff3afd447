"""What is sent and answered, as OpenAPI says it.

Guarantees: what is sent is checked by these shapes, and a field that is none is refused; what is answered has at least
these fields, in a version of the API for good.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from chronicle.envelope import MAX_NAME, MAX_VERSION, NAMESPACE, ActorKind, Kind

MAX_SEQ = 2**63 - 1
MAX_TITLE = 300
MAX_AUDIENCE = 100
Seq = Annotated[int, Field(ge=1, le=MAX_SEQ)]
Anything = Annotated[Any, WithJsonSchema({})]
AnyObject = Annotated[Any, WithJsonSchema({"type": "object"})]
Payload = Annotated[dict[Any, Any] | None, WithJsonSchema({"type": ["object", "null"]})]
Moment = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]


class Sent(BaseModel):
    """What a client sends: nothing is guessed, nothing unknown is passed over."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NewLog(Sent):
    """A log to create. `id` is a name that its owner chooses; without it the site makes one."""

    title: str = Field("", max_length=MAX_TITLE)
    id: str = Field("", max_length=MAX_NAME)


class NewEvent(Sent):
    """An event to record. A tool_response names its request by `causation` or by a `correlation` both have."""

    kind: Annotated[str, Field(json_schema_extra={"enum": [kind.value for kind in Kind]})]
    actor_kind: Annotated[str, Field(json_schema_extra={"enum": [kind.value for kind in ActorKind]})]
    actor: str
    content: str = ""
    payload: Payload = None
    namespace: str = NAMESPACE
    type: str = ""
    schema_version: int = Field(1, ge=1, le=MAX_VERSION)
    causation: Annotated[str | Seq | None, Field(description="event_id or seq of an event of this log")] = None
    correlation: str = ""
    claimed_at: Moment | None = None
    audience: list[str] = Field([], max_length=MAX_AUDIENCE)
    idempotency_key: str = Field("", max_length=MAX_NAME)


class Close(Sent):
    """Why a unit is closed: `manual`, `pressure`, or a word of one's own."""

    reason: str = Field("manual", min_length=1, max_length=MAX_NAME)


class Refusal(BaseModel):
    """The one shape of every error; more keys say where and what is allowed."""

    model_config = ConfigDict(extra="allow")

    error: str
    message: str


class LogAnswer(BaseModel):
    id: str
    title: str
    owner: str
    source: str
    last_seq: int
    head: str
    started_at: Moment
    last_activity_at: Moment


class CreatedLog(LogAnswer):
    replayed: bool
    payload_differs: bool


class RecordedEvent(BaseModel):
    """An event's place. `ignored` names the fields that only the log may set."""

    seq: int
    event_id: str
    at: Moment
    replayed: bool
    payload_differs: bool
    ignored: list[str]


class RecordedList(BaseModel):
    events: list[RecordedEvent]
    stored: int
    replayed: int
    last_seq: int


class Line(BaseModel):
    """What became of one line: stored, replayed or refused, and then why."""

    model_config = ConfigDict(extra="allow")

    line: int
    status: str


class LinesReport(BaseModel):
    lines: list[Line]
    stored: int
    replayed: int
    refused: int
    last_seq: int


class EventAnswer(BaseModel):
    seq: int
    event_id: str
    kind: str
    actor_kind: str
    actor: str
    namespace: str
    type: str
    schema_version: int
    content: str
    text_form: str
    payload: Anything
    causation: str | None
    correlation: str
    at: Moment
    claimed_at: Moment | None
    audience: list[str]
    size: int
    digest: str


class EventsAnswer(BaseModel):
    """A page of events: `shown` of the `of` that pass the filters; go on after `next_since`, null on the last page."""

    events: list[EventAnswer]
    shown: int
    of: int
    next_since: int | None
    last_seq: int
