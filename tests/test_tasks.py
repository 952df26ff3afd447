"""The task cluster's side: what is kicked, when, and the settings it runs under."""

import inspect
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection, transaction
from django_q.brokers import get_broker
from django_q.conf import Conf
from django_q.models import OrmQ, Schedule

from chronicle import health, jobs, tasks
from chronicle.apps import after_migrate
from chronicle.models import Heartbeat, Job, JobState, Log
from tests.builders import log_of, units_of
from tests.conftest import Clock


def queued(key: str = "k") -> Job:
    return jobs.enqueue("canary", "here", key=key)


def waiting() -> list[tuple[str, tuple[object, ...]]]:
    return [(entry.func(), tuple(entry.args())) for entry in OrmQ.objects.order_by("pk")]


@pytest.mark.django_db(transaction=True)
@pytest.mark.promise("A48", "S27")
def test_a_kick_only_leaves_a_note_and_only_once_the_caller_has_committed() -> None:
    with transaction.atomic():
        job = queued()
        tasks.kick(job)
        assert not OrmQ.objects.exists()
    assert waiting() == [(tasks.WORK, (job.pk,))]
    job.refresh_from_db()
    assert job.state == JobState.QUEUED, "the work itself is the cluster's"


@pytest.mark.django_db(transaction=True)
def test_a_kick_that_is_rolled_back_leaves_no_note() -> None:
    with pytest.raises(RuntimeError), transaction.atomic():
        tasks.kick(queued())
        raise RuntimeError
    assert not OrmQ.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.promise("A48")
def test_a_broker_that_is_down_costs_a_kick_never_the_callers_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def down(*_: object, **__: object) -> None:
        raise ConnectionError

    with monkeypatch.context() as patch:
        patch.setattr(tasks, "async_task", down)
        with transaction.atomic():
            job = queued()
            tasks.kick(job)
            tasks.kick_tick()
    tasks.tick()
    assert (tasks.WORK, (job.pk,)) in waiting()


@pytest.mark.django_db
def test_work_does_the_job_returns_nothing_and_shows_that_it_is_alive() -> None:
    job = queued()
    assert tasks.work(job.pk) is None
    job.refresh_from_db()
    assert job.state == JobState.DONE
    assert Heartbeat.objects.filter(name=health.WORK).exists()
    assert tasks.work(job.pk) is None, "a task that is delivered twice does nothing the second time"


@pytest.mark.django_db
def test_what_an_ingest_has_brought_is_consolidated_right_after(tmp_path: Path) -> None:
    line = '{"kind":"message","actor_kind":"human","actor":"Dina","content":"Eight of us."}'
    (tmp_path / "dinner.jsonl").write_text('{"anagrapheus.events":1,"session":"s"}\n' + f"{line}\n" * 45)
    args = {"path": str(tmp_path), "owner": "demo"}
    tasks.work(jobs.enqueue("ingest_path", "here", key="i", args=args).pk)
    log = Log.objects.get(source="events")
    assert log.last_seq == 45
    job = Job.objects.get(kind="consolidate")
    assert job.target == log.public_id
    assert waiting() == [(tasks.WORK, (job.pk,))]


@pytest.mark.django_db
def test_each_tick_says_that_records_are_unprotected(caplog: pytest.LogCaptureFixture) -> None:
    tasks.tick()
    assert "are gone" not in caplog.text
    with connection.cursor() as cursor:
        on = " ON chronicle_event" if connection.vendor == "postgresql" else ""
        cursor.execute(f"DROP TRIGGER protect_chronicle_event_update{on}")
    tasks.tick()
    assert "protect_chronicle_event_update" in caplog.text


@pytest.mark.django_db
def test_a_tick_queues_every_log_that_is_due_once(clock: Clock) -> None:
    logs = [units_of(2), units_of(3), log_of()]
    tasks.tick()
    tasks.tick()
    made = Job.objects.filter(kind="consolidate").order_by("pk")
    assert [job.target for job in made] == [log.public_id for log in logs[:2]]


@pytest.mark.django_db
def test_a_tick_sings_and_kicks_what_is_due_and_what_lost_its_worker(clock: Clock) -> None:
    lost, later = queued("lost"), queued("later")
    assert jobs.take(lost.pk, lease=jobs.conf.job_lease())
    Job.objects.filter(pk=later.pk).update(next_try=clock() + jobs.LONGEST_WAIT)
    clock.move(minutes=2)
    tasks.tick()
    assert waiting() == [(tasks.WORK, (lost.pk,))]
    assert Heartbeat.objects.get(name=health.CANARY).at == clock()


@pytest.mark.django_db
def test_ticks_do_not_flood_a_queue_that_nobody_empties(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "KICKED_AT_MOST", 3)
    for number in range(5):
        queued(str(number))
    for _ in range(4):
        tasks.tick()
    assert OrmQ.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_what_a_cluster_never_answered_for_is_dropped_after_ten_minutes(clock: Clock) -> None:
    job = queued()
    tasks.kick_tick()
    clock.move(seconds=1)
    assert get_broker().dequeue()
    clock.move(minutes=10)
    tasks.tick()
    assert len(waiting()) == 2
    clock.move(seconds=1)
    tasks.tick()
    assert set(waiting()) == {(tasks.WORK, (job.pk,))}, "the work itself is kicked anew"


@pytest.mark.django_db
def test_there_is_one_schedule_however_often_a_migration_runs() -> None:
    Schedule.objects.create(func=tasks.TICK, name="tick")
    for _ in range(2):
        after_migrate(using="default")
    only = Schedule.objects.get()
    assert (only.func, only.schedule_type, only.minutes, only.repeats) == (tasks.TICK, Schedule.MINUTES, 1, -1)


@pytest.mark.django_db
def test_the_cluster_runs_under_the_settings_that_were_measured_to_be_safe() -> None:
    sqlite = settings.DATABASES["default"]["ENGINE"].endswith("sqlite3")
    assert (2 if sqlite else 4) == Conf.WORKERS and Conf.QUEUE_LIMIT == Conf.WORKERS and Conf.BULK == 1
    assert Conf.RETRY == Conf.TIMEOUT * (2 + -(-Conf.QUEUE_LIMIT // Conf.WORKERS)) + 60
    assert (Conf.MAX_ATTEMPTS, Conf.ACK_FAILURES, Conf.CATCH_UP) == (1, True, False)
    assert (Conf.RECYCLE, Conf.SAVE_LIMIT, Conf.TIME_ZONE, Conf.SYNC) == (200, 500, "UTC", False)
    assert Conf.ORM == "default" and type(get_broker()).__name__ == "ORM"


def test_no_task_is_a_coroutine() -> None:
    functions = [value for value in vars(tasks).values() if inspect.isfunction(value)]
    assert functions and not any(inspect.iscoroutinefunction(function) for function in functions)
