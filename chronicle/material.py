"""What the text of a brief is made of, gathered from the log and a chronicle, and the text made of it.

Guarantees: everything in the text follows from the edition, the seq, the reader, the sections given and the cut;
none of it changes later, so a receipt that keeps these can have the text again, byte for byte. Counts, tail and
requests are those that the reader may see; what is withheld is counted. A response never opens a tail without
its request: a cut tail starts later, a whole one brings the request along, marked as told already.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import NamedTuple

from django.db.models.functions import Coalesce

from chronicle import rendering
from chronicle.access import events_for
from chronicle.envelope import CONTENT_KINDS, Kind
from chronicle.models import Anchor, Edition, Event, Form, Origin, Section
from chronicle.rendering import Piece
from chronicle.tokens import Counter
from chronicle.trailing import Trail


class Given(NamedTuple):
    """One entry of the cover: a section, the label it is given under, and whether it is marked as stale."""

    section: Section
    recent: bool
    stale: bool


class Cut(NamedTuple):
    """What a budget left: `dropped` oldest entries are not shown, the next `lines` are a line each.

    `header` is the header's form (0 the whole one); `first` the position of the first event shown of the tail;
    `whole` says that the tail counts, so that a shortened header stands alone.
    """

    dropped: int = 0
    lines: int = 0
    header: int = 0
    first: int = 0
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """A brief: its text, and everything that the text was made of.

    The tail is `tail_from` to `upto_seq` (empty when tail_from is the greater); `budget` bounds the view, header and
    cover, or with `cut.whole` all of the text; `not_shown` are the ranges that nothing in the text stands for.
    """

    text: str
    edition: Edition
    parts: tuple[tuple[Given, str], ...]
    upto_seq: int
    tail_from: int
    reader: str | None
    budget: int
    cut: Cut
    tokens: int
    view_tokens: int
    events: int
    withheld: int
    not_shown: tuple[tuple[int, int], ...]


class Material:
    """The sections given, oldest first, and the events after them up to `upto_seq`, for one reader."""

    def __init__(self, edition: Edition, upto_seq: int, reader: str | None, given: Sequence[Given]) -> None:
        self.edition, self.upto_seq, self.reader, self.given = edition, upto_seq, reader, tuple(given)
        self.through = self.given[-1].section.anchor.to_seq if self.given else 0
        self._log_events = Event.objects.filter(log=edition.log, seq__lte=upto_seq)
        self._visible = events_for(self._log_events, reader)

    @cached_property
    def entries(self) -> list[rendering.Entry]:
        return [
            rendering.Entry(
                one.section.ref,
                one.section.anchor.from_seq,
                one.section.anchor.to_seq,
                one.section.title,
                one.section.prose,
                one.recent,
                one.stale,
                one.section.origin != Origin.CLOSED_WITHOUT_SUMMARY,
            )
            for one in self.given
        ]

    @cached_property
    def trail(self) -> Trail:
        """The tail, for this reader, without bookkeeping."""
        return Trail(self._visible, self.through)

    @cached_property
    def _messages(self) -> tuple[int, int]:
        """Content events, and those of them after the sections."""
        content = self._visible.filter(kind__in=[str(kind) for kind in CONTENT_KINDS])
        return content.count(), content.filter(seq__gt=self.through).count()

    @cached_property
    def _hidden(self) -> tuple[int, int]:
        """Events of the tail that are withheld, and those of bookkeeping."""
        after = self._log_events.filter(seq__gt=self.through)
        books = after.filter(kind=Kind.BOOKKEEPING).count()
        return after.exclude(kind=Kind.BOOKKEEPING).count() - self.trail.size, books

    @cached_property
    def _age(self) -> timedelta:
        times = self._log_events.annotate(told=Coalesce("claimed_at", "at")).values_list("told", flat=True)
        first: datetime | None = times.order_by("seq").first()
        last: datetime | None = times.order_by("-seq").first()
        return max(last - first, timedelta()) if first and last else timedelta()

    @cached_property
    def _sections(self) -> int:
        return Anchor.objects.filter(edition=self.edition, level=0, to_seq__lte=self.through).count()

    def header(self, cut: Cut) -> str:
        """The form of the header that a cut leaves; without a section there is none."""
        messages, after = self._messages
        facts = rendering.Facts(
            upto_seq=self.upto_seq,
            through=self.through,
            reader=self.reader or "",
            messages=messages,
            sections=self._sections,
            entries=len(self.entries),
            after=after,
            age=self._age,
        )
        return rendering.header(facts, self.entries, cut.dropped, cut.lines, form=cut.header, alone=cut.whole)

    def heading(self, cut: Cut) -> str:
        """The line over the tail; a shortened header that stands alone has none below it."""
        if cut.whole and cut.header:
            return ""
        withheld, books = self._hidden
        return rendering.heading(
            rendering.TailFacts(
                from_seq=self.through + 1,
                to_seq=self.upto_seq,
                shown=self.trail.size - cut.first,
                of=self.trail.size + withheld,
                withheld=withheld,
                bookkeeping=books,
                cut_upto=self._first_seq(cut) - 1 if cut.first else None,
            )
        )

    def _first_seq(self, cut: Cut) -> int:
        """Where the part of the tail that is shown begins."""
        if not cut.first:
            return self.through + 1
        return self.trail.seq(cut.first) if cut.first < self.trail.size else self.upto_seq + 1

    def parts(self, cut: Cut) -> tuple[tuple[Given, str], ...]:
        """The sections given, each with the form that a cut leaves it."""
        forms = [Form.DROPPED] * cut.dropped + [Form.TITLE] * cut.lines
        forms += [Form.FULL] * (len(self.given) - len(forms))
        return tuple((one, str(form)) for one, form in zip(self.given, forms, strict=True))

    def view(self, cut: Cut) -> list[Piece]:
        """Header and entries that a cut leaves."""
        return [Piece("header", self.header(cut)), *rendering.view(self.entries, cut.dropped, cut.lines)]

    def tail(self, cut: Cut) -> list[Piece]:
        """The events that a cut leaves, under their heading."""
        context = "" if cut.first else self.trail.context_text
        lines = self.trail.lines(cut.first)
        return [Piece("heading", self.heading(cut)), Piece("events", context + "".join(lines))]

    def written(self, cut: Cut, *, budget: int, count: Counter) -> Written:
        """Make the text that a cut leaves."""
        view, tail = rendering.joined(self.view(cut)), rendering.joined(self.tail(cut))
        text = view + tail
        return Written(
            text=text,
            edition=self.edition,
            parts=self.parts(cut),
            upto_seq=self.upto_seq,
            tail_from=self.through + 1,
            reader=self.reader,
            budget=budget,
            cut=cut,
            tokens=count(text),
            view_tokens=count(view),
            events=self.trail.size - cut.first,
            withheld=self._hidden[0],
            not_shown=self._not_shown(cut),
        )

    def _not_shown(self, cut: Cut) -> tuple[tuple[int, int], ...]:
        gone = self.entries[: cut.dropped]
        found = [(gone[0].from_seq, gone[-1].to_seq)] if gone else []
        if cut.first:
            found.append((self.through + 1, self._first_seq(cut) - 1))
        return tuple(found)
