"""What a log holds of earlier posts, as the mapping asks for it.

Guarantees: read under the log's lock, by keys and over the last RECENT events alone, so that a post costs the same
in a long log; each mark's equals up to the first that is not there. Refuses nothing.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import batched
from typing import Any

from chronicle.envelope import Kind
from chronicle.importers.making import Call, Maker
from chronicle.importers.otlp_chains import Chains
from chronicle.importers.otlp_telling import Claim
from chronicle.models import Event, Log

RECENT = 300
AT_ONCE = 8
KEYS_A_QUERY = 900
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Stored:
    """The events of one log, by mark; what was asked once is remembered for the post."""

    log: Log
    key_of: Callable[[str], str]
    maker: Maker
    marks: dict[str, list[Claim]] = field(default_factory=dict)
    told: set[tuple[str, str]] = field(default_factory=set)  # traces and spans of the recent events

    def claims(self, session: str, mark: str) -> list[Claim]:
        if mark not in self.marks:
            self.load([mark])
        return self.marks[mark]

    def load(self, marks: Iterable[str]) -> None:
        """Read what is there of these marks, a few of each at once, and on where there are more."""
        wanted = {mark for mark in marks if mark not in self.marks}
        self.marks |= {mark: [] for mark in wanted}
        first, step = 1, AT_ONCE
        while wanted:
            ids = {_native(mark, number): mark for mark in wanted for number in range(first, first + step)}
            there = self._read(ids)
            for native, mark in ids.items():
                if native in there and len(self.marks[mark]) == _number(native) - 1:
                    self.marks[mark].append(there[native])
            first, step = first + step, step * 2
            wanted = {mark for mark in wanted if len(self.marks[mark]) == first - 1 and ":" not in mark}

    def _read(self, ids: dict[str, str]) -> dict[str, Claim]:
        keys = {self.key_of(native): native for native in ids}
        found = {}
        for some in batched(keys, KEYS_A_QUERY, strict=False):
            rows = Event.objects.filter(log=self.log, idempotency_key__in=some)
            for key, payload, claimed, correlation in rows.values_list(
                "idempotency_key", "payload", "claimed_at", "correlation"
            ):
                given = json.loads(payload) if payload else {}
                found[keys[str(key)]] = _claim(given, claimed)
                if "tool" in given:
                    self.maker.calls.setdefault(correlation, Call(keys[str(key)], given["tool"], correlation))
        return found

    def recent(self, chains: Chains) -> None:
        """Learn what the last events say: model calls that were told, and requests that nothing answered."""
        rows = Event.objects.filter(log=self.log, seq__gt=self.log.last_seq - RECENT).order_by("seq")
        asked: dict[str, Call] = {}
        for kind, correlation, payload in rows.values_list("kind", "correlation", "payload"):
            given = json.loads(payload) if payload else {}
            self._learn(given, chains)
            if kind == Kind.TOOL_REQUEST and isinstance(given.get("tool"), str):
                asked[correlation] = Call("", given["tool"], correlation)
            elif kind == Kind.TOOL_RESPONSE:
                asked.pop(correlation, None)
        self.maker.unanswered.extend(asked.values())

    def _learn(self, given: dict[str, Any], chains: Chains) -> None:
        claim = _claim(given, None)
        if claim.span:
            self.told.add((claim.trace, claim.span))
            if "model" in given or "usage" in given:
                chains.landed(claim.trace, claim.span, claim.parent)


def _native(mark: str, number: int) -> str:
    """A mark with a colon is an id already: of an event that stands for a call as a whole."""
    return mark if ":" in mark else f"#{mark}.{number}"


def _number(native: str) -> int:
    return 1 if ":" in native else int(native.rpartition(".")[2])


def _claim(payload: Any, claimed: datetime | None) -> Claim:
    span = payload.get("span") if isinstance(payload, dict) else None
    if not isinstance(span, dict):
        return Claim()
    end = int((claimed - _EPOCH).total_seconds() * 1_000_000) * 1000 if claimed else 0
    return Claim(str(span.get("trace", "")), str(span.get("id", "")), str(span.get("parent", "")), end)
