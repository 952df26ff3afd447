"""One receipt: the text as it was given, made again at the moment of the request, and what has moved on since.

Guarantees: the text stands in its parts with the bytes that each takes, and nothing is written into it; whether
it is byte for byte what was given is checked anew each time and said with the time; of each section given it is
said whether it stands, with the difference where it does not. Long parts are cut with a size; the file is whole.
Refuses: a number that is none of the log's (404).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone

from chronicle import canonical
from chronicle import receipts as kept
from chronicle.access import log_for
from chronicle.errors import InvalidFilter, InvalidPayload, ReceiptUnreadable
from chronicle.models import EditionState, Form, Log, Receipt, Section
from chronicle.receipts import Again, Part
from chronicle.rendering import Piece
from chronicle.web.collation import ADDED, REMOVED, SAME, Collation, Pair, collate
from chronicle.web.collation import Piece as Words
from chronicle.web.event import WHOLE
from chronicle.web.respond import respond

DIFFERENCES = 12


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a section that was given. `newest` stands now; `since` says that this came after the reading."""

    part: Part
    newest: Section | None = None
    since: bool = True
    rolled_up: str = ""
    rolled_up_since: bool = True
    words: Collation | None = None

    @property
    def ref(self) -> str:
        return f"{self.part.section.anchor.ref}#{self.part.section.generation}"

    @property
    def linked(self) -> bool:
        """Only the sections of the edition in force have pages."""
        return self.part.section.anchor.edition.state == EditionState.CURRENT

    @property
    def difference(self) -> list[Words]:
        """What was given and what stands now as one text, with what is removed and added."""
        pairs = self.words.pairs if self.words else ()
        return [piece for pair in pairs for piece in (*_unified(pair), Words(SAME, " "))]


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of the text with the bytes it takes, both ends inclusive; `fate` where it is a section."""

    what: str
    text: str
    first: int
    last: int
    fate: Fate | None

    @property
    def shown(self) -> str:
        return self.text[:WHOLE]

    @property
    def cut(self) -> bool:
        return len(self.text) > WHOLE


class ReceiptPage:
    """What the page says of a receipt; `again` is None where this version cannot make its text."""

    def __init__(self, log: Log, receipt: Receipt) -> None:
        self.log = log
        self.receipt = receipt
        self.checked_at = timezone.now()

    @cached_property
    def parts(self) -> list[Part]:
        return kept.parts_of(self.receipt)

    @cached_property
    def again(self) -> Again | None:
        try:
            return kept.made_again(self.receipt, self.parts)
        except ReceiptUnreadable:
            return None

    @cached_property
    def how(self) -> dict[str, Any]:
        """What else decided the text, as it is kept; empty where it cannot be read."""
        try:
            found = canonical.parse(self.receipt.filters or "{}")
        except InvalidPayload:
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def how_words(self) -> str:
        """The same in words, the reader aside."""
        found = (f"{name} {_word(value)}" for name, value in sorted(self.how.items()) if name != "reader")
        return ", ".join(found)

    @property
    def audience(self) -> str | None:
        """The reader whose view it was; None for everything."""
        return self.how.get("reader")

    @cached_property
    def fates(self) -> list[Fate]:
        """What became of each section cited, in the order of the receipt."""
        later = Later(self.receipt, self.parts)
        return [later.fate(part) for part in self.parts]

    @cached_property
    def passages(self) -> list[Passage]:
        return list(_passages(self.again.pieces if self.again else (), self.fates))

    @property
    def dropped(self) -> list[Fate]:
        return [fate for fate in self.fates if fate.part.form == Form.DROPPED]

    @property
    def given(self) -> list[Fate]:
        return [fate for fate in self.fates if fate.part.form != Form.DROPPED]

    @property
    def superseded(self) -> int:
        return sum(fate.newest is not None for fate in self.given)

    @cached_property
    def neighbours(self) -> tuple[Receipt | None, Receipt | None]:
        near = self.log.receipts.filter(number__in=(self.receipt.number - 1, self.receipt.number + 1))
        found = {receipt.number: receipt for receipt in near}
        return found.get(self.receipt.number - 1), found.get(self.receipt.number + 1)


def receipt(request: HttpRequest, log_id: str, number: int) -> HttpResponse:
    log = log_for(request.user, log_id)
    found = kept.receipts_of(log).filter(number=number).first()
    if found is None:
        raise Http404
    page = ReceiptPage(log, found)
    if (wanted := request.GET.get("as")) is not None:
        return _file(page, wanted)
    return respond(request, "web/receipt.html", {"log": log, "receipt": found, "page": page})


def _file(page: ReceiptPage, wanted: str) -> HttpResponse:
    """The text made again, byte for byte, as a file; its name says when it is not what was given."""
    if wanted != "text":
        raise InvalidFilter("A receipt gives its text as a file: ?as=text.")
    if page.again is None:
        raise InvalidFilter("This version of the site cannot write this receipt's text again; its digest stands.")
    doubt = "-not-what-was-given" if page.again.why else ""
    response = HttpResponse(page.again.text.encode(), content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="receipt-{page.receipt.number}{doubt}.txt"'
    response["Cache-Control"] = "no-store"
    return response


def _word(value: object) -> str:
    return "none" if value is None else ("no", "yes")[value] if isinstance(value, bool) else str(value)


def _passages(pieces: Sequence[Piece], fates: Sequence[Fate]) -> Iterator[Passage]:
    first = 0
    for piece in pieces:
        size = len(piece.text.encode())
        yield Passage(piece.what, piece.text, first, first + size - 1, fates[piece.place] if piece.place >= 0 else None)
        first += size


class Later:
    """What came after some parts: three queries, however many they are."""

    def __init__(self, receipt: Receipt, parts: Sequence[Part]) -> None:
        anchors = [part.section.anchor for part in parts]
        standing = Section.objects.filter(anchor__in=anchors, superseded_by__isnull=True).select_related("anchor")
        followed = Section.objects.filter(supersedes__in=[part.section for part in parts])
        over = {anchor.rolled_up_into_id for anchor in anchors if anchor.rolled_up_into_id}
        rollups = Section.objects.filter(anchor__in=over, generation=1).select_related("anchor")
        self._receipt = receipt
        self._newest = {section.anchor_id: section for section in standing}
        self._followed = dict(followed.values_list("supersedes", "made_at"))
        self._rollups = {section.anchor_id: section for section in rollups}
        self._differences = 0

    def fate(self, part: Part) -> Fate:
        """Return what became of a part; the first DIFFERENCES of those superseded with the difference."""
        section = part.section
        superseded = self._followed.get(section.pk)
        newest = self._newest[section.anchor_id] if superseded else None
        rollup = self._rollups.get(section.anchor.rolled_up_into_id or 0)
        return Fate(
            part,
            newest,
            self._after(superseded),
            rollup.anchor.ref if rollup else "",
            self._after(rollup.made_at if rollup else None),
            self._difference(part, newest) if newest else None,
        )

    def _after(self, at: datetime | None) -> bool:
        return at is not None and at >= self._receipt.at

    def _difference(self, part: Part, now: Section) -> Collation | None:
        if part.form not in {Form.FULL, Form.TITLE} or self._differences == DIFFERENCES:
            return None
        self._differences += 1
        if part.form == Form.TITLE:
            return collate(part.section.title, now.title)
        return collate(f"{part.section.title}\n{part.section.prose}", f"{now.title}\n{now.prose}")


def _unified(pair: Pair) -> Iterator[Words]:
    """Two sentences as one: what they share once, before it what is removed, then what is added."""
    if pair.equal:
        yield from pair.left
        return
    added = iter(pair.right)
    for piece in (*pair.left, None):
        if piece is not None and piece.kind == REMOVED:
            yield piece
            continue
        for other in added:
            if other.kind != ADDED:
                break
            yield other
        if piece is not None:
            yield piece
