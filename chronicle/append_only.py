"""Append-only as a fact of the database: triggers on SQLite and PostgreSQL, and refusal in the ORM.

Guarantees: no UPDATE, DELETE, TRUNCATE, upsert or INSERT OR REPLACE changes a record, whoever holds
the connection (PostgreSQL's replica role included); an anchor only takes its stamp, once; an edition
only changes its state; a log's id and owner stay and its last_seq only grows; ranges of one level do
not overlap. `install` is run after every migration, since SQLite drops triggers with a rebuilt table.
Does not stop who may drop triggers: that is what digests and `verify` are for.
"""

from __future__ import annotations

from typing import Any, NoReturn

from django.apps import apps
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from chronicle.errors import AppendOnly

# What may still change, as a condition on NEW and OLD that refuses the rest.
RECORDS = (
    "Attachment",
    "AuditEntry",
    "Event",
    "Finding",
    "Pin",
    "Policy",
    "Prompt",
    "Receipt",
    "ReceiptPart",
    "RollupSource",
    "Section",
    "SectionPin",
    "SignOff",
    "Source",
)
CHANGES = {
    "Anchor": {"rolled_up_into_id"},
    "Edition": {"state"},
    "Log": {"title", "last_seq", "head", "last_activity_at"},
}
EXTRA_REFUSAL = {
    "Anchor": "OLD.rolled_up_into_id IS NOT NULL OR NEW.rolled_up_into_id IS NULL",
    "Edition": "OLD.state = 'archived' OR NEW.state = 'building'",
    "Log": "NEW.last_seq < OLD.last_seq OR NEW.last_activity_at < OLD.last_activity_at",
}
# A partial unique constraint replaces a row only where its condition holds.
CONDITIONS = {
    "edition_one_current": "NEW.state = 'current' AND state = 'current'",
    "event_key_once": "NEW.idempotency_key IS NOT NULL",
    "log_one_per_ingested_session": "NEW.source_session <> ''",
}


class RecordQuerySet[M: models.Model](models.QuerySet[M]):
    """Refuses every bulk change; the database would too, later and less clearly."""

    def update(self, **_: Any) -> NoReturn:
        _refuse(self.model)

    def delete(self) -> NoReturn:
        _refuse(self.model)

    def bulk_update(self, *_: Any, **__: Any) -> NoReturn:
        _refuse(self.model)


class AnchorQuerySet[M: models.Model](models.QuerySet[M]):
    """Lets `rolled_up_into` through and nothing else."""

    def update(self, **changes: Any) -> int:
        if set(changes) != {"rolled_up_into"}:
            _refuse(self.model)
        return super().update(**changes)

    def delete(self) -> NoReturn:
        _refuse(self.model)

    def bulk_update(self, *_: Any, **__: Any) -> NoReturn:
        _refuse(self.model)


class Record(models.Model):
    """A row that is written once."""

    objects = models.Manager.from_queryset(RecordQuerySet)()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            _refuse(type(self))
        super().save(*args, **kwargs)

    def delete(self, *_: Any, **__: Any) -> NoReturn:
        _refuse(type(self))


def _refuse(model: type[models.Model]) -> NoReturn:
    raise AppendOnly(f"{model._meta.verbose_name} rows are never changed or deleted; write a new one instead.")


def install(connection: BaseDatabaseWrapper) -> None:
    """Create every trigger anew (idempotent). Call it after any migration."""
    drop(connection)
    with connection.cursor() as cursor:
        if set(_tables()) <= set(connection.introspection.table_names(cursor)):  # not there while migrating back
            for statement in _statements(connection.vendor):
                cursor.execute(statement)


def drop(connection: BaseDatabaseWrapper) -> None:
    """Remove the triggers. For migrations and for the clean-up of tests only."""
    with connection.cursor() as cursor:
        for name, table in installed(connection).items():
            on = f' ON "{table}"' if connection.vendor == "postgresql" else ""
            cursor.execute(f'DROP TRIGGER IF EXISTS "{name}"{on}')


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """Return the names of triggers that should be there and are not, or (PostgreSQL) are not enabled always.

    Tables that no migration has made yet are not asked for.
    """
    there = set(connection.introspection.table_names())
    return sorted(expected(connection.vendor, there) - set(installed(connection, armed=True)))


def expected(vendor: str, tables: set[str]) -> set[str]:
    """Return the names of the triggers that `install` makes on these tables."""
    per_table = ("insert", "update", "delete") if vendor == "sqlite" else ("update", "delete", "truncate")
    names = {f"protect_{table}_{operation}" for table in tables & set(_tables()) for operation in per_table}
    return names | (
        {"protect_chronicle_anchor_overlap"} if vendor == "sqlite" and "chronicle_anchor" in tables else set()
    )


def installed(connection: BaseDatabaseWrapper, *, armed: bool = False) -> dict[str, str]:
    """Return {trigger name: table} of what stands in the database; `armed` leaves out disabled ones."""
    if connection.vendor == "sqlite":
        query = "SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'protect!_%' ESCAPE '!'"
    else:
        query = (
            "SELECT t.tgname, c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
            " JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE t.tgname LIKE 'protect!_%' ESCAPE '!' AND n.nspname = ANY (current_schemas(false))"
        )
        query += " AND t.tgenabled = 'A'" if armed else ""
    with connection.cursor() as cursor:
        cursor.execute(query)
        return {str(name): str(table) for name, table in cursor.fetchall()}


def _tables() -> dict[str, type[models.Model]]:
    return {
        model._meta.db_table: model
        for model in apps.get_app_config("chronicle").get_models()
        if model.__name__ in RECORDS or model.__name__ in CHANGES
    }


def _statements(vendor: str) -> list[str]:
    make = _sqlite if vendor == "sqlite" else _postgresql
    ahead = [] if vendor == "sqlite" else [_POSTGRESQL_REFUSE, _POSTGRESQL_EXCLUDE]
    return ahead + [statement for table, model in _tables().items() for statement in make(table, model)]


def _refused_change(model: type[models.Model]) -> str:
    """Return SQL that is true for an UPDATE that must not happen."""
    allowed = CHANGES.get(model.__name__)
    if allowed is None:
        return "TRUE"
    fixed = [field.column for field in model._meta.concrete_fields if field.column not in allowed]
    parts = [f'NEW."{column}" IS NOT OLD."{column}"' for column in fixed]
    return " OR ".join([*parts, EXTRA_REFUSAL[model.__name__]])


def _replaces(model: type[models.Model]) -> str:
    """Return SQL that is true when an INSERT would meet a row that OR REPLACE removes."""
    keys: list[tuple[list[str], str]] = [
        ([field.column], "") for field in model._meta.concrete_fields if field.unique and field.column
    ]
    for constraint in model._meta.constraints:
        if isinstance(constraint, models.UniqueConstraint):
            columns = [str(model._meta.get_field(name).column) for name in constraint.fields]  # type: ignore[union-attr]
            keys.append((columns, CONDITIONS[constraint.name] if constraint.condition else ""))
    wheres = [
        " AND ".join([f'"{column}" = NEW."{column}"' for column in columns] + ([condition] if condition else []))
        for columns, condition in keys
    ]
    table = model._meta.db_table
    return " OR ".join(f'EXISTS (SELECT 1 FROM "{table}" WHERE {where})' for where in wheres)


def _sqlite(table: str, model: type[models.Model]) -> list[str]:
    refuse = f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
    made = [
        f'CREATE TRIGGER "protect_{table}_insert" BEFORE INSERT ON "{table}" WHEN {_replaces(model)} {refuse}',
        f'CREATE TRIGGER "protect_{table}_update" BEFORE UPDATE ON "{table}" WHEN {_refused_change(model)} {refuse}',
        f'CREATE TRIGGER "protect_{table}_delete" BEFORE DELETE ON "{table}" {refuse}',
    ]
    return [*made, _SQLITE_OVERLAP] if model.__name__ == "Anchor" else made


def _postgresql(table: str, model: type[models.Model]) -> list[str]:
    when = _refused_change(model).replace(" IS NOT OLD.", " IS DISTINCT FROM OLD.")
    call = f"EXECUTE FUNCTION chronicle_refuse('{table}')"
    return [
        f'CREATE TRIGGER "protect_{table}_update" BEFORE UPDATE ON "{table}" FOR EACH ROW WHEN ({when}) {call}',
        f'CREATE TRIGGER "protect_{table}_delete" BEFORE DELETE ON "{table}" FOR EACH ROW {call}',
        f'CREATE TRIGGER "protect_{table}_truncate" BEFORE TRUNCATE ON "{table}" FOR EACH STATEMENT {call}',
        *(
            f'ALTER TABLE "{table}" ENABLE ALWAYS TRIGGER "protect_{table}_{operation}"'
            for operation in ("update", "delete", "truncate")
        ),
    ]


# Stored ranges never overlap, so the one that starts last at or before NEW.to_seq also ends last.
_SQLITE_OVERLAP = """
CREATE TRIGGER "protect_chronicle_anchor_overlap" BEFORE INSERT ON "chronicle_anchor"
WHEN (SELECT to_seq FROM chronicle_anchor WHERE edition_id = NEW.edition_id AND level = NEW.level
      AND from_seq <= NEW.to_seq ORDER BY from_seq DESC LIMIT 1) >= NEW.from_seq
BEGIN SELECT RAISE(ABORT, 'chronicle_anchor is append-only: ranges of one level may not overlap'); END
"""
_POSTGRESQL_REFUSE = """
CREATE OR REPLACE FUNCTION chronicle_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
END $$
"""
_POSTGRESQL_EXCLUDE = """
DO $$ BEGIN
  CREATE EXTENSION IF NOT EXISTS btree_gist;
  IF NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conname = 'anchor_no_overlap'
                 AND conrelid = 'chronicle_anchor'::regclass) THEN
    ALTER TABLE chronicle_anchor ADD CONSTRAINT anchor_no_overlap EXCLUDE USING gist
      (edition_id WITH =, level WITH =, int8range(from_seq, to_seq, '[]') WITH &&);
  END IF;
END $$
"""
