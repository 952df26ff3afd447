"""What of a log an export shows: everything that stood when it was looked at, and nothing written later.

Guarantees: one moment a log, taken in one short transaction under the log's lock; after that only rows up to the
marks are read, in short pages, so no reader holds a writer up however large the log is. Rows are never changed,
so a mark (the last seq, the last key of a table) is enough; what does change (states of editions, stamps, the title)
is taken at that moment, and a stamp that came later is left out by the mark of the rollup it leads to.
"""

from dataclasses import dataclass

from django.db import models, transaction

from chronicle.log import locked
from chronicle.models import Anchor, Edition, Finding, Log, Policy, Receipt, Section, SignOff


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A log's row as it was, its editions in order, and the last key of each table that holds rows of it."""

    log: Log
    editions: tuple[Edition, ...]
    marks: dict[type[models.Model], int]

    def upto[M: models.Model](self, rows: models.QuerySet[M]) -> models.QuerySet[M]:
        """Return those of the rows that stood at the moment."""
        return rows.filter(pk__lte=self.marks[rows.model])


def take(log: Log) -> Snapshot:
    """Look at a log. Raises LogNotFound."""
    with transaction.atomic():
        row = locked(log.pk)
        found: dict[type[models.Model], models.QuerySet[models.Model]] = {
            Policy: Policy.objects.filter(log=row),
            Anchor: Anchor.objects.filter(edition__log=row),
            Section: Section.objects.filter(anchor__edition__log=row),
            Receipt: Receipt.objects.filter(log=row),
            Finding: Finding.objects.filter(section__anchor__edition__log=row),
            SignOff: SignOff.objects.filter(section__anchor__edition__log=row),
        }
        marks = {model: rows.aggregate(last=models.Max("pk"))["last"] or 0 for model, rows in found.items()}
        return Snapshot(row, tuple(Edition.objects.filter(log=row).order_by("number")), marks)
