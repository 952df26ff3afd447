"""An exported file as rows that a test may change, written again with counts and digest that fit."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chronicle import canonical
from chronicle.carry import shapes, values
from chronicle.carry.file import count

type Row = dict[str, Any]


class Bundle:
    """The lines of a file. `write` closes it anew, so that what a test changed is the only thing wrong."""

    def __init__(self, path: Path) -> None:
        lines = path.read_bytes().splitlines()
        self.header: Row = json.loads(lines[0])
        self.rows: list[Row] = [json.loads(line) for line in lines[1:-1]]

    def of(self, kind: str, **said: Any) -> list[Row]:
        """The rows of a kind that say this."""
        return [
            row for row in self.rows if row["row"] == kind and all(row.get(key) == one for key, one in said.items())
        ]

    def one(self, kind: str, **said: Any) -> Row:
        """The first row of a kind that says this."""
        return self.of(kind, **said)[0]

    def line(self, row: Row) -> int:
        """The number of a row's line."""
        return self.rows.index(row) + 2

    def drop(self, *rows: Row) -> None:
        self.rows = [row for row in self.rows if not any(row is one for one in rows)]

    def after(self, row: Row, *new: Row) -> None:
        place = next(at for at, one in enumerate(self.rows) if one is row) + 1
        self.rows[place:place] = new

    def reseal(self, section: Row, edition: int = 1) -> None:
        """Give a section the digest that fits what it says now."""
        said = shapes.decoder.decode(canonical.dump({**section, "digest": "0" * 64}))
        section["digest"] = values.section_digest(self.one("log")["id"], edition, said)  # type: ignore[arg-type]

    def write(self, path: Path, *, close: Callable[[Row], Row] = lambda end: end) -> Path:
        body = b"".join(_line(row) for row in (self.header, *self.rows))
        end = {"row": "end", "counts": _counts(self.rows), "sha256": canonical.sha256(body)}
        path.write_bytes(body + _line(close(end)))
        return path


def _line(row: Row) -> bytes:
    return json.dumps(row, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _counts(rows: list[Row]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for row in rows:
        try:
            count(counts, shapes.decoder.decode(_line(row)))
        except ValueError:
            counts[str(row["row"])] += 1
    return dict(counts)
