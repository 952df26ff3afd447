"""The story so far: the sections before a unit, given to its summariser as context where a policy says so.

Guarantees: the last of level 0 before the unit, in their current generations, oldest first, those that the same
batch has drawn and not yet stored among them; which were given is kept, as the sources of the new section. A
section closed without summary is no story.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from chronicle.models import Edition, Origin, Section
from chronicle.rollups import children_of
from chronicle.sections import current_sections
from chronicle.summarisers.protocol import Child, Draft


class Told(NamedTuple):
    """A section as it was given; `section` is None while its batch has not stored it."""

    from_seq: int
    child: Child
    section: Section | None = None


def before(edition: Edition, from_seq: int, count: int, drawn: Sequence[Told] = ()) -> tuple[Told, ...]:
    """Return the last `count` sections that end before `from_seq`; `drawn` follow those that are stored."""
    if not count:
        return ()
    latest = drawn[-count:]
    ground = current_sections(edition).filter(anchor__level=0, anchor__to_seq__lt=from_seq)
    found = ground.exclude(origin=Origin.CLOSED_WITHOUT_SUMMARY).order_by("-anchor__from_seq")
    stored = list(found[: count - len(latest)])[::-1]
    children = children_of(edition.log, stored)
    told = [Told(one.anchor.from_seq, child, one) for one, child in zip(stored, children, strict=True)]
    return (*told, *latest)


def told(from_seq: int, count: int, draft: Draft) -> Told:
    """Return a section that is drawn and not stored yet; `count` is of its events."""
    return Told(from_seq, Child(draft.title, draft.prose, count))


def sources(given: Iterable[Told], written: Iterable[Section]) -> list[Section]:
    """Return the sections that were given, once what the batch drew is `written`."""
    by_place = {section.anchor.from_seq: section for section in written}
    return [one.section or by_place[one.from_seq] for one in given]
