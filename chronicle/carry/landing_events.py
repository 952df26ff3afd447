"""Events, pins, and what they were read from: compared with what the log holds, and appended behind it.

Guarantees: an event that is here is compared by digest, so a log that went another way is found at the first event
that differs; what is missing goes through the log's own door, which proves it again. A log that is ahead stays.
Refuses (CarryRefused, naming the line): an event that is another one here.
"""

import base64
from datetime import datetime

from chronicle.carry import shapes
from chronicle.carry.file import refuse
from chronicle.carry.rows import source_row
from chronicle.carry.tally import Tally
from chronicle.carry.values import event_of
from chronicle.errors import ConcurrencyError, EventExists
from chronicle.log import restore
from chronicle.models import Attachment, Event, Log, Pin, Source

PAGE = 2000
PAGE_BYTES = 16 * 1024 * 1024


class EventsLanding:
    """The events of one log. Without `write` nothing is written, and `log` may be None: there is none yet."""

    def __init__(self, log: Log | None, tally: Tally, *, write: bool) -> None:
        self._log, self._tally, self._write = log, tally, write
        self._here = log.last_seq if log else 0
        self._sources: dict[str, Source] = {}
        self._page: list[tuple[int, shapes.Event]] = []
        self._pins: dict[int, shapes.Pin] = {}
        self._bytes = 0

    def source(self, row: shapes.Source) -> None:
        """Keep a file that events were read from, where its content is new."""
        found = Source.objects.filter(digest=row.digest).first()
        if found is None:
            self._tally.land("source")
            values = {"name": row.name, "format": row.format, "size": row.size}
            if self._write:
                at = datetime.fromisoformat(row.ingested_at)
                found = Source.objects.create(digest=row.digest, ingested_at=at, **values)
        elif source_row(found) == row:
            self._tally.meet("source")
        else:
            self._tally.differ("source", row.digest)
        if found is not None:
            self._sources[row.digest] = found

    def attachment(self, row: shapes.Attachment) -> None:
        """Keep an attachment, where its content is new."""
        here = Attachment.objects.filter(digest=row.digest).values_list("media_type", flat=True).first()
        if here is None:
            self._tally.land("attachment")
            if self._write:
                data = base64.b64decode(row.data)
                Attachment.objects.create(digest=row.digest, media_type=row.media_type, size=row.size, data=data)
        elif here == row.media_type:
            self._tally.meet("attachment")
        else:
            self._tally.differ("attachment", row.digest)

    def event(self, line: int, row: shapes.Event) -> None:
        """Take an event; a full page is compared and written."""
        if len(self._page) >= PAGE or self._bytes >= PAGE_BYTES:
            self.flush()
        self._page.append((line, row))
        self._bytes += row.size + 1000

    def pin(self, row: shapes.Pin) -> None:
        """Take the pin of the event before it."""
        self._pins[row.seq] = row

    def flush(self) -> None:
        """Compare and write what was taken."""
        if self._page:
            first, last = self._page[0][1].seq, self._page[-1][1].seq
            self._compare(first, last)
            new = [row for _, row in self._page if row.seq > self._here]
            if self._write and self._log is not None:
                self._append(new)
            self._tally.land("event", len(new))
            self._tally.meet("event", len(self._page) - len(new))
            self._land_pins(first, last)
        self._page, self._pins, self._bytes = [], {}, 0

    def _compare(self, first: int, last: int) -> None:
        if self._log is None or first > self._here:
            return
        found = Event.objects.filter(log=self._log, seq__gte=first, seq__lte=min(last, self._here))
        here = dict(found.values_list("seq", "digest"))
        for line, row in self._page:
            if row.seq <= self._here and here.get(row.seq) != row.digest:
                refuse(line, f"event {row.seq} is another one here: this log went another way from there on (a fork)")

    def _append(self, new: list[shapes.Event]) -> None:
        assert self._log is not None  # noqa: S101 - the caller asked
        try:
            restore(self._log, [(event_of(row), self._sources[row.source] if row.source else None) for row in new])
        except (ConcurrencyError, EventExists) as error:
            refuse(self._page[0][0], f"the log was changed meanwhile; load the file again ({error})")

    def _land_pins(self, first: int, last: int) -> None:
        if not self._pins:
            return
        there: set[int] = set()
        if self._log is not None and first <= self._here:
            found = Pin.objects.filter(log=self._log, event__seq__gte=first, event__seq__lte=last)
            there = set(found.values_list("event__seq", flat=True))
        new = {seq: row for seq, row in self._pins.items() if seq not in there}
        if self._write and new:
            ids = Event.objects.filter(log=self._log, seq__gte=min(new), seq__lte=max(new), type="PinPromoted")
            Pin.objects.bulk_create(
                self._pin(new[seq], pk) for seq, pk in ids.order_by("seq").values_list("seq", "pk") if seq in new
            )
        self._tally.land("pin", len(new))
        self._tally.meet("pin", len(self._pins) - len(new))

    def _pin(self, row: shapes.Pin, event: int) -> Pin:
        same = {"key": row.key, "kind": row.kind, "result": row.result, "attempts": row.attempts, "unit": row.unit}
        return Pin(log=self._log, event_id=event, **same)
