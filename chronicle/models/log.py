"""The log: one owner's append-only stream of events, numbered 1, 2, 3 …

Guarantees (constraints and triggers): seq unique per log and ≥ 1, event_id and idempotency key
unique per log, an event never changes, a log's last_seq only grows and its id and owner never change.
"""

from django.db import models
from django.db.models import Q

from chronicle.append_only import Record
from chronicle.envelope import ActorKind, Kind

DIGEST = 64


class Log(models.Model):
    public_id = models.CharField(max_length=200, unique=True)
    owner = models.CharField(max_length=200)
    title = models.CharField(max_length=300, blank=True)
    source = models.CharField(max_length=60, blank=True)
    source_session = models.CharField(max_length=300, blank=True)
    last_seq = models.BigIntegerField(default=0)
    head = models.CharField(max_length=DIGEST)
    started_at = models.DateTimeField()
    last_activity_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(name="log_owner_given", condition=~Q(owner="")),
            models.CheckConstraint(name="log_last_seq_natural", condition=Q(last_seq__gte=0)),
            models.UniqueConstraint(
                name="log_one_per_ingested_session",
                fields=["owner", "source", "source_session"],
                condition=~Q(source_session=""),
            ),
        ]
        indexes = [
            # The page of logs: newest activity first, for the owners a reviewer was granted.
            models.Index(name="log_by_activity", fields=["owner", "-last_activity_at", "-id"]),
            models.Index(name="log_all_by_activity", fields=["-last_activity_at", "-id"]),
        ]

    def __str__(self) -> str:
        return self.public_id


class Source(Record):
    """An ingested file, once per content: where a locator of an event leads."""

    digest = models.CharField(max_length=DIGEST, unique=True)
    name = models.CharField(max_length=1000)
    format = models.CharField(max_length=60)
    size = models.BigIntegerField()
    ingested_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class Attachment(Record):
    """An image or a large payload, once per content."""

    digest = models.CharField(max_length=DIGEST, unique=True)
    media_type = models.CharField(max_length=100)
    size = models.BigIntegerField()
    data = models.BinaryField()

    def __str__(self) -> str:
        return self.digest


class Event(Record):
    log = models.ForeignKey(Log, models.PROTECT, related_name="events")
    seq = models.BigIntegerField()
    event_id = models.UUIDField()
    kind = models.CharField(max_length=20, choices=[(kind.value, kind.value) for kind in Kind])
    actor_kind = models.CharField(max_length=10, choices=[(kind.value, kind.value) for kind in ActorKind])
    actor = models.CharField(max_length=200)
    content = models.TextField(blank=True)
    namespace = models.CharField(max_length=200)
    type = models.CharField(max_length=200)
    schema_version = models.PositiveIntegerField(default=1)
    payload = models.TextField(blank=True)  # canonical JSON, stored as hashed; never jsonb
    causation = models.UUIDField(null=True)
    correlation = models.CharField(max_length=200, blank=True)
    at = models.DateTimeField()
    claimed_at = models.DateTimeField(null=True)
    audience = models.TextField(blank=True)  # canonical JSON list of actors; "" is public
    source = models.ForeignKey(Source, models.PROTECT, null=True, related_name="events")
    locator = models.CharField(max_length=200, blank=True)
    text_form = models.CharField(max_length=10, default="plain")
    idempotency_key = models.CharField(max_length=300, null=True)
    size = models.BigIntegerField()  # UTF-8 bytes of content and payload
    salt = models.CharField(max_length=32)
    content_digest = models.CharField(max_length=DIGEST)
    digest = models.CharField(max_length=DIGEST)

    class Meta:
        constraints = [
            models.UniqueConstraint(name="event_seq_once", fields=["log", "seq"]),
            models.UniqueConstraint(name="event_id_once", fields=["log", "event_id"]),
            models.UniqueConstraint(
                name="event_key_once", fields=["log", "idempotency_key"], condition=Q(idempotency_key__isnull=False)
            ),
            models.CheckConstraint(name="event_seq_from_one", condition=Q(seq__gte=1)),
            models.CheckConstraint(name="event_kind_known", condition=Q(kind__in=[kind.value for kind in Kind])),
            models.CheckConstraint(
                name="event_actor_kind_known", condition=Q(actor_kind__in=[kind.value for kind in ActorKind])
            ),
            models.CheckConstraint(name="event_version_from_one", condition=Q(schema_version__gte=1)),
            models.CheckConstraint(name="event_key_not_empty", condition=~Q(idempotency_key="")),
        ]
        indexes = [
            # The events page filtered by kind, paged by seq.
            models.Index(name="event_by_kind", fields=["log", "kind", "seq"]),
            # The events page filtered by actor, paged by seq.
            models.Index(name="event_by_actor", fields=["log", "actor", "seq"]),
            # A response's request and a request's responses (only where a call id exists).
            models.Index(
                name="event_by_correlation", fields=["log", "correlation", "seq"], condition=~Q(correlation="")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.log_id}/{self.seq}"
