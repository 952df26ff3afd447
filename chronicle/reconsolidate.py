"""Re-consolidation: another generation of prose over a range that has one, accepted by a person who saw the bill.

Guarantees: nothing is drawn before the divergence is accepted; the range is read from the log again (a rollup
from the current generations of its children) and its slot keeps unit, kind, count and stamp; the draw is made with
no transaction open, then one short one writes section, pins and audit entry; the log itself holds no trace but the
pins. Of two at the same moment one writes; the other is told and its draw is abandoned.
Refuses: what is not accepted (DivergenceNotAccepted, with the bill), a superseded generation (ChronicleFork).
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

from django.db import transaction

from chronicle import audit, canonical, drawing, sections
from chronicle.divergence import Bill, bill, bill_of, edition_of, named, receipts_of, row_for, superseding
from chronicle.draws import Drawn, Draws, words_of
from chronicle.errors import ChronicleFork, DivergenceNotAccepted, InvalidSection, LeaseLost, Superseded
from chronicle.log import locked, read
from chronicle.models import Edition, EditionState, Log, Section
from chronicle.projector import Fence
from chronicle.rollups import children_of
from chronicle.sections import NewSection
from chronicle.story import Told, before
from chronicle.story import sources as told
from chronicle.summarisers import span_of
from chronicle.summarisers.protocol import Draft, Summariser

__all__ = ["Bill", "areconsolidate", "bill", "check_reason", "reconsolidate"]

logger = logging.getLogger(__name__)

WHAT = "section.reconsolidated"
REASON = 2000
NAMED_AT_MOST = 1000


def reconsolidate(
    log: Log,
    ref: str,
    *,
    accepted: bool,
    by: str,
    reason: str = "",
    summariser: Summariser | str | None = None,
    prompt: str | None = None,
    fence: Fence | None = None,
) -> Section:
    """Draw the next generation of `ref` (`12-31`, or `12-31#1` to name the one that is seen) and make it current.

    `summariser` and `prompt` are names that override the newest policy. Raises DivergenceNotAccepted, UnknownSection,
    ChronicleFork, InvalidPolicy and, for an asynchronous summariser, TypeError before anything is drawn; SummaryFailed
    or what the summariser raised, Superseded, LeaseLost (with `details["wasted_tokens"]`) when nothing was written.
    """
    redraw = _Redraw(log, ref, by=by, reason=reason, summariser=summariser, prompt=prompt, fence=fence)
    redraw.check(accepted=accepted)
    redraw.draws.refuse_asynchronous([redraw.row])
    return drawing.run(redraw.steps())


async def areconsolidate(
    log: Log,
    ref: str,
    *,
    accepted: bool,
    by: str,
    reason: str = "",
    summariser: Summariser | str | None = None,
    prompt: str | None = None,
    fence: Fence | None = None,
) -> Section:
    """As `reconsolidate`, for synchronous and asynchronous summarisers."""
    from asgiref.sync import sync_to_async

    def prepared() -> _Redraw:
        redraw = _Redraw(log, ref, by=by, reason=reason, summariser=summariser, prompt=prompt, fence=fence)
        redraw.check(accepted=accepted)
        return redraw

    return await drawing.arun((await sync_to_async(prepared)()).steps())


def check_reason(reason: str) -> None:
    """Raise InvalidSection for a reason that the audit trail cannot keep."""
    if len(reason) > REASON:
        raise InvalidSection(f"A reason has at most {REASON} characters, not {len(reason)}.")
    if canonical.unstorable(reason) is not None:
        raise InvalidSection("The reason holds a character no database takes.")


class _Redraw:
    """One re-consolidation, from what it supersedes to what it writes."""

    def __init__(
        self,
        log: Log,
        ref: str,
        *,
        by: str,
        reason: str,
        summariser: Summariser | str | None,
        prompt: str | None,
        fence: Fence | None,
    ) -> None:
        check_reason(reason)
        given = summariser if isinstance(summariser, str) else ""
        self.edition = edition_of(log)
        self.old = superseding(self.edition, ref)
        self.row = row_for(log, summariser=given, prompt=prompt or "")
        self.draws = Draws(self.edition, summariser=None if isinstance(summariser, str) else summariser, fence=fence)
        self._by, self._reason, self._fence = by, reason, fence
        self._story: tuple[Told, ...] = ()

    def check(self, *, accepted: bool) -> None:
        """Raise DivergenceNotAccepted, with the bill, for what nobody has accepted."""
        if not accepted:
            found = bill_of(self.old, self.row)
            raise DivergenceNotAccepted(
                f"{found.next} was not drawn: {found.section} is what its readers saw, and they would diverge."
                " Accept that to go on.",
                bill=found.as_json(),
            )
        self.draws.summariser(self.row)  # a policy that names none is refused before anything is drawn

    def steps(self) -> drawing.Steps[Section]:
        """Read, draw, write."""
        children = self._children()
        drawn = yield from self._draw(children)
        if isinstance(drawn.draft, Exception):
            anchor = self.old.anchor
            logger.warning("log %s: %s was not drawn again", self.edition.log_id, anchor.ref)
            raise drawn.draft
        try:
            return self._write(drawn, drawn.draft, children)
        except LeaseLost as lost:  # whoever has the lease now goes on with what this one has drawn
            lost.details["wasted_tokens"] = drawn.wasted_tokens()
            raise
        except (ChronicleFork, Superseded) as first:
            drawn.give_up(f"{first.name}: {first}"[:500])
            first.details["wasted_tokens"] = drawn.wasted_tokens()
            raise

    def _children(self) -> list[Section]:
        anchor = self.old.anchor
        found = sections.current_sections(self.edition).filter(anchor__rolled_up_into=anchor)
        return list(found.select_related("anchor")) if anchor.level else []

    def _draw(self, children: Sequence[Section]) -> drawing.Steps[Drawn]:
        anchor = self.old.anchor
        if children:
            return (yield from self.draws.rollup(self._slot(), children_of(self.edition.log, children), self.row))
        events = read(self.edition.log, since_seq=anchor.from_seq - 1, upto_seq=anchor.to_seq)
        self._story = before(self.edition, anchor.from_seq, self.row.story_so_far)
        span = replace(span_of(events), story=tuple(one.child for one in self._story))
        return (yield from self.draws.section(self._slot(), span, self.row))

    def _slot(self) -> str:
        """Return the unit of the draw. Under a lease the next holder finds it again by the slot's name; without one
        two may draw at once, and what is drawn in vain must not be promoted with what is kept."""
        slot = f"{self.old.anchor.ref}#{self.old.generation + 1}"
        return slot if self._fence is not None else f"{slot}~{uuid4().hex[:8]}"

    def _write(self, drawn: Drawn, draft: Draft, children: Sequence[Section]) -> Section:
        old = self.old
        with transaction.atomic():
            if self._fence is not None:
                self._fence()
            locked(self.edition.log_id)
            self._still_so(children)
            made = sections.supersede(
                self.edition, old, self._new(drawn, draft), sources=children or told(self._story, ())
            )
            drawn.commit()
            self._record(made)
        logger.warning(
            "log %s: %s supersedes %s over %s to %s; runs that read it diverge, a rebuild drops it",
            self.edition.log_id,
            named(made),
            named(old),
            old.anchor.from_seq,
            old.anchor.to_seq,
        )
        return made

    def _still_so(self, children: Sequence[Section]) -> None:
        """Refuse what was drawn from something that is not current any more; the log is locked."""
        if not Edition.objects.filter(pk=self.edition.pk, state=EditionState.CURRENT).exists():
            raise Superseded("Another edition is in force by now; nothing was written.")
        if [child.pk for child in self._children()] != [child.pk for child in children]:
            raise Superseded(f"A child of {self.old.anchor.ref} has another generation by now; nothing was written.")

    def _new(self, drawn: Drawn, draft: Draft) -> NewSection:
        anchor = self.old.anchor
        return NewSection(
            level=anchor.level,
            from_seq=anchor.from_seq,
            to_seq=anchor.to_seq,
            unit_seq=anchor.unit_seq,
            kind=anchor.kind,
            event_count=anchor.event_count,
            made_by=self._by,
            **words_of(drawn.name, draft),
        )

    def _record(self, made: Section) -> None:
        """Write who accepted what, and who had read the old words by now."""
        receipts = [one.number for one in receipts_of(self.old)]
        anchor = self.old.anchor
        audit.record(
            self._by,
            WHAT,
            self.edition.log.public_id,
            edition=self.edition.number,
            old=named(self.old),
            new=named(made),
            from_seq=anchor.from_seq,
            to_seq=anchor.to_seq,
            reason=self._reason,
            receipts=receipts[:NAMED_AT_MOST],
            receipts_of=len(receipts),
        )
