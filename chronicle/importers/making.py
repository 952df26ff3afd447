"""Events of one session, made the same way for every format: who speaks, how a call is shown, what answers what.

Guarantees: a text no database takes is escaped and marked; names are fit; a request holds its tool and
arguments whole in its payload, its content shows them up to SHOWN characters; a response names the
latest request of its call id (an id may be used again in a later turn), however far apart they stand;
one of no known call stands alone; a time without a zone is kept in the payload as it was stated.
Refuses nothing: what it is given is data. Pure; knows no file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from chronicle import canonical
from chronicle.envelope import COMPACTION, ActorKind, Kind, PendingEvent
from chronicle.errors import InvalidPayload
from chronicle.importers import lines, text
from chronicle.importers.protocol import Blob, Read

SHOWN = 2000
SUMMARY = "compaction.summary"
STUB = "stub"
TOOL = "tool"


class Place(NamedTuple):
    """Where a record stands and when it says it was: the record's number, the locator's place, the time as stated.

    `place` leads back to the record, as protocol.record_of says; a block's index is added behind a colon (`5.2` for
    block 2 of message 5, where a record holds several messages).
    """

    record: int
    place: str
    time: Any = None


class Said(NamedTuple):
    """A content with what belongs to it: the words, what else goes into the payload, and bytes taken out."""

    words: str
    payload: Mapping[str, Any] = {}
    blobs: Sequence[Blob] = ()


class Call(NamedTuple):
    """A request met before: its native id, its tool, the call id it is joined by."""

    native_id: str
    tool: str
    call: str


@dataclass(slots=True)
class Maker:
    """What one session's events need to know of those before them."""

    session: str
    calls: dict[str, Call] = field(default_factory=dict)
    unanswered: list[Call] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    timeless: set[int] = field(default_factory=set)  # the records whose time is no moment: see text.timeless
    last: str = ""  # the native id of the last event made
    agent_spoke: bool = False

    def counted(self, data: bytes | str) -> str:
        """Return an id for a record that has none: the digest of its bytes and which of its equals it is."""
        given = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        digest = canonical.sha256(given)[:32]
        self.counts[digest] = self.counts.get(digest, 0) + 1
        return f"#{digest}.{self.counts[digest]}"

    def message(self, native_id: str, at: Place, by: ActorKind, actor: str, said: Said | str, **more: Any) -> Read:
        """Return words that someone said. `more` are `type`, `payload`, `block`, `audience`."""
        return self._made(native_id, at, Kind.MESSAGE, by, actor, said, **more)

    def thought(self, native_id: str, at: Place, actor: str, said: Said | str, **more: Any) -> Read:
        """Return what an agent thought; `by` is given where it is not an agent's."""
        return self._made(native_id, at, Kind.THOUGHT, more.pop("by", ActorKind.AGENT), actor, said, **more)

    def marker(
        self, native_id: str, at: Place, actor: str, said: Said | str, type: str = COMPACTION, **more: Any
    ) -> Read:
        """Return a mark in the log, as a rule of a compaction."""
        return self._made(native_id, at, Kind.MARKER, ActorKind.SYSTEM, actor, said, type=type, **more)

    def request(
        self, native_id: str, at: Place, actor: str, tool: Any, arguments: Any, call: Any = "", **more: Any
    ) -> Read:
        """Return a call of a tool. `call` is its id; without one the native id joins it with its response."""
        tool, call = text.name(tool, TOOL), text.name(call, "") or text.name(native_id, "")
        met = Call(native_id, tool, call)
        self.calls[call] = met
        self.unanswered.append(met)
        payload = {TOOL: tool, "arguments": arguments} | dict(more.pop("payload", None) or {})
        by = more.pop("by", ActorKind.AGENT)
        shown = cut(f"{tool} {arguments if isinstance(arguments, str) else text.readable(arguments)}")
        return self._made(native_id, at, Kind.TOOL_REQUEST, by, actor, shown, correlation=call, payload=payload, **more)

    def response(
        self, native_id: str, at: Place, said: Said | str, call: Any = "", *, tool: Any = "", **more: Any
    ) -> Read:
        """Return what a tool answered. `tool` names it where no request of `call` is known."""
        given = text.name(call, "")
        met = self.calls.get(given) if given else None
        if met is not None and met in self.unanswered:
            self.unanswered.remove(met)
        actor = text.name(tool, "") or (met.tool if met else TOOL)
        return self._made(
            native_id, at, Kind.TOOL_RESPONSE, ActorKind.SYSTEM, actor, said,
            correlation=given, answers=met.native_id if met else None, **more,
        )  # fmt: skip

    def waiting(self, tool: str = "") -> str:
        """Return the call id of the oldest request that has no response, of this tool or any; "" for none.

        For formats that name no ids and pair by position.
        """
        return next((met.call for met in self.unanswered if not tool or met.tool == tool), "")

    def stub(self, native_id: str, at: Place, reason: str, actor: str) -> Read:
        """Mark the place of a record that was refused for its size."""
        stub = {STUB: reason}
        return self._made(native_id, at, Kind.MESSAGE, ActorKind.SYSTEM, actor, f"[{reason}]", type=STUB, payload=stub)

    def _made(
        self,
        native_id: str,
        at: Place,
        kind: Kind,
        by: ActorKind,
        actor: str,
        said: Said | str,
        *,
        type: str = "",
        payload: Mapping[str, Any] | None = None,
        block: int | str = 0,
        correlation: str = "",
        audience: tuple[str, ...] = (),
        answers: str | None = None,
    ) -> Read:
        said = Said(said) if isinstance(said, str) else said
        content, text_form = text.storable(said.words)
        claimed = text.moment(at.time)
        kept = dict(said.payload) | dict(payload or {})
        if claimed is None and at.time is not None and at.time != "":
            kept["timestamp"] = at.time
            self.timeless.add(at.record)
        self.last, self.agent_spoke = native_id, self.agent_spoke or by is ActorKind.AGENT
        event = PendingEvent(
            kind=kind,
            actor_kind=by,
            actor=text.name(actor, str(by)),
            content=content,
            payload=kept or None,
            type=type,
            correlation=correlation,
            claimed_at=claimed,
            audience=audience,
            locator=f"{at.place}:{block}",
            text_form=text_form,
        )
        return Read(self.session, native_id, event, at.record, tuple(said.blobs), answers=answers)


def cut(shown: str) -> str:
    """A request's arguments stand whole in its payload; the content shows them up to a size, and says so."""
    return shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}… [{len(shown):,} characters, whole in the payload]"


def arguments(given: Any) -> Any:
    """Return a call's arguments as the object that their text holds; a text that holds none stays as it stands."""
    if not isinstance(given, str) or not given.lstrip().startswith("{"):
        return given
    try:
        value, end = lines.parse(given.strip())
    except InvalidPayload:
        return given
    return value if isinstance(value, dict) and end == len(given.strip()) else given
