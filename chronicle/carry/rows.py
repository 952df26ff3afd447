"""A log's rows in the order of a carry, read in short pages.

Guarantees: the order follows from what the rows say (ranges and generations as numbers), never from keys of a
database, so two databases that hold the same log give the same rows. Memory holds a page.
Refuses (CarryRefused): pins, sources or parts whose positions have gaps, because a carry keeps their order alone.
"""

import base64
import re
from collections.abc import Iterator, Sequence
from itertools import batched
from typing import Any

from django.db.models import Q, QuerySet

from chronicle.carry import shapes
from chronicle.carry.snapshot import Snapshot
from chronicle.carry.values import RECEIPT, event_row, moment
from chronicle.errors import CarryRefused
from chronicle.models import (
    Anchor,
    Attachment,
    Edition,
    Event,
    Finding,
    Log,
    Pin,
    Policy,
    Prompt,
    Receipt,
    Section,
    SignOff,
    Source,
)
from chronicle.policies import VALUES
from chronicle.verify import PAGE, sourced

SECTIONS = 200
IDS = 500
_NAMES = '"attachment":"'
_ATTACHMENT = re.compile(r'"attachment":"([0-9a-f]{64})"')


def rows(shot: Snapshot, named: set[str]) -> Iterator[Any]:
    """Yield a log's rows as they stood; the attachments that its events name are put into `named`."""
    yield log_row(shot.log)
    yield from _policies(shot)
    yield from _prompts(shot)
    yield from _sources(shot.log)
    yield from _events(shot.log, named)
    yield from _attachments(named)
    for edition in shot.editions:
        yield shapes.Edition(
            number=edition.number,
            state=edition.state,  # type: ignore[arg-type]
            made_by=edition.made_by,
            reason=edition.reason,
            made_at=moment(edition.made_at),
        )
        yield from _anchors(shot, edition)
        yield from _sections(shot, edition)
    yield from _receipts(shot)
    yield from _findings(shot)
    yield from _sign_offs(shot)


def log_row(log: Log) -> shapes.Log:
    """Return a log's own row."""
    return shapes.Log(
        id=log.public_id,
        owner=log.owner,
        title=log.title,
        source=log.source,
        source_session=log.source_session,
        last_seq=log.last_seq,
        head=log.head,
        started_at=moment(log.started_at),
        last_activity_at=moment(log.last_activity_at),
    )


def _policies(shot: Snapshot) -> Iterator[shapes.Policy]:
    for row in shot.upto(Policy.objects.filter(log=shot.log)).order_by("from_seq"):
        yield policy_row(row)


def policy_row(row: Policy) -> shapes.Policy:
    """Return a policy as a row."""
    values = {name: getattr(row, name) for name in VALUES}
    return shapes.Policy(from_seq=row.from_seq, made_by=row.made_by, made_at=moment(row.made_at), **values)


def _prompts(shot: Snapshot) -> Iterator[shapes.Prompt]:
    """Yield the prompts that a policy of the log names or a section was drawn with."""
    named = set(shot.upto(Policy.objects.filter(log=shot.log)).values_list("prompt", flat=True))
    drawn = Section.objects.filter(anchor__edition__log=shot.log).exclude(prompt_digest="")
    digests = set(shot.upto(drawn).values_list("prompt_digest", flat=True).distinct())
    for row in sorted(Prompt.objects.all(), key=lambda one: (one.name, one.version)):
        if row.label in named or row.section_digest in digests or row.rollup_digest in digests:
            yield prompt_row(row)


def prompt_row(row: Prompt) -> shapes.Prompt:
    """Return a prompt as a row."""
    texts = {name: getattr(row, name) for name in ("section", "rollup", "section_digest", "rollup_digest")}
    return shapes.Prompt(name=row.name, version=row.version, made_by=row.made_by, made_at=moment(row.made_at), **texts)


def _sources(log: Log) -> Iterator[shapes.Source]:
    ids = Event.objects.filter(log=log, seq__lte=log.last_seq, source__isnull=False).values("source").distinct()
    for row in Source.objects.filter(pk__in=ids).order_by("digest"):
        yield source_row(row)


def source_row(row: Source) -> shapes.Source:
    """Return a source as a row."""
    return shapes.Source(
        digest=row.digest,
        name=carried_name(row.name),
        format=row.format,
        size=row.size,
        ingested_at=moment(row.ingested_at),
    )


def carried_name(name: str) -> str:
    """Return a file's name as it leaves this machine: of a path from the root, its last part alone."""
    rooted = name.startswith(("/", "\\\\")) or name[1:3] in (":\\", ":/")
    return name.replace("\\", "/").rpartition("/")[2] if rooted else name


def _events(log: Log, named: set[str]) -> Iterator[shapes.Event | shapes.Pin]:
    """Yield events, each with the pin it promoted behind it; the attachments they name are put into `named`."""
    for page in batched(sourced(log), PAGE, strict=False):
        first, last = page[0].event.seq, page[-1].event.seq
        pins = {pin.seq: pin for pin in pin_rows(log, first, last)}
        for event, digest in page:
            named.update(attachments_of(event.payload))
            yield event_row(event, digest)
            if event.seq in pins:
                yield pins[event.seq]


def attachments_of(payload: str) -> list[str]:
    """Return the digests that a payload names, in order."""
    return _ATTACHMENT.findall(payload) if _NAMES in payload else []


def pin_rows(log: Log, first: int, last: int) -> Iterator[shapes.Pin]:
    """Yield the pins that events of a range promoted."""
    found = Pin.objects.filter(log=log, event__seq__gte=first, event__seq__lte=last)
    for seq, key, kind, result, attempts, unit in found.values_list(
        "event__seq", "key", "kind", "result", "attempts", "unit"
    ):
        yield shapes.Pin(seq=seq, key=key, kind=kind, result=result, attempts=attempts, unit=unit)


def _attachments(named: set[str]) -> Iterator[shapes.Attachment]:
    for some in batched(sorted(named), IDS, strict=False):
        there = Attachment.objects.filter(digest__in=some).order_by("digest").values_list("pk", flat=True)
        for pk in list(there):
            row = Attachment.objects.get(pk=pk)
            data = base64.b64encode(bytes(row.data)).decode()
            yield shapes.Attachment(digest=row.digest, media_type=row.media_type, size=row.size, data=data)


def _anchors(shot: Snapshot, edition: Edition) -> Iterator[shapes.Anchor]:
    """Yield an edition's anchors by level and range; a stamp that came after the moment is none."""
    for row in _by_range(shot.upto(Anchor.objects.filter(edition=edition)).select_related("rolled_up_into")):
        yield anchor_row(row, upto=shot.marks[Anchor])


def anchor_row(row: Anchor, *, upto: int) -> shapes.Anchor:
    """Return an anchor as a row; a rollup past the key `upto` was not there yet."""
    parent = row.rolled_up_into
    stood = parent is not None and parent.pk <= upto
    return shapes.Anchor(
        level=row.level,
        from_seq=row.from_seq,
        to_seq=row.to_seq,
        unit_seq=row.unit_seq,
        kind=row.kind,  # type: ignore[arg-type]
        event_count=row.event_count,
        rolled_up_into=(parent.from_seq, parent.to_seq) if parent is not None and stood else None,
    )


def _by_range(found: QuerySet[Anchor]) -> Iterator[Anchor]:
    level, seq = 0, 0
    while True:
        after = Q(level=level, from_seq__gt=seq) | Q(level__gt=level)
        page = list(found.filter(after).order_by("level", "from_seq")[:PAGE])
        yield from page
        if len(page) < PAGE:
            return
        level, seq = page[-1].level, page[-1].from_seq


def _sections(shot: Snapshot, edition: Edition) -> Iterator[shapes.Section]:
    anchors = _by_range(shot.upto(Anchor.objects.filter(edition=edition)))
    for some in batched(anchors, SECTIONS, strict=False):
        found = shot.upto(Section.objects.filter(anchor__in=[anchor.pk for anchor in some]))
        kept = found.select_related("anchor", "supersedes").prefetch_related("pins", "sources__source__anchor")
        for row in kept.order_by("anchor__level", "anchor__from_seq", "generation"):
            yield section_row(row)


def section_row(row: Section) -> shapes.Section:
    """Return a section as a row, with the pins it rests on and the generations it read."""
    anchor = row.anchor
    pins = in_order(row, row.pins.all())
    sources = [link.source for link in in_order(row, row.sources.all())]
    return shapes.Section(
        level=anchor.level,
        from_seq=anchor.from_seq,
        to_seq=anchor.to_seq,
        generation=row.generation,
        supersedes=row.supersedes.generation if row.supersedes else None,
        title=row.title,
        prose=row.prose,
        origin=row.origin,  # type: ignore[arg-type]
        replaces_from=row.replaces_from,
        summariser=row.summariser,
        model=row.model,
        prompt_digest=row.prompt_digest,
        tokens_in=row.tokens_in,
        tokens_out=row.tokens_out,
        cost=None if row.cost is None else f"{row.cost:.6f}",
        token_estimate=row.token_estimate,
        made_by=row.made_by,
        made_at=moment(row.made_at),
        digest=row.digest,
        pins=[pin.key for pin in pins],
        sources=[(one.anchor.level, one.anchor.from_seq, one.anchor.to_seq, one.generation) for one in sources],
    )


def in_order(of: Any, found: Sequence[Any] | QuerySet[Any]) -> list[Any]:
    """Return rows by their position, which counts from 0 without a gap."""
    rows = sorted(found, key=lambda row: row.position)
    if [row.position for row in rows] != list(range(len(rows))):
        raise CarryRefused(f"{of}: the positions of its {type(rows[0])._meta.verbose_name_plural} have gaps.")
    return rows


def _receipts(shot: Snapshot) -> Iterator[shapes.Receipt]:
    found = shot.upto(Receipt.objects.filter(log=shot.log)).select_related("edition")
    number = 0
    while True:
        page = list(
            found.filter(number__gt=number)
            .order_by("number")
            .prefetch_related("parts__section__anchor__edition")[:SECTIONS]
        )
        yield from map(receipt_row, page)
        if len(page) < SECTIONS:
            return
        number = page[-1].number


def receipt_row(row: Receipt) -> shapes.Receipt:
    """Return a receipt as a row, with its parts."""
    return shapes.Receipt(
        edition=row.edition.number if row.edition else None,
        at=moment(row.at),
        parts=[
            shapes.Part(**_place(part.section), form=part.form, recent=part.recent, stale=part.stale)
            for part in in_order(row, row.parts.all())
        ],
        **{name: getattr(row, name) for name in RECEIPT},
    )


def _place(section: Section) -> dict[str, int]:
    anchor = section.anchor
    return {
        "edition": anchor.edition.number,
        "level": anchor.level,
        "from_seq": anchor.from_seq,
        "to_seq": anchor.to_seq,
        "generation": section.generation,
    }


def _findings(shot: Snapshot) -> Iterator[shapes.Finding]:
    numbers: dict[int, int] = {}
    for row in _said(shot, Finding.objects.filter(section__anchor__edition__log=shot.log)):
        numbers[row.pk] = len(numbers) + 1
        yield shapes.Finding(**_saying(row, numbers), cited_seqs=row.cited_seqs)


def _sign_offs(shot: Snapshot) -> Iterator[shapes.SignOff]:
    numbers: dict[int, int] = {}
    for row in _said(shot, SignOff.objects.filter(section__anchor__edition__log=shot.log)):
        numbers[row.pk] = len(numbers) + 1
        yield shapes.SignOff(**_saying(row, numbers), verdict=row.verdict)


def _said(shot: Snapshot, found: QuerySet[Any]) -> Iterator[Any]:
    """Yield what people said, in the order of saying it: what withdraws another stands behind it."""
    yield from shot.upto(found).select_related("section__anchor__edition").order_by("at", "pk").iterator(chunk_size=IDS)


def _saying(row: Finding | SignOff, numbers: dict[int, int]) -> dict[str, Any]:
    withdrawn = row.withdraws_id
    if withdrawn is not None and withdrawn not in numbers:
        raise CarryRefused(f"{row} withdraws what was said later.")
    return {
        "number": numbers[row.pk],
        "section": shapes.Cited(**_place(row.section)),
        "section_digest": row.section_digest,
        "reviewer": row.reviewer,
        "words": row.words,
        "withdraws": numbers[withdrawn] if withdrawn else None,
        "at": moment(row.at),
    }
