"""Pins: recorded results of nondeterministic draws, under a key of the whole request."""

from django.db import models

from chronicle.append_only import Record
from chronicle.models.log import Event, Log


class Pin(Record):
    """One promoted pin; `event` is the bookkeeping event that carried it into the log."""

    log = models.ForeignKey(Log, models.PROTECT, related_name="pins")
    event = models.OneToOneField(Event, models.PROTECT, related_name="pin")
    key = models.CharField(max_length=200)
    kind = models.CharField(max_length=100)
    result = models.TextField()  # canonical JSON; "null" is a valid result
    attempts = models.PositiveIntegerField(default=1)
    unit = models.CharField(max_length=100)

    class Meta:
        # Replay looks a key up, the later pin wins; a section lists its pins by key.
        indexes = [models.Index(name="pin_by_key", fields=["log", "key", "-event"])]

    def __str__(self) -> str:
        return self.key


class PinScratch(models.Model):
    """Pins of a unit that is still open; committed into the log or abandoned with a reason."""

    log = models.ForeignKey(Log, models.PROTECT, related_name="scratch_pins")
    unit = models.CharField(max_length=100)
    key = models.CharField(max_length=200)
    kind = models.CharField(max_length=100)
    result = models.TextField()
    attempts = models.PositiveIntegerField(default=1)
    made_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "scratch pins"
        constraints = [models.UniqueConstraint(name="scratch_key_once", fields=["log", "unit", "key"])]

    def __str__(self) -> str:
        return f"{self.unit}: {self.key}"
