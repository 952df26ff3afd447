"""`token`: made once, printed once, revoked."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from chronicle import credentials
from chronicle.errors import Unauthorized
from chronicle.models import AuditEntry, Token

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def token_key(settings: Any) -> None:
    settings.TOKEN_KEY = "a key for tokens, for the time of a test"


def run(*words: str) -> str:
    out = StringIO()
    call_command("token", *words, stdout=out)
    return out.getvalue()


def test_a_token_is_printed_once_and_kept_as_a_hash() -> None:
    printed = run("bar", "--owner", "alice", "--can", "record,read").strip()
    row = Token.objects.get()

    assert printed.startswith("chronicle_")
    assert printed.split("_")[1] == row.prefix
    assert printed.split("_")[2] not in json.dumps([row.hash, row.prefix, row.name])
    assert credentials.authenticate(printed).can == {"record", "read"}
    assert printed.split("_")[2] not in "".join(AuditEntry.objects.values_list("details", flat=True))


def test_with_json_it_is_one_object() -> None:
    made = json.loads(run("bar", "--owner", "alice", "--can", "expand", "--days", "7", "--json"))

    assert credentials.authenticate(made["token"]).can == {"expand", "read"}
    assert made["expires_at"]


def test_a_token_is_revoked_by_its_prefix_and_both_are_in_the_audit_trail() -> None:
    made = json.loads(run("bar", "--owner", "alice", "--can", "admin", "--json"))
    assert "revoked" in run("--revoke", made["prefix"])
    assert "revoked" in run("--revoke", made["token"])

    with pytest.raises(Unauthorized):
        credentials.authenticate(made["token"])
    assert list(AuditEntry.objects.order_by("pk").values_list("what", flat=True)) == ["token.made", "token.revoked"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bar", "--owner", "alice", "--can", "fly"], "there are record, read, expand, admin"),
        (["bar", "--owner", "alice", "--can", ","], "give one or more"),
        (["bar", "--owner", " ", "--can", "read"], "owner"),
        (["bar", "--owner", "alice", "--can", "read", "--days", "0"], "from 1 to"),
        (["b\x1bar", "--owner", "alice", "--can", "read"], "printable"),
        (["bar"], "--owner and --can"),
        (["--revoke", "nothing"], "no token"),
        (["bar", "--revoke", "x"], "nothing else"),
    ],
)
def test_what_cannot_be_made_is_refused_with_the_way_out(words: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said) as refused:
        run(*words)
    assert refused.value.returncode == 2
    assert not Token.objects.exists()
