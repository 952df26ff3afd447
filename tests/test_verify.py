"""The verifier names the first thing that does not fit; every check in it can fail."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from chronicle import append_only, receipts
from chronicle.fold import consolidate
from chronicle.models import Log
from chronicle.sections import current_edition
from chronicle.verifier import Status
from chronicle.verify import verify_log
from tests.builders import log_of, units_of
from tests.summarisers import Noting, Scripted

pytestmark = pytest.mark.django_db


@pytest.fixture
def log() -> Log:
    log = units_of(13)
    consolidate(log, summariser=Noting())
    return log


def behind_its_back(*statements: str) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    append_only.drop(connection)
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def test_a_sound_log_is_ok_to_its_last_seq_and_against_its_chain_only(log: Log) -> None:
    verdict = verify_log(log)
    assert (verdict.status, verdict.seq, verdict.why) == (Status.OK, 26, "")
    assert (verdict.sections, verdict.tail, verdict.holes) == (14, 0, [])
    assert "no checkpoint" in verdict.against
    assert verify_log(log_of(0)).status is Status.OK


@pytest.mark.promise("K2", "K48", "K49")
@pytest.mark.parametrize(
    ("statement", "status", "seq", "why"),
    [
        ("UPDATE chronicle_event SET content = 'forged' WHERE seq = 3", "BROKEN", 2, "event 3: its content"),
        ("UPDATE chronicle_event SET actor = 'Bram' WHERE seq = 3", "BROKEN", 2, "event 3: its content"),
        ("UPDATE chronicle_event SET type = 'x' WHERE seq = 3", "BROKEN", 2, "event 3: it does not follow"),
        ("UPDATE chronicle_event SET size = 1 WHERE seq = 3", "BROKEN", 2, "event 3: its size"),
        ("UPDATE chronicle_event SET schema_version = 2 WHERE seq = 3", "BROKEN", 2, "event 3: it does not follow"),
        ("UPDATE chronicle_event SET salt = 'x' WHERE seq = 3", "BROKEN", 2, "event 3: its content"),
        ("DELETE FROM chronicle_event WHERE seq = 3", "BROKEN", 2, "event 3: missing; the next one there is 4"),
        ("DELETE FROM chronicle_event WHERE seq = 26", "TRUNCATED", 25, "says 26 events, 25 are there"),
        ("UPDATE chronicle_log SET head = 'x'", "BROKEN", 26, "the log's head"),
        ("UPDATE chronicle_section SET prose = 'x' WHERE generation = 1", "BROKEN", 0, "section 1-2: its words"),
        ("UPDATE chronicle_section SET model = 'x' WHERE generation = 1", "BROKEN", 0, "section 1-2: its words"),
        ("UPDATE chronicle_anchor SET event_count = 2 WHERE from_seq = 5", "BROKEN", 4, "section 5-6: its count"),
        (
            "UPDATE chronicle_anchor SET event_count = 9 WHERE level = 1",
            "BROKEN",
            0,
            "section L1:1-16: its count is not its children's sum",
        ),
        (
            "UPDATE chronicle_anchor SET rolled_up_into_id = NULL WHERE from_seq = 5",
            "BROKEN",
            0,
            "section L1:1-16: its children are not a contiguous run",
        ),
        (
            "UPDATE chronicle_anchor SET rolled_up_into_id = NULL WHERE from_seq = 15",
            "BROKEN",
            0,
            "section L1:1-16: it is not the union",
        ),
        ("UPDATE chronicle_anchor SET from_seq = 6 WHERE from_seq = 5", "BROKEN", 4, "no section covers 5 to 5"),
    ],
)
def test_what_was_changed_behind_its_back_is_named(log: Log, statement: str, status: str, seq: int, why: str) -> None:
    behind_its_back(statement)
    verdict = verify_log(log)
    assert (verdict.status, verdict.seq) == (status, seq), verdict
    assert why in verdict.why


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("DELETE FROM chronicle_pin", "event 5: the pin that it promoted is gone"),
        ("UPDATE chronicle_pin SET result = '\"x\"'", "event 5: its pin says something else"),
        ("UPDATE chronicle_pin SET key = 'p1:x:2'", "event 5: its pin says something else"),
        ("UPDATE chronicle_pin SET unit = 'x'", "event 5: its pin says something else"),
    ],
)
def test_a_pin_that_is_gone_or_says_something_else_is_named(statement: str, why: str) -> None:
    log = units_of(2)
    consolidate(log, summariser=Scripted())
    assert verify_log(log).status is Status.OK
    behind_its_back(statement)
    verdict = verify_log(log)

    assert (verdict.status, verdict.seq) == ("BROKEN", 4)
    assert why in verdict.why


@pytest.fixture
def read(log: Log) -> Log:
    """A brief, a list, an opened rollup, an expanded section: receipts 1 to 4."""
    edition, who = current_edition(log), {"by": "concierge", "capability": "expand"}
    receipts.read_brief(log, upto_seq=9, **who)
    receipts.read_list(edition, **who)
    receipts.read_open(edition, "L1:1-16", **who)
    receipts.read_expand(edition, "3-4", **who)
    return log


@pytest.mark.promise("K45")
def test_every_receipt_is_made_again(read: Log) -> None:
    verdict = verify_log(read)
    assert (verdict.status, verdict.receipts, verdict.unproven) == (Status.OK, 4, 0)


@pytest.mark.promise("K45")
@pytest.mark.parametrize(
    ("statement", "seq", "why"),
    [
        ("UPDATE chronicle_receipt SET reader = 'x' WHERE number = 1", 8, "receipt 1: it is not what was written"),
        ("UPDATE chronicle_receipt SET text_digest = 'x' WHERE number = 2", 25, "receipt 2: it is not what was"),
        ("UPDATE chronicle_receipt SET upto_seq = 8 WHERE number = 1", 7, "receipt 1: it is not what was written"),
        ("UPDATE chronicle_receipt SET filters = '{}' WHERE number = 3", 25, "receipt 3: it is not what was"),
        ("UPDATE chronicle_receipt SET size = 1 WHERE number = 3", 25, "receipt 3: it is not what was written"),
        ("UPDATE chronicle_receipt SET what = 'open' WHERE number = 4", 25, "receipt 4: it is not what was"),
        ("UPDATE chronicle_receipt SET number = 9 WHERE number = 2", 25, "receipt 2: missing; the next one there is 3"),
        ("UPDATE chronicle_receiptpart SET form = 'dropped' WHERE form = 'events'", 25, "receipt 4: it is not what"),
        ("UPDATE chronicle_receiptpart SET stale = true", 8, "receipt 1: it is not what was written (digest)"),
        ("DELETE FROM chronicle_receiptpart WHERE form = 'events'", 25, "receipt 4: it is not what was written"),
    ],
)
def test_a_receipt_that_was_changed_behind_its_back_is_named(read: Log, statement: str, seq: int, why: str) -> None:
    behind_its_back(statement)
    verdict = verify_log(read)
    assert (verdict.status, verdict.seq) == (Status.BROKEN, seq), verdict
    assert why in verdict.why


@pytest.mark.promise("K45")
@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"upto_seq": 8}, "its text is of"),
        ({"text_digest": "0" * 64}, "its text made again is another (text_digest)"),
        ({"size": 7}, "its text is of"),
        ({"filters": "{}"}, "its text cannot be made from what it cites (filters)"),
        ({"filters": "not JSON"}, "its text cannot be made from what it cites (filters)"),
    ],
)
def test_a_receipt_that_was_sealed_again_is_found_by_its_text(read: Log, changes: dict[str, Any], why: str) -> None:
    receipt = receipts.receipts_of(read).get(number=1)
    for name, value in changes.items():
        setattr(receipt, name, value)
    changes["digest"] = receipts.digest_of(receipt, receipts.parts_of(receipt))
    behind_its_back(*(f"UPDATE chronicle_receipt SET {name} = '{changes[name]}' WHERE number = 1" for name in changes))
    verdict = verify_log(read)
    assert verdict.status is Status.BROKEN
    assert f"receipt 1: {why}" in verdict.why


def test_a_receipt_of_a_way_of_writing_that_is_not_here_is_counted_as_unproven(
    read: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chronicle.rendering.VERSION", 2)
    verdict = verify_log(read)
    assert (verdict.status, verdict.receipts, verdict.unproven) == (Status.OK, 4, 4)


def test_two_events_swapped_are_named(log: Log) -> None:
    behind_its_back(
        "UPDATE chronicle_event SET seq = 1000 WHERE seq = 3",
        "UPDATE chronicle_event SET seq = 3 WHERE seq = 4",
        "UPDATE chronicle_event SET seq = 4 WHERE seq = 1000",
    )
    verdict = verify_log(log)
    assert (verdict.status, verdict.seq) == ("BROKEN", 2)


def test_the_command_says_so_in_json_and_by_its_exit(log: Log, capsys: Any) -> None:
    out = StringIO()
    call_command("verify", "--all", "--json", stdout=out)
    (row,) = json.loads(out.getvalue())["logs"]
    assert set(row) >= {"log", "status", "seq", "sections", "tail", "holes", "against"}
    assert row["status"] == "OK"
    for wrong in ([], ["nowhere"], [log.public_id, "--all"]):
        with pytest.raises(CommandError) as caught:
            call_command("verify", *wrong)
        assert caught.value.returncode == 2
    behind_its_back("UPDATE chronicle_event SET content = 'forged' WHERE seq = 3")
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("verify", log.public_id, stdout=out)
    assert ended.value.code == 1
    assert "event 3" in out.getvalue()
