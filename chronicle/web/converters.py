"""What may stand in an address: a log's id, a section's id, a seq.

Guarantees: every log id makes an address that leads back to it, whatever its characters (`/` and a
lone `.` or `..` are written `~2F`, `~2E`); a section id has one form, `12-31` or `L1:1-320`; a seq
fits the database. Anything else is no address of this site, so it is a 404 and never an error.
"""

import re
from typing import NamedTuple

from chronicle.errors import UnknownSection
from chronicle.reading import parse_ref

_NATURAL = r"[1-9][0-9]{0,17}"


class SectionId(NamedTuple):
    """A section's id as an address names it: level and both inclusive ends."""

    level: int
    from_seq: int
    to_seq: int

    @classmethod
    def parse(cls, text: str) -> "SectionId":
        """Read `12-31` or `L1:1-320`; anything else, `12-31#2` too, raises UnknownSection."""
        level, from_seq, to_seq, generation = parse_ref(text)
        if generation is not None:
            raise UnknownSection("An address names a generation as /12-31/2/, not with #.")
        return cls(level, from_seq, to_seq)

    def __str__(self) -> str:
        return f"{f'L{self.level}:' if self.level else ''}{self.from_seq}-{self.to_seq}"


class LogIdConverter:
    regex = r"[^/\x00]+"

    def to_python(self, value: str) -> str:
        return re.sub("~(7E|2F|2E)", lambda found: chr(int(found[1], 16)), value)

    def to_url(self, value: str) -> str:
        escaped = value.replace("~", "~7E").replace("/", "~2F")
        return escaped.replace(".", "~2E") if escaped in {".", ".."} else escaped


class SectionIdConverter:
    regex = rf"(?:L[1-9][0-9]{{0,3}}:)?{_NATURAL}-{_NATURAL}"

    def to_python(self, value: str) -> SectionId:
        return SectionId.parse(value)

    def to_url(self, value: object) -> str:
        return str(value)


class SeqConverter:
    regex = _NATURAL

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(value)


class DigestConverter:
    regex = "[0-9a-f]{64}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value
