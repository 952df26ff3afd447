"""Where a model may be asked."""

import pytest

from chronicle.errors import DrawFailed
from chronicle.summarisers.addresses import check_address
from chronicle.summarisers.model import ModelSummariser, Settings
from chronicle.summarisers.protocol import Said, Span

REFUSED = [
    "http://169.254.169.254/latest",
    "http://2852039166/v1",
    "http://0xA9FEA9FE/v1",
    "http://0251.0376.0251.0376/v1",
    "http://169.254.170.2/v1",
    "http://[::ffff:169.254.169.254]/v1",
    "http://[fe80::1]/v1",
    "http://[fd00:ec2::254]/v1",
    "http://100.100.100.200/v1",
    "http://168.63.129.16/v1",
    "http://metadata.google.internal/v1",
    "http://0.0.0.0/v1",
    "http://[::]/v1",
    "http://224.0.0.1/v1",
    "http://user:sk-never@127.0.0.1/v1",
    "file:///etc/passwd",
    "gopher://127.0.0.1/",
    "https:///v1",
    "http://127.0.0.1:99999/v1",
    "http://[::1/v1",
    "no address",
]


@pytest.mark.parametrize("url", REFUSED)
def test_an_address_on_the_link_or_of_a_clouds_metadata_is_refused_in_every_form(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    with pytest.raises(DrawFailed, match="The address of the model") as refused:
        check_address(url)
    assert url not in str(refused.value) and "sk-never" not in str(refused.value)
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never")
    with pytest.raises(DrawFailed) as failed:
        ModelSummariser("openai-chat:x", settings=Settings(retries=0)).section(
            Span((Said("message", "human", "Ana", "x"),))
        )
    assert "sk-never" not in str(failed.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/v1", "http://[::1]/v1", "http://10.0.0.7/v1"])
def test_a_server_of_ones_own_is_allowed(url: str) -> None:
    check_address(url)


def test_a_name_that_leads_to_the_metadata_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("169.254.169.254", 0))])
    with pytest.raises(DrawFailed, match="refused"):
        check_address("https://models.example.org/v1")
