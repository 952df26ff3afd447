"""Export as a recording that the library anagrapheus reads: one header line, then one stored event a line.

Guarantees: canonical JSON as its files have it (sorted keys, no spaces, characters raw and in NFC, LF); an event that
came from such a file keeps its id, namespace, type, version, causes, payload, time and, while they rise, its seq, so
a file that was ingested comes back byte for byte but for its header. An event of another origin becomes an
application event of our namespace, its kind, actor and content in the payload.
Names what cannot be said so (lone surrogates, two keys that NFC makes one): counted, not written.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from chronicle import canonical
from chronicle.carry.file import written
from chronicle.envelope import NAMESPACE, RESERVED_NAMESPACE, StoredEvent, is_bookkeeping
from chronicle.importers.anagrapheus import MARK, VERSION
from chronicle.models import Log, Source
from chronicle.verify import sourced

FORMAT = "anagrapheus"
_SEQ = re.compile(r"(?:^|:)seq=(\d+)$")
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


class Unsayable(Exception):
    """An event that a recording has no form for; the message says why."""


@dataclass(slots=True)
class Recorded:
    """What was written: events of a log's `there`, those of other origin, those under another seq than they had."""

    log: str
    there: int
    events: int = 0
    foreign: int = 0
    renumbered: int = 0
    refused: list[tuple[int, str]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the answer of `export --format anagrapheus`."""
        return {
            "logs": [self.log],
            "kinds": {"event": {"written": self.events, "of": self.there}},
            "foreign": self.foreign,
            "renumbered": self.renumbered,
            "refused": [{"seq": seq, "reason": reason} for seq, reason in self.refused],
        }


def record(log: Log, path: Path) -> Recorded:
    """Write a log as a recording into `path` (`-`: standard output). Raises OSError."""
    log.refresh_from_db()
    done = Recorded(log.public_id, log.last_seq)
    with written(path) as file:
        for value in _lines(log, done):
            file.write(f"{_encode(value)}\n".encode())
    return done


def _lines(log: Log, done: Recorded) -> Iterator[dict[str, Any]]:
    yield {MARK: VERSION, "log": _nfc(log.public_id), "route": "export"}
    theirs = set(Source.objects.filter(format=FORMAT).values_list("digest", flat=True))
    last = 0
    for event, digest in sourced(log):
        native = digest in theirs
        try:
            line = _line(event, own=native or (event.namespace == RESERVED_NAMESPACE and is_bookkeeping(event.kind)))
        except Unsayable as error:
            done.refused.append((event.seq, str(error)))
            continue
        wanted = _seq_of(event) if native else event.seq
        last, done.renumbered = max(last + 1, wanted), done.renumbered + (wanted <= last)
        done.events += 1
        done.foreign += line["envelope"]["namespace"] == NAMESPACE and not native
        yield {**line, "seq": last}


def _seq_of(event: StoredEvent) -> int:
    """The seq that the event had in its file, else its own."""
    found = _SEQ.search(event.locator)
    return int(found.group(1)) if found else event.seq


def _line(event: StoredEvent, *, own: bool) -> dict[str, Any]:
    payload = event.data() if own else _wrapped(event)
    envelope = {
        "causation_id": str(event.causation) if event.causation else None,
        "correlation_id": event.correlation or None,
        "created_at": _time(event.claimed_at or event.at),
        "event_id": str(event.event_id),
        "namespace": event.namespace if own else NAMESPACE,
        "schema_version": event.schema_version if own else 1,
        "type": event.type,
    }
    said: dict[str, Any] = _nfc({"envelope": envelope, "payload": {} if payload is None else payload})
    return said


def _wrapped(event: StoredEvent) -> dict[str, Any]:
    """An event of another origin as a payload: what a recording has no place for, where there is any."""
    content = canonical.restore_text(event.content) if event.text_form == "escaped" else event.content
    said = {"kind": event.kind, "actor": event.actor, "actor_kind": event.actor_kind, "content": content}
    more = {
        "data": event.data(),
        "audience": list(event.audience),
        "namespace": event.namespace if event.namespace != NAMESPACE else "",
        "schema_version": event.schema_version if event.schema_version != 1 else 0,
    }
    return said | {name: value for name, value in more.items() if value}


def _time(at: datetime) -> str:
    """A time as the library writes it: UTC as Z, a fraction only where there is one."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def _nfc(value: Any) -> Any:
    """Return a value with every text in NFC. Raises Unsayable."""
    if isinstance(value, str):
        if value.isascii():
            return value
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise Unsayable(f"a lone surrogate at position {error.start} of a text") from None
        return unicodedata.normalize("NFC", value)
    if isinstance(value, dict):
        made = {_nfc(key): _nfc(inner) for key, inner in value.items()}
        if len(made) != len(value):
            raise Unsayable("two keys of its payload are one in NFC")
        return made
    return [_nfc(inner) for inner in value] if isinstance(value, list) else value
