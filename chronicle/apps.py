"""The application: triggers, the search index and schedules are installed after every migration, from here alone."""

from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.models.signals import post_migrate


class ChronicleConfig(AppConfig):
    name = "chronicle"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from chronicle import checks, handlers

        checks.install()
        handlers.install()
        post_migrate.connect(after_migrate, sender=self)


def after_migrate(using: str, **_: Any) -> None:
    """Install what a migration may have dropped, the triggers and the index, and put the schedule in place."""
    from chronicle import append_only, full_text, tasks

    append_only.install(connections[using])
    full_text.install(connections[using])
    tasks.schedule(using)
