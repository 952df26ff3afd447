"""Health, and the two addresses that tell it."""

from datetime import timedelta

import pytest
from django.db import DatabaseError
from django.test import Client

from chronicle import health, jobs
from tests.conftest import Clock


@pytest.mark.django_db
def test_the_site_is_well_when_its_database_answers(client: Client) -> None:
    answer = client.get("/healthz/")
    assert answer.status_code == 200 and answer.json()["ok"] is True
    assert not answer.cookies


@pytest.mark.django_db
def test_the_site_is_not_well_when_its_database_does_not_answer(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Gone:
        def cursor(self) -> None:
            raise DatabaseError

    monkeypatch.setattr(health, "connection", Gone())
    assert client.get("/healthz/").status_code == 503


@pytest.mark.django_db
def test_a_worker_that_never_sang_is_red(client: Client) -> None:
    answer = client.get("/healthz/worker")
    assert answer.status_code == 503
    assert "not given a sign of life yet" in answer.json()["words"]


@pytest.mark.django_db
def test_a_worker_is_red_after_three_minutes_of_silence(client: Client, clock: Clock) -> None:
    health.beat(health.CANARY)
    clock.move(seconds=180)
    assert client.get("/healthz/worker").status_code == 200
    clock.move(seconds=1)
    answer = client.get("/healthz/worker")
    assert answer.status_code == 503 and answer.json()["stalled"] is True
    health.beat(health.CANARY)
    assert client.get("/healthz/worker").status_code == 200


@pytest.mark.django_db
def test_a_worker_whose_hands_are_full_is_not_stalled(clock: Clock) -> None:
    health.beat(health.CANARY)
    clock.move(minutes=10)
    health.beat_worker()
    assert health.worker_health().ok


@pytest.mark.django_db
def test_a_worker_is_red_when_the_oldest_due_job_waits_too_long(client: Client, clock: Clock) -> None:
    jobs.enqueue("canary", "here", key="k")
    clock.move(seconds=900)
    health.beat(health.CANARY)
    assert client.get("/healthz/worker").status_code == 200
    clock.move(seconds=1)
    answer = client.get("/healthz/worker").json()
    assert answer["behind"] and not answer["stalled"] and answer["oldest_due"] == 901


@pytest.mark.django_db
def test_a_job_that_waits_for_its_next_try_makes_nobody_red(clock: Clock) -> None:
    job = jobs.enqueue("canary", "here", key="k")
    job.next_try = clock() + timedelta(hours=6)
    job.save()
    clock.move(hours=1)
    health.beat(health.CANARY)
    assert health.worker_health().ok


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/healthz/", "/healthz/worker"])
def test_health_writes_nothing(client: Client, address: str) -> None:
    assert client.post(address).status_code == 405
