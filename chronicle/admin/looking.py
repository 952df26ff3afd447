"""How a record is looked at in the admin.

Guarantees: no adding, changing or deleting, whatever a request claims (403); text is escaped, what
could not be seen in it is marked, and what is cut says its whole length.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db.models import BinaryField, CharField, Field, JSONField, Model, QuerySet, TextField
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html

from chronicle.access import visible_logs
from chronicle.templatetags.recorded import visible
from chronicle.unseen import UNSEEN, mark_of

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
    ModelForm = forms.ModelForm[Any]
else:  # they take no parameter at run time
    ModelAdmin, ModelForm = admin.ModelAdmin, forms.ModelForm

CUT = 20_000
Shown = Callable[[Any], Any]


def text(name: str, *, label: str = "", of: str = "") -> Shown:
    """Return a column or field that shows the text of `name` (`of` leads to the row that has it) with marks."""

    @admin.display(description=label or name.replace("_", " "), ordering=f"{of}__{name}" if of else name)
    def show(row: Any) -> str:
        for step in of.split("__") if of else ():
            row = getattr(row, step)
        return whole(str(getattr(row, name)))

    show.__name__ = f"shown_{of}_{name}" if of else f"shown_{name}"
    return show


def whole(words: str) -> str:
    """Return text with marks for what cannot be seen; past CUT characters, with its length in place of the rest."""
    if len(words) <= CUT:
        return visible(words)
    return format_html(
        "{} … {} of {} characters; the whole is on the site's own page", visible(words[:CUT]), CUT, len(words)
    )


class Marked(ModelAdmin):
    """Pages on which what cannot be seen in a text stands as its mark; the values of fields are left alone."""

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return _marked(super().changelist_view(request, extra_context))

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        return _marked(super().changeform_view(request, *args, **kwargs))

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        return _marked(super().delete_view(request, *args, **kwargs))

    def history_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return _marked(super().history_view(request, *args, **kwargs))


_VALUE_OR_UNSEEN = re.compile(rf'value="[^"]*"|{UNSEEN.pattern}')


def _marked(response: HttpResponse) -> HttpResponse:
    if isinstance(response, TemplateResponse):
        response.add_post_render_callback(_mark)
    return response


def _mark(response: HttpResponse) -> None:
    page = response.content.decode()
    response.content = _VALUE_OR_UNSEEN.sub(lambda found: found[0] if len(found[0]) > 1 else mark_of(found[0]), page)


class LookOnly(Marked):
    """A model that is looked at. `log_path` leads from a row to its log; without one it is for superusers."""

    log_path: ClassVar[str | None] = None
    hidden: ClassVar[Sequence[str]] = ()
    actions = None
    list_per_page = 50
    show_full_result_count = False
    list_display: Any = ("__str__",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return super().has_view_permission(request, obj) and (self.log_path is not None or superuser(request.user))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        if self.log_path is None or superuser(request.user):
            return rows
        return rows.filter(**{f"{self.log_path}__in": visible_logs(request.user)})

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        fields = (field for field in self.opts.fields if field.name not in self.hidden)
        return [_field(field) for field in fields if not isinstance(field, BinaryField)]

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return self.get_fields(request, obj)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        if request.method not in ("GET", "HEAD") and not self.get_actions(request):
            raise PermissionDenied
        return super().changelist_view(request, extra_context)


def _field(field: Any) -> Any:
    plain = isinstance(field, Field) and not isinstance(field, CharField | TextField | JSONField)
    return field.name if plain or field.choices else text(field.name, label=str(field.verbose_name))


def superuser(user: AbstractBaseUser | AnonymousUser) -> bool:
    return bool(getattr(user, "is_active", False) and getattr(user, "is_superuser", False))
