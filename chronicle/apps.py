"""The application: triggers and schedules are installed after every migration, from here alone."""

from django.apps import AppConfig


class ChronicleConfig(AppConfig):
    name = "chronicle"
    default_auto_field = "django.db.models.BigAutoField"
