"""The rows of a carry: one shape a kind, with every column that matters and no key of a database.

Guarantees: a row has one form in bytes (`line_of`: canonical JSON), so that whoever writes the same row writes the
same line; what a shape takes fits the columns of every database. Times are UTC with six digits, a cost is text.
Refuses (msgspec, naming the field): unknown or missing fields, values of another kind or out of range.
"""

import json
from typing import Annotated, Final, Literal

import msgspec

FORMAT: Final = "anagrapheus-site"
VERSION: Final = 1
KIND: Final = "carry"
LINE_CAP = 256 * 1024 * 1024

BIG, INT, SMALL = 2**63 - 1, 2**31 - 1, 2**15 - 1

Seq = Annotated[int, msgspec.Meta(ge=1, le=BIG)]
Upto = Annotated[int, msgspec.Meta(ge=0, le=BIG)]
Count = Annotated[int, msgspec.Meta(ge=0, le=INT)]
Ordinal = Annotated[int, msgspec.Meta(ge=1, le=INT)]
Level = Annotated[int, msgspec.Meta(ge=0, le=SMALL)]
Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
Uuid = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")]
Time = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00\Z")]
Cost = Annotated[str, msgspec.Meta(pattern=r"^\d{1,6}\.\d{6}\Z")]
Named = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Text10 = Annotated[str, msgspec.Meta(max_length=10)]
Text20 = Annotated[str, msgspec.Meta(max_length=20)]
Text60 = Annotated[str, msgspec.Meta(max_length=60)]
Text100 = Annotated[str, msgspec.Meta(max_length=100)]
Text200 = Annotated[str, msgspec.Meta(max_length=200)]
Text300 = Annotated[str, msgspec.Meta(max_length=300)]
Text1000 = Annotated[str, msgspec.Meta(max_length=1000)]
Title = Annotated[str, msgspec.Meta(min_length=1, max_length=80)]

EventKind = Literal["message", "thought", "tool_request", "tool_response", "marker", "bookkeeping"]
AnchorKind = Literal["unit", "interval", "pressure", "manual", "bootstrap", "emergency", "imported", "rollup"]
Origin = Literal["drawn", "carried", "imported", "closed without summary"]


class Shape(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all rows share."""


class Carried(Shape, frozen=True, kw_only=True):
    """One log as the header names it."""

    id: Named
    owner: Named
    last_seq: Upto
    head: Digest


class Header(Shape, frozen=True, kw_only=True):
    """The first line."""

    format: Literal["anagrapheus-site"]
    version: Literal[1]
    kind: Literal["carry"]
    logs: list[Carried]


class Log(Shape, frozen=True, kw_only=True, tag_field="row", tag="log"):
    """A log begins; what follows is its own, up to the next."""

    id: Named
    owner: Named
    title: Text300
    source: Text60
    source_session: Text300
    last_seq: Upto
    head: Digest
    started_at: Time
    last_activity_at: Time


class Policy(Shape, frozen=True, kw_only=True, tag_field="row", tag="policy"):
    from_seq: Seq
    boundary: list[str]
    interval_messages: Count
    interval_tokens: Count | None
    max_events_per_section: Count
    rollup_threshold: Count
    rollup_batch: Count
    summariser: Text200
    model: Text200
    prompt: Text200
    story_so_far: Count
    max_recent: Count
    max_older: Count
    recent_window_hours: Count
    token_budget: Count
    made_by: Text200
    made_at: Time


class Prompt(Shape, frozen=True, kw_only=True, tag_field="row", tag="prompt"):
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    version: Ordinal
    section: Annotated[str, msgspec.Meta(min_length=1)]
    rollup: Annotated[str, msgspec.Meta(min_length=1)]
    section_digest: Digest
    rollup_digest: Digest
    made_by: Text200
    made_at: Time


class Source(Shape, frozen=True, kw_only=True, tag_field="row", tag="source"):
    digest: Digest
    name: Text1000
    format: Text60
    size: Upto
    ingested_at: Time


class Event(Shape, frozen=True, kw_only=True, tag_field="row", tag="event"):
    seq: Seq
    event_id: Uuid
    kind: EventKind
    actor_kind: Literal["human", "agent", "system"]
    actor: Named
    content: str
    namespace: Text200
    type: Text200
    schema_version: Ordinal
    payload: str
    causation: Uuid | None
    correlation: Text200
    at: Time
    claimed_at: Time | None
    audience: list[Named]
    source: Digest | None
    locator: Text200
    text_form: Literal["plain", "escaped"]
    key: Annotated[str, msgspec.Meta(min_length=1, max_length=300)] | None
    size: Upto
    salt: Annotated[str, msgspec.Meta(max_length=32)]
    content_digest: Digest
    digest: Digest


class Pin(Shape, frozen=True, kw_only=True, tag_field="row", tag="pin"):
    """The pin that the event before it promoted."""

    seq: Seq
    key: Text200
    kind: Text100
    result: str
    attempts: Count
    unit: Text100


class Attachment(Shape, frozen=True, kw_only=True, tag_field="row", tag="attachment"):
    digest: Digest
    media_type: Text100
    size: Upto
    data: str  # base64


class Edition(Shape, frozen=True, kw_only=True, tag_field="row", tag="edition"):
    """An edition begins; the anchors and sections that follow are its own."""

    number: Ordinal
    state: Literal["building", "current", "archived"]
    made_by: Text200
    reason: str
    made_at: Time


class Anchor(Shape, frozen=True, kw_only=True, tag_field="row", tag="anchor"):
    level: Level
    from_seq: Seq
    to_seq: Seq
    unit_seq: Seq
    kind: AnchorKind
    event_count: Count
    rolled_up_into: tuple[Seq, Seq] | None  # the range of the rollup one level up


class Section(Shape, frozen=True, kw_only=True, tag_field="row", tag="section"):
    """A generation; `pins` are keys in order, `sources` the generations it read, as (level, from, to, generation)."""

    level: Level
    from_seq: Seq
    to_seq: Seq
    generation: Ordinal
    supersedes: Ordinal | None
    title: Title
    prose: Annotated[str, msgspec.Meta(min_length=1)]
    origin: Origin
    replaces_from: Seq | None
    summariser: Text60
    model: Text200
    prompt_digest: Annotated[str, msgspec.Meta(max_length=64)]
    tokens_in: Count | None
    tokens_out: Count | None
    cost: Cost | None
    token_estimate: Count
    made_by: Text200
    made_at: Time
    digest: Digest
    pins: list[Text200]
    sources: list[tuple[Level, Seq, Seq, Ordinal]]


class Cited(Shape, frozen=True, kw_only=True):
    """A generation as it is cited from outside its edition."""

    edition: Ordinal
    level: Level
    from_seq: Seq
    to_seq: Seq
    generation: Ordinal


class Part(Cited, frozen=True, kw_only=True):
    """One section in a receipt, in the form it was given."""

    form: Literal["full", "title", "dropped", "events"]
    recent: bool
    stale: bool


class Receipt(Shape, frozen=True, kw_only=True, tag_field="row", tag="receipt"):
    number: Ordinal
    what: Literal["brief", "list", "open", "expand"]
    edition: Ordinal | None
    reader: Text200
    capability: Text20
    at: Time
    upto_seq: Upto
    tail_from: Upto | None
    tail_to: Upto | None
    filters: str
    budget: Count | None
    renderer: Level
    token_estimate: Count
    size: Upto
    text_digest: Digest
    digest: Annotated[str, msgspec.Meta(max_length=64)]
    parts: list[Part]


class Finding(Shape, frozen=True, kw_only=True, tag_field="row", tag="finding"):
    """`number` counts a log's findings from 1; `withdraws` names one by it."""

    number: Ordinal
    section: Cited
    section_digest: Digest
    reviewer: Text200
    words: str
    cited_seqs: list[Seq]
    withdraws: Ordinal | None
    at: Time


class SignOff(Shape, frozen=True, kw_only=True, tag_field="row", tag="sign_off"):
    """As a finding."""

    number: Ordinal
    section: Cited
    section_digest: Digest
    reviewer: Text200
    verdict: Literal["agrees", "differs"]
    words: str
    withdraws: Ordinal | None
    at: Time


class End(Shape, frozen=True, kw_only=True, tag_field="row", tag="end"):
    """The last line: how many rows of each kind there were, and the sha256 of every byte before this line."""

    counts: dict[str, Upto]
    sha256: Digest


Row = (
    Log
    | Policy
    | Prompt
    | Source
    | Event
    | Pin
    | Attachment
    | Edition
    | Anchor
    | Section
    | Receipt
    | Finding
    | SignOff
    | End
)

# The order of a log's rows; a pin stands behind its event, anchors and sections behind their edition.
ORDER = (
    Log,
    Policy,
    Prompt,
    Source,
    Event,
    Pin,
    Attachment,
    Edition,
    Anchor,
    Section,
    Receipt,
    Finding,
    SignOff,
)
KINDS = (*(str(shape.__struct_config__.tag) for shape in ORDER), "section_pin", "section_source", "receipt_part")

decoder: msgspec.json.Decoder[Row] = msgspec.json.Decoder(Row)
header_decoder = msgspec.json.Decoder(Header)
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode


def line_of(row: msgspec.Struct) -> bytes:
    """Return the one form of a row in bytes, without its line end."""
    return _encode(msgspec.to_builtins(row)).encode("ascii")


def kind_of(row: msgspec.Struct) -> str:
    """Return the word a row says of itself."""
    return str(row.__struct_config__.tag)


def ref(level: int, from_seq: int, to_seq: int, generation: int = 1) -> str:
    """Return a section's id in words: `[L<level>:]<from>-<to>[#generation]`."""
    return f"{f'L{level}:' if level else ''}{from_seq}-{to_seq}{f'#{generation}' if generation > 1 else ''}"
