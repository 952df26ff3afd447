"""The tables; each file builds only on those before it: log ← pins ← sections ← receipts ← review; jobs alone."""

from chronicle.models.jobs import Heartbeat, Job, JobState
from chronicle.models.log import Attachment, Event, Log, Source
from chronicle.models.pins import Pin, PinScratch
from chronicle.models.receipts import Form, Receipt, ReceiptPart, What
from chronicle.models.review import AuditEntry, Finding, Grant, SignOff, Token
from chronicle.models.sections import (
    Anchor,
    AnchorKind,
    Edition,
    EditionState,
    FoldPosition,
    Origin,
    Policy,
    Prompt,
    RollupSource,
    Section,
    SectionPin,
    UnitFailure,
)

__all__ = [
    "Anchor",
    "AnchorKind",
    "Attachment",
    "AuditEntry",
    "Edition",
    "EditionState",
    "Event",
    "Finding",
    "FoldPosition",
    "Form",
    "Grant",
    "Heartbeat",
    "Job",
    "JobState",
    "Log",
    "Origin",
    "Pin",
    "PinScratch",
    "Policy",
    "Prompt",
    "Receipt",
    "ReceiptPart",
    "RollupSource",
    "Section",
    "SectionPin",
    "SignOff",
    "Source",
    "Token",
    "UnitFailure",
    "What",
]
