"""What an agent asks of one log by a token, without the protocol around it: which tool there is, and a call of it.

Guarantees: the token and the log are looked up at every question, so what was revoked, has expired or was never the
owner's is refused in the middle of a session too; log and capability are the connection's, never an argument; a text
is what its receipt is of, byte for byte, with the token's name as its reader; nothing is raised: a refusal has the
API's words, and what nobody foresaw is said without its traceback, which goes to the log of the site.
Refuses: arguments that no action takes, by name; foreign and unknown logs alike.
"""

import logging
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chronicle import receipts, tool
from chronicle.access import log_of
from chronicle.api.shapes import MAX_SEQ
from chronicle.credentials import Capability, Credential, authenticate
from chronicle.errors import ChronicleError, InvalidRequest, Unauthorized
from chronicle.sections import current_edition

logger = logging.getLogger(__name__)

NAME, TITLE = "chronicle", "The chronicle of this session"
LONGEST = 200
TAKES = {"list": {"limit"}, "open": {"id"}, "expand": {"id", "after", "limit"}}
MOST = {"list": tool.MOST_LISTED, "open": 1, "expand": tool.MOST_EXPANDED}
UNFORESEEN = {"error": "server_error", "message": "Something failed here; the site's own log says what."}
WORDS = {
    "list": "`list` (the default) shows the newest sections, each with its id;",
    "open": "`open` with an id such as 12-31 or L1:1-320 shows a section's words, and what a rollup stands for;",
    "expand": "`expand` with an id shows the recorded events behind it, page by page: go on with `after`.",
}
ABOUT = {
    "action": "what to do",
    "id": "open, expand: a section's id as list shows it; 12-31#2 is its second generation",
    "after": "expand: the events after this seq",
    "limit": f"list: 1 to {tool.MOST_LISTED} ({tool.LISTED}); expand: 1 to {tool.MOST_EXPANDED}",
}


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose session it is: a token, and the log that the connection was made for."""

    token: str = field(repr=False)
    log: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What the agent reads. `facts` stand beside it and are not for the model: the receipt, or the refusal."""

    text: str
    facts: dict[str, Any]
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Offered:
    """The tool as a token may use it: its words and the JSON schema of its arguments."""

    description: str
    schema: dict[str, Any]


class Arguments(BaseModel):
    """What a call may say; a number is a number, not a text of digits."""

    model_config = ConfigDict(strict=True, extra="forbid")

    action: str = Field("list", max_length=LONGEST)
    id: str = Field("", max_length=LONGEST)
    after: int | None = Field(None, ge=0, le=MAX_SEQ)
    limit: int | None = None


def admit(token: str) -> Credential:
    """Return who holds the token, if it may read. Raises Unauthorized, CapabilityMissing."""
    if not token:
        raise Unauthorized("Give a token; `manage.py token NAME --owner OWNER --can read,expand` makes one.")
    credential = authenticate(token)
    credential.check(Capability.READ)
    return credential


def offered(caller: Caller) -> Offered | Answer:
    """Return the tool as this token may use it, or the refusal."""
    try:
        credential = admit(caller.token)
        log_of(credential.owner, caller.log)
    except ChronicleError as error:
        return refusal(error)
    except Exception:
        return _unforeseen()
    actions = _actions(credential)
    described = " ".join(["What is remembered of this session's earlier events.", *map(WORDS.__getitem__, actions)])
    return Offered(described, _schema(actions))


def call(caller: Caller, arguments: dict[str, Any] | None) -> Answer:
    """Do what was asked and leave its receipt, or return the refusal."""
    try:
        told = _read(caller, arguments or {})
    except ChronicleError as error:
        return refusal(error)
    except Exception:
        return _unforeseen()
    receipt = told.receipt
    return Answer(told.text, {"log": receipt.log.public_id, "receipt": receipt.number, "digest": receipt.text_digest})


def refusal(error: ChronicleError) -> Answer:
    """Return a refusal in the API's words: the sentence for the agent, all of it in the facts."""
    facts = error.as_json()
    return Answer(facts["message"], facts, refused=True)


def _read(caller: Caller, arguments: dict[str, Any]) -> receipts.Browsed[Any]:
    credential = admit(caller.token)
    log = log_of(credential.owner, caller.log)
    asked = _parsed(arguments)
    if asked.action == "expand":
        credential.check(Capability.EXPAND)
    tool.check_action(asked.action, among=_actions(credential))
    _check_taken(asked)
    edition = current_edition(log)
    who: dict[str, Any] = {"by": credential.name, "capability": str(credential.capability), "reader": credential.reader}
    limit: dict[str, Any] = {} if asked.limit is None else {"limit": min(max(asked.limit, 1), MOST[asked.action])}
    if asked.action == "list":
        return receipts.read_list(edition, **who, **limit)
    if asked.action == "open":
        return receipts.read_open(edition, asked.id, **who)
    return receipts.read_expand(edition, asked.id, after=asked.after, **who, **limit)


def _parsed(arguments: dict[str, Any]) -> Arguments:
    """Read the arguments; null is what was not given. Raises InvalidRequest naming the first that is wrong."""
    try:
        return Arguments.model_validate({name: value for name, value in arguments.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        name = ascii(".".join(str(part) for part in first["loc"]))[1:-1][:LONGEST]
        if first["type"] == "extra_forbidden":
            raise InvalidRequest(f"{name} is no argument; there are {', '.join(ABOUT)}.", field=name) from error
        raise InvalidRequest(f"{name}: {first['msg']}.", field=name) from error


def _check_taken(asked: Arguments) -> None:
    """Raise InvalidRequest for an argument that another action takes; one left empty, or 0, was not given."""
    given = {name for name in ("id", "after", "limit") if getattr(asked, name)}
    for name in sorted(given - TAKES[asked.action]):
        takers = " and ".join(action for action, takes in TAKES.items() if name in takes)
        raise InvalidRequest(f"{name} is for {takers}, not for {asked.action}.", field=name)


def _actions(credential: Credential) -> tuple[str, ...]:
    """What a token may do: without `expand` that action does not exist for it."""
    return tuple(one for one in tool.ACTIONS if one != "expand" or Capability.EXPAND in credential.can)


def _schema(actions: tuple[str, ...]) -> dict[str, Any]:
    kinds: dict[str, dict[str, Any]] = {
        "action": {"type": "string", "enum": list(actions), "default": "list"},
        "id": {"type": "string", "maxLength": LONGEST},
        "after": {"type": "integer", "minimum": 0},
        "limit": {"type": "integer", "minimum": 1, "maximum": max(MOST[action] for action in actions)},
    }
    taken = {"action"}.union(*(TAKES[action] for action in actions))
    about = ABOUT if "expand" in actions else ABOUT | WITHOUT_EXPAND
    fields = {name: kind | {"description": about[name]} for name, kind in kinds.items() if name in taken}
    return {"type": "object", "properties": fields, "additionalProperties": False}


WITHOUT_EXPAND = {
    "id": ABOUT["id"].replace("open, expand", "open"),
    "limit": ABOUT["limit"].partition(";")[0],
}


def _unforeseen() -> Answer:
    logger.exception("mcp: a question failed")
    return Answer(UNFORESEEN["message"], UNFORESEEN, refused=True)
