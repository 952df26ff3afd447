"""`rebuild`: refused with its bill, done under a job, told in figures."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from chronicle import asking, jobs
from chronicle.errors import ChronicleFork, GenerativeRebuild, InvalidSection
from chronicle.fold import consolidate
from chronicle.models import AuditEntry, Edition, Job, Log, Section
from chronicle.rebuild import rebuild
from tests.builders import units_of
from tests.summarisers import Noting, Scripted

pytestmark = pytest.mark.django_db


def told(count: int = 13) -> Log:
    log = units_of(count)
    consolidate(log)
    return log


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("rebuild", *arguments, stdout=out)
    return out.getvalue()


def refused(*arguments: str) -> tuple[CommandError, str]:
    out = StringIO()
    with pytest.raises(CommandError) as error:
        call_command("rebuild", *arguments, stdout=out)
    return error.value, out.getvalue()


def states(log: Log) -> list[str]:
    return list(log.editions.order_by("number").values_list("state", flat=True))


@pytest.mark.promise("A49", "K21")
def test_without_acknowledgement_the_bill_is_printed_and_the_exit_is_1() -> None:
    log = told()
    error, out = refused(log.public_id)
    assert error.returncode == 1 and "--discard-generated" in str(error)
    assert "Draws 13 sections and 1 rollup again, into a new edition beside edition 1" in out
    assert "The draws: no call of a model." in out
    assert states(log) == ["current"] and not Job.objects.exists()

    error, out = refused(log.public_id, "--json")
    answer: dict[str, Any] = json.loads(out)
    assert error.returncode == 1 and answer["error"] == "generative_rebuild"
    bill = answer["bill"]
    assert (bill["sections"], bill["rollups"], bill["reconsolidated"], bill["receipts"]) == (13, 1, 0, 0)
    assert set(bill["price"]) == {"calls", "tokens_in", "tokens_out"}


@pytest.mark.promise("K22")
def test_with_it_the_new_edition_is_in_force_and_the_answer_compares() -> None:
    log = told(50)
    answer = json.loads(run(log.public_id, "--discard-generated", "--reason", "why not", "--json"))

    of = answer["compared"]["anchors_of"]
    assert (answer["edition"], answer["replaced"], answer["sections"], answer["calls"]) == (2, 1, 50, 0)
    assert answer["compared"] == {"anchors_of": of, "anchors": of, "prose_first": of, "prose_current": of}
    assert states(log) == ["archived", "current"]
    assert Edition.objects.get(number=2).reason == "rebuilt: why not"
    assert AuditEntry.objects.get(what="chronicle.rebuilt").who == "command"
    again = run(log.public_id, "--discard-generated")
    assert "Edition 3 is in force; edition 2 stays readable." in again and "word for word" in again


@pytest.mark.promise("A52")
def test_a_replay_asks_no_model_and_stops_at_what_is_not_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    log, model = units_of(13), Scripted()
    monkeypatch.setattr("chronicle.policies.summariser_for", lambda _: model)
    consolidate(log)
    calls = model.calls
    answer = json.loads(run(log.public_id, "--discard-generated", "--replay", "--json"))
    assert answer["compared"]["prose_first"] == 14 and answer["calls"] == 0 and model.calls == calls

    model.prompt = "Another."
    error, _ = refused(log.public_id, "--discard-generated", "--replay")
    assert error.returncode == 1 and "PinMiss" in str(error)
    assert model.calls == calls and states(log) == ["archived", "current", "building"]
    assert Job.objects.order_by("-pk")[0].state == "failed"
    run(log.public_id, "--discard-generated")
    assert states(log) == ["archived", "archived", "archived", "current"]


def test_draws_that_are_not_pinned_are_not_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    log, noting = told(3), Noting()
    monkeypatch.setattr("chronicle.policies.summariser_for", lambda _: noting)
    error, _ = refused(log.public_id, "--discard-generated", "--replay")
    assert error.returncode == 1 and "not pinned" in str(error) and noting.calls == 0


@pytest.mark.promise("DA12")
def test_a_draw_that_fails_is_told_and_asked_again_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    log, noting = told(30), Noting(fails=lambda call: call == 28)
    monkeypatch.setattr("chronicle.policies.summariser_for", lambda _: noting)
    error, _ = refused(log.public_id, "--discard-generated")
    assert error.returncode == 1 and "Edition 1 stays in force" in str(error)
    assert states(log) == ["current", "building"]
    of = Section.objects.filter(anchor__edition__number=1).count()
    answer = json.loads(run(log.public_id, "--discard-generated", "--json"))
    assert answer["edition"] == 2 and noting.calls == of + 1
    assert Job.objects.get().cost["tokens_in"] == of * 10


def test_an_unknown_log_and_a_reason_nobody_can_keep_are_wrong_use() -> None:
    assert refused("nowhere")[0].returncode == 2
    assert refused(told(1).public_id, "--discard-generated", "--reason", "x" * 3000)[0].returncode == 2


def test_a_worker_that_died_after_the_switch_is_not_done_again() -> None:
    log = told(3)
    asked = asking.rebuilding(log, accepted=True, by="Ines", reason="once")
    rebuild(log, discard_generated=True, by="Ines", reason="once")
    done = jobs.run(asked.job.pk)
    assert done and done.state == "done" and done.result and done.result["edition"] == 2
    assert states(log) == ["archived", "current"]


@pytest.mark.promise("K30")
def test_a_second_click_on_one_edition_is_one_rebuild() -> None:
    log = told(3)
    first = asking.rebuilding(log, accepted=True, by="Ines", seen=1)
    second = asking.rebuilding(log, accepted=True, by="Ines", seen=1)
    other = asking.rebuilding(log, accepted=True, by="Putri", seen=1)
    assert first.job == second.job == other.job
    assert (first.replayed, second.replayed, second.payload_differs, other.payload_differs) == (
        False,
        True,
        False,
        True,
    )
    jobs.run(first.job.pk)
    late = asking.rebuilding(log, accepted=True, by="Ines", seen=1)
    assert late.job == first.job and late.replayed and states(log) == ["archived", "current"]
    with pytest.raises(ChronicleFork, match="Edition 2 is in force by now, not 7"):
        asking.rebuilding(log, accepted=True, by="Ines", seen=7)
    with pytest.raises(GenerativeRebuild):
        asking.rebuilding(log, accepted=False, by="Ines")
    with pytest.raises(InvalidSection):
        asking.rebuilding(log, accepted=True, by="Ines", reason="\x00")
