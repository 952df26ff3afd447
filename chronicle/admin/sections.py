"""Editions, anchors, sections, what rollups read, receipts: to look at. Policies may also be added,
and a unit that failed often enough be closed without summary, after a question."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from chronicle import audit, fold, policies, prompts
from chronicle.admin.looking import LookOnly, ModelForm, superuser, text
from chronicle.errors import ChronicleError, InvalidPolicy
from chronicle.models import (
    Anchor,
    Edition,
    Log,
    Policy,
    Prompt,
    Receipt,
    ReceiptPart,
    RollupSource,
    SectionPin,
    UnitFailure,
)
from chronicle.summarisers.model import BUILT_IN

OPTIONAL = {"log", "interval_tokens", "summariser", "model", "prompt"}


class PolicyForm(ModelForm):
    """A new row: its ranges are checked at the door, and nothing is silently corrected."""

    boundary = forms.JSONField(required=False, initial=list, help_text='A list of marker types, each "namespace/type".')
    from_seq = forms.IntegerField(
        required=False, min_value=1, help_text="Empty: from the first event that no section covers yet."
    )

    class Meta:
        model = Policy
        fields = ("log", "from_seq", *policies.VALUES)
        help_texts = {
            "log": "Empty: the default of the site, for logs that have not been consolidated yet.",
            "summariser": "outline or model. Empty: the site's own, SUMMARISER.",
            "model": "provider:name, for the summariser model. Empty: the site's own, MODEL.",
            "prompt": "name/version of a prompt, for the summariser model. Empty: the built-in texts.",
            "story_so_far": "How many sections before it a summariser is given as context. 0: a section depends on"
            " its range alone.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in {"log", "interval_tokens", "summariser", "model", "prompt"} & set(
            self.fields
        ):  # a row looked at has no fields
            self.fields[name].required = False

    def clean_boundary(self) -> Any:
        return self.cleaned_data["boundary"] or []

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        try:
            policies.check({name: given[name] for name in policies.VALUES if name in given})
        except InvalidPolicy as error:
            name = str(error.details.get("field"))
            raise forms.ValidationError({name if name in self.fields else "__all__": str(error)}) from error
        self._check_place(given.get("log"), given.get("from_seq"))
        return given

    def _check_place(self, log: Log | None, from_seq: int | None) -> None:
        if from_seq is None:
            return
        if log is None:
            raise forms.ValidationError({"from_seq": "The default of the site has no seq; leave this empty."})
        if from_seq < (free := policies.first_free(log)):
            raise forms.ValidationError({"from_seq": f"From {free} on: what comes before is decided already."})


@admin.register(Policy)
class PolicyAdmin(LookOnly):
    """Rows may be added by a superuser; none is ever changed."""

    log_path = "log"
    form = PolicyForm
    list_display = (
        "__str__",
        "boundary",
        "interval_messages",
        "rollup_threshold",
        "rollup_batch",
        "summariser",
        "made_by",
        "made_at",
    )
    ordering = ("-pk",)
    list_select_related = ("log",)
    raw_id_fields = ("log",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return superuser(request.user)

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return super().get_fields(request, obj) if obj else PolicyForm.Meta.fields

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return super().get_readonly_fields(request, obj) if obj else ()

    def save_model(self, request: HttpRequest, obj: Policy, form: Any, change: bool) -> None:
        values = {name: form.cleaned_data[name] for name in policies.VALUES}
        who, log = request.user.get_username(), form.cleaned_data["log"]
        if log is None:
            made = policies.set_default(made_by=who, **values)
        else:
            made = policies.set_for(log, made_by=who, from_seq=form.cleaned_data["from_seq"], **values)
        obj.__dict__.update(made.__dict__)
        audit.record(who, "policy.made", log.public_id if log else "default", policy=made.pk, from_seq=made.from_seq)


@admin.register(Edition)
class EditionAdmin(LookOnly):
    log_path = "log"
    list_display = (
        "number",
        text("public_id", of="log", label="log"),
        "state",
        text("made_by"),
        text("reason"),
        "made_at",
    )
    list_filter = ("state",)
    ordering = ("-pk",)
    list_select_related = ("log",)


@admin.register(Anchor)
class AnchorAdmin(LookOnly):
    log_path = "edition__log"
    list_display = ("ref", text("public_id", of="edition__log", label="log"), "kind", "event_count", "rolled_up_into")
    list_filter = ("kind", "level")
    search_fields = ("=edition__log__public_id",)
    ordering = ("-pk",)
    list_select_related = ("edition__log", "rolled_up_into")


class PromptForm(ModelForm):
    """The next version of a name. Blank around a text is kept: its digest is over the text as it stands."""

    class Meta:
        model = Prompt
        fields = ("name", "section", "rollup")
        help_texts = {
            "name": "A policy names a prompt as name/version; this will be the next version of the name.",
            "section": "What a model is asked with for a section.",
            "rollup": "What a model is asked with for a rollup, which reads sections.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, words in zip(("section", "rollup"), BUILT_IN, strict=True):
            if name in self.fields:  # a row looked at has none
                self.fields[name].initial = words
                self.fields[name].strip = False  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        for name in ("section", "rollup"):
            given[name] = given.get(name, "").replace("\r\n", "\n")  # a browser's line ends, not the writer's
        if not self.errors:
            try:
                prompts.check(given["name"], given["section"], given["rollup"])
            except InvalidPolicy as error:
                raise forms.ValidationError({str(error.details["field"]): str(error)}) from error
        return given


@admin.register(Prompt)
class PromptAdmin(LookOnly):
    """Versions may be added by a superuser; none is ever changed."""

    form = PromptForm
    list_display = ("label", text("made_by"), "made_at")
    search_fields = ("name", "=section_digest", "=rollup_digest")
    ordering = ("-pk",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return superuser(request.user)

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return super().get_fields(request, obj) if obj else PromptForm.Meta.fields

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return super().get_readonly_fields(request, obj) if obj else ()

    def save_model(self, request: HttpRequest, obj: Prompt, form: Any, change: bool) -> None:
        who, given = request.user.get_username(), form.cleaned_data
        made = prompts.add(given["name"], given["section"], given["rollup"], who)
        obj.__dict__.update(made.__dict__)
        audit.record(who, "prompt.made", made.label, section=made.section_digest, rollup=made.rollup_digest)


@admin.register(SectionPin)
class SectionPinAdmin(LookOnly):
    log_path = "section__anchor__edition__log"
    list_display = ("key", "section", "position")
    ordering = ("-pk",)
    list_select_related = ("section__anchor",)


@admin.register(RollupSource)
class RollupSourceAdmin(LookOnly):
    log_path = "section__anchor__edition__log"
    list_display = ("section", "position", "source")
    ordering = ("-pk",)
    list_select_related = ("section__anchor", "source__anchor")


@admin.register(UnitFailure)
class UnitFailureAdmin(LookOnly):
    log_path = "edition__log"
    list_display = (
        "__str__",
        text("public_id", of="edition__log", label="log"),
        "attempts",
        text("last_error"),
        "next_try",
    )
    ordering = ("next_try", "pk")
    list_select_related = ("edition__log",)
    actions: Any = ("close_without_summary",)

    @admin.action(description="Close the selected units without summary", permissions=["close"])
    def close_without_summary(self, request: HttpRequest, chosen: QuerySet[UnitFailure]) -> HttpResponse | None:
        if "confirmed" not in request.POST:
            found = {"title": "Close without summary?", "chosen": chosen, "opts": self.opts}
            context = self.admin_site.each_context(request) | found
            return TemplateResponse(request, "admin/close_units.html", context)
        for unit in chosen.select_related("edition__log"):
            try:
                made = fold.close_without_summary(unit, by=request.user.get_username())
            except ChronicleError as refusal:
                self.message_user(request, f"{unit}: {refusal}", messages.ERROR)
            else:
                self.message_user(request, f"{made.ref} is closed without summary.", messages.SUCCESS)
        return None

    def has_close_permission(self, request: HttpRequest) -> bool:
        return superuser(request.user)


@admin.register(Receipt)
class ReceiptAdmin(LookOnly):
    log_path = "log"
    list_display = (
        "number",
        text("public_id", of="log", label="log"),
        text("reader"),
        "upto_seq",
        "token_estimate",
        "at",
    )
    search_fields = ("=log__public_id", "=reader")
    ordering = ("-pk",)
    list_select_related = ("log",)


@admin.register(ReceiptPart)
class ReceiptPartAdmin(LookOnly):
    log_path = "receipt__log"
    list_display = ("receipt", "position", "section", "form")
    ordering = ("-pk",)
    list_select_related = ("receipt", "section__anchor")
