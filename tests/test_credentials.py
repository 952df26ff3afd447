"""Tokens: what is kept, what ends one, and what does not."""

from typing import Any

import pytest

from chronicle import credentials
from chronicle.errors import CapabilityMissing, Unauthorized
from chronicle.models import Token
from tests.conftest import Clock

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def token_key(settings: Any) -> None:
    settings.TOKEN_KEY = "a key for tokens, for the time of a test"


def made(can: str = "read", **given: Any) -> str:
    return credentials.make("booking", owner="alice", can=can.split(","), by="test", **given).token


def test_another_secret_key_ends_no_token_and_another_token_key_ends_all(settings: Any) -> None:
    token = made()
    settings.SECRET_KEY = "another"
    assert credentials.authenticate(token).owner == "alice"

    settings.TOKEN_KEY = "another"
    with pytest.raises(Unauthorized):
        credentials.authenticate(token)


def test_a_token_holds_until_its_day(clock: Clock) -> None:
    token = made(days=1)
    clock.move(hours=23)
    credentials.authenticate(token)
    clock.move(hours=1)
    with pytest.raises(Unauthorized, match="expired"):
        credentials.authenticate(token)


@pytest.mark.parametrize("wrong", ["", "x", "chronicle_", "\udcff", "ü" * 60])
def test_what_is_no_token_is_not_known(wrong: str) -> None:
    with pytest.raises(Unauthorized, match="not known"):
        credentials.authenticate(wrong)


def test_a_right_prefix_with_another_secret_is_not_known() -> None:
    token = made()
    with pytest.raises(Unauthorized, match="not known"):
        credentials.authenticate(token[:-1] + ("a" if token[-1] != "a" else "b"))


@pytest.mark.parametrize(
    ("can", "holds", "capability", "reader"),
    [
        ("record", {"record"}, "record", "booking"),
        ("read", {"read"}, "read", "booking"),
        ("expand", {"read", "expand"}, "expand", "booking"),
        ("admin", {"record", "read", "expand", "admin"}, "admin", None),
    ],
)
def test_a_capability_holds_those_below_it(can: str, holds: set[str], capability: str, reader: str | None) -> None:
    credential = credentials.authenticate(made(can))

    assert credential.can == holds
    assert (credential.capability, credential.reader) == (capability, reader)
    for missing in set(credentials.Capability) - holds:
        with pytest.raises(CapabilityMissing):
            credential.check(missing)


def test_a_capability_that_a_later_version_kept_is_not_held() -> None:
    token = made()
    Token.objects.update(capabilities=["read", "fly"])
    assert credentials.authenticate(token).can == {"read"}
