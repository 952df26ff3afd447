"""`consolidate` and `close`."""

import json
from collections.abc import Mapping
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from chronicle import fold, jobs
from chronicle.errors import SummaryFailed
from chronicle.jobs import Held
from chronicle.management.commands import consolidate
from chronicle.models import Anchor, Event, Job, JobState, Log, Section
from tests.builders import log_of, said, units_of
from tests.summarisers import Noting

pytestmark = pytest.mark.django_db


def answer(*arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command(*arguments, "--json", stdout=out)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def broken(monkeypatch: pytest.MonkeyPatch, when: int) -> None:
    noting = Noting(fails=lambda call: call == when)
    monkeypatch.setattr("chronicle.policies.summariser_named", lambda *_, **__: noting)


@pytest.mark.promise("K37")
def test_a_log_is_consolidated_and_the_answer_counts_what_was_made() -> None:
    log = units_of(13)
    assert answer("consolidate", log.public_id) == {
        "logs": [{"log": log.public_id, "sections": 13, "rollups": 1, "failed": 0, "through": 26}]
    }
    assert Section.objects.count() == 14
    [again] = answer("consolidate", log.public_id)["logs"]
    assert (again["sections"], again["rollups"], again["through"]) == (0, 0, 26)


def test_all_means_every_log_in_the_order_they_were_made() -> None:
    logs = [units_of(2), units_of(3)]
    found = answer("consolidate", "--all")["logs"]
    assert [entry["log"] for entry in found] == [log.public_id for log in logs]
    assert [entry["sections"] for entry in found] == [2, 3]


@pytest.mark.promise("K37")
def test_a_dry_run_says_units_calls_and_tokens_and_draws_nothing() -> None:
    log = units_of(13)
    [entry] = answer("consolidate", log.public_id, "--dry-run")["logs"]
    assert entry["units"] == 13 and entry["calls"] == 14 and entry["tokens"] > 0 and entry["through"] == 0
    assert not Section.objects.exists() and not Job.objects.exists()


def test_the_command_and_the_scheduled_task_give_the_same_anchors() -> None:
    from chronicle import tasks

    by_command, by_schedule = units_of(20), units_of(20)
    answer("consolidate", by_command.public_id)
    tasks.tick()
    for job in jobs.due(Log.objects.get(pk=by_schedule.pk).last_activity_at + timedelta(days=1)):
        tasks.work(job.pk)
    rows = [
        list(
            Anchor.objects.filter(edition__log=log)
            .order_by("level", "from_seq")
            .values_list("level", "from_seq", "to_seq", "unit_seq", "kind", "event_count")
        )
        for log in (by_command, by_schedule)
    ]
    assert rows[0] == rows[1] and len(rows[0]) > 20


def test_a_unit_that_fails_is_counted_and_the_exit_is_1(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, when=2)
    log, out = units_of(3), StringIO()
    with pytest.raises(CommandError) as refused:
        call_command("consolidate", log.public_id, "--json", stdout=out)
    assert refused.value.returncode == 1
    [entry] = json.loads(out.getvalue())["logs"]
    assert (entry["sections"], entry["failed"], entry["through"]) == (1, 1, 2)


def test_a_job_that_is_parked_is_tried_because_a_person_asked() -> None:
    log = units_of(2)
    job = jobs.consolidation(log, made_by="schedule")
    Job.objects.filter(pk=job.pk).update(state=JobState.PARKED, attempts=3)
    [entry] = answer("consolidate", log.public_id)["logs"]
    assert entry["sections"] == 2


@pytest.mark.promise("S24")
def test_a_log_that_a_worker_is_at_is_waited_for_and_not_drawn_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    log = units_of(2)
    held = jobs.take(jobs.consolidation(log, made_by="schedule").pk, lease=timedelta(minutes=1))
    assert held
    waits = []

    def meanwhile(seconds: float) -> None:
        waits.append(seconds)
        assert not Section.objects.exists()
        fold.consolidate(log, fence=held.fence)
        held.finish({})

    monkeypatch.setattr(consolidate.time, "sleep", meanwhile)
    [entry] = answer("consolidate", log.public_id)["logs"]
    assert len(waits) == 1 and entry["sections"] == 0 and entry["through"] == 4
    assert Section.objects.count() == 2


def test_a_run_that_fails_as_a_whole_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Held) -> Mapping[str, Any]:
        raise SummaryFailed("no model today")

    monkeypatch.setitem(jobs.HANDLERS, "consolidate", fails)
    out = StringIO()
    with pytest.raises(CommandError) as refused:
        call_command("consolidate", units_of(1).public_id, stdout=out)
    assert refused.value.returncode == 1 and "no model today" in out.getvalue()


@pytest.mark.parametrize("arguments", [[], ["nowhere"], ["nowhere", "--all"]])
def test_no_log_an_unknown_one_or_both_ways_at_once_is_wrong_use(arguments: list[str]) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("consolidate", *arguments)
    assert refused.value.returncode == 2


def test_what_was_spent_is_kept_with_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, when=0)
    answer("consolidate", units_of(3).public_id)
    assert Job.objects.get().cost == {"calls": 0, "tokens_in": 30, "tokens_out": 9, "wasted_tokens": 0}


def test_close_appends_a_marker_that_ends_the_unit() -> None:
    log = log_of([said(), said()])
    assert answer("consolidate", log.public_id)["logs"][0]["sections"] == 0
    assert answer("close", log.public_id, "--reason", "dinner is over") == {
        "log": log.public_id,
        "seq": 3,
        "reason": "dinner is over",
    }
    assert Event.objects.get(log=log, seq=3).type == "unit.closed"
    assert answer("consolidate", log.public_id)["logs"][0]["sections"] == 1


def test_close_refuses_an_unknown_log() -> None:
    with pytest.raises(CommandError) as refused:
        call_command("close", "nowhere")
    assert refused.value.returncode == 2
