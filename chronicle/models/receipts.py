"""Receipts: the record of one brief or section as an agent read it."""

from django.db import models

from chronicle.append_only import Record
from chronicle.models.log import DIGEST, Log
from chronicle.models.sections import Section


class Receipt(Record):
    log = models.ForeignKey(Log, models.PROTECT, related_name="receipts")
    number = models.PositiveIntegerField()
    reader = models.CharField(max_length=200)
    capability = models.CharField(max_length=20)
    at = models.DateTimeField()
    upto_seq = models.BigIntegerField()
    tail_from = models.BigIntegerField(null=True)
    tail_to = models.BigIntegerField(null=True)
    filters = models.TextField(blank=True)
    budget = models.PositiveIntegerField(null=True)
    token_estimate = models.PositiveIntegerField()
    text_digest = models.CharField(max_length=DIGEST)

    class Meta:
        constraints = [models.UniqueConstraint(name="receipt_number_once", fields=["log", "number"])]

    def __str__(self) -> str:
        return f"{self.log_id}, receipt {self.number}"


class ReceiptPart(Record):
    receipt = models.ForeignKey(Receipt, models.PROTECT, related_name="parts")
    position = models.PositiveIntegerField()
    section = models.ForeignKey(Section, models.PROTECT, related_name="read_in")
    form = models.CharField(max_length=10, choices=[(form, form) for form in ("full", "title", "dropped")])

    class Meta:
        constraints = [models.UniqueConstraint(name="receipt_part_position", fields=["receipt", "position"])]

    def __str__(self) -> str:
        return f"{self.receipt_id}: {self.form}"
