"""The log and what it is made of, in the admin: to look at."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from chronicle.admin.looking import LookOnly, text
from chronicle.models import Attachment, Event, FoldPosition, Log, Pin, PinScratch, Source


@admin.register(Log)
class LogAdmin(LookOnly):
    log_path = "pk"
    list_display = (
        text("public_id", label="id"),
        text("title"),
        text("owner"),
        "source",
        "last_seq",
        "last_activity_at",
    )
    search_fields = ("public_id", "title", "owner")
    ordering = ("-last_activity_at", "-pk")


@admin.register(Event)
class EventAdmin(LookOnly):
    log_path = "log"
    list_display = ("place", "kind", "actor_kind", text("actor"), "type", "at", "size")
    list_filter = ("kind", "actor_kind")
    search_fields = ("=log__public_id", "=event_id", "=actor", "=correlation")
    search_help_text = (
        "The exact id of a log, an event or a call, or an actor. To find words, use the pages of the site."
    )
    ordering = ("-pk",)
    list_select_related = ("log",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        return rows if _one(request) else rows.defer("content", "payload")

    @admin.display(description="event", ordering="pk")
    def place(self, event: Event) -> str:
        return f"{event.log.public_id} / {event.seq}"


def _one(request: HttpRequest) -> bool:
    return bool(request.resolver_match and request.resolver_match.kwargs.get("object_id"))


@admin.register(Source)
class SourceAdmin(LookOnly):
    list_display = (text("name"), "format", "size", "ingested_at")
    search_fields = ("name", "=digest")
    ordering = ("-pk",)


@admin.register(Attachment)
class AttachmentAdmin(LookOnly):
    list_display = ("digest", text("media_type"), "size")
    search_fields = ("=digest",)
    ordering = ("-pk",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer("data")


@admin.register(Pin)
class PinAdmin(LookOnly):
    log_path = "log"
    list_display = (text("key"), text("public_id", of="log", label="log"), text("kind"), "attempts", text("unit"))
    search_fields = ("=key", "=log__public_id")
    ordering = ("-pk",)
    list_select_related = ("log",)


@admin.register(PinScratch)
class PinScratchAdmin(LookOnly):
    log_path = "log"
    list_display = (
        text("key"),
        text("public_id", of="log", label="log"),
        text("kind"),
        "attempts",
        text("unit"),
        "made_at",
    )
    ordering = ("-pk",)
    list_select_related = ("log",)


@admin.register(FoldPosition)
class FoldPositionAdmin(LookOnly):
    log_path = "log"
    list_display = (text("public_id", of="log", label="log"), "fold", "seq")
    ordering = ("-pk",)
    list_select_related = ("log",)
