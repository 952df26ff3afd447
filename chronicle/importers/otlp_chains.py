"""Which span stands for a call that several instrumentations saw, and whose conversation it is part of.

Guarantees: of nested spans that tell one model call, the innermost with content is told and the others are not; a
span is of the conversation that it, an ancestor or its trace names, else of its trace. Ancestors are looked up in
what was learnt so far, plumbing included. Refuses nothing; a cycle of parents ends.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from chronicle.importers import otlp_content
from chronicle.importers.otlp_content import Content, Role, Used
from chronicle.importers.otlp_spans import Span

DEEPEST = 200
UNNAMED = "spans"


@dataclass(frozen=True, slots=True)
class Call:
    """What is kept of a span that gives events: who, when, what it says. `index` is its place in its export."""

    trace: str
    id: str
    parent: str
    name: str
    role: Role
    start: int | None
    end: int | None
    content: Content
    use: Used | None
    model: str
    message: str
    usage: dict[str, object]
    agent: str
    agent_id: str
    error: str
    kind: str

    @property
    def key(self) -> int:
        return hash((self.trace, self.id))


def call_of(span: Span) -> Call | None:
    """Return what is kept of a span; None for plumbing."""
    role = otlp_content.role(span)
    if role is Role.NONE:
        return None
    tool = role is Role.TOOL
    return Call(
        trace=span.trace,
        id=span.id,
        parent=span.parent,
        name=span.name,
        role=role,
        start=span.start,
        end=span.end,
        content=Content([], []) if tool else otlp_content.content(span),
        use=otlp_content.used(span) if tool else None,
        model="" if tool else span.word(*otlp_content.MODELS),
        message=span.word("gen_ai.response.id", "ai.response.id"),
        usage=otlp_content.usage(span) if role is Role.MODEL else {},
        agent=span.word(*otlp_content.AGENTS) or (span.name if role is Role.AGENT else ""),
        agent_id=span.word("gen_ai.agent.id"),
        error=otlp_content.failed(span),
        kind=otlp_content.kind(span),
    )


@dataclass(slots=True)
class Chains:
    """What was learnt of the spans of a file or of one export."""

    parents: dict[int, int] = field(default_factory=dict)
    roles: dict[int, Role] = field(default_factory=dict)
    agents: dict[int, str] = field(default_factory=dict)
    tools: dict[int, str] = field(default_factory=dict)
    conversations: dict[int, str] = field(default_factory=dict)
    traces: dict[str, str] = field(default_factory=dict)
    told: set[int] = field(default_factory=set)  # the model calls with content
    bare: set[int] = field(default_factory=set)  # and those without
    logged: set[int] = field(default_factory=set)  # the spans whose content log records hold
    finished: set[int] = field(default_factory=set)
    _over: dict[int, bool] = field(default_factory=dict)  # the spans over a model call: True over one with content

    def learn(self, span: Span, call: Call | None) -> None:
        """Learn a span before anything of its export is told."""
        key = hash((span.trace, span.id))
        if named := otlp_content.conversation(span):
            self.conversations[key] = named
            known = self.traces.setdefault(span.trace, named)
            self.traces[span.trace] = known if known == named else ""
        if span.log:
            if call is not None:
                self.logged.add(key)
            return
        if span.parent:
            self.parents[key] = hash((span.trace, span.parent))
        if call is not None:
            self._learn_call(key, call)

    def _learn_call(self, key: int, call: Call) -> None:
        self.roles[key] = call.role
        if call.end is not None:
            self.finished.add(key)
        if call.role is Role.MODEL:
            (self.told if call.content else self.bare).add(key)
        elif call.role is Role.AGENT:
            self.agents[key] = call.agent
        elif call.use is not None:
            self.tools[key] = call.use.tool

    def landed(self, trace: str, span: str, parent: str) -> None:
        """Learn of a model call that was told before, in an earlier export."""
        key = hash((trace, span))
        self.parents[key] = hash((trace, parent))
        self.roles[key] = Role.MODEL
        self.told.add(key)

    def settle(self) -> None:
        """Work out which spans stand over a model call, once everything was learnt."""
        self._over.clear()
        for calls, with_content in ((self.told, True), (self.bare, False)):
            for key in calls:
                for above in self.above(key):
                    if above in self._over:
                        break
                    self._over[above] = with_content

    def above(self, key: int) -> Iterator[int]:
        """Yield the ancestors of a span, nearest first, as far as they are known."""
        for _ in range(DEEPEST):
            if (parent := self.parents.get(key)) is None:
                return
            key = parent
            yield key

    def session(self, call: Call) -> str:
        """Return the conversation that a call is part of."""
        for key in (call.key, *self.above(call.key)):
            if key in self.conversations:
                return self.conversations[key]
        return self.traces.get(call.trace) or call.trace or UNNAMED

    def why_not(self, call: Call) -> str:
        """Return as what a call is ignored: another span tells it, or it tells nothing. "" where it is told."""
        over = self._over.get(call.key)
        if call.end is None and call.key in self.finished:
            return "span/earlier snapshot"
        if call.role is Role.AGENT and (over is True or not call.content):
            return call.kind if not call.content else "span/nested"
        if call.role is Role.MODEL and (over is True or (over is False and not call.content)):
            return "span/nested"
        if call.role is Role.MODEL and not call.content:
            if call.key in self.logged:
                return "span/told by its log records"
            return "span/nested" if self._under_content(call) else ""
        if call.role is Role.TOOL and call.use is not None:
            return "span/nested" if self._same_tool_above(call, call.use) else ""
        return ""

    def _under_content(self, call: Call) -> bool:
        nearest = next((key for key in self.above(call.key) if self.roles.get(key) is Role.MODEL), None)
        return nearest is not None and nearest in self.told

    def _same_tool_above(self, call: Call, use: Used) -> bool:
        nearest = next((key for key in self.above(call.key) if key in self.roles), None)
        return nearest is not None and not use.call and self.tools.get(nearest) == use.tool

    def speaks(self, call: Call) -> tuple[str, str]:
        """Return the agent that a call is of, and the agent that called it as a tool ("" for none)."""
        name, through_tool = call.agent, False
        for key in self.above(call.key):
            role = self.roles.get(key)
            through_tool = through_tool or role is Role.TOOL
            if role is Role.AGENT:
                if name and through_tool and self.agents[key] != name:
                    return name, self.agents[key]
                name = name or self.agents[key]
        return name, ""
