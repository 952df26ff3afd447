"""Tokens in the admin: listed, revoked, their secrets never shown."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chronicle import credentials
from chronicle.models import AuditEntry, Token

pytestmark = pytest.mark.django_db
LIST = reverse("admin:chronicle_token_changelist")


@pytest.fixture
def made(settings: Any) -> credentials.Made:
    settings.TOKEN_KEY = "a key for tokens, for the time of a test"
    return credentials.make("booking", owner="alice", can=["read"], by="test")


@pytest.fixture
def root(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("root"))
    return client


def test_a_token_is_listed_and_its_secret_is_nowhere(root: Client, made: credentials.Made) -> None:
    one = reverse("admin:chronicle_token_change", args=[made.row.pk])
    for page in (root.get(LIST).content.decode(), root.get(one).content.decode()):
        assert made.row.prefix in page
        assert made.row.hash not in page
        assert made.token.split("_")[2] not in page


def test_a_token_is_revoked_once_and_by_whom_is_kept(root: Client, made: credentials.Made) -> None:
    for _ in range(2):
        root.post(LIST, {"action": "revoke", "_selected_action": [made.row.pk]})

    assert Token.objects.get().revoked_at is not None
    assert list(AuditEntry.objects.filter(what="token.revoked").values_list("who", flat=True)) == ["root"]


def test_staff_alone_revoke_nothing(client: Client, made: credentials.Made) -> None:
    client.force_login(User.objects.create_user("staff", is_staff=True))
    assert client.post(LIST, {"action": "revoke", "_selected_action": [made.row.pk]}).status_code == 403
    assert Token.objects.get().revoked_at is None
