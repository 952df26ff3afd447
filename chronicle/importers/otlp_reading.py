"""Spans of a file into items: learnt whole first, then told export by export, in the order of their starts.

Guarantees: every span is events, Ignored by kind or Refused with its place; a file of lines counts lines, any other
counts spans; what is held of one export is bounded (SPILL bytes, the rest in a temporary file), what is learnt of
the file is some 200 bytes a span. Refuses nothing by itself.
"""

import pickle
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, NamedTuple

from chronicle.importers import otlp_content, text
from chronicle.importers.otlp_chains import Call, Chains, call_of
from chronicle.importers.otlp_content import Role
from chronicle.importers.otlp_spans import Span
from chronicle.importers.otlp_telling import Remembered, Teller, Where
from chronicle.importers.protocol import Ignored, Item, Noted, Refused, Session

SPILL = 16 * 1024 * 1024


class Found(NamedTuple):
    """A span with its place, or why there is none; `ignored` names a record that never is a span."""

    place: str
    span: Span | str = ""
    ignored: str = ""
    size: int = 1000


class Line(NamedTuple):
    """A line of a file of lines, as the one record that it is, with the spans on it."""

    number: int
    place: str
    found: list[Found]


@dataclass(slots=True)
class Spool:
    """The calls of one export, to be had by their starts; past SPILL bytes they lie in a temporary file."""

    held: dict[int, tuple[str, Call | str]] = field(default_factory=dict)
    order: list[tuple[int, int, int, int]] = field(default_factory=list)  # start, number, offset, length
    file: IO[bytes] | None = None
    waiting: int = 0
    count: int = 0

    def add(self, place: str, call: Call | str, size: int) -> None:
        """Add a call, or in words why there is none, which stays behind what was added before it."""
        start = (self.order[-1][0] if self.order else 0) if isinstance(call, str) else told_at(call)
        self.order.append((start, self.count, -1, 0))
        self.held[self.count] = (place, call)
        self.count += 1
        self.waiting += size
        if self.waiting > SPILL:
            self._spill()

    def _spill(self) -> None:
        self.file = self.file or tempfile.TemporaryFile()  # noqa: SIM115 - closed with the spool
        for number, one in self.held.items():
            data = pickle.dumps(one)
            self.order[number] = (self.order[number][0], number, self.file.tell(), len(data))
            self.file.write(data)
        self.held.clear()
        self.waiting = 0

    def calls(self) -> Iterator[tuple[str, Call | str]]:
        """Yield what was added, by start; those without a start come first, in the order of the source."""
        for _, number, offset, length in sorted(self.order):
            if number in self.held:
                yield self.held[number]
            elif self.file is not None:
                self.file.seek(offset)
                yield pickle.loads(self.file.read(length))  # noqa: S301 - this process wrote it
        if self.file is not None:
            self.file.close()


def told_at(call: Call) -> int:
    """When a call is told: at its start; a tool's run at its end, behind what an agent did inside it."""
    return (call.end if call.role is Role.TOOL else call.start) or call.start or 0


@dataclass(slots=True)
class Reading:
    """One pass over a file whose spans were learnt."""

    chains: Chains = field(default_factory=Chains)
    teller: Teller = field(init=False)
    record: int = 0
    titled: dict[str, str] = field(default_factory=dict)
    told: set[int] = field(default_factory=set)
    plumbing: Counter[str] = field(default_factory=Counter)
    unfinished: int = 0

    def __post_init__(self) -> None:
        self.teller = Teller(Remembered(), self.chains)

    def learn(self, found: Iterable[Found]) -> None:
        """Learn the spans of a file, all of them before any is told."""
        for one in found:
            if isinstance(one.span, Span):
                self.chains.learn(one.span, call_of(one.span))
        self.chains.settle()

    def spans(self, found: Iterable[Found]) -> Iterator[Item]:
        """Yield the items of one export of a file where each span is a record."""
        spool = Spool()
        for one in found:
            call = call_of(one.span) if isinstance(one.span, Span) else None
            if call is not None or (isinstance(one.span, str) and one.span):
                spool.add(one.place, call or str(one.span), one.size)
                continue
            self.record += 1
            yield Ignored(one.ignored or _kind(one), self.record)
        for place, told in spool.calls():
            self.record += 1
            if isinstance(told, str):
                yield Refused(self.record, f"{place}: {told}")
            else:
                yield from self._told(told, Where(self.record, place))

    def _told(self, call: Call, where: Where) -> Iterator[Item]:
        why = self._why_not(call)
        reads = [] if why else self.teller.tell(call, where)
        if not reads:
            yield Ignored(why or "span/told before", where.record)
            return
        yield from self._titled(reads[0].session)
        yield from reads

    def _why_not(self, call: Call) -> str:
        why = self.chains.why_not(call)
        if why or not call.id:
            return why
        if call.key in self.told and call.kind != "log record":
            return "span/again"
        self.told.add(call.key)
        self.unfinished += call.end is None
        return ""

    def _titled(self, session: str) -> Iterator[Item]:
        title = self.teller.titles.get(session, "")
        if session not in self.titled or title != self.titled[session]:
            self.titled[session] = title
            yield Session(session, title)

    def line(self, line: Line) -> Iterator[Item]:
        """Yield the items of a line, which is one record whatever it holds."""
        events, refused, kinds = False, [], Counter[str]()
        spool = Spool()
        for index, one in enumerate(line.found):
            call = call_of(one.span) if isinstance(one.span, Span) else None
            if call is not None:
                spool.add(str(index), call, one.size)
            elif isinstance(one.span, str) and one.span:
                refused.append(f"{one.place}: {one.span}" if one.place else one.span)
            else:
                kinds[one.ignored or _kind(one)] += 1
        for block, told in spool.calls():
            for item in [] if isinstance(told, str) else self._told(told, Where(line.number, line.place, block)):
                if isinstance(item, Ignored):
                    kinds[item.kind] += 1
                else:
                    events = events or not isinstance(item, Session)
                    yield item
        yield from self._beside(line, refused, kinds, events=events)

    def _beside(self, line: Line, refused: list[str], kinds: Counter[str], *, events: bool) -> Iterator[Item]:
        for place, reason in enumerate(refused):
            yield Refused(line.number, reason, marked=events or place > 0)
        if events or len(line.found) > 1:
            self.plumbing.update(kinds)
        if not events and not refused:
            yield Ignored(next(iter(kinds), "export without spans"), line.number)

    def notes(self) -> Iterator[Item]:
        """Yield what the report says of the file as a whole."""
        for maker in self.teller.makers.values():
            yield from text.timeless(maker.timeless)
        if self.unfinished:
            yield Noted(0, f"{self.unfinished} unfinished: what they were asked is in, no answer was recorded")
        if self.plumbing:
            kinds = ", ".join(f"{kind} {count}" for kind, count in self.plumbing.most_common(10))
            yield Noted(0, f"{self.plumbing.total()} spans on lines with others gave no events: {kinds}")


def _kind(one: Found) -> str:
    return otlp_content.kind(one.span) if isinstance(one.span, Span) else "other"
