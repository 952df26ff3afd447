"""Spans of one post into the logs of an owner.

Guarantees: a post sent again, or a span in two posts, adds nothing; each conversation is one log, made by whichever
post is first; a log's events are appended in one transaction, which is durable when this returns; posts on one log
wait for each other at its lock and then see what the other told. Refuses nothing; spans that are none are counted.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from chronicle import canonical
from chronicle.envelope import ActorKind, Kind
from chronicle.errors import LogExists
from chronicle.importers.making import Maker
from chronicle.importers.otlp import Otlp
from chronicle.importers.otlp_chains import Call, Chains, call_of
from chronicle.importers.otlp_content import Role
from chronicle.importers.otlp_messages import Bit
from chronicle.importers.otlp_reading import told_at
from chronicle.importers.otlp_spans import Placed, Span
from chronicle.importers.otlp_telling import Teller, Where
from chronicle.importers.protocol import Read
from chronicle.ingest import batch, beside, versions
from chronicle.log import create_log, locked
from chronicle.models import Log, Source
from chronicle.otlp.stored import Stored

logger = logging.getLogger(__name__)

NAME = "POST /v1/traces"
KEY = 300


class Received(NamedTuple):
    """What became of a post: events added, spans that were none, and why, in words."""

    added: int
    rejected: int
    message: str


class Told(NamedTuple):
    """A call with its place in the post."""

    path: str
    call: Call


@dataclass(frozen=True, slots=True)
class Post:
    """A post as its events name it: whose it is, the digest of its bytes, their number."""

    owner: str
    digest: str
    size: int


def receive(found: Sequence[Placed], *, owner: str, data: bytes) -> Received:
    """Land the spans of a post, conversation by conversation."""
    refused = [f"{one.path}: {one.span}" for one in found if not isinstance(one.span, Span)]
    chains, calls = _learnt(found)
    post, added = Post(owner, canonical.sha256(data), len(data)), 0
    for session, told in _by_session(chains, calls).items():
        landed = _land(post, session, chains, told)
        added += len(landed.added)
        refused += [f"{told[line - 1].path}: {reason}" for line, reason in landed.refused]
    more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
    return Received(added, len(refused), f"{refused[0]}{more}" if refused else "")


def _learnt(found: Iterable[Placed]) -> tuple[Chains, list[Told]]:
    chains, calls = Chains(), []
    for path, span in found:
        if isinstance(span, Span):
            call = call_of(span)
            chains.learn(span, call)
            calls += [Told(path, call)] if call is not None else []
    chains.settle()
    return chains, calls


def _by_session(chains: Chains, calls: Iterable[Told]) -> dict[str, list[Told]]:
    found: dict[str, list[Told]] = {}
    for told in sorted(calls, key=lambda told: told_at(told.call)):
        found.setdefault(chains.session(told.call), []).append(told)
    return found


def _land(post: Post, session: str, chains: Chains, told: list[Told]) -> batch.Landed:
    """Tell one conversation's calls under its log's lock. A log is made only for what has something to tell."""
    if not any(chains.why_not(one.call) == "" for one in told):
        return batch.Landed()
    log = _log(post.owner, session)
    with transaction.atomic():
        log = locked(log.pk)
        teller, stored = _teller(log, session, chains)
        stored.load(_marks(told))
        reads = list(_told(teller, stored, told))
        if not reads:
            return batch.Landed()
        source = _source(post)
        landed = batch.land(log, reads, _key_of, source, dict[str, UUID]())
        beside.keep_attachments(blob for read in reads for blob in read.blobs)
        _title(log, teller.titles.get(session, ""))
    logger.info("log %s: %s events added by a post of spans", log.pk, len(landed.added))
    return landed


def _log(owner: str, session: str) -> Log:
    wanted = Log.objects.filter(owner=owner, source=Otlp.name, source_session=session)
    if (known := wanted.first()) is not None:
        return known
    try:
        return create_log(owner, source=Otlp.name, source_session=session)
    except LogExists:  # another post was first
        return wanted.get()


def _teller(log: Log, session: str, chains: Chains) -> tuple[Teller, Stored]:
    maker = Maker(session)
    stored = Stored(log, _key_of, maker)
    teller = Teller(stored, chains, {session: maker})
    stored.recent(chains)
    chains.settle()
    return teller, stored


def _told(teller: Teller, stored: Stored, told: Iterable[Told]) -> Iterable[Read]:
    for line, (path, call) in enumerate(told, 1):
        without_id = call.role is Role.TOOL and call.use is not None and not call.use.call
        if teller.chains.why_not(call) or (without_id and (call.trace, call.id) in stored.told):
            continue
        yield from teller.tell(call, Where(line, path))


def _marks(told: Iterable[Told]) -> set[str]:
    """The marks that telling these calls asks for, so that they are read at once."""
    found: set[str] = set()
    for _, call in told:
        for bit in (*call.content.prompt, *call.content.completion):
            found |= {bit.mark, *_of_call(bit.call)}
        if call.use is not None:
            found |= _of_call(call.use.call)
    return found


def _of_call(call: str) -> set[str]:
    if not call:
        return set()
    return {Bit(kind, ActorKind.AGENT, call=call).mark for kind in (Kind.TOOL_REQUEST, Kind.TOOL_RESPONSE)}


def _key_of(native_id: str) -> str:
    """The key that an ingest of a file with the same spans gives this event in this log."""
    key = f"{Otlp.name}:{versions.no_version(native_id)}"
    return key if len(key) <= KEY else f"{key[: KEY - 65]}#{canonical.sha256(key.encode())}"


def _source(post: Post) -> Source:
    made = {"name": NAME, "format": Otlp.name, "size": post.size, "ingested_at": timezone.now()}
    return Source.objects.get_or_create(digest=post.digest, defaults=made)[0]


def _title(log: Log, title: str) -> None:
    row = locked(log.pk)
    if title and not row.title:
        row.title = title[:300]
        row.save(update_fields=["title"])
