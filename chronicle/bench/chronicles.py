"""Consolidating with a summariser that costs nothing, and finding the section that covers a seq.

The sections of the second figure are put into the tables directly: 50,000 through their door would take
longer than the whole run, and what is measured is the look-up alone.
"""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing

from django.db import connection
from django.utils import timezone

from chronicle import log as logs
from chronicle.bench import material
from chronicle.bench.figures import Figure, Size, compare, seconds
from chronicle.fold import consolidate
from chronicle.models import Anchor, AnchorKind, Edition, Log, Origin, Section
from chronicle.reading import Anchors
from chronicle.sections import current_edition
from chronicle.summarisers.constant import Constant

EVENTS_A_SECTION = 40
LOOK_UPS = 200


def measure(size: Size) -> Iterator[Figure]:
    """Yield the figures of consolidation and of the look-up."""
    yield _consolidate(size)
    for count in size.sections:
        yield _covering(count)


def _consolidate(size: Size) -> Figure:
    count = size.events // 4
    made = [_log_of(count) for _ in range(3)]
    waiting = iter(made)
    ours = seconds(lambda: consolidate(next(waiting), summariser=Constant()), len(made))
    waiting = iter(made)
    theirs = seconds(lambda: list(logs.read(next(waiting))), len(made))
    name = f"consolidate {count} events with a constant summariser, per event"
    against = "reading the same events"
    return compare(name, ours / count, unit="µs", scale=1e6, against=against, yardstick=theirs / count)


def _log_of(count: int) -> Log:
    log = logs.create_log("bench")
    logs.append(log, material.events(count))
    return log


def _covering(count: int) -> Figure:
    edition = _edition_of(count)
    anchors, seqs = Anchors(edition), random.Random(0)  # noqa: S311 (which seqs are asked, nothing secret)

    def somewhere() -> int:
        return seqs.randint(1, count * EVENTS_A_SECTION)

    ours = seconds(lambda: anchors.covering(somewhere()), LOOK_UPS)
    with closing(sqlite3.connect(str(connection.settings_dict["NAME"]))) as raw:
        query = "SELECT id, to_seq FROM chronicle_anchor WHERE edition_id = ? AND level = 0 AND from_seq <= ?"
        query += " ORDER BY from_seq DESC LIMIT 1"
        theirs = seconds(lambda: raw.execute(query, (edition.pk, somewhere())).fetchone(), LOOK_UPS)
    name = f"the section that covers a seq, of {count}"
    return compare(name, ours, unit="µs", scale=1e6, against="one indexed row in raw sqlite3", yardstick=theirs)


def _edition_of(count: int) -> Edition:
    edition = current_edition(logs.create_log("bench"))
    bounds = [(n * EVENTS_A_SECTION + 1, (n + 1) * EVENTS_A_SECTION) for n in range(count)]
    Anchor.objects.bulk_create(
        Anchor(
            edition=edition,
            from_seq=first,
            to_seq=last,
            unit_seq=last,
            kind=AnchorKind.INTERVAL,
            event_count=EVENTS_A_SECTION,
        )
        for first, last in bounds
    )
    Section.objects.bulk_create(
        Section(
            anchor=anchor,
            title="Constant",
            prose=material.SENTENCE * 4,
            origin=Origin.DRAWN,
            token_estimate=95,
            made_at=timezone.now(),
            digest="0" * 64,
        )
        for anchor in Anchor.objects.filter(edition=edition).order_by("from_seq")
    )
    return edition
