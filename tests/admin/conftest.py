"""What the admin is tried on: one row of every table, made through the public doors."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from chronicle import audit, failures, jobs, policies, sections
from chronicle.errors import SummaryFailed
from chronicle.fold import consolidate
from chronicle.health import beat
from chronicle.models import (
    Attachment,
    Finding,
    Grant,
    Log,
    Pin,
    PinScratch,
    Prompt,
    Receipt,
    ReceiptPart,
    Section,
    SectionPin,
    SignOff,
    Source,
    Token,
)
from tests.builders import bookkeeping, marker, said
from tests.builders import log_of as log_with

DIGEST = "0" * 64


@pytest.fixture
def log() -> Log:
    events = [event for number in range(13) for event in (said(f"Plate {number} of eight."), marker())]
    log = log_with([*events, bookkeeping(), said("Not closed yet.")], owner="alice", title="A dinner for eight")
    consolidate(log)
    return log


@pytest.fixture
def everything(log: Log) -> Log:
    """At least one row in each table of the project."""
    now, section = timezone.now(), Section.objects.order_by("pk")[0]
    Source.objects.create(digest=DIGEST, name="dinner.jsonl", format="events", size=3, ingested_at=now)
    Attachment.objects.create(digest=DIGEST, media_type="image/png", size=3, data=b"png")
    Pin.objects.create(log=log, event=log.events.get(kind="bookkeeping"), key="p1:m:0", kind="m", result="1", unit="u")
    PinScratch.objects.create(log=log, unit="u", key="p1:m:1", kind="m", result="1", made_at=now)
    Prompt.objects.create(name="terse", version=1, section="Be short.", rollup="Be short.", made_at=now)
    SectionPin.objects.create(section=section, position=1, key="p1:m:0")
    receipt = Receipt.objects.create(
        log=log,
        number=1,
        reader="concierge",
        capability="read",
        at=now,
        upto_seq=9,
        token_estimate=7,
        text_digest=DIGEST,
    )
    ReceiptPart.objects.create(receipt=receipt, position=1, section=section, form="full")
    Finding.objects.create(section=section, section_digest=section.digest, reviewer="rita", words="No.", at=now)
    SignOff.objects.create(section=section, section_digest=section.digest, reviewer="rita", verdict="agrees", at=now)
    Token.objects.create(name="reader", owner="alice", prefix="an_0001", hash=DIGEST, made_at=now)
    Grant.objects.create(group=Group.objects.create(name="reviewers"), owner="alice")
    failures.keep(sections.current_edition(log), 0, 27, 28, SummaryFailed("no prose"))
    policies.set_default(made_by="root", interval_messages=30)
    audit.record("root", "log.looked_at", log.public_id)
    jobs.enqueue("canary", "", key="canary")
    beat("canary")
    return log


@pytest.fixture
def root(client: Client) -> User:
    user = User.objects.create_superuser("root")
    client.force_login(user)
    return user


@pytest.fixture
def digest() -> Callable[[], str]:
    from tests.web.digest import database_digest

    return database_digest
