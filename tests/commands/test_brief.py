"""`brief`: the exact text on stdout, and a receipt."""

import json
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from chronicle import canonical
from chronicle.fold import consolidate
from chronicle.models import Log, Receipt
from tests.builders import units_of
from tests.summarisers import Noting

pytestmark = pytest.mark.django_db


@pytest.fixture
def log() -> Log:
    log = units_of(3)
    consolidate(log, summariser=Noting())
    return log


@pytest.mark.promise("K44")
def test_it_prints_the_exact_text_and_leaves_a_receipt(log: Log, capsys: Any) -> None:
    call_command("brief", log.public_id, "--upto", "5", "--reader", "booking")
    text = capsys.readouterr().out
    receipt = Receipt.objects.get()
    assert canonical.sha256(text.encode()) == receipt.text_digest
    assert (receipt.reader, receipt.upto_seq) == ("booking", 5)


def test_as_json_it_says_what_the_text_was_made_of(log: Log, capsys: Any) -> None:
    call_command("brief", log.public_id, "--budget", "90", "--json")
    answer = json.loads(capsys.readouterr().out)
    assert answer["tokens"] <= 90
    assert (answer["bounds"], answer["receipt"], answer["upto_seq"]) == ("all", 1, 6)
    assert [part["id"] for part in answer["sections"]] == ["1-2", "3-4", "5-6"]
    assert answer["tail"] == {"from_seq": 7, "to_seq": 6, "events": 0, "withheld": 0}
    assert canonical.sha256(answer["text"].encode()) == answer["digest"]


@pytest.mark.parametrize(
    "wrong",
    [
        ["--upto", "7"],
        ["--upto", "0"],
        ["--budget", "0"],
        ["--budget", "-5"],
        ["--budget", "9" * 20],
        ["--budget", "10000001"],
    ],
)
def test_what_cannot_be_asked_is_wrong_use_and_leaves_no_receipt(log: Log, wrong: list[str]) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("brief", log.public_id, *wrong)
    assert refused.value.returncode == 2
    assert not Receipt.objects.exists()
