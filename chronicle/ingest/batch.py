"""One batch of one session's events, compared with what the log holds and appended to it.

Guarantees: under the log's row lock, in the caller's transaction; an event whose key the log holds is
compared and never written again; other content under its id is written beside it, as a version of its own
(see `versions`); nothing is overwritten. The number of queries does not depend on how many events there are,
but for one per 900 keys. Refuses, by line: what no log can hold, and an event_id that stands under another key.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import batched
from typing import NamedTuple
from uuid import UUID, uuid4

from chronicle import canonical
from chronicle.envelope import Kind, validate
from chronicle.errors import EventExists, InvalidEvent
from chronicle.importers.protocol import Read
from chronicle.ingest import versions
from chronicle.ingest.versions import Held, Versions, Words
from chronicle.log import append
from chronicle.models import Event, Log, Source

KEYS_A_QUERY = 900
UNREAD = Words("", "", "", "")  # of an event that nothing is compared with
TAKEN = "an event with this event_id is in the log under another key"

_HELD = ("idempotency_key", "seq", "event_id", "kind", "content", "text_form", "payload", "audience")


class Version(NamedTuple):
    """An event that was added under an id that the log held already: its line and seq, and the seq of the first."""

    line: int
    seq: int
    of: int
    grown: bool


@dataclass(slots=True)
class Landed:
    """What became of a batch: the events written, those that were there, and lines refused with reasons.

    `versions` are those of the events written that stand under an id that was there already.
    """

    first_seq: int = 0
    added: list[Read] = field(default_factory=list)
    versions: list[Version] = field(default_factory=list)
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


class Keyed(NamedTuple):
    """An event with the key of its id, and its words where another stands under that key."""

    key: str
    read: Read
    words: Words


def land(
    log: Log, reads: Sequence[Read], key_of: Callable[[str], str], source: Source, asked: dict[str, UUID]
) -> Landed:
    """Append what is new of `reads`. `asked` maps the keys of requests met so far to their event ids."""
    landed = Landed()
    there, known, new = _compared(landed, log, reads, key_of)
    _learn(log, asked, there, new, key_of)
    answered = [_answering(read, asked, key_of) for read in new.values()]
    written = _append(log, landed, dict(zip(new, answered, strict=True)), source)
    landed.versions = list(_versions(landed, written, known))
    return landed


def foreseen(log: Log | None, reads: Sequence[Read], key_of: Callable[[str], str]) -> Landed:
    """Say what `land` would do, and write nothing; without a log, every event is new.

    An event_id that the log holds under another key is found by `land` alone.
    """
    landed = Landed(first_seq=1 if log is None else log.last_seq + 1)
    _, known, compared = _compared(landed, log, reads, key_of)
    new = dict(_with_first(landed, compared, dict(_valid(landed, compared))))
    landed.added = list(new.values())
    landed.versions = list(_versions(landed, list(new), known))
    return landed


class Compared(NamedTuple):
    """What a log holds under the keys of a batch, every version known under them, and what of the batch is new."""

    there: dict[str, Held]
    known: dict[str, Versions]
    new: dict[str, Read]


def _compared(landed: Landed, log: Log | None, reads: Sequence[Read], key_of: Callable[[str], str]) -> Compared:
    keys = [key_of(read.native_id) for read in reads]
    there = {} if log is None else held(log, set(keys))
    keyed = list(_keyed(landed, there, keys, reads))
    known = {} if log is None else _known(log, there, keyed)
    new: dict[str, Read] = {}
    for one in keyed:
        _sort(landed, known, new, one)
    return Compared(there, known, new)


def _keyed(landed: Landed, there: dict[str, Held], keys: Sequence[str], reads: Sequence[Read]) -> Iterator[Keyed]:
    """Yield what can be compared; where an id comes twice, what could not be stored is refused here."""
    compared = there.keys() | {key for key, count in Counter(keys).items() if count > 1}
    for key, read in zip(keys, reads, strict=True):
        try:
            yield Keyed(key, read, versions.words_of(read.event) if key in compared else UNREAD)
        except InvalidEvent as error:
            landed.refused.append((read.line, str(error)))


def _sort(landed: Landed, known: dict[str, Versions], new: dict[str, Read], one: Keyed) -> None:
    """New, there already, or another version of what is there."""
    key, read = one.key, one.read
    if key not in known:
        known[key] = Versions([_waiting(read, one.words)])
        new[key] = read
    elif (there := known[key].saying(one.words, read.event.kind)) is not None:
        landed.replayed.append((read, there.seq))
    elif (number := len(known[key].all) + 1) > versions.MOST:
        landed.refused.append((read.line, f"{versions.MOST:,} versions stand under its id already"))
    else:
        extended = known[key].extended_by(one.words, read.event.kind)
        version = _version(read, extended or known[key].all[0])
        new[versions.key_of(key, number, grown=extended is not None)] = version
        known[key].all.append(_waiting(version, one.words))


def _waiting(read: Read, words: Words) -> Held:
    return Held(0, read.event.event_id, read.event.kind, words)


def _version(read: Read, of: Held) -> Read:
    """An event that points at the one it extends or contradicts, where nothing else caused it."""
    event = read.event
    if event.event_id == of.event_id:
        event = replace(event, event_id=uuid4())
    if event.causation is None and read.answers is None:
        event = replace(event, causation=of.event_id)
    return replace(read, event=event)


def _known(log: Log, there: dict[str, Held], keyed: Sequence[Keyed]) -> dict[str, Versions]:
    """What the log holds under these keys, with every version where the source says something else than the first."""
    known = {key: Versions([first]) for key, first in there.items()}
    other = {
        one.key
        for one in keyed
        if one.key in there and versions.lasting(one.words) != versions.lasting(there[one.key].words)
    }
    start, stop = 2, 10
    while other:
        found = held(log, (key for first in other for key in versions.keys_of(first, start, stop)))
        for key in sorted(found, key=lambda key: versions.parsed(key).number):
            known[versions.parsed(key).first].all.append(found[key])
        other = {key for key in other if len(known[key].all) == stop - 1}
        start, stop = stop, stop * 2
    return known


def _versions(landed: Landed, written: Sequence[str], known: dict[str, Versions]) -> Iterator[Version]:
    """Say of each version written which line it is from, where it stands, and where the first of its id does."""
    seqs = {key: landed.first_seq + place for place, key in enumerate(written)}
    for read, (key, seq) in zip(landed.added, seqs.items(), strict=True):
        first, number, grown = versions.parsed(key)
        if number > 1:
            yield Version(read.line, seq, known[first].all[0].seq or seqs.get(first, 0), grown)


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


def _append(log: Log, landed: Landed, new: dict[str, Read], source: Source) -> list[str]:
    """Append what can be; return the keys of what was."""
    landed.first_seq = log.last_seq + 1
    if not new:
        return []
    try:
        done = append(log, [read.event for read in new.values()], keys=list(new), source=source)
    except (EventExists, InvalidEvent):
        rest = dict(_with_first(landed, new, dict(_not_taken(log, landed, dict(_valid(landed, new))))))
        if len(rest) == len(new):
            raise
        return _append(log, landed, rest, source)
    landed.first_seq, landed.added = done.first_seq, list(new.values())
    return list(new)


def _with_first(landed: Landed, new: dict[str, Read], rest: dict[str, Read]) -> Iterator[tuple[str, Read]]:
    """Yield what may be written but for versions of what may not."""
    for key, read in rest.items():
        first = versions.parsed(key).first
        if first in new and first not in rest:
            landed.refused.append((read.line, "another version of an event that was refused"))
        else:
            yield key, read


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
