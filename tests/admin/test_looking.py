"""The admin: every table is there to look at; records cannot be added, changed or deleted by any request."""

from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from chronicle.models import Event, Grant, Log
from tests.builders import log_of

pytestmark = pytest.mark.django_db

MODELS = sorted(apps.get_app_config("chronicle").get_models(), key=lambda model: model.__name__)
LOOKED_AT = [model for model in MODELS if model is not Grant]
ADDED = {"Policy", "Prompt"}


def address(model: type[Model], page: str, *args: Any) -> str:
    return reverse(f"admin:chronicle_{model._meta.model_name}_{page}", args=args)


def first(model: type[Model]) -> Any:
    return model._base_manager.order_by("pk")[0]


def test_every_table_of_the_project_is_in_the_admin_and_none_of_the_task_cluster() -> None:
    labels = {model._meta.app_label for model in admin.site._registry}
    assert set(MODELS) <= set(admin.site._registry)
    assert labels == {"auth", "chronicle"}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_table_can_be_listed_and_its_row_opened(
    client: Client, root: User, everything: Log, model: type[Model]
) -> None:
    listed = client.get(address(model, "changelist"))
    opened = client.get(address(model, "change", first(model).pk))
    assert (listed.status_code, opened.status_code) == (200, 200)
    assert address(model, "change", first(model).pk) in listed.content.decode()


@pytest.mark.parametrize("model", LOOKED_AT, ids=lambda model: model.__name__)
def test_no_forged_request_adds_changes_or_deletes_a_record(
    client: Client, root: User, everything: Log, model: type[Model], digest: Callable[[], str]
) -> None:
    row, before = first(model), digest()
    data = {field.name: "1" for field in model._meta.fields}
    addresses = [address(model, "change", row.pk), address(model, "delete", row.pk)]
    if model.__name__ not in ADDED:
        addresses.append(address(model, "add"))
    for target in addresses:
        assert client.post(target, {**data, "_save": "1", "post": "yes"}).status_code == 403
    mass = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    answer = client.post(address(model, "changelist"), mass)
    expected = (
        302 if model.__name__ in {"Job", "Section", "Token", "UnitFailure"} else 403
    )  # these have actions; it is none of them
    assert answer.status_code == expected
    edited = {"form-TOTAL_FORMS": 1, "form-INITIAL_FORMS": 1, "form-0-id": row.pk, "_save": "1"}
    assert client.post(address(model, "changelist"), edited).status_code in {403, 200}
    assert digest() == before


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_list_takes_at_most_eight_queries(
    client: Client, root: User, everything: Log, model: type[Model], django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(8):
        client.get(address(model, "changelist"))


def test_a_list_of_events_asks_as_often_for_thirty_as_for_one(
    client: Client, root: User, django_assert_num_queries: Any
) -> None:
    log_of(1)
    with django_assert_num_queries(4):
        client.get(address(Event, "changelist"))
    log_of(30)
    with django_assert_num_queries(4):
        client.get(address(Event, "changelist"))


def test_an_event_is_found_by_the_id_of_its_log(client: Client, root: User, log: Log) -> None:
    other = log_of(2, owner="bob")
    page = client.get(address(Event, "changelist"), {"q": other.public_id}).content.decode()
    assert page.count(f"{other.public_id} / ") == 2
    assert f"{log.public_id} / " not in page


def test_what_cannot_be_seen_in_a_text_stands_as_a_mark_and_nothing_of_it_is_markup(client: Client, root: User) -> None:
    log = log_of(1, title="\u202egnp.exe <script>alert(1)</script> \x1b[31m")
    listed = client.get(address(Log, "changelist")).content.decode()
    opened = client.get(address(Log, "change", log.pk)).content.decode()
    for page in (listed, opened):
        assert "[U+202E]" in page
        assert "␛" in page
        assert "\u202e" not in page
        assert "<script>alert" not in page


def test_staff_without_a_grant_see_no_row_of_a_log(client: Client, log: Log) -> None:
    charlie = User.objects.create_user("charlie", is_staff=True)
    charlie.user_permissions.set(Permission.objects.filter(content_type__app_label="chronicle"))
    client.force_login(charlie)
    event = log.events.order_by("seq")[0]
    assert log.public_id not in client.get(address(Log, "changelist")).content.decode()
    assert log.public_id not in client.get(address(Event, "changelist")).content.decode()
    absent = client.get(address(Event, "change", 10**9))
    hidden = client.get(address(Event, "change", event.pk))
    assert (hidden.status_code, hidden["Location"]) == (absent.status_code, absent["Location"])
    Grant.objects.create(user=charlie, owner="alice")
    assert log.public_id in client.get(address(Event, "changelist")).content.decode()


def test_staff_without_the_permission_are_refused(client: Client, log: Log) -> None:
    client.force_login(User.objects.create_user("charlie", is_staff=True))
    assert client.get(address(Log, "changelist")).status_code == 403


def test_a_person_who_is_not_staff_is_sent_to_sign_in(client: Client, log: Log) -> None:
    client.force_login(User.objects.create_user("charlie"))
    assert client.get(address(Log, "changelist"))["Location"].startswith("/admin/login/")
