"""The events of a carry's log, proven one behind the other, and what hangs on an event alone.

Guarantees: from the log's own id to its head without a gap, each event as it was recorded; no id and no key twice;
a pin says what the event that promoted it says; an attachment's bytes are those that an event names.
Memory: one byte an event, and a number for its id and its key until the log ends.
"""

import base64
import binascii
from array import array

from chronicle import canonical
from chronicle.carry import shapes
from chronicle.carry.file import refuse
from chronicle.carry.rows import attachments_of
from chronicle.carry.values import event_of
from chronicle.envelope import CONTENT_KINDS, PROMOTED, RESERVED_NAMESPACE, Kind
from chronicle.errors import InvalidPayload
from chronicle.pins import pin_values
from chronicle.verifier import Head, wrong_event

CONTENT = frozenset(str(kind) for kind in CONTENT_KINDS)


class ChainProof:
    """The events of one log. `seq` is how far they are proven; `content` has a 1 for each event that counts."""

    def __init__(self, row: shapes.Log) -> None:
        self.seq = 0
        self.content = bytearray()
        self._row = row
        self._head = Head(row.id, row.last_seq, row.head)
        self._previous = canonical.genesis(row.id)
        self._last: shapes.Event | None = None
        self._owes_pin = False
        self._ids, self._keys = array("q"), array("q")
        self._sources: set[str] = set()
        self._named: set[str] = set()

    def source(self, line: int, row: shapes.Source) -> None:
        """Know a file that events were read from."""
        self._sources.add(row.digest)

    def event(self, line: int, row: shapes.Event) -> None:
        """Prove the next event."""
        self._pinned(line)
        why = self._wrong(row)
        if why:
            refuse(line, f"event {self.seq + 1}: {why}", seq=self.seq)
        self._named.update(attachments_of(row.payload))
        self.seq, self._previous, self._last = row.seq, row.digest, row
        self._owes_pin = _promotes(row)
        self.content.append(row.kind in CONTENT)
        self._ids.append(hash(row.event_id))
        if row.key is not None:
            self._keys.append(hash(row.key))

    def _wrong(self, row: shapes.Event) -> str:
        if row.source is not None and row.source not in self._sources:
            return "its source is not in the file (source)"
        if row.seq > self._row.last_seq:
            return f"it goes past the end of its log, {self._row.last_seq} (seq)"
        if row.audience != sorted(set(row.audience)):
            return "its audience is not in order (audience)"
        if row.at > self._row.last_activity_at:
            return "it was written after the log's last activity (at)"
        if row.payload and (why := not_canonical(row.payload)):
            return f"its payload {why} (payload)"
        return wrong_event(self._head, event_of(row), row.source or "", self.seq, self._previous)

    def pin(self, line: int, row: shapes.Pin) -> None:
        """Prove that a pin says what its event says."""
        event = self._last
        if event is None or event.seq != row.seq:
            refuse(line, f"pin of event {row.seq}: it does not stand behind that event", seq=self.seq)
        if not _promotes(event):
            refuse(line, f"pin of event {row.seq}: that event promoted no pin", seq=self.seq)
        given = canonical.parse(event.payload) if event.payload else None
        said = {"key": row.key, "kind": row.kind, "result": row.result, "attempts": row.attempts, "unit": row.unit}
        if not isinstance(given, dict) or pin_values(given) != said:
            refuse(line, f"pin of event {row.seq}: it is not what that event says", seq=self.seq)
        self._owes_pin = False

    def _pinned(self, line: int) -> None:
        """Refuse a file that leaves out the pin which the last event promoted: a replay would miss it."""
        if self._owes_pin and self._last is not None:
            refuse(line, f"event {self._last.seq} promoted a pin, and the file does not hold it", seq=self.seq)

    def attachment(self, line: int, row: shapes.Attachment) -> None:
        """Prove that an attachment's bytes are those of its digest, and that an event names it."""
        place = f"attachment {row.digest[:16]}…"
        try:
            data = base64.b64decode(row.data, validate=True)
        except (binascii.Error, ValueError):
            refuse(line, f"{place}: its data is not base64 (data)")
        if base64.b64encode(data).decode() != row.data or len(data) != row.size or canonical.sha256(data) != row.digest:
            refuse(line, f"{place}: its bytes are not what was recorded (digest)")
        if row.digest not in self._named:
            refuse(line, f"{place}: no event names it")

    def end(self, line: int) -> None:
        """Prove that the events reach the head, and that none stands twice; may be asked again."""
        self._pinned(line)
        row = self._row
        if self.seq < row.last_seq:
            refuse(line, f"log {row.id} says {row.last_seq} events, {self.seq} are there", seq=self.seq, cut=True)
        if self._previous != row.head:
            refuse(line, f"log {row.id}: its head is not the last event's digest (head)", seq=self.seq)
        for name, hashes in (("event_id", self._ids), ("key", self._keys)):
            if len(set(hashes)) != len(hashes):
                refuse(line, f"log {row.id} holds two events of one {name}", seq=0)
            del hashes[:]


def _promotes(event: shapes.Event) -> bool:
    return (event.kind, event.namespace, event.type) == (Kind.BOOKKEEPING, RESERVED_NAMESPACE, PROMOTED)


def not_canonical(text: str) -> str:
    """Return why a text is not canonical JSON, or ""."""
    try:
        same = canonical.dump(canonical.parse(text)) == text
    except InvalidPayload as error:
        return str(error)
    return "" if same else "is not in its canonical form"
