"""Findings, sign-offs and the audit trail, to look at; tokens likewise; grants, to manage."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from chronicle import audit, credentials
from chronicle.admin.looking import LookOnly, Marked, ModelForm, superuser, text
from chronicle.models import AuditEntry, Finding, Grant, SignOff, Token


@admin.register(Finding)
class FindingAdmin(LookOnly):
    log_path = "section__anchor__edition__log"
    list_display = ("section", text("reviewer"), text("words"), "at")
    ordering = ("-pk",)
    list_select_related = ("section__anchor",)


@admin.register(SignOff)
class SignOffAdmin(LookOnly):
    log_path = "section__anchor__edition__log"
    list_display = ("section", "verdict", text("reviewer"), "at")
    ordering = ("-pk",)
    list_select_related = ("section__anchor",)


@admin.register(AuditEntry)
class AuditEntryAdmin(LookOnly):
    list_display = ("at", text("who"), "what", text("target"))
    list_filter = ("what",)
    search_fields = ("=who", "=what", "target")
    ordering = ("-pk",)


@admin.register(Token)
class TokenAdmin(LookOnly):
    """Tokens, never their secrets. They are made by the command and revoked there or here."""

    hidden = ("hash",)
    list_display = (text("name"), text("owner"), "prefix", "capabilities", "expires_at", "revoked_at")
    ordering = ("-pk",)
    actions: Any = ("revoke",)

    @admin.action(description="Revoke the tokens selected")
    def revoke(self, request: HttpRequest, queryset: QuerySet[Token]) -> None:
        if not superuser(request.user):
            raise PermissionDenied
        held = queryset.filter(revoked_at=None)
        revoked = [credentials.revoke(prefix, by=request.user.get_username()) for prefix in _prefixes(held)]
        self.message_user(request, f"Revoked: {len(revoked)} of {queryset.count()} selected.")


def _prefixes(tokens: QuerySet[Token]) -> list[str]:
    return list(tokens.values_list("prefix", flat=True))


class GrantForm(ModelForm):
    class Meta:
        model = Grant
        fields = ("user", "group", "owner")

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if bool(given.get("user")) == bool(given.get("group")):
            raise forms.ValidationError("A grant is for a user or for a group: give one of the two.")
        return given


@admin.register(Grant)
class GrantAdmin(Marked):
    """Who may see the logs of which owner. Every change is written into the audit trail."""

    form = GrantForm
    list_display = ("__str__", "user", "group", text("owner"))
    list_filter = ("owner",)
    search_fields = ("owner", "user__username", "group__name")
    autocomplete_fields = ("user", "group")
    ordering = ("owner", "pk")
    list_select_related = ("user", "group")

    @transaction.atomic
    def save_model(self, request: HttpRequest, obj: Grant, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        _audit(request, "grant.changed" if change else "grant.made", obj)

    @transaction.atomic
    def delete_model(self, request: HttpRequest, obj: Grant) -> None:
        _audit(request, "grant.removed", obj)
        super().delete_model(request, obj)

    @transaction.atomic
    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Grant]) -> None:
        for grant in queryset.select_related("user", "group"):
            _audit(request, "grant.removed", grant)
        super().delete_queryset(request, queryset)


def _audit(request: HttpRequest, what: str, grant: Grant) -> None:
    to = {"user": grant.user.get_username()} if grant.user else {"group": grant.group.name if grant.group else ""}
    audit.record(request.user.get_username(), what, f"owner {grant.owner}", grant=grant.pk, **to)
