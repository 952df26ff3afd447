"""Policies, editions, anchors and sections: the two grades of truth, in two tables.

An Anchor is derived from the log alone and safe to decide on; a Section is one generation of prose
over it. Constraints and triggers keep: one current edition a log, ranges that do not overlap per
(edition, level), one successor a section, an anchor that only ever takes its stamp, once.
"""

from django.db import models
from django.db.models import Q

from chronicle.append_only import AnchorQuerySet, Record
from chronicle.models.log import DIGEST, Log


class AnchorKind(models.TextChoices):
    UNIT = "unit"
    INTERVAL = "interval"
    PRESSURE = "pressure"
    MANUAL = "manual"
    BOOTSTRAP = "bootstrap"
    EMERGENCY = "emergency"
    IMPORTED = "imported"
    ROLLUP = "rollup"


class Origin(models.TextChoices):
    DRAWN = "drawn"
    CARRIED = "carried"
    IMPORTED = "imported"
    CLOSED_WITHOUT_SUMMARY = "closed without summary"


class EditionState(models.TextChoices):
    BUILDING = "building"
    CURRENT = "current"
    ARCHIVED = "archived"


class Policy(Record):
    """How a log is consolidated, from `from_seq` on; without a log, the default of the site."""

    log = models.ForeignKey(Log, models.PROTECT, null=True, related_name="policies")
    from_seq = models.BigIntegerField(default=1)
    boundary = models.JSONField(default=list)  # marker types that close a unit, "namespace/type"
    interval_messages = models.PositiveIntegerField(default=40)
    interval_tokens = models.PositiveIntegerField(null=True)
    max_events_per_section = models.PositiveIntegerField(default=400)
    rollup_threshold = models.PositiveIntegerField(default=12)
    rollup_batch = models.PositiveIntegerField(default=8)
    summariser = models.CharField(max_length=200, blank=True)  # "": the site's own, settings.SUMMARISER
    model = models.CharField(max_length=200, blank=True)
    prompt = models.CharField(max_length=200, blank=True)  # "name/version" of a Prompt; "": the built-in ones
    story_so_far = models.PositiveSmallIntegerField(default=0)  # how many sections before it a summariser reads
    max_recent = models.PositiveIntegerField(default=8)
    max_older = models.PositiveIntegerField(default=12)
    recent_window_hours = models.PositiveIntegerField(default=24)
    token_budget = models.PositiveIntegerField(default=2000)
    made_by = models.CharField(max_length=200, blank=True)
    made_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "policies"
        constraints = [
            models.UniqueConstraint(name="policy_once_per_seq", fields=["log", "from_seq"]),
            models.CheckConstraint(name="policy_interval", condition=Q(interval_messages__gte=1)),
            models.CheckConstraint(name="policy_batch", condition=Q(rollup_batch__gte=2, rollup_batch__lte=100)),
            models.CheckConstraint(
                name="policy_threshold",
                condition=Q(rollup_threshold__gte=models.F("rollup_batch"), rollup_threshold__lte=200),
            ),
            models.CheckConstraint(
                name="policy_section_cap", condition=Q(max_events_per_section__gte=1, max_events_per_section__lte=5000)
            ),
            models.CheckConstraint(name="policy_recent", condition=Q(max_recent__gte=1, max_recent__lte=100)),
            models.CheckConstraint(name="policy_older", condition=Q(max_older__gte=0, max_older__lte=100)),
            models.CheckConstraint(
                name="policy_window", condition=Q(recent_window_hours__gte=1, recent_window_hours__lte=8760)
            ),
            models.CheckConstraint(name="policy_story", condition=Q(story_so_far__lte=10)),
            models.CheckConstraint(name="policy_budget", condition=Q(token_budget__gte=200, token_budget__lte=32000)),
        ]

    def __str__(self) -> str:
        return f"{self.log or 'default'} from {self.from_seq}"


class Prompt(Record):
    """One version of the two texts that a model is asked with; a policy names it as `name/version`."""

    name = models.CharField(max_length=100)
    version = models.PositiveIntegerField()
    section = models.TextField()
    rollup = models.TextField()
    section_digest = models.CharField(max_length=DIGEST)  # as a section's prompt_digest
    rollup_digest = models.CharField(max_length=DIGEST)
    made_by = models.CharField(max_length=200, blank=True)
    made_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(name="prompt_version_once", fields=["name", "version"]),
            models.CheckConstraint(name="prompt_texts_given", condition=~Q(section="") & ~Q(rollup="")),
        ]
        # Which words a section was asked with: compare and section pages look a digest up.
        indexes = [
            models.Index(name="prompt_by_section_digest", fields=["section_digest"]),
            models.Index(name="prompt_by_rollup_digest", fields=["rollup_digest"]),
        ]

    @property
    def label(self) -> str:
        return f"{self.name}/{self.version}"

    def __str__(self) -> str:
        return self.label


class Edition(models.Model):
    log = models.ForeignKey(Log, models.PROTECT, related_name="editions")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=EditionState, default=EditionState.CURRENT)
    made_by = models.CharField(max_length=200, blank=True)
    reason = models.TextField(blank=True)
    made_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(name="edition_number_once", fields=["log", "number"]),
            models.UniqueConstraint(name="edition_one_current", fields=["log"], condition=Q(state="current")),
        ]

    def __str__(self) -> str:
        return f"{self.log_id}, edition {self.number}"


class Anchor(models.Model):
    """The slot of a section: a range of the log, both ends inclusive."""

    edition = models.ForeignKey(Edition, models.PROTECT, related_name="anchors")
    level = models.PositiveSmallIntegerField(default=0)
    from_seq = models.BigIntegerField()
    to_seq = models.BigIntegerField()
    unit_seq = models.BigIntegerField()  # the seq of what closed the unit
    kind = models.CharField(max_length=10, choices=AnchorKind)
    event_count = models.PositiveIntegerField()  # content events, bookkeeping not counted
    rolled_up_into = models.ForeignKey("self", models.PROTECT, null=True, related_name="children")

    objects = models.Manager.from_queryset(AnchorQuerySet)()

    class Meta:
        constraints = [
            models.UniqueConstraint(name="anchor_from_once", fields=["edition", "level", "from_seq"]),
            models.UniqueConstraint(name="anchor_to_once", fields=["edition", "level", "to_seq"]),
            models.CheckConstraint(name="anchor_range", condition=Q(from_seq__gte=1, to_seq__gte=models.F("from_seq"))),
            models.CheckConstraint(name="anchor_kind_known", condition=Q(kind__in=AnchorKind.values)),
            models.CheckConstraint(
                name="anchor_rollup_level",
                condition=Q(level=0) & ~Q(kind="rollup") | Q(level__gte=1) & Q(kind__in=["rollup", "imported"]),
            ),
        ]
        indexes = [
            # The cover, and what is due for a rollup: anchors without a stamp, by level and range.
            models.Index(
                name="anchor_uncovered",
                fields=["edition", "level", "from_seq"],
                condition=Q(rolled_up_into__isnull=True),
            ),
        ]

    @property
    def ref(self) -> str:
        """`12-31`, or `L1:1-320` above level 0."""
        return f"{f'L{self.level}:' if self.level else ''}{self.from_seq}-{self.to_seq}"

    def __str__(self) -> str:
        return self.ref


class Section(Record):
    """One generation of prose over an anchor."""

    anchor = models.ForeignKey(Anchor, models.PROTECT, related_name="sections")
    generation = models.PositiveIntegerField(default=1)
    supersedes = models.OneToOneField("self", models.PROTECT, null=True, related_name="superseded_by")
    title = models.CharField(max_length=80)
    prose = models.TextField()
    origin = models.CharField(max_length=30, choices=Origin)
    replaces_from = models.BigIntegerField(null=True)  # imported: the first seq that the summary claims to replace
    summariser = models.CharField(max_length=60, blank=True)
    model = models.CharField(max_length=200, blank=True)
    prompt_digest = models.CharField(max_length=DIGEST, blank=True)
    tokens_in = models.PositiveIntegerField(null=True)
    tokens_out = models.PositiveIntegerField(null=True)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True)  # USD, where the provider's price is known
    token_estimate = models.PositiveIntegerField()
    made_by = models.CharField(max_length=200, blank=True)
    made_at = models.DateTimeField()
    digest = models.CharField(max_length=DIGEST)

    class Meta:
        constraints = [
            models.UniqueConstraint(name="section_generation_once", fields=["anchor", "generation"]),
            models.CheckConstraint(
                name="section_generation_chain",
                condition=Q(generation=1, supersedes__isnull=True) | Q(generation__gt=1, supersedes__isnull=False),
            ),
            models.CheckConstraint(name="section_prose_given", condition=~Q(prose="")),
            models.CheckConstraint(name="section_title_given", condition=~Q(title="")),
            models.CheckConstraint(name="section_origin_known", condition=Q(origin__in=Origin.values)),
        ]

    @property
    def ref(self) -> str:
        """The anchor's id, with `#n` from generation 2 on."""
        return self.anchor.ref + (f"#{self.generation}" if self.generation > 1 else "")

    def __str__(self) -> str:
        return self.ref


class SectionPin(Record):
    section = models.ForeignKey(Section, models.PROTECT, related_name="pins")
    position = models.PositiveIntegerField()
    key = models.CharField(max_length=200)

    class Meta:
        constraints = [models.UniqueConstraint(name="section_pin_position", fields=["section", "position"])]
        # Which sections rest on a pin.
        indexes = [models.Index(name="section_pin_by_key", fields=["key"])]

    def __str__(self) -> str:
        return self.key


class RollupSource(Record):
    """Which generation of a child a rollup's generation read; for a rolling imported summary, what it swallowed."""

    section = models.ForeignKey(Section, models.PROTECT, related_name="sources")
    position = models.PositiveIntegerField()
    source = models.ForeignKey(Section, models.PROTECT, related_name="read_by_rollups")

    class Meta:
        constraints = [models.UniqueConstraint(name="rollup_source_position", fields=["section", "position"])]

    def __str__(self) -> str:
        return f"{self.section_id} read {self.source_id}"


class FoldPosition(models.Model):
    """How far a fold has read a log; moved in the transaction that writes the fold's state.

    `seen_seq` is the log's last seq when the fold last looked and had no more to do: no new event, no work.
    """

    log = models.ForeignKey(Log, models.PROTECT, related_name="positions")
    fold = models.CharField(max_length=100)
    seq = models.BigIntegerField(default=0)
    seen_seq = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(name="position_once", fields=["log", "fold"])]

    def __str__(self) -> str:
        return f"{self.fold} at {self.seq}"


class UnitFailure(models.Model):
    """A unit (or rollup) that could not be drawn: it stays in the tail and is tried again at `next_try`."""

    edition = models.ForeignKey(Edition, models.PROTECT, related_name="failures")
    level = models.PositiveSmallIntegerField(default=0)
    from_seq = models.BigIntegerField()
    to_seq = models.BigIntegerField()
    attempts = models.PositiveIntegerField(default=0)
    last_error = models.TextField(blank=True)
    last_try = models.DateTimeField()
    next_try = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(name="failure_once", fields=["edition", "level", "from_seq", "to_seq"])]

    def __str__(self) -> str:
        return f"{self.from_seq}-{self.to_seq}: {self.attempts}"
