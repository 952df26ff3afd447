"""Calls into events: each message once, however often later calls repeat it as history.

Guarantees: a message's native id is made of who says what (a call's: of its id) and of which of its equals it is,
so the same message told by two spans, in any order, is one event; what a call answers is news even where the same
words stood before, unless the call's own history holds them; a span told again adds nothing; a result names the
request of its call id. Refuses nothing.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

from chronicle.envelope import ActorKind, Kind
from chronicle.importers import otlp_content, text
from chronicle.importers.making import Maker, Place
from chronicle.importers.otlp_chains import Call, Chains
from chronicle.importers.otlp_content import Role, Used
from chronicle.importers.otlp_messages import Bit, answer
from chronicle.importers.protocol import Read

AGENT, HUMAN, SYSTEM = "assistant", "user", "system"
CALL, ERROR = "model.call", "model.error"
LOOKED_AT = 40  # of the equals of an answer, the latest
HISTORIES = 200


class Claim(NamedTuple):
    """Which span told an event as its own; all empty for one that was told as history only."""

    trace: str = ""
    span: str = ""
    parent: str = ""
    end: int = 0


class Known(Protocol):
    """The events that are there: of each mark, its equals in order, each with the span that claims it."""

    def claims(self, session: str, mark: str) -> list[Claim]: ...


@dataclass(slots=True)
class Remembered:
    """What was told of one file."""

    events: dict[tuple[str, str], list[Claim]] = field(default_factory=dict)

    def claims(self, session: str, mark: str) -> list[Claim]:
        return self.events.setdefault((session, mark), [])


class Where(NamedTuple):
    """Where a span stands in its source: the record's number, the locator's place, what its blocks begin with."""

    record: int
    place: str
    block: str = ""


@dataclass(slots=True)
class Teller:
    """Makes the events of calls, one after another."""

    known: Known
    chains: Chains
    makers: dict[str, Maker] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    histories: dict[int, Counter[str]] = field(default_factory=dict)  # of spans whose messages are log records

    def maker(self, session: str) -> Maker:
        return self.makers.setdefault(session, Maker(session))

    def tell(self, call: Call, where: Where) -> list[Read]:
        """Return the events of a call that are not there yet."""
        session = self.chains.session(call)
        telling = _Telling(self, call, where, session, self.maker(session), *self.chains.speaks(call))
        return list(telling.tool(call.use) if call.use is not None else telling.model())


@dataclass(slots=True)
class _Telling:
    teller: Teller
    call: Call
    where: Where
    session: str
    maker: Maker
    agent: str
    caller: str
    count: int = 0

    @property
    def claim(self) -> Claim:
        return Claim(self.call.trace, self.call.id, self.call.parent, self.call.end or 0)

    def claims(self, mark: str) -> list[Claim]:
        return self.teller.known.claims(self.session, mark)

    def model(self) -> Iterator[Read]:
        """Tell a model call: what of its history is new, then what it answered."""
        counts = self._counts()
        for bit in filter(otlp_content.is_said, self.call.content.prompt):
            counts[bit.mark] += 1
            if len(self.claims(bit.mark)) < counts[bit.mark]:
                self.claims(bit.mark).append(Claim())
                yield self._made(bit, counts[bit.mark], self.call.start, {})
        completion = list(filter(otlp_content.is_said, self.call.content.completion))
        yield from self._answered(completion, counts)
        if not completion and self.call.role is not Role.LOG:
            yield from self._unanswered()

    def _counts(self) -> Counter[str]:
        """How often each mark stands in the history of this call: with log records, over all of its span."""
        if self.call.role is not Role.LOG or not self.call.id:
            return Counter()
        if len(self.teller.histories) > HISTORIES:
            self.teller.histories.pop(next(iter(self.teller.histories)))
        return self.teller.histories.setdefault(self.call.key, Counter())

    def _answered(self, completion: list[Bit], counts: Counter[str]) -> Iterator[Read]:
        new = []
        for bit in completion:
            number = self._news(bit.mark, counts[bit.mark])
            counts[bit.mark] = max(counts[bit.mark], abs(number))
            if number > 0:
                new.append((bit, number))
        for place, (bit, number) in enumerate(new):
            last = {"usage": self.call.usage} if self.call.usage and place == len(new) - 1 else {}
            yield self._made(bit, number, self.call.end or self.call.start, self._beside() | last)

    def _news(self, mark: str, before: int) -> int:
        """Return which of its equals an answer is; negative where that one is there already. It is claimed then."""
        claims = self.claims(mark)
        for at in range(max(before, len(claims) - LOOKED_AT), len(claims)):
            if not claims[at].span:
                claims[at] = self.claim
                return -(at + 1)
            if self._is_this(claims[at]):
                return -(at + 1)
        claims.append(self.claim)
        return len(claims)

    def _is_this(self, other: Claim) -> bool:
        """True where another span told this very call: itself sent twice, or one inside it that ended earlier."""
        call = self.call
        if not call.id or other.trace != call.trace:
            return False
        if other.span == call.id:
            return True
        if other.parent == call.parent or call.role is Role.LOG:
            return False
        return call.start is not None and call.end is not None and call.start <= other.end <= call.end

    def _unanswered(self) -> Iterator[Read]:
        """Tell of a call without an answer: it failed, or nothing was recorded; one that goes on is not told."""
        words, type = f"[{self.call.name}: no content was recorded]", CALL
        if self.call.error:
            words, type = self.call.error, ERROR
        elif self.call.end is None and self.call.content.prompt:
            return
        native_id = f"{self.call.id}:{type}"
        if self.claims(native_id):
            return
        self.claims(native_id).append(self.claim)
        by, actor = (ActorKind.SYSTEM, SYSTEM) if type == ERROR else (ActorKind.AGENT, self.agent or AGENT)
        payload = self._beside() | ({"usage": self.call.usage} if self.call.usage else {})
        at = self._at(self.call.end or self.call.start)
        yield self._placed(self.maker.message(native_id, at, by, actor, words, type=type, payload=payload))

    def tool(self, use: Used) -> Iterator[Read]:
        """Tell a tool's run: the request where no model call told it, and the result where one was recorded."""
        call = use.call or self.maker.waiting(use.tool) or f"span-{self.call.id}"
        asked = otlp_content.call_of(replace(use, call=call))
        if (number := self._run(asked)) > 0:
            yield self._made(asked, number, self.call.start, self._beside())
        result = use.result
        if result is None and self.call.error:
            result = answer(call, self.call.error, use.tool, is_error=True)
        if result is None:
            return
        result = replace(result, call=call, tool=use.tool)
        if (number := self._news(result.mark, 0)) > 0:
            yield self._made(result, number, self.call.end or self.call.start, self._beside())

    def _run(self, asked: Bit) -> int:
        """Return which of its equals a run's request is; 0 where it was told."""
        claims = self.claims(asked.mark)
        answers = self.claims(replace(asked, kind=Kind.TOOL_RESPONSE).mark)
        if len(claims) > len([one for one in answers if one.span]) or any(map(self._is_this, (*claims, *answers))):
            return 0
        claims.append(self.claim)
        return len(claims)

    def _beside(self) -> dict[str, Any]:
        """What a payload says beside the words: the span, its model, its sub-agent."""
        call = self.call
        found: dict[str, Any] = {"span": {"trace": call.trace, "id": call.id, "parent": call.parent}}
        found |= {name: given for name, given in (("model", call.model), ("message", call.message)) if given}
        if self.caller:
            found["agent"] = {"id": call.agent_id or self.agent, "by": self.caller}
        return found

    def _at(self, time: int | None) -> Place:
        return Place(self.where.record, self.where.place, time)

    def _made(self, bit: Bit, number: int, time: int | None, payload: dict[str, Any]) -> Read:
        native_id, at = f"#{bit.mark}.{number}", self._at(time)
        if bit.kind is Kind.TOOL_REQUEST:
            return self._placed(self._asked(native_id, at, bit, payload))
        if bit.kind is Kind.TOOL_RESPONSE:
            made = self.maker.response(native_id, at, bit.said, bit.call, tool=bit.tool, payload=payload)
            return self._placed(replace(made, answers=self._request_of(bit, number)))
        if bit.kind is Kind.THOUGHT:
            return self._placed(self.maker.thought(native_id, at, self.agent or AGENT, bit.said, payload=payload))
        by, actor = self._speaker(bit)
        if by is ActorKind.HUMAN:
            self.teller.titles.setdefault(self.session, text.storable(text.first_line(bit.said.words))[0])
        return self._placed(self.maker.message(native_id, at, by, actor, bit.said, payload=payload))

    def _asked(self, native_id: str, at: Place, bit: Bit, payload: dict[str, Any]) -> Read:
        agent = self.agent or AGENT
        made = self.maker.request(native_id, at, agent, bit.tool, bit.arguments, bit.call, payload=payload)
        if bit.arguments is None:  # not recorded, which is another thing than none
            given = {name: one for name, one in (made.event.payload or {}).items() if name != "arguments"}
            made = replace(made, event=replace(made.event, content=text.name(bit.tool, "tool"), payload=given))
        return made

    def _request_of(self, bit: Bit, number: int) -> str | None:
        if not bit.call:
            return None
        mark = Bit(Kind.TOOL_REQUEST, ActorKind.AGENT, call=bit.call).mark
        asked = min(number, len(self.claims(mark)))
        return f"#{mark}.{asked}" if asked else None

    def _speaker(self, bit: Bit) -> tuple[ActorKind, str]:
        """Who says a message. What a sub-agent is told as its user is said by the agent that called it."""
        if bit.by is ActorKind.HUMAN and self.caller:
            return ActorKind.AGENT, self.caller
        names = {ActorKind.HUMAN: HUMAN, ActorKind.SYSTEM: SYSTEM, ActorKind.AGENT: self.agent or AGENT}
        return bit.by, names[bit.by]

    def _placed(self, made: Read) -> Read:
        """Number the events of a record: `12:0`, `12:1`, or behind the span's own place in it."""
        block = f"{self.where.block}.{self.count}" if self.where.block else str(self.count)
        self.count += 1
        return replace(made, event=replace(made.event, locator=f"{self.where.place}:{block}"))
