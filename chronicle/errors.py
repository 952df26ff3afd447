"""Every refusal, one class each, with a sentence that says the way out.

Guarantees: each error of the domain derives from ChronicleError and carries `name`, the word that
answers, commands and pages use for it. `raise X(...) from error` keeps the first error.
"""

from typing import Any


class ChronicleError(Exception):
    """What every refusal derives from; `str(error)` is a sentence for a person."""

    name = "error"

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.details = details

    def as_json(self) -> dict[str, Any]:
        """Return the refusal in the one shape: `{"error": name, "message": sentence, …}`."""
        return {**self.details, "error": self.name, "message": str(self)}


class OwnerEmpty(ChronicleError):
    """No owner was given."""

    name = "owner_empty"


class InvalidEvent(ChronicleError):
    """An event cannot be stored as given; `details["field"]` names the first thing wrong."""

    name = "invalid_event"


class InvalidPayload(InvalidEvent):
    """A payload is not canonical JSON: NaN, a key twice, too deep, too long a number."""

    name = "invalid_payload"


class InvalidFilter(ChronicleError):
    """A filter names something that does not exist, or a limit is not a number."""

    name = "invalid_filter"


class LogNotFound(ChronicleError):
    """There is no such log for this owner: unknown and not yours are one answer."""

    name = "log_not_found"

    def __init__(self, message: str = "There is no log with this id.", **details: Any) -> None:
        super().__init__(message, **details)


class LogExists(ChronicleError):
    """A log with this id exists already, whoever owns it."""

    name = "log_exists"


class IdempotencyUnsupported(ChronicleError):
    """An idempotency key was given to a store that cannot keep it."""

    name = "idempotency_unsupported"


class EventExists(ChronicleError):
    """An event with this event_id is in the log already."""

    name = "event_exists"


class ConcurrencyError(ChronicleError):
    """The log is not at the seq the writer expected: a defect tripwire, nothing to retry."""

    name = "concurrency"


class DuplicateEventType(ChronicleError):
    """A (namespace, type) or a model was registered twice."""

    name = "duplicate_event_type"


class UnknownEventType(ChronicleError):
    """An event's (namespace, type) is not registered."""

    name = "unknown_event_type"


class UpcastGap(ChronicleError):
    """There is no step from a stored schema version to the next."""

    name = "upcast_gap"


class InvalidSection(ChronicleError):
    """A section cannot be stored: inverted range, empty prose, past the end of the log, a gap."""

    name = "invalid_section"


class SectionCollision(ChronicleError):
    """A section with this id is stored already."""

    name = "section_collision"


class ChronicleFork(ChronicleError):
    """A section would supersede one already superseded, change its range, or overlap another."""

    name = "chronicle_fork"


class UnknownSection(ChronicleError):
    """There is no section with this id."""

    name = "unknown_section"


class UnknownEdition(ChronicleError):
    """The log has no edition with this number."""

    name = "unknown_edition"


class UnknownAction(ChronicleError):
    """The agent's tool has no such action."""

    name = "unknown_action"


class Superseded(ChronicleError):
    """Another writer was first; nothing was written and the work counts as wasted."""

    name = "superseded"


class LeaseLost(Superseded):
    """The lease this work ran under has been taken over; nothing was written."""

    name = "lease_lost"


class SummaryFailed(ChronicleError):
    """A summariser gave no usable prose; nothing was written, the unit stays in the tail."""

    name = "summary_failed"


class DrawFailed(ChronicleError):
    """A draw could not be made (refused, timed out, cut off); what was drawn before it is kept for the next try."""

    name = "draw_failed"


class PinMiss(ChronicleError):
    """A replay asks for a draw that was never recorded: the request is another than it was."""

    name = "pin_miss"


class DivergenceNotAccepted(ChronicleError):
    """A re-consolidation was not accepted; `details["bill"]` says what it would cost and what would diverge."""

    name = "divergence_not_accepted"


class CarryRefused(ChronicleError):
    """A carry is refused whole; the message names the first place that does not fit, nothing was written."""

    name = "carry_refused"


class ReceiptUnreadable(ChronicleError):
    """A receipt's text cannot be made again by this version; what it cites and its digest stand."""

    name = "receipt_unreadable"


class InvalidPolicy(ChronicleError):
    """A policy value is outside its range; the message names the range."""

    name = "invalid_policy"


class GenerativeRebuild(ChronicleError):
    """A rebuild of generated prose was not acknowledged; `details["bill"]` says what it would cost."""

    name = "generative_rebuild"


class RebuildHalted(ChronicleError):
    """A rebuild could not go on; what it has built is kept, the old edition stays in force."""

    name = "rebuild_halted"


class UnknownFormat(ChronicleError):
    """No importer knows this file."""

    name = "unknown_format"


class BrokenFile(ChronicleError):
    """A file cannot be ingested at all; nothing of it was written."""

    name = "broken_file"


class UploadDecided(ChronicleError):
    """What became of an upload is decided already: it is ingested, or thrown away."""

    name = "upload_decided"


class AppendOnly(ChronicleError):
    """Something tried to change or delete a record."""

    name = "append_only"


class InvalidToken(ChronicleError):
    """A token cannot be made as asked; `details["field"]` names what is wrong."""

    name = "invalid_token"


class UnknownToken(ChronicleError):
    """There is no token with this prefix."""

    name = "unknown_token"


class Unauthorized(ChronicleError):
    """No token was given, or one that is unknown, expired or revoked."""

    name = "unauthorized"


class CapabilityMissing(ChronicleError):
    """A token was not made for what it is used for; `details["needs"]` names the capability."""

    name = "capability_missing"


class InvalidRequest(ChronicleError):
    """A request cannot be read as given; `details["field"]` names the first thing wrong."""

    name = "invalid_request"


class TooLarge(ChronicleError):
    """A request is over a stated limit; `details["limit"]` says which number."""

    name = "too_large"


class LengthRequired(ChronicleError):
    """A request does not say how long its body is."""

    name = "length_required"


class UnsupportedMediaType(ChronicleError):
    """A request's body is of no type that is read here."""

    name = "unsupported_media_type"


class CannotStart(ChronicleError):
    """The site cannot start here; the message says what to change."""

    name = "cannot_start"
