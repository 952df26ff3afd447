"""Receipts: the record of what an agent was given to read, as it was given.

A receipt cites everything its text was made of, so that the text can be made again byte for byte:
parts in their order and form, the range of events, the reader's filter, the budget, the renderer's version.
"""

from django.db import models

from chronicle.append_only import Record
from chronicle.models.log import DIGEST, Log
from chronicle.models.sections import Edition, Section


class What(models.TextChoices):
    """What was read: a brief, or an answer of the chronicle tool."""

    BRIEF = "brief"
    LIST = "list"
    OPEN = "open"
    EXPAND = "expand"


class Form(models.TextChoices):
    """How a section was given: its words, its title alone, not at all, or the events it covers."""

    FULL = "full"
    TITLE = "title"
    DROPPED = "dropped"
    EVENTS = "events"


class Receipt(Record):
    log = models.ForeignKey(Log, models.PROTECT, related_name="receipts")
    number = models.PositiveIntegerField()
    what = models.CharField(max_length=10, choices=What, default=What.BRIEF)
    edition = models.ForeignKey(Edition, models.PROTECT, null=True, related_name="receipts")
    reader = models.CharField(max_length=200)
    capability = models.CharField(max_length=20)
    at = models.DateTimeField()
    upto_seq = models.BigIntegerField()
    tail_from = models.BigIntegerField(null=True)
    tail_to = models.BigIntegerField(null=True)
    filters = models.TextField(blank=True)  # canonical JSON: the reader's filter and what else decided the text
    budget = models.PositiveIntegerField(null=True)
    renderer = models.PositiveSmallIntegerField(default=1)  # which way of writing the text; old ones stay
    token_estimate = models.PositiveIntegerField()
    size = models.BigIntegerField(default=0)  # UTF-8 bytes of the text
    text_digest = models.CharField(max_length=DIGEST)
    digest = models.CharField(max_length=DIGEST, blank=True)  # over all of the above and the parts

    class Meta:
        constraints = [
            models.UniqueConstraint(name="receipt_number_once", fields=["log", "number"]),
            models.CheckConstraint(name="receipt_what_known", condition=models.Q(what__in=What.values)),
        ]

    def __str__(self) -> str:
        return f"{self.log_id}, receipt {self.number}"


class ReceiptPart(Record):
    receipt = models.ForeignKey(Receipt, models.PROTECT, related_name="parts")
    position = models.PositiveIntegerField()
    section = models.ForeignKey(Section, models.PROTECT, related_name="read_in")
    form = models.CharField(max_length=10, choices=Form)
    recent = models.BooleanField(default=False)  # the label it was given under
    stale = models.BooleanField(default=False)  # marked as stale in the text

    class Meta:
        constraints = [
            models.UniqueConstraint(name="receipt_part_position", fields=["receipt", "position"]),
            models.CheckConstraint(name="receipt_form_known", condition=models.Q(form__in=Form.values)),
        ]

    def __str__(self) -> str:
        return f"{self.receipt_id}: {self.form}"
