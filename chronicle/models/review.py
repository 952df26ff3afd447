"""What people say about a generation, who may see what, and the audit trail."""

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q

from chronicle.append_only import Record
from chronicle.models.log import DIGEST
from chronicle.models.sections import Section


class Finding(Record):
    section = models.ForeignKey(Section, models.PROTECT, related_name="findings")
    section_digest = models.CharField(max_length=DIGEST)
    reviewer = models.CharField(max_length=200)
    words = models.TextField()
    cited_seqs = models.JSONField(default=list)
    withdraws = models.OneToOneField("self", models.PROTECT, null=True, related_name="withdrawn_by")
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"finding on {self.section_id}"


class SignOff(Record):
    section = models.ForeignKey(Section, models.PROTECT, related_name="sign_offs")
    section_digest = models.CharField(max_length=DIGEST)
    reviewer = models.CharField(max_length=200)
    verdict = models.CharField(max_length=20, choices=[("agrees", "agrees"), ("differs", "does not agree")])
    words = models.TextField(blank=True)
    withdraws = models.OneToOneField("self", models.PROTECT, null=True, related_name="withdrawn_by")
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"sign-off on {self.section_id}"


class Grant(models.Model):
    """Lets a user or a group see the logs of one owner."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="grants")
    group = models.ForeignKey(Group, models.CASCADE, null=True, blank=True, related_name="grants")
    owner = models.CharField(max_length=200)

    class Meta:
        constraints = [
            models.CheckConstraint(name="grant_to_one", condition=Q(user__isnull=False) ^ Q(group__isnull=False)),
            models.UniqueConstraint(name="grant_user_once", fields=["user", "owner"]),
            models.UniqueConstraint(name="grant_group_once", fields=["group", "owner"]),
        ]

    def __str__(self) -> str:
        return f"{self.user or self.group} → {self.owner}"


class Token(models.Model):
    """A bearer token: shown once, kept as a lookup prefix and a keyed hash."""

    name = models.CharField(max_length=200)
    owner = models.CharField(max_length=200)
    prefix = models.CharField(max_length=20, unique=True)
    hash = models.CharField(max_length=DIGEST)
    capabilities = models.JSONField(default=list)
    made_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name


class AuditEntry(Record):
    """Who did what, on what, when; each entry names its predecessor's digest."""

    who = models.CharField(max_length=200)
    what = models.CharField(max_length=100)
    target = models.CharField(max_length=300)
    at = models.DateTimeField()
    details = models.TextField(blank=True)
    previous = models.CharField(max_length=DIGEST, unique=True)
    digest = models.CharField(max_length=DIGEST, unique=True)

    class Meta:
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.what} {self.target}"
