"""Jobs: leases, fences, attempts, waits."""

import threading
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from chronicle import jobs
from chronicle.errors import BrokenFile, ChronicleError, LeaseLost, SummaryFailed
from chronicle.jobs import Held
from chronicle.models import Heartbeat, Job, JobState
from tests.conftest import Clock

LEASE = timedelta(seconds=60)


def queued(key: str = "k") -> Job:
    return jobs.enqueue("canary", "here", key=key)


def held(key: str = "k") -> Held:
    taken = jobs.take(queued(key).pk, lease=LEASE)
    assert taken
    return taken


def handle(monkeypatch: pytest.MonkeyPatch, handler: Callable[[Held], Mapping[str, Any]]) -> None:
    monkeypatch.setitem(jobs.HANDLERS, "canary", handler)


def fails(error: BaseException) -> Callable[[Held], Mapping[str, Any]]:
    def handler(_: Held) -> Mapping[str, Any]:
        raise error

    return handler


@pytest.mark.django_db
def test_a_job_is_done_once_and_keeps_its_result(monkeypatch: pytest.MonkeyPatch) -> None:
    handle(monkeypatch, lambda held: {"attempt": held.attempt, "target": held.target})
    job = queued()
    done = jobs.run(job.pk)
    assert done and done.state == JobState.DONE and done.result == {"attempt": 1, "target": "here"}
    assert jobs.run(job.pk) is None


@pytest.mark.django_db
def test_an_open_job_with_the_same_key_is_returned_not_doubled() -> None:
    assert queued("a").pk == queued("a").pk != queued("b").pk
    jobs.run(queued("a").pk)
    assert Job.objects.filter(key="a").count() == 1
    queued("a")
    assert Job.objects.filter(key="a").count() == 2, "a finished job frees its key"


@pytest.mark.django_db(transaction=True)
def test_many_who_enqueue_one_key_at_once_get_one_job() -> None:
    found = []

    def enqueue() -> None:
        found.append(queued("same").pk)
        connection.close()

    threads = [threading.Thread(target=enqueue) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 12 and len(set(found)) == 1


@pytest.mark.django_db
def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ChronicleError, match="canary"):
        jobs.enqueue("dance", "here", key="k")


@pytest.mark.django_db
@pytest.mark.promise("S24", "K31")
def test_one_takes_the_lease_and_the_attempt_is_counted_before_the_work() -> None:
    job = queued()
    first = jobs.take(job.pk, lease=LEASE)
    assert first and first.attempt == 1
    assert jobs.take(job.pk, lease=LEASE) is None
    assert Job.objects.get(pk=job.pk).attempts == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.promise("S24")
def test_of_many_who_take_at_once_one_gets_it() -> None:
    job, taken = queued(), []

    def take() -> None:
        taken.append(jobs.take(job.pk, lease=LEASE))
        connection.close()

    threads = [threading.Thread(target=take) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 12 and len([held for held in taken if held]) == 1


@pytest.mark.django_db
def test_a_job_is_not_taken_before_its_next_try(clock: Clock) -> None:
    job = queued()
    Job.objects.filter(pk=job.pk).update(next_try=clock() + timedelta(seconds=1))
    assert jobs.take(job.pk, lease=LEASE) is None
    assert not jobs.due(clock()).exists()
    clock.move(seconds=1)
    assert [found.pk for found in jobs.due(clock())] == [job.pk]
    assert jobs.take(job.pk, lease=LEASE)


@pytest.mark.django_db
@pytest.mark.promise("K31")
def test_a_lease_that_ended_can_be_taken_and_the_late_worker_writes_nothing(clock: Clock) -> None:
    late = held()
    clock.move(seconds=61)
    taker = jobs.take(late.job_id, lease=LEASE)
    assert taker and taker.attempt == 2
    for write in (
        late.fence,
        late.step,
        late.renew,
        lambda: late.progress(1, 2, "units"),
        lambda: late.finish({"late": True}),
    ):
        with pytest.raises(LeaseLost):
            write()
    taker.finish({"late": 0})
    assert Job.objects.get(pk=late.job_id).result == {"late": 0}


@pytest.mark.django_db
def test_a_lease_that_ended_is_lost_even_if_nobody_took_it(clock: Clock) -> None:
    late = held()
    clock.move(seconds=61)
    with pytest.raises(LeaseLost):
        late.fence()


@pytest.mark.django_db
@pytest.mark.parametrize("keep", ["fence", "step", "renew", "progress"])
def test_a_lease_is_kept_by_steps_progress_and_renewal(clock: Clock, keep: str) -> None:
    mine = held()
    for _ in range(3):
        clock.move(seconds=50)
        mine.progress(1, 3, "units") if keep == "progress" else getattr(mine, keep)()
    assert jobs.take(mine.job_id, lease=LEASE) is None
    mine.finish({})


@pytest.mark.django_db(transaction=True)
@pytest.mark.promise("K31")
def test_what_was_written_before_a_lost_fence_is_rolled_back(clock: Clock) -> None:
    late = held()
    clock.move(seconds=61)
    with pytest.raises(LeaseLost), transaction.atomic():
        Heartbeat.objects.create(name="written too late", at=clock())
        late.fence()
    assert not Heartbeat.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_fence_without_a_transaction_is_refused() -> None:
    with pytest.raises(transaction.TransactionManagementError):
        held().fence()


@pytest.mark.django_db(transaction=True)
def test_a_finish_that_is_rolled_back_leaves_the_job_running() -> None:
    mine = held()
    with pytest.raises(RuntimeError), transaction.atomic():
        mine.finish({})
        raise RuntimeError
    assert Job.objects.get(pk=mine.job_id).state == JobState.RUNNING


def test_the_waits_grow_to_six_hours_and_no_further() -> None:
    minutes = [jobs.wait_after(attempts).total_seconds() / 60 for attempts in range(1, 12)]
    assert minutes == [1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360]
    assert jobs.wait_after(10_000) == timedelta(hours=6)


@pytest.mark.django_db
@pytest.mark.promise("S24")
def test_a_failing_job_waits_longer_each_time_and_is_parked_at_the_third(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle(monkeypatch, fails(SummaryFailed("The model gave no prose.")))
    job, waits = queued(), []
    for _ in range(3):
        tried = jobs.run(job.pk)
        assert tried and tried.lease_token is None, "the lease is let go, whatever happens"
        waits.append(tried.next_try - clock())
        clock.time = tried.next_try
    assert waits[:2] == [timedelta(minutes=1), timedelta(minutes=2)]
    assert tried.state == JobState.PARKED and tried.attempts == 3
    assert tried.last_error == "SummaryFailed: The model gave no prose."
    clock.move(days=30)
    assert jobs.run(job.pk) is None and not jobs.due(clock()).exists()


@pytest.mark.django_db
def test_a_parked_job_is_tried_again_when_someone_says_so(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    job = queued()
    Job.objects.filter(pk=job.pk).update(state=JobState.PARKED, attempts=3, last_error="LeaseLost: …")
    assert jobs.enqueue("canary", "here", key="k").state == JobState.PARKED, "enqueue wakes nothing"
    again = jobs.retry(job.pk, by="ada")
    assert (again.state, again.attempts, again.last_error) == (JobState.QUEUED, 0, "LeaseLost: …")
    done = jobs.run(job.pk)
    assert done and done.state == JobState.DONE and done.last_error == ""


@pytest.mark.django_db
def test_retry_leaves_running_and_finished_jobs_alone() -> None:
    mine = held()
    assert jobs.retry(mine.job_id, by="ada").state == JobState.RUNNING
    mine.finish({})
    assert jobs.retry(mine.job_id, by="ada").state == JobState.DONE


@pytest.mark.django_db
def test_what_trying_again_cannot_help_fails_at_once_and_frees_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    handle(monkeypatch, fails(BrokenFile("This is a picture.")))
    job = queued()
    failed = jobs.run(job.pk)
    assert failed and failed.state == JobState.FAILED and failed.finished_at
    other = queued()
    assert other.pk != job.pk
    assert jobs.retry(job.pk, by="ada").pk == other.pk, "the key is taken, so the open job is the answer"


@pytest.mark.django_db
def test_an_error_keeps_its_class_and_place_and_none_of_its_words(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    handle(monkeypatch, fails(ValueError("my password is hunter2")))
    failed = jobs.run(queued().pk)
    assert failed and failed.last_error.startswith("ValueError in test_jobs.py, line ")
    assert "hunter2" not in failed.last_error + caplog.text


@pytest.mark.django_db
def test_a_time_limit_is_an_attempt_and_is_passed_on_to_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    handle(monkeypatch, fails(SystemExit("too long")))
    job = queued()
    with pytest.raises(SystemExit):
        jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.attempts) == (JobState.QUEUED, 1)


@pytest.mark.django_db
def test_an_interrupt_gives_the_job_back_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    handle(monkeypatch, fails(KeyboardInterrupt()))
    job = queued()
    with pytest.raises(KeyboardInterrupt):
        jobs.run(job.pk)
    assert jobs.take(job.pk, lease=LEASE)


@pytest.mark.django_db
def test_the_sweep_queues_jobs_of_lost_workers_and_parks_the_third_loss(clock: Clock) -> None:
    job = queued()
    for attempt in (1, 2, 3):
        taken = jobs.take(job.pk, lease=LEASE)
        assert taken and taken.attempt == attempt
        assert jobs.sweep(clock()) == (0, 0, 0), "a lease that holds is left alone"
        clock.move(seconds=61)
        assert jobs.sweep(clock()) == ((0, 1, 0) if attempt == 3 else (1, 0, 0))
    job.refresh_from_db()
    assert job.state == JobState.PARKED and "WorkerLost" in job.last_error
    assert jobs.take(job.pk, lease=LEASE) is None


@pytest.mark.django_db
def test_a_step_starts_the_count_of_attempts_anew(clock: Clock) -> None:
    job = queued()
    for _ in range(5):
        taken = jobs.take(job.pk, lease=LEASE)
        assert taken
        taken.step()
        clock.move(seconds=61)
        assert jobs.sweep(clock()).parked == 0


@pytest.mark.django_db
def test_a_fence_alone_does_not_hide_that_attempts_end_badly(clock: Clock) -> None:
    job = queued()
    for _ in range(3):
        taken = jobs.take(job.pk, lease=LEASE)
        assert taken
        taken.fence()
        clock.move(seconds=61)
        swept = jobs.sweep(clock())
    assert swept.parked == 1


@pytest.mark.django_db
def test_finished_jobs_are_cleared_after_a_month_and_failed_ones_stay(clock: Clock) -> None:
    done, parked = queued("done"), queued("parked")
    jobs.run(done.pk)
    Job.objects.filter(pk=parked.pk).update(state=JobState.PARKED)
    clock.move(days=31)
    assert jobs.sweep(clock()).cleared == 1
    assert [job.pk for job in Job.objects.all()] == [parked.pk]


@pytest.mark.django_db
def test_the_reports_of_ingests_stay_to_be_read_and_previews_do_not(clock: Clock) -> None:
    for kind in ("ingest", "ingest_path", "preview"):
        job = queued(kind)
        Job.objects.filter(pk=job.pk).update(kind=kind, state=JobState.DONE, finished_at=clock())
    clock.move(days=31)
    assert jobs.sweep(clock()).cleared == 1
    assert sorted(job.kind for job in Job.objects.all()) == ["ingest", "ingest_path"]


@pytest.mark.django_db
@pytest.mark.promise("K31")
def test_what_is_spent_under_a_lost_lease_counts_as_wasted(clock: Clock) -> None:
    late = held()
    late.spent(calls=1, tokens_in=100, tokens_out=20)
    clock.move(seconds=61)
    taker = jobs.take(late.job_id, lease=LEASE)
    assert taker
    late.spent(calls=1, tokens_in=300, tokens_out=40)
    taker.spent(calls=1, tokens_in=300, tokens_out=50)
    assert Job.objects.get(pk=late.job_id).cost == {
        "calls": 3,
        "tokens_in": 400,
        "tokens_out": 70,
        "wasted_tokens": 340,
    }


@pytest.mark.django_db(transaction=True)
def test_a_slow_draw_keeps_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    renewed = threading.Semaphore(0)
    monkeypatch.setattr(jobs.conf, "job_lease", lambda: timedelta(seconds=1.5))
    job = queued()

    def slow(_: Held) -> Mapping[str, Any]:
        first = Job.objects.get(pk=job.pk).lease_until
        for _ in range(4):  # the start, then three renewals, each after a third of the lease
            assert renewed.acquire(timeout=30)
        return {"renewed": Job.objects.get(pk=job.pk).lease_until > first}

    handle(monkeypatch, slow)
    done = jobs.run(job.pk, alive=renewed.release)
    assert done and done.state == JobState.DONE and done.result == {"renewed": True}
