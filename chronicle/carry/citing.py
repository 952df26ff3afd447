"""What stands on the sections of a carry: receipts, findings and sign-offs, proven to cite what is in the file.

Guarantees: a receipt, a finding and a sign-off name an edition, a range and a generation that the file holds; a
receipt's digest fits what it says and cites; what people said names the digest of that generation, and is withdrawn
at most once, by what was said later.
"""

from collections.abc import Mapping, Sequence

from chronicle.carry import shapes
from chronicle.carry.chain import not_canonical
from chronicle.carry.chronicles import EditionProof
from chronicle.carry.file import refuse
from chronicle.carry.values import receipt_values
from chronicle.models import Edition, Log, Receipt, Section
from chronicle.receipts import Part, digest_of


class CitingProof:
    """The citations of one log."""

    def __init__(self, log_id: str, last_seq: int, editions: Mapping[int, EditionProof]) -> None:
        self._log_id, self._last_seq = log_id, last_seq
        self._editions = editions
        self._withdrawn: dict[str, list[int | None]] = {"finding": [], "sign_off": []}

    def receipt(self, line: int, row: shapes.Receipt) -> None:
        """Prove a receipt."""
        place = f"receipt {row.number}"
        if row.upto_seq > self._last_seq or max(row.tail_from or 0, row.tail_to or 0) > self._last_seq + 1:
            refuse(line, f"{place} goes past the end of its log, {self._last_seq}")
        if row.edition is not None and row.edition not in self._editions:
            refuse(line, f"{place} was read from edition {row.edition}, which is not in the file")
        if row.filters and (why := not_canonical(row.filters)):
            refuse(line, f"{place}: its filters {why} (filters)")
        parts = [(part, self._digest_of(line, place, part)) for part in row.parts]
        if self._receipt_digest(row, parts) != row.digest:
            refuse(line, f"{place} is not what was recorded (digest)")

    def _receipt_digest(self, row: shapes.Receipt, parts: Sequence[tuple[shapes.Part, str]]) -> str:
        receipt = Receipt(log=Log(public_id=self._log_id), **receipt_values(row))
        receipt.edition = Edition(number=row.edition) if row.edition is not None else None
        cited = [Part(Section(digest=digest), part.form, part.recent, part.stale) for part, digest in parts]
        return digest_of(receipt, cited)

    def said(self, line: int, row: shapes.Finding | shapes.SignOff) -> None:
        """Prove a finding or a sign-off."""
        place, earlier = f"{shapes.kind_of(row)} {row.number}", self._withdrawn[shapes.kind_of(row)]
        if self._digest_of(line, place, row.section) != row.section_digest:
            refuse(line, f"{place}: the section it names has another digest (section_digest)")
        if row.number != len(earlier) + 1:
            refuse(line, f"{place} should be number {len(earlier) + 1}")
        if row.withdraws is not None and (row.withdraws > len(earlier) or row.withdraws in earlier):
            refuse(line, f"{place} withdraws number {row.withdraws}: not there before it, or withdrawn already")
        if isinstance(row, shapes.Finding) and any(seq > self._last_seq for seq in row.cited_seqs):
            refuse(line, f"{place} cites an event past the end of its log, {self._last_seq}")
        earlier.append(row.withdraws)

    def _digest_of(self, line: int, place: str, cited: shapes.Cited) -> str:
        edition = self._editions.get(cited.edition)
        key = (cited.level, cited.from_seq, cited.to_seq, cited.generation)
        if edition is None or key not in edition.digests:
            what = f"section {shapes.ref(*key)} of edition {cited.edition}"
            refuse(line, f"{place} cites {what}, which is not in the file")
        return edition.digests[key]
