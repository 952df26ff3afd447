"""The bill of a re-consolidation: what will no longer agree once a section has another generation, and its price.

Guarantees: made by reading alone; it names every receipt that read the current generation and every rollup that
has read it, and says what a re-roll of each would cost; figures of tokens are estimates and are called so. It
holds ids, ranges, names and figures, no prose.
Refuses: a generation that is superseded (ChronicleFork, naming the current one), an id that is not here.
"""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Count, Q, Sum
from django.db.models.functions import Coalesce

from chronicle import conf, policies, prompts
from chronicle.envelope import CONTENT_KINDS
from chronicle.errors import ChronicleFork, InvalidPolicy, UnknownSection
from chronicle.models import Anchor, Edition, EditionState, Event, Log, Policy, Prompt, ReceiptPart, Section
from chronicle.models.receipts import Form
from chronicle.reading import find
from chronicle.rollups import stale_rollups
from chronicle.seal import moment
from chronicle.sections import current_sections
from chronicle.summarisers import NAMES
from chronicle.summarisers.outline import Outline
from chronicle.tokens import BYTES_PER_TOKEN

MODEL = "model"


class Price(NamedTuple):
    """What a draw is expected to cost; both counts are estimates. An offline summariser makes no call."""

    calls: int
    tokens_in: int
    tokens_out: int


NOTHING = Price(0, 0, 0)


class Making(NamedTuple):
    """What prose was, or will be, made with. `prompt` is `name/version`, `built-in`, the beginning of a digest that is
    unknown here, or empty where none was used."""

    summariser: str
    model: str
    prompt: str


@dataclass(frozen=True, slots=True)
class Read:
    """A receipt that read the generation: its number in the log, who, when, at which seq, in which form."""

    number: int
    reader: str
    at: datetime
    upto_seq: int
    form: str


@dataclass(frozen=True, slots=True)
class StaleRollup:
    """A rollup that has read this slot: its id, the generation it read, and the price of drawing it again.

    `already`: it is stale before this, for another reason. `above`: what in turn becomes stale when it is redone.
    """

    id: str
    made_at: datetime
    read: str
    already: bool
    above: tuple[str, ...]
    price: Price

    def as_json(self) -> dict[str, Any]:
        more = {"made_at": moment(self.made_at), "above": list(self.above), "price": self.price._asdict()}
        return {"id": self.id, "read": self.read, "already": self.already, **more}


@dataclass(frozen=True, slots=True)
class Bill:
    """What `reconsolidate` must be told to accept. `section` names the generation, `next` the one to be drawn."""

    log: str
    section: str
    next: str
    level: int
    from_seq: int
    to_seq: int
    generation: int
    origin: str
    events: int
    given: int
    receipts: tuple[Read, ...]
    rollups: tuple[StaleRollup, ...]
    price: Price
    made_with: Making
    will_use: Making

    @property
    def what(self) -> str:
        """What is given to the summariser, in a word."""
        return "section" if self.level else "event"

    @property
    def reroll(self) -> Price:
        """The price of every rollup that would have to follow."""
        return Price(*(sum(rollup.price[place] for rollup in self.rollups) for place in range(3)))

    def as_json(self) -> dict[str, Any]:
        """Return the bill as plain JSON; times as ISO 8601 in UTC."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        found["receipts"] = [{**asdict(one), "at": moment(one.at)} for one in self.receipts]
        found["rollups"] = [one.as_json() for one in self.rollups]
        found |= {"price": self.price._asdict(), "reroll": self.reroll._asdict()}
        found |= {"made_with": self.made_with._asdict(), "will_use": self.will_use._asdict()}
        return found | {"lost_by_rebuild": True, "runs_diverge": True}


def bill(log: Log, ref: str, *, summariser: str = "", prompt: str = "") -> Bill:
    """Return what a re-consolidation of `ref` would cost and what would diverge; nothing is written.

    `summariser` and `prompt` override the newest policy. Raises UnknownSection, ChronicleFork, InvalidPolicy.
    """
    return bill_of(superseding(edition_of(log), ref), row_for(log, summariser=summariser, prompt=prompt))


def bill_of(section: Section, row: Policy) -> Bill:
    """Return the bill of a current section under a policy row."""
    anchor, log = section.anchor, section.anchor.edition.log
    events, given, price = _price(log, section, row)
    return Bill(
        log=log.public_id,
        section=named(section),
        next=f"{anchor.ref}#{section.generation + 1}",
        level=anchor.level,
        from_seq=anchor.from_seq,
        to_seq=anchor.to_seq,
        generation=section.generation,
        origin=section.origin,
        events=events,
        given=given,
        receipts=tuple(receipts_of(section)),
        rollups=tuple(_rollups(section, row)),
        price=price,
        made_with=Making(section.summariser, section.model, _label(section.prompt_digest)),
        will_use=making(row),
    )


def edition_of(log: Log) -> Edition:
    """Return the edition in force; a log without one has no sections (UnknownSection)."""
    found = Edition.objects.filter(log=log, state=EditionState.CURRENT).select_related("log").first()
    if found is None:
        raise UnknownSection("This log has no sections yet.")
    return found


def superseding(edition: Edition, ref: str) -> Section:
    """Return the section that a re-consolidation of `ref` would supersede.

    `12-31` is the current generation, `12-31#1` that one: raises ChronicleFork when it is superseded by now.
    """
    section = find(edition, ref)
    later = Section.objects.filter(supersedes=section).exists()
    if later:
        current = named(find(edition, section.anchor.ref))
        raise ChronicleFork(f"{named(section)} is superseded already; {current} is current.", current=current)
    return section


def named(section: Section) -> str:
    """Return a section's id with its generation, the first one's too: `12-31#1`."""
    return f"{section.anchor.ref}#{section.generation}"


def row_for(log: Log, *, summariser: str = "", prompt: str = "") -> Policy:
    """Return the newest policy row of a log, with what overrides it by name; it is not stored.

    Raises InvalidPolicy for a summariser or a prompt that has no such name here.
    """
    newest = Policy.objects.filter(log=log).order_by("-from_seq").first() or policies.default()
    row = copy.copy(newest)
    if summariser and summariser not in NAMES:
        raise InvalidPolicy(f"summariser {summariser!r} is none of {', '.join(NAMES)}", field="summariser")
    prompts.named(prompt)
    row.summariser, row.prompt = summariser or row.summariser, prompt or row.prompt
    return row


def prompt_labels() -> list[str]:
    """Return the names of the prompts that are stored, the newest version of each name first."""
    rows = Prompt.objects.order_by("name", "-version").values_list("name", "version")
    return [f"{name}/{version}" for name, version in rows]


def making(row: Policy) -> Making:
    """Return what a row has prose made with."""
    name = policies.summariser_name(row)
    if name != MODEL:
        return Making(name, "", "")
    return Making(name, row.model or conf.model(), row.prompt or prompts.BUILT_IN_NAME)


def receipts_of(section: Section) -> list[Read]:
    """Return every receipt that read this generation, by number; one that read it twice is named once per form."""
    parts = ReceiptPart.objects.filter(section=section).exclude(form=Form.DROPPED)
    columns = ("receipt__number", "receipt__reader", "receipt__at", "receipt__upto_seq", "form")
    rows = parts.order_by("receipt__number", "position").values_list(*columns)
    return list(dict.fromkeys(Read(*row) for row in rows))


def reroll_prices(edition: Edition, anchors: Iterable[int], row: Policy) -> dict[int, Price]:
    """Return what drawing each of these rollups again would cost, by anchor; two queries for any number of them."""
    wanted = list(anchors)
    if not wanted:
        return {}
    now = current_sections(edition)
    given = now.filter(anchor__rolled_up_into__in=wanted).order_by().values_list("anchor__rolled_up_into")
    reads = dict(given.annotate(tokens=Sum("token_estimate")))
    gives = dict(now.filter(anchor__in=wanted).order_by().values_list("anchor", "token_estimate"))
    return {anchor: _priced(row, reads.get(anchor, 0), gives.get(anchor, 0)) for anchor in wanted}


def _price(log: Log, section: Section, row: Policy) -> tuple[int, int, Price]:
    """Return how much there is, how much of it a summariser is given, and what that costs."""
    anchor = section.anchor
    if anchor.children.exists():
        count = anchor.children.count()
        return count, count, reroll_prices(anchor.edition, [anchor.pk], row)[anchor.pk]
    events = Event.objects.filter(log=log, seq__gte=anchor.from_seq, seq__lte=anchor.to_seq)
    given = Q(kind__in=[str(kind) for kind in CONTENT_KINDS], audience="")
    found = events.aggregate(
        all=Count("pk"), given=Count("pk", filter=given), size=Coalesce(Sum("size", filter=given), 0)
    )
    tokens = -(-found["size"] // BYTES_PER_TOKEN)
    price = _priced(row, tokens, section.token_estimate) if found["given"] else NOTHING
    return found["all"], found["given"], price


def _priced(row: Policy, given: int, gives: int) -> Price:
    """Return the price of a draw: what is longer than one request takes is parted, and the parts joined."""
    name = policies.summariser_name(row)
    if name == Outline.name:
        return NOTHING
    parts = max(1, -(-given // conf.model_input_tokens())) if name == MODEL else 1
    return Price(parts + (parts > 1), given, gives)


def _rollups(section: Section, row: Policy) -> Iterable[StaleRollup]:
    """Yield the current rollups that have read a generation of this slot, lowest level first."""
    anchor = section.anchor
    edition = anchor.edition
    readers = current_sections(edition).filter(anchor__level__gte=1, sources__source__anchor=anchor).distinct()
    found = list(readers.order_by("anchor__level", "anchor__from_seq").prefetch_related("sources__source__anchor"))
    prices = reroll_prices(edition, [reader.anchor_id for reader in found], row)
    stale = stale_rollups(edition)
    for reader in found:
        read = next(source.source for source in reader.sources.all() if source.source.anchor_id == anchor.pk)
        yield StaleRollup(
            named(reader),
            reader.made_at,
            named(read),
            reader.pk in stale,
            tuple(_above(edition, reader.anchor)),
            prices[reader.anchor_id],
        )


def _above(edition: Edition, anchor: Anchor) -> list[str]:
    """Return the ids of the rollups over a rollup, the nearest first."""
    over = Anchor.objects.filter(
        edition=edition, level__gt=anchor.level, from_seq__lte=anchor.from_seq, to_seq__gte=anchor.to_seq
    )
    return [found.ref for found in over.order_by("level")]


def _label(digest: str) -> str:
    found = prompts.texts_of(digest) if digest else None
    return found.label if found else digest[:8]


def words(found: Bill) -> Mapping[str, str]:
    """Return the bill as sentences, by what each is about: for a terminal, a question in the admin, a page."""
    many = len(found.receipts)
    stale = ", ".join(f"{one.id}{' (already)' if one.already else ''}" for one in found.rollups) or "none"
    above = sorted({ref for one in found.rollups for ref in one.above})
    stays = f"; {', '.join(above)} above stay as they are until it is redone" if above else ""
    return {
        "does": f"Draws {found.next} over {found.from_seq} to {found.to_seq} and makes it current;"
        f" {found.section} stays readable.",
        "receipts": f"{many} receipt{'' if many == 1 else 's'} read {found.section}"
        + (": " + "; ".join(_receipt(one) for one in found.receipts) if many else "")
        + ".",
        "rollups": f"Rollups that become stale: {stale}{stays}. None is ever redone by itself.",
        "price": f"This draw: {price_words(found.price)}. The rollups after it, if you ask for them:"
        f" {price_words(found.reroll)}.",
        "made": f"Drawn by {making_words(found.will_use)}; {found.section} was made by"
        f" {making_words(found.made_with)}.",
        "diverges": f"Runs that read {found.section} diverge from here on; a rebuild discards {found.next}.",
    }


def price_words(price: Price) -> str:
    """Return a price in words that say it is an estimate."""
    if not price.calls:
        return "no call of a model"
    calls = f"{price.calls} call{'' if price.calls == 1 else 's'}"
    return f"{calls}, about {price.tokens_in} tokens in and {price.tokens_out} out (an estimate)"


def making_words(made: Making) -> str:
    """Return a making in words."""
    parts = [made.summariser or "another tool", made.model, f"prompt {made.prompt}" if made.prompt else ""]
    return ", ".join(part for part in parts if part)


def _receipt(one: Read) -> str:
    return f"{one.number}, {one.reader} at {one.upto_seq}, {one.form}, {one.at:%Y-%m-%d %H:%M:%S} UTC"
