"""`chronicle`: the agent's tool on a terminal."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from chronicle import canonical
from chronicle.fold import consolidate
from chronicle.models import Log, Receipt
from tests.builders import log_of, marker, said, units_of
from tests.summarisers import Noting

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("chronicle", *arguments, stdout=out)
    return out.getvalue()


def answer(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*arguments, "--json"))
    return found


def told(log: Log) -> str:
    consolidate(log, summariser=Noting())
    return log.public_id


@pytest.mark.promise("S62", "S65")
def test_list_is_the_default_and_its_json_has_the_shape_people_script_against() -> None:
    log = told(units_of(12))
    listed = answer(log)

    assert listed == answer(log, "list")
    assert set(listed["entries"][0]) == {"id", "level", "title", "from_seq", "to_seq", "events", "stale"}
    assert listed["entries"][-1]["id"] == "L1:1-16" and listed["entries"][-1]["events"] == 8
    assert (listed["shown"], listed["of"]) == (5, 5)
    assert answer(log, "list", "--limit", "2")["shown"] == 2
    words = run(log).splitlines()
    assert words[0].startswith("5 of 5 entries") and words[-1].startswith("L1:1-16  8 events  [rollup] Account")


def test_open_and_expand_show_words_and_events() -> None:
    log = told(units_of(12))

    assert [child["read"] for child in answer(log, "open", "L1:1-16")["children"]][:2] == ["1-2", "3-4"]
    assert "It stands for 8 sections:" in run(log, "open", "L1:1-16")
    page = answer(log, "expand", "L1:1-16", "--limit", "5", "--after", "3")
    assert [event["seq"] for event in page["events"]] == [4, 5, 6, 7, 8]
    assert (page["shown"], page["of"], page["next_after"]) == (5, 16, 8)
    assert "partial: go on after 5" in run(log, "expand", "L1:1-16", "--limit", "5")


def test_what_was_recorded_cannot_write_on_the_terminal() -> None:
    log = told(log_of([said("\x1b[2Jgone\u202e"), marker()]))

    for shown in (run(log), run(log, "open", "1-2"), run(log, "expand", "1-2")):
        assert "\x1b" not in shown and "\u202e" not in shown and "\\x1b[2Jgone" in shown


def test_a_reader_sees_less() -> None:
    log = told(log_of([said("hers", audience=("Ada",)), said("for all"), marker()]))

    assert [event["seq"] for event in answer(log, "expand", "1-3", "--reader", "Bob")["events"]] == [2, 3]
    assert answer(log, "list", "--reader", "Ada")["entries"][0]["events"] == 2


@pytest.mark.promise("K44")
def test_an_agent_that_reads_leaves_a_receipt_of_the_very_bytes_and_the_operator_none() -> None:
    log = told(units_of(12))
    for arguments in (["list"], ["open", "1-2"], ["expand", "1-2"]):
        run(log, *arguments)
        assert not Receipt.objects.exists()
    for number, arguments in enumerate((["list"], ["open", "L1:1-16"], ["expand", "1-2"]), start=1):
        text = run(log, *arguments, "--reader", "Ada")
        receipt = Receipt.objects.get(number=number)
        assert (receipt.reader, receipt.what) == ("Ada", arguments[0])
        assert receipt.text_digest == canonical.sha256(text.encode())
    read = answer(log, "open", "1-2", "--reader", "Ada")
    assert (read["receipt"], read["digest"]) == (4, canonical.sha256(read["text"].encode()))


@pytest.mark.promise("S62", "S69")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["shred"], "'shred' is no action; there are list, open, expand"),
        (["open"], "Say which section to open"),
        (["expand"], "Say which section to expand"),
        (["open", "7-99"], "There is no section 7-99"),
        (["list", "--edition", "2"], "There is no edition 2 of this log; there are 1."),
    ],
)
def test_what_is_not_there_is_wrong_use_and_named(arguments: list[str], words: str) -> None:
    log = told(units_of(2))
    with pytest.raises(CommandError, match=words) as refused:
        run(log, *arguments)
    assert refused.value.returncode == 2


def test_an_unknown_log_is_wrong_use() -> None:
    with pytest.raises(CommandError, match="There is no log nowhere") as refused:
        run("nowhere")
    assert refused.value.returncode == 2
