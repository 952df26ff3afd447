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
Name = Annotated[str, Field(max_length=MAX_NAME)]
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


class NewPolicy(Sent):
    """Values that change from a seq on; what is left out stays. `GET policy` says the ranges."""

    from_seq: int | None = Field(None, ge=1, le=10**15)
    boundary: list[Name] = Field([], max_length=100)
    interval_messages: int = 0
    interval_tokens: int | None = None
    max_events_per_section: int = 0
    rollup_threshold: int = 0
    rollup_batch: int = 0
    story_so_far: int = 0
    summariser: Name = ""
    model: Name = ""
    prompt: Name = ""
    max_recent: int = 0
    max_older: int = 0
    recent_window_hours: int = 0
    token_budget: int = 0


class Redraw(Sent):
    """What is accepted: the bill of a 409 says what will diverge."""

    accept_divergence: bool = False
    reason: str = Field("", max_length=2000)
    summariser: Name = ""
    prompt: Name = ""


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


class Receipted(BaseModel):
    """A text as it was given: `digest` is the sha256 of `text`, the receipt's number is the log's own."""

    log: str
    receipt: int
    digest: str
    text: str


class Part(BaseModel):
    id: str
    form: str
    recent: bool
    stale: bool


class Tail(BaseModel):
    from_seq: int
    to_seq: int
    events: int
    withheld: int


class BriefAnswer(Receipted):
    upto_seq: int
    reader: str | None
    budget: int
    bounds: str
    tokens: int
    view_tokens: int
    sections: list[Part]
    tail: Tail
    not_shown: list[list[int]]


class Entry(BaseModel):
    id: str
    level: int
    title: str
    from_seq: int
    to_seq: int
    events: int
    stale: bool


class ListAnswer(Receipted):
    """`shown` of the `of` entries that stand for events 1 to `through`; later events are in raw context."""

    edition: int
    entries: list[Entry]
    shown: int
    of: int
    through: int
    last_seq: int


class Child(Entry):
    read: str


class OpenAnswer(Receipted, Entry):
    """One generation; `current` is the id of the one that stands now."""

    edition: int
    current: str
    origin: str
    prose: str
    children: list[Child]


class ExpandedEvent(BaseModel):
    seq: int
    event_id: str
    kind: str
    actor_kind: str
    actor: str
    type: str
    content: str
    payload: Anything
    at: Moment
    claimed_at: Moment | None
    audience: list[str]


class ExpandAnswer(Receipted):
    """`shown` of the `of` events of a section; go on after `next_after`, null on the last page."""

    id: str
    edition: int
    from_seq: int
    to_seq: int
    events: list[ExpandedEvent]
    shown: int
    of: int
    next_after: int | None


class PolicyRow(BaseModel):
    model_config = ConfigDict(extra="allow")

    from_seq: int
    made_by: str
    made_at: Moment


class PolicyAnswer(BaseModel):
    """Every row of a log, oldest first; the last is in force for what is not consolidated. Ranges are inclusive."""

    log: str
    rows: list[PolicyRow]
    ranges: dict[str, list[int]]


class RedrawAnswer(BaseModel):
    """The job of a draw; `section` is the new generation's id once `state` is done."""

    log: str
    job: int
    state: str
    supersedes: str
    section: str
    replayed: bool
    payload_differs: bool


class VerifyAnswer(BaseModel):
    log: str
    status: str
    seq: int
    why: str
    sections: int
    tail: int
    holes: list[list[int]]
    against: str
