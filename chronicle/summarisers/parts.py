"""A span sorted by what is told of it: people, agents, notes of the system, thoughts, tool calls.

Guarantees: the order in each part is the span's. Where neither a person nor an agent speaks, whoever
speaks counts as an agent, so that a log of another shape still has voices.
"""

from dataclasses import dataclass

from chronicle.envelope import ActorKind, Kind
from chronicle.summarisers.calls import Call, calls_of
from chronicle.summarisers.protocol import Said, Span
from chronicle.summarisers.salience import Weights

VOICES = (ActorKind.HUMAN, ActorKind.AGENT)


@dataclass(frozen=True, slots=True)
class Parts:
    """`last` has the last words; where others spoke before, neither `people` nor `agents` holds them."""

    people: tuple[Said, ...]
    agents: tuple[Said, ...]
    notes: tuple[Said, ...]
    thoughts: tuple[Said, ...]
    calls: tuple[Call, ...]
    last: Said | None
    last_is_a_persons: bool
    spoken: int
    calls_after: int

    def weights(self) -> Weights:
        """Return how much each word weighs in all that was said."""
        told = (*self.people, *self.agents, *((self.last,) if self.last else self.thoughts))
        return Weights(said.content for said in told)


def parts_of(span: Span) -> Parts:
    """Return the parts of a span."""
    messages = [said for said in span.said if said.kind == Kind.MESSAGE]
    heard = [said for said in messages if said.actor_kind in VOICES] or messages
    last = heard[-1] if heard else None
    before = heard if len(heard) == 1 else heard[:-1]
    return Parts(
        people=tuple(said for said in before if said.actor_kind == ActorKind.HUMAN),
        agents=tuple(said for said in before if said.actor_kind != ActorKind.HUMAN),
        notes=tuple(said for said in messages if said.actor_kind not in VOICES) if heard is not messages else (),
        thoughts=tuple(said for said in span.said if said.kind == Kind.THOUGHT),
        calls=tuple(calls_of(span)),
        last=last,
        last_is_a_persons=last is not None and last.actor_kind == ActorKind.HUMAN,
        spoken=len(heard),
        calls_after=_calls_after(span, last),
    )


def _calls_after(span: Span, last: Said | None) -> int:
    count = 0
    for said in reversed(span.said):
        if said is last:
            break
        count += said.kind == Kind.TOOL_REQUEST
    return count
