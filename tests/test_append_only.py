"""R25: every way to change a record, refused by the database and by the ORM, after every migration too."""

from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from chronicle import append_only, audit, sections
from chronicle.errors import AppendOnly
from chronicle.models import Anchor, Attachment, Edition, Event, Log, Policy, Section, Source
from chronicle.sections import NewSection
from tests.builders import log_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def log() -> Log:
    """A log with something in the tables that matter."""
    log = log_of(12)
    edition = sections.current_edition(log)
    for start in (1, 5):
        sections.append_new(edition, new(start, start + 3))
    audit.record("system", "test", log.public_id)
    now = timezone.now()
    Source.objects.create(digest="d" * 64, name="f", format="events", size=1, ingested_at=now)
    Attachment.objects.create(digest="a" * 64, media_type="image/png", size=1, data=b"x")
    Policy.objects.create(log=log, made_at=now)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # TRUNCATE refuses on pending checks first
    return log


def new(from_seq: int, to_seq: int, **given: Any) -> NewSection:
    words = {"title": "Words", "prose": "Dina asked for a table.", "kind": "unit", "event_count": to_seq - from_seq + 1}
    return NewSection(**{**words, "from_seq": from_seq, "to_seq": to_seq, **given})


def refused(statement: str) -> None:
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


TABLES = ["event", "section", "anchor", "policy", "auditentry", "source", "attachment", "log", "edition"]


@pytest.mark.promise("A55", "K18", "S15", "A7")
@pytest.mark.parametrize("table", TABLES)
def test_delete_and_truncate_are_refused(log: Log, table: str) -> None:
    refused(f"DELETE FROM chronicle_{table}")
    if connection.vendor == "postgresql":
        refused(f"TRUNCATE chronicle_{table} CASCADE")


@pytest.mark.promise("A55", "K18", "S15", "A7")
@pytest.mark.parametrize(
    "change",
    [
        "chronicle_event SET content = 'x' WHERE seq = 3",
        "chronicle_event SET digest = 'x' WHERE seq = 3",
        "chronicle_section SET prose = 'x'",
        "chronicle_section SET title = 'x'",
        "chronicle_policy SET interval_messages = 1",
        "chronicle_auditentry SET who = 'x'",
        "chronicle_anchor SET to_seq = to_seq + 1",
        "chronicle_anchor SET event_count = 0",
        "chronicle_log SET last_seq = 1",
        "chronicle_log SET owner = 'mallory'",
        "chronicle_log SET public_id = 'x'",
        "chronicle_edition SET number = 9",
        "chronicle_source SET name = 'x'",
    ],
)
def test_update_is_refused(log: Log, change: str) -> None:
    refused(f"UPDATE {change}")


@pytest.mark.promise("A55", "K18")
@pytest.mark.parametrize("table", TABLES)
def test_a_row_cannot_be_replaced_or_upserted(log: Log, table: str) -> None:
    name = f"chronicle_{table}"
    if connection.vendor == "sqlite":
        for recursive in ("ON", "OFF"):
            with connection.cursor() as cursor:
                cursor.execute(f"PRAGMA recursive_triggers = {recursive}")
            refused(f"INSERT OR REPLACE INTO {name} SELECT * FROM {name}")
            refused(f"REPLACE INTO {name} SELECT * FROM {name}")
    column = next(f.column for f in apps.get_model("chronicle", table)._meta.concrete_fields if not f.primary_key)
    refused(f"INSERT INTO {name} SELECT * FROM {name} WHERE true ON CONFLICT (id) DO UPDATE SET {column} = NULL")


@pytest.mark.promise("K18")
def test_the_replica_role_is_refused_too(log: Log) -> None:
    if connection.vendor != "postgresql":
        assert connection.vendor == "sqlite"  # there is no such role
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        for statement in ("DELETE FROM chronicle_event", "UPDATE chronicle_section SET prose = 'x'"):
            with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
                cursor.execute(statement)


@pytest.mark.promise("K18", "S15")
def test_an_anchor_takes_its_stamp_once(log: Log) -> None:
    first, second = Anchor.objects.order_by("from_seq")
    assert Anchor.objects.filter(pk=first.pk).update(rolled_up_into=second) == 1
    for value in ("NULL", str(first.pk)):
        refused(f"UPDATE chronicle_anchor SET rolled_up_into_id = {value} WHERE id = {first.pk}")
    assert Anchor.objects.get(pk=first.pk).rolled_up_into_id == second.pk


@pytest.mark.promise("S11", "K17", "DA11", "A57")
def test_the_schema_itself_refuses_forks_and_overlaps(log: Log) -> None:
    edition = Edition.objects.get()
    section = Section.objects.order_by("pk").first()
    assert section is not None
    words = {"title": "t", "prose": "p", "origin": "drawn", "token_estimate": 1, "made_at": timezone.now()}
    slot = {"edition": edition, "level": 0, "unit_seq": 1, "kind": "unit", "event_count": 1}
    attempts: list[Callable[[], Any]] = [
        lambda: Anchor.objects.create(**slot, from_seq=9, to_seq=3),
        lambda: Anchor.objects.create(**slot, from_seq=0, to_seq=3),
        lambda: Anchor.objects.create(**slot, from_seq=1, to_seq=12),
        lambda: Anchor.objects.create(**slot, from_seq=3, to_seq=8),
        lambda: Anchor.objects.create(**slot, from_seq=6, to_seq=6),
        lambda: Anchor.objects.create(**slot, from_seq=4, to_seq=9),
        lambda: Anchor.objects.create(**{**slot, "kind": "rollup"}, from_seq=9, to_seq=12),
        lambda: Section.objects.create(anchor=section.anchor, generation=1, **words, digest="d"),
        lambda: Section.objects.create(anchor=section.anchor, generation=2, **words, digest="d"),
        lambda: Section.objects.create(
            anchor=section.anchor, generation=2, supersedes=section, **{**words, "prose": ""}, digest="d"
        ),
    ]
    for attempt in attempts:
        with pytest.raises(DatabaseError), transaction.atomic():
            attempt()
    Section.objects.create(anchor=section.anchor, generation=2, supersedes=section, **words, digest="d")
    with pytest.raises(DatabaseError), transaction.atomic():
        Section.objects.create(anchor=section.anchor, generation=3, supersedes=section, **words, digest="d")
    Anchor.objects.create(**slot, from_seq=9, to_seq=12)


@pytest.mark.promise("A55", "K18", "C54")
def test_the_orm_refuses_first(log: Log) -> None:
    event, anchor = Event.objects.first(), Anchor.objects.first()
    assert event is not None
    assert anchor is not None
    attempts: list[Callable[[], Any]] = [
        event.save,
        event.delete,
        Event.objects.all().delete,
        lambda: Event.objects.update(content="x"),
        lambda: Event.objects.bulk_update([event], ["content"]),
        Anchor.objects.all().delete,
        lambda: Anchor.objects.update(to_seq=1),
        lambda: Anchor.objects.bulk_update([anchor], ["to_seq"]),
    ]
    for attempt in attempts:
        with pytest.raises(AppendOnly):
            attempt()


@pytest.mark.promise("K18")
def test_a_missing_or_disarmed_trigger_is_noticed_and_installed_again_after_a_migration(log: Log) -> None:
    assert append_only.missing(connection) == []
    name = "protect_chronicle_event_update"
    with connection.cursor() as cursor:
        on = " ON chronicle_event" if connection.vendor == "postgresql" else ""
        cursor.execute(f"DROP TRIGGER {name}{on}")
    assert append_only.missing(connection) == [name]
    call_command("migrate", verbosity=0)
    assert append_only.missing(connection) == []
    refused("UPDATE chronicle_event SET content = 'x'")
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE chronicle_event DISABLE TRIGGER {name}")
        assert append_only.missing(connection) == [name]


@pytest.mark.promise("K18")
def test_every_canonical_table_is_protected() -> None:
    free = {"FoldPosition", "UnitFailure", "PinScratch", "Job", "Heartbeat", "Token", "Grant"}
    names = {model.__name__ for model in apps.get_app_config("chronicle").get_models()}
    assert names - set(append_only.RECORDS) - set(append_only.CHANGES) == free
