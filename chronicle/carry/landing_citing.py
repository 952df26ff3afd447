"""What stands on sections: receipts, findings and sign-offs, compared with those that are here, and written.

Guarantees: a receipt is known by its number, what people said by everything it says; what lands cites what is here
as the file has it. A receipt that is here with another content is kept as it stands and counted.
Refuses (CarryRefused, naming the line): a citation of a section that has other words here.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from chronicle.carry import shapes
from chronicle.carry.file import refuse
from chronicle.carry.landing_edition import Known
from chronicle.carry.rows import receipt_row
from chronicle.carry.tally import Tally
from chronicle.carry.values import moment, receipt_values
from chronicle.models import Edition, Finding, Log, Receipt, ReceiptPart, SignOff

PAGE = 200

type Find = Callable[[shapes.Cited], Known]


class CitingLanding:
    """The citations of one log. `find` leads from what is cited to what is here."""

    def __init__(
        self, log: Log | None, editions: dict[int, Edition | None], find: Find, tally: Tally, *, write: bool
    ) -> None:
        self._log, self._editions, self._find, self._tally, self._write = log, editions, find, tally, write
        self._page: list[tuple[int, shapes.Receipt]] = []
        self._said: dict[str, dict[int, int]] = {"finding": {}, "sign_off": {}}
        self._here: dict[str, dict[tuple[Any, ...], int]] = {}

    def receipt(self, line: int, row: shapes.Receipt) -> None:
        """Take a receipt; a full page is compared and written."""
        self._page.append((line, row))
        if len(self._page) >= PAGE:
            self.flush()

    def flush(self) -> None:
        """Compare and write the receipts taken."""
        if not self._page:
            return
        here = self._receipts([row.number for _, row in self._page])
        new: list[shapes.Receipt] = []
        for line, row in self._page:
            there = here.get(row.number)
            if there is None:
                for part in row.parts:
                    self._refuse_other(line, f"receipt {row.number}", part)
                new.append(row)
            elif there == row:
                self._tally.meet("receipt")
                self._tally.meet("receipt_part", len(row.parts))
            else:
                self._tally.differ("receipt", str(row.number))
        self._tally.land("receipt", len(new))
        self._tally.land("receipt_part", sum(len(row.parts) for row in new))
        if self._write:
            self._insert(new)
        self._page = []

    def _receipts(self, numbers: list[int]) -> dict[int, shapes.Receipt]:
        if self._log is None:
            return {}
        found = Receipt.objects.filter(log=self._log, number__in=numbers).select_related("edition")
        return {row.number: receipt_row(row) for row in found.prefetch_related("parts__section__anchor__edition")}

    def _insert(self, rows: list[shapes.Receipt]) -> None:
        made = Receipt.objects.bulk_create([self._receipt_of(row) for row in rows], batch_size=50)
        parts = [
            ReceiptPart(
                receipt=receipt,
                position=place,
                section_id=self._find(part).pk,
                form=part.form,
                recent=part.recent,
                stale=part.stale,
            )
            for row, receipt in zip(rows, made, strict=True)
            for place, part in enumerate(row.parts)
        ]
        ReceiptPart.objects.bulk_create(parts, batch_size=200)

    def _receipt_of(self, row: shapes.Receipt) -> Receipt:
        edition = self._editions[row.edition] if row.edition is not None else None
        return Receipt(log=self._log, edition=edition, **receipt_values(row))

    def said(self, line: int, row: shapes.Finding | shapes.SignOff) -> None:
        """Take what a person said, and write it where it is new."""
        kind = shapes.kind_of(row)
        numbers = self._said[kind]
        here = self._known(kind).get(_saying(row))
        if here is not None:
            numbers[row.number] = here
            self._tally.meet(kind)
            return
        self._refuse_other(line, f"{kind} {row.number}", row.section)
        self._tally.land(kind)
        numbers[row.number] = self._write_said(row, numbers) if self._write else 0

    def _write_said(self, row: shapes.Finding | shapes.SignOff, numbers: dict[int, int]) -> int:
        values: dict[str, Any] = {
            "section_id": self._find(row.section).pk,
            "section_digest": row.section_digest,
            "reviewer": row.reviewer,
            "words": row.words,
            "withdraws_id": numbers[row.withdraws] if row.withdraws else None,
            "at": datetime.fromisoformat(row.at),
        }
        if isinstance(row, shapes.Finding):
            return Finding.objects.create(**values, cited_seqs=row.cited_seqs).pk
        return SignOff.objects.create(**values, verdict=row.verdict).pk

    def _known(self, kind: str) -> dict[tuple[Any, ...], int]:
        """Return what people said of this log here, by what they said."""
        if kind not in self._here:
            model = Finding if kind == "finding" else SignOff
            found = model.objects.filter(section__anchor__edition__log=self._log).select_related("section")
            self._here[kind] = {_stored(row): row.pk for row in found} if self._log is not None else {}
        return self._here[kind]

    def _refuse_other(self, line: int, place: str, cited: shapes.Cited) -> None:
        if self._find(cited).other:
            name = shapes.ref(cited.level, cited.from_seq, cited.to_seq, cited.generation)
            refuse(line, f"{place} cites section {name}, which has other words here")


def _saying(row: shapes.Finding | shapes.SignOff) -> tuple[Any, ...]:
    more = tuple(row.cited_seqs) if isinstance(row, shapes.Finding) else row.verdict
    return (row.section_digest, row.reviewer, row.words, row.at, row.withdraws is not None, more)


def _stored(row: Finding | SignOff) -> tuple[Any, ...]:
    more = tuple(row.cited_seqs) if isinstance(row, Finding) else row.verdict
    return (row.section_digest, row.reviewer, row.words, moment(row.at), row.withdraws_id is not None, more)
