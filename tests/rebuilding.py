"""What tests of rebuilds share: one call with its words, and editions as values."""

from typing import Any

from chronicle.models import Anchor, Edition, Log, Section
from chronicle.rebuild import RebuildReport, rebuild

SLOT = ("level", "from_seq", "to_seq", "unit_seq", "kind", "event_count")


def slots(edition: Edition) -> list[Any]:
    found = Anchor.objects.filter(edition=edition).order_by("level", "from_seq")
    return [(*row, parent) for *row, parent in found.values_list(*SLOT, "rolled_up_into__from_seq")]


def words(edition: Edition) -> dict[str, str]:
    found = Section.objects.filter(anchor__edition=edition, superseded_by=None).select_related("anchor")
    return {section.ref: section.prose for section in found}


def states(log: Log) -> dict[int, str]:
    return dict(log.editions.order_by("number").values_list("number", "state"))


def redone(log: Log, **given: Any) -> RebuildReport:
    return rebuild(log, **{"discard_generated": True, "by": "Ines", "reason": "a better prompt", **given})


def edition(log: Log, number: int) -> Edition:
    return log.editions.get(number=number)
