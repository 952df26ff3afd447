"""One log of a carry, proven against itself row by row, without a database.

Guarantees: its rows stand in their one order, so none stands twice; events, editions and what cites them are proven
by `chain`, `chronicles` and `citing`. Refuses (CarryRefused, naming line and place): the first row that does not fit.
"""

from datetime import datetime
from typing import Any

from chronicle import policies
from chronicle.carry import shapes
from chronicle.carry.chain import ChainProof
from chronicle.carry.chronicles import EditionProof
from chronicle.carry.citing import CitingProof
from chronicle.carry.file import refuse
from chronicle.errors import InvalidPolicy
from chronicle.summarisers.prompts import prompt_digest

RANKS: dict[type, int] = {shape: rank for rank, shape in enumerate(shapes.ORDER)}
# What may follow what although it stands earlier in the order: an event a pin, an edition the end of another.
BACK = {(shapes.Pin, shapes.Event), (shapes.Anchor, shapes.Edition), (shapes.Section, shapes.Edition)}
KEYS: dict[type, tuple[str, ...]] = {
    shapes.Policy: ("from_seq",),
    shapes.Prompt: ("name", "version"),
    shapes.Source: ("digest",),
    shapes.Pin: ("seq",),
    shapes.Attachment: ("digest",),
    shapes.Edition: ("number",),
    shapes.Anchor: ("level", "from_seq"),
    shapes.Section: ("level", "from_seq", "to_seq", "generation"),
    shapes.Receipt: ("number",),
}
TIMES = ("at", "claimed_at", "made_at", "ingested_at", "started_at", "last_activity_at")


class LogProof:
    """One log of a file."""

    def __init__(self, line: int, row: shapes.Log, stated: shapes.Carried) -> None:
        self.row = row
        self.sections = self.through = 0
        self.chain = ChainProof(row)
        self._editions: dict[int, EditionProof] = {}
        self._edition: EditionProof | None = None
        self._citing = CitingProof(row.id, row.last_seq, self._editions)
        self._last: Any = row
        self._keys: dict[type, tuple[Any, ...]] = {}
        _check_times(line, row)
        if (row.id, row.owner, row.last_seq, row.head) != (stated.id, stated.owner, stated.last_seq, stated.head):
            refuse(line, f"log {row.id} is not as the header names it ({stated.id} of {stated.owner})")

    @property
    def current(self) -> int:
        """How many editions are in force."""
        return sum(one.row.state == "current" for one in self._editions.values())

    def take(self, line: int, row: Any) -> None:
        """Prove the next row. Raises CarryRefused."""
        self._check_order(line, row)
        _check_times(line, row)
        self._last = row
        match row:
            case shapes.Event():
                self.chain.event(line, row)
            case shapes.Pin():
                self.chain.pin(line, row)
            case shapes.Source():
                self.chain.source(line, row)
            case shapes.Attachment():
                self.chain.attachment(line, row)
            case shapes.Policy():
                _check_policy(line, row)
            case shapes.Prompt():
                _check_prompt(line, row)
            case shapes.Edition():
                self._begin_edition(line, row)
            case shapes.Anchor():
                self._in_edition(line, row).anchor(line, row)
            case shapes.Section():
                self._in_edition(line, row).section(line, row)
                self.sections += 1
            case shapes.Receipt():
                self._end_edition()
                self._citing.receipt(line, row)
            case shapes.Finding() | shapes.SignOff():
                self._end_edition()
                self._citing.said(line, row)

    def end(self, line: int) -> None:
        """Prove that nothing is missing; `line` is the one behind the log."""
        self.chain.end(line)
        self._end_edition()
        if self._editions and not self.current:
            refuse(line, f"log {self.row.id}: none of its editions is in force (state)")

    def _check_order(self, line: int, row: Any) -> None:
        before, kind = type(self._last), type(row)
        if RANKS[kind] < RANKS[before] and (before, kind) not in BACK:
            refuse(line, f"{_a(row)} stands behind {_a(self._last)}")
        names = KEYS.get(kind)
        if names is None:
            return
        key, last = tuple(getattr(row, name) for name in names), self._keys.get(kind)
        if last is not None and not last < key:
            refuse(line, f"{shapes.kind_of(row)} {_words(key)} stands behind {_words(last)}: twice, or out of order")
        self._keys[kind] = key

    def _begin_edition(self, line: int, row: shapes.Edition) -> None:
        self.chain.end(line)
        self._end_edition()
        self._edition = EditionProof(self.row.id, self.row.last_seq, row, self.chain.content)
        self._editions[row.number] = self._edition
        if self.current > 1:
            refuse(line, f"edition {row.number} is in force, and another before it too (state)")
        self._keys.pop(shapes.Anchor, None)
        self._keys.pop(shapes.Section, None)

    def _in_edition(self, line: int, row: Any) -> EditionProof:
        if self._edition is None:
            refuse(line, f"{_a(row)} stands outside any edition")
        return self._edition

    def _end_edition(self) -> None:
        if self._edition is not None:
            self._edition.end()
            if self._edition.row.state == "current":
                self.through = self._edition.through
            self._edition = None


def _check_policy(line: int, row: shapes.Policy) -> None:
    try:
        policies.check({name: getattr(row, name) for name in (*policies.RANGES, "boundary")})
    except InvalidPolicy as error:
        refuse(line, f"policy from {row.from_seq}: {error}")


def _check_prompt(line: int, row: shapes.Prompt) -> None:
    if (prompt_digest(row.section), prompt_digest(row.rollup)) != (row.section_digest, row.rollup_digest):
        refuse(line, f"prompt {row.name}/{row.version}: its texts are not what was recorded (digest)")


def _check_times(line: int, row: Any) -> None:
    for name in TIMES:
        text = getattr(row, name, None)
        if text is not None:
            try:
                datetime.fromisoformat(text)
            except ValueError:
                refuse(line, f"{name} is no moment that there is: {text}")


def _words(key: tuple[Any, ...]) -> str:
    return "/".join(str(part)[:40] for part in key)


def _a(row: Any) -> str:
    kind = shapes.kind_of(row)
    return f"an {kind}" if kind[0] in "ae" else f"a {kind}"
