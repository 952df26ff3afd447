"""One batch of one session's events, compared with what the log holds and appended to it.

Guarantees: under the log's row lock, in the caller's transaction; an event whose key the log holds is
compared and never written again; nothing is overwritten; the number of queries does not depend on how
many events there are, but for one per 900 keys. Refuses, by line: other content under a known id.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import batched
from typing import Any, NamedTuple
from uuid import UUID

from chronicle import canonical
from chronicle.envelope import Kind, PendingEvent, validate
from chronicle.errors import EventExists, InvalidEvent
from chronicle.importers.protocol import Read
from chronicle.log import append
from chronicle.models import Event, Log, Source

KEYS_A_QUERY = 900
OTHER_CONTENT = "same id, other content: what the log holds stays as it is"
TAKEN = "an event with this event_id is in the log under another key"

# What an importer may learn elsewhere: a message's usage is stated by the last of its records, and the
# call that began a sub-agent by its parent's transcript.
MAY_DIFFER = {"usage", "agent"}

_HELD = ("idempotency_key", "seq", "event_id", "kind", "content", "text_form", "payload", "audience")


class Held(NamedTuple):
    """What the log holds under a key."""

    seq: int
    event_id: UUID
    kind: str
    words: "Words"


class Words(NamedTuple):
    """What a source says in an event. An escaped content and a plain one of the same letters are two texts."""

    content: str
    text_form: str
    payload: str
    audience: str


@dataclass(slots=True)
class Landed:
    """What became of a batch: the events written, those that were there, and lines refused with reasons."""

    first_seq: int = 0
    added: list[Read] = field(default_factory=list)
    replayed: list[tuple[Read, int]] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)


def held(log: Log, keys: Iterable[str]) -> dict[str, Held]:
    """Return what the log holds under these keys."""
    found: dict[str, Held] = {}
    for some in batched(keys, KEYS_A_QUERY, strict=False):
        rows = Event.objects.filter(log=log, idempotency_key__in=some)
        for key, seq, event_id, kind, *words in rows.values_list(*_HELD):
            found[str(key)] = Held(seq, event_id, kind, Words(*words))
    return found


def seqs(log: Log, keys: Iterable[str]) -> dict[str, int]:
    """Return the seqs of these keys, where the log holds them."""
    found: dict[str, int] = {}
    for some in batched(set(keys), KEYS_A_QUERY, strict=False):
        rows = Event.objects.filter(log=log, idempotency_key__in=some)
        found |= {str(key): seq for key, seq in rows.values_list("idempotency_key", "seq")}
    return found


def land(
    log: Log, reads: Sequence[Read], key_of: Callable[[str], str], source: Source, asked: dict[str, UUID]
) -> Landed:
    """Append what is new of `reads`. `asked` maps the keys of requests met so far to their event ids."""
    there = held(log, {key_of(read.native_id) for read in reads})
    landed, new = Landed(), dict[str, Read]()
    for read in reads:
        key = key_of(read.native_id)
        if (known := there.get(key)) is not None:
            _replay(landed, read, known)
        elif key in new:
            _repeat(landed, read, new[key])
        else:
            new[key] = read
    _learn(log, asked, there, new, key_of)
    answered = [_answering(read, asked, key_of) for read in new.values()]
    _append(log, landed, dict(zip(new, answered, strict=True)), source)
    return landed


def words_of(event: PendingEvent) -> Words:
    """Return what an event says, as it would be stored."""
    payload = "" if event.payload is None else canonical.dump(event.payload)
    audience = canonical.dump(list(event.audience)) if event.audience else ""
    return Words(event.content, event.text_form, payload, audience)


def same(there: Words, here: Words) -> bool:
    """True when the source says what is stored: words, data and for whom; how they are classified may improve."""
    if there._replace(payload="") != here._replace(payload=""):
        return False
    return there.payload == here.payload or _lasting(there.payload) == _lasting(here.payload)


def _lasting(payload: str) -> dict[str, Any]:
    given = canonical.parse(payload) if payload else {}
    return {key: value for key, value in given.items() if key not in MAY_DIFFER}


def _replay(landed: Landed, read: Read, known: Held) -> None:
    if same(known.words, words_of(read.event)):
        landed.replayed.append((read, known.seq))
    else:
        landed.refused.append((read.line, OTHER_CONTENT))


def _repeat(landed: Landed, read: Read, first: Read) -> None:
    """The same id twice in one batch: the first counts."""
    if same(words_of(first.event), words_of(read.event)):
        landed.replayed.append((read, 0))
    else:
        landed.refused.append((read.line, OTHER_CONTENT))


def _learn(
    log: Log, asked: dict[str, UUID], there: dict[str, Held], new: dict[str, Read], key_of: Callable[[str], str]
) -> None:
    """Know the requests of this batch, and those of earlier ingests that this batch answers."""
    asked |= {key: known.event_id for key, known in there.items() if known.kind == Kind.TOOL_REQUEST}
    asked |= {key: read.event.event_id for key, read in new.items() if read.event.kind == Kind.TOOL_REQUEST}
    wanted = {key_of(read.answers) for read in new.values() if read.answers is not None}
    asked |= {key: known.event_id for key, known in held(log, wanted - asked.keys()).items()}


def _answering(read: Read, asked: dict[str, UUID], key_of: Callable[[str], str]) -> Read:
    """Name the request that an event answers, where it is known and the source did not name it by event id."""
    if read.answers is None or read.event.causation is not None:
        return read
    request = asked.get(key_of(read.answers))
    return read if request is None else replace(read, event=replace(read.event, causation=request))


def _append(log: Log, landed: Landed, new: dict[str, Read], source: Source) -> None:
    landed.first_seq = log.last_seq + 1
    if not new:
        return
    try:
        done = append(log, [read.event for read in new.values()], keys=list(new), source=source)
    except (EventExists, InvalidEvent):
        rest = dict(_not_taken(log, landed, dict(_valid(landed, new))))
        if len(rest) == len(new):
            raise
        _append(log, landed, rest, source)
        return
    landed.first_seq, landed.added = done.first_seq, list(new.values())


def _valid(landed: Landed, new: dict[str, Read]) -> Iterator[tuple[str, Read]]:
    """Yield what can be stored at all; the rest is refused, each with its reason."""
    for key, read in new.items():
        try:
            validate(read.event)
            canonical.dump(read.event.payload)
        except InvalidEvent as error:
            landed.refused.append((read.line, str(error)))
        else:
            yield key, read


def _not_taken(log: Log, landed: Landed, new: dict[str, Read]) -> Iterator[tuple[str, Read]]:
    """Yield what may be written; an event id that the log holds under another key, or twice here, is refused."""
    met: set[UUID] = set()
    for some in batched(new.values(), KEYS_A_QUERY, strict=False):
        ids = [read.event.event_id for read in some]
        met |= set(Event.objects.filter(log=log, event_id__in=ids).values_list("event_id", flat=True))
    for key, read in new.items():
        if read.event.event_id in met:
            landed.refused.append((read.line, TAKEN))
        else:
            met.add(read.event.event_id)
            yield key, read
