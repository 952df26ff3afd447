"""`mcp`: what is refused before the protocol begins; the protocol itself is tested in tests/mcp."""

import socket
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from chronicle import credentials
from tests.builders import log_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def token_key(settings: Any) -> None:
    settings.TOKEN_KEY = "a key for tokens, for the time of a test"


def refusal(*words: str) -> str:
    out = StringIO()
    with pytest.raises(CommandError) as refused:
        call_command("mcp", *words, stdout=out)
    assert refused.value.returncode == 2 and not out.getvalue()
    return str(refused.value)


@pytest.mark.promise("K6")
def test_what_cannot_be_read_is_said_in_one_sentence_before_the_protocol_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(token: str, name: str) -> str:
        monkeypatch.setenv("CHRONICLE_TOKEN", token)
        return refusal("--log", name)

    log = log_of(3).public_id
    stranger = credentials.make("eve", owner="mallory", can=["admin"], by="test").token
    recorder = credentials.make("bar", owner="demo", can=["record"], by="test").token

    assert refused("", log).startswith("Give a token")
    assert refused("wrong", log) == "This token is not known here."
    assert "may not read" in refused(recorder, log)
    assert refused(stranger, log) == refused(stranger, "nowhere") == "There is no log with this id."


def test_a_log_or_http_must_be_chosen() -> None:
    assert refusal() == refusal("--http", "--log", "x")
    assert "CHRONICLE_TOKEN" in refusal()


def test_a_busy_port_is_refused_with_the_way_out() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert f"port {port}" in refusal("--http", "--port", port)
