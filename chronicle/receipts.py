"""Receipts: what an agent was given to read, kept, and made again byte for byte.

Guarantees: a receipt is written under the log's lock, numbered 1, 2, 3 … per log, with the sha256 of the exact
text and of the receipt itself; `text_of` makes the text anew from what the receipt cites, by the renderer's version
it names; nothing that happens later (another generation, a rollup, a policy, a rebuild) changes it.
Refuses: a receipt whose text cannot be made by this version (ReceiptUnreadable).
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils import timezone

from chronicle import brief, canonical, rendering, tool
from chronicle.errors import ChronicleError, ReceiptUnreadable
from chronicle.log import locked
from chronicle.material import Cut, Given, Material, Written
from chronicle.models import Edition, Form, Log, Receipt, ReceiptPart, Section, What
from chronicle.rendering import Piece
from chronicle.seal import moment
from chronicle.sections import current_edition
from chronicle.tokens import Counter, estimate
from chronicle.tool import Expanded, Listed, Opened

logger = logging.getLogger(__name__)

TAG = "anagrapheus/receipt/1"
FORGED = "it is not what was written (digest)"


class Part(NamedTuple):
    """One section as it is cited by a receipt."""

    section: Section
    form: str
    recent: bool = False
    stale: bool = False


class Reading(NamedTuple):
    """A text that was given, and its receipt."""

    text: str
    receipt: Receipt
    written: Written


class Browsed[Shown: Listed | Opened | Expanded](NamedTuple):
    """An answer of the chronicle tool that was given: the value, its exact text, the receipt."""

    shown: Shown
    text: str
    receipt: Receipt


def read_brief(
    log: Log,
    *,
    by: str,
    capability: str,
    upto_seq: int | None = None,
    budget: int | None = None,
    reader: str | None = None,
    edition: Edition | None = None,
    count: Counter = estimate,
) -> Reading:
    """Write the brief and leave its receipt. `reader` filters (None sees all), `by` is who is named in the receipt.

    Raises InvalidFilter, InvalidPolicy.
    """
    edition = edition or current_edition(log)
    written = brief.write(edition, upto_seq=upto_seq, budget=budget, reader=reader, count=count)
    parts = [Part(one.section, form, one.recent, one.stale) for one, form in written.parts]
    receipt = leave(
        written.edition,
        What.BRIEF,
        written.text,
        parts=parts,
        by=by,
        capability=capability,
        reader=reader,
        upto_seq=written.upto_seq,
        events=(written.tail_from, written.upto_seq) if written.tail_from <= written.upto_seq else None,
        budget=written.budget,
        tokens=written.tokens,
        how={"header": written.cut.header, "first": written.cut.first, "whole": written.cut.whole},
    )
    return Reading(written.text, receipt, written)


def read_list(
    edition: Edition, *, by: str, capability: str, reader: str | None = None, limit: int = tool.LISTED
) -> Browsed[Listed]:
    """List the cover as `tool.listed` does, and leave a receipt of it."""
    shown = tool.listed(edition, limit=limit, reader=reader)
    receipt = leave(
        edition,
        What.LIST,
        shown.text,
        parts=_titles(shown.cited, shown.entries),
        by=by,
        capability=capability,
        reader=reader,
        upto_seq=shown.last_seq,
        how={"limit": limit, "of": shown.of, "through": shown.through},
    )
    return Browsed(shown, shown.text, receipt)


def read_open(edition: Edition, ref: str, *, by: str, capability: str, reader: str | None = None) -> Browsed[Opened]:
    """Open a section as `tool.opened` does, and leave a receipt of it. Raises UnknownSection."""
    shown = tool.opened(edition, ref, reader=reader)
    section, *children = shown.cited
    titles = _titles(children, [child.entry for child in shown.children])
    receipt = leave(
        edition,
        What.OPEN,
        shown.text,
        parts=[Part(section, Form.FULL, stale=shown.entry.stale), *titles],
        by=by,
        capability=capability,
        reader=reader,
        upto_seq=tool.last_seq(edition),
        how={"current": shown.current},
    )
    return Browsed(shown, shown.text, receipt)


def read_expand(
    edition: Edition,
    ref: str,
    *,
    by: str,
    capability: str,
    reader: str | None = None,
    after: int | None = None,
    limit: int = tool.MOST_EXPANDED,
) -> Browsed[Expanded]:
    """Give a section's events as `tool.expanded` does, and leave a receipt of it. Raises UnknownSection."""
    shown = tool.expanded(edition, ref, after=after, limit=limit, reader=reader)
    receipt = leave(
        edition,
        What.EXPAND,
        shown.text,
        parts=[Part(section, Form.EVENTS) for section in shown.cited],
        by=by,
        capability=capability,
        reader=reader,
        upto_seq=tool.last_seq(edition),
        events=(shown.events[0].seq, shown.events[-1].seq) if shown.events else None,
        how={"after": after, "limit": limit},
    )
    return Browsed(shown, shown.text, receipt)


def _titles(sections: Sequence[Section], entries: Sequence[tool.Entry]) -> list[Part]:
    return [Part(one, Form.TITLE, stale=entry.stale) for one, entry in zip(sections, entries, strict=True)]


def leave(
    edition: Edition,
    what: str,
    text: str,
    *,
    by: str,
    capability: str,
    reader: str | None,
    upto_seq: int,
    parts: Sequence[Part] = (),
    events: tuple[int, int] | None = None,
    budget: int | None = None,
    tokens: int | None = None,
    how: dict[str, Any] | None = None,
) -> Receipt:
    """Write a receipt for a text. `events` is the range of events given; `how` is what else decided the text."""
    filters = canonical.dump({"reader": reader, **(how or {})})
    with transaction.atomic():
        log = locked(edition.log_id)
        last = Receipt.objects.filter(log=log).aggregate(last=Max("number"))["last"] or 0
        receipt = Receipt(
            log=log,
            number=last + 1,
            what=what,
            edition=edition,
            reader=by,
            capability=capability,
            at=timezone.now(),
            upto_seq=upto_seq,
            tail_from=events[0] if events else None,
            tail_to=events[1] if events else None,
            filters=filters,
            budget=budget,
            renderer=rendering.VERSION,
            token_estimate=estimate(text) if tokens is None else tokens,
            size=len(text.encode()),
            text_digest=canonical.sha256(text.encode()),
        )
        receipt.digest = digest_of(receipt, parts)
        receipt.save()
        ReceiptPart.objects.bulk_create(
            ReceiptPart(
                receipt=receipt,
                position=place,
                section=part.section,
                form=part.form,
                recent=part.recent,
                stale=part.stale,
            )
            for place, part in enumerate(parts)
        )
    logger.info("log %s: receipt %s of a %s up to %s", log.pk, receipt.number, what, upto_seq)
    return receipt


def digest_of(receipt: Receipt, parts: Sequence[Part]) -> str:
    """Return the digest a receipt carries: over everything it says, its parts by their sections' digests."""
    return canonical.digest(
        TAG,
        receipt.log.public_id,
        str(receipt.number),
        receipt.what,
        str(receipt.edition.number if receipt.edition else ""),
        receipt.reader,
        receipt.capability,
        moment(receipt.at),
        canonical.dump([receipt.upto_seq, receipt.tail_from, receipt.tail_to, receipt.budget, receipt.renderer]),
        receipt.filters,
        canonical.dump([receipt.token_estimate, receipt.size]),
        receipt.text_digest,
        canonical.dump([[part.section.digest, part.form, part.recent, part.stale] for part in parts]),
    )


def parts_of(receipt: Receipt) -> list[Part]:
    """Return what a receipt cites, in order, each section with its anchor and what has superseded it."""
    rows = receipt.parts.select_related("section__anchor__edition").order_by("position")
    return [Part(row.section, row.form, row.recent, row.stale) for row in rows]


class Again(NamedTuple):
    """The text of a receipt made again, in its pieces (those with text), and why it does not stand, or ""."""

    pieces: tuple[Piece, ...]
    why: str

    @property
    def text(self) -> str:
        return rendering.joined(self.pieces)


def text_of(receipt: Receipt) -> str:
    """Make the text of a receipt again, from what it cites. Raises ReceiptUnreadable."""
    return rendering.joined(_pieces(receipt, parts_of(receipt)))


def _pieces(receipt: Receipt, parts: Sequence[Part]) -> list[Piece]:
    again = RENDERERS_OF.get(receipt.what)
    if again is None or receipt.edition is None or receipt.renderer != rendering.VERSION:
        raise ReceiptUnreadable(
            f"Receipt {receipt.number} is of a {receipt.what}, written by renderer {receipt.renderer}; this version"
            " cannot write it again. Its digest stands."
        )
    return again(receipt, receipt.edition, parts, canonical.parse(receipt.filters or "{}"))


def stands(receipt: Receipt) -> bool:
    """True when the text made again has the digest that the receipt keeps, and the receipt its own."""
    return not made_again(receipt, parts_of(receipt)).why


def made_again(receipt: Receipt, parts: Sequence[Part]) -> Again:
    """Make a receipt's text again from its parts, and compare both with their digests. Raises ReceiptUnreadable.

    What does not stand is named with its field.
    """
    forged = digest_of(receipt, parts) != receipt.digest
    try:
        pieces = tuple(piece for piece in _pieces(receipt, parts) if piece.text)
    except ReceiptUnreadable:
        if not forged:
            raise
        return Again((), FORGED)
    except (ChronicleError, LookupError, TypeError, ValueError) as error:
        logger.warning("log %s: receipt %s not made again: %s", receipt.log_id, receipt.number, type(error).__name__)
        return Again((), FORGED if forged else "its text cannot be made from what it cites (filters)")
    return Again(pieces, FORGED if forged else _wrong(receipt, rendering.joined(pieces).encode()))


def _wrong(receipt: Receipt, text: bytes) -> str:
    if len(text) != receipt.size:
        return f"its text is of {len(text)} bytes, not {receipt.size} (size)"
    return "" if canonical.sha256(text) == receipt.text_digest else "its text made again is another (text_digest)"


def receipts_of(log: Log) -> QuerySet[Receipt]:
    """Return the receipts of a log with what it takes to make them again."""
    return Receipt.objects.filter(log=log).select_related("log", "edition__log")


def readers_of(section: Section) -> QuerySet[ReceiptPart]:
    """Return where a generation was read, oldest first."""
    return section.read_in.select_related("receipt").order_by("receipt__number")


def _brief_again(receipt: Receipt, edition: Edition, parts: Sequence[Part], how: dict[str, Any]) -> list[Piece]:
    given = [Given(part.section, part.recent, part.stale) for part in parts]
    forms = [part.form for part in parts]
    cut = Cut(forms.count(Form.DROPPED), forms.count(Form.TITLE), how["header"], how["first"], how["whole"])
    material = Material(edition, receipt.upto_seq, how["reader"], given)
    return material.view(cut) + material.tail(cut)


def _list_again(receipt: Receipt, edition: Edition, parts: Sequence[Part], how: dict[str, Any]) -> list[Piece]:
    figures = {"of": how["of"], "through": how["through"], "last": receipt.upto_seq}
    cited = [part.section for part in parts]
    return tool.listed_again(edition, cited, _stale(parts), reader=how["reader"], **figures).pieces


def _open_again(receipt: Receipt, edition: Edition, parts: Sequence[Part], how: dict[str, Any]) -> list[Piece]:
    section, *children = [part.section for part in parts]
    told = {"current": how["current"], "reader": how["reader"]}
    return tool.opened_again(edition, section, children, _stale(parts), **told).pieces


def _expand_again(receipt: Receipt, edition: Edition, parts: Sequence[Part], how: dict[str, Any]) -> list[Piece]:
    [part] = parts
    cut = {"after": how["after"], "limit": how["limit"], "reader": how["reader"]}
    return tool.expanded_again(edition, part.section, **cut).pieces


def _stale(parts: Sequence[Part]) -> set[int]:
    return {part.section.pk for part in parts if part.stale}


RENDERERS_OF: dict[str, Callable[[Receipt, Edition, Sequence[Part], dict[str, Any]], list[Piece]]] = {
    str(What.BRIEF): _brief_again,
    str(What.LIST): _list_again,
    str(What.OPEN): _open_again,
    str(What.EXPAND): _expand_again,
}
