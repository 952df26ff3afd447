"""The report of `up --ingest PATH`: shown, listed, linked, and in words what was refused."""

import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chronicle import jobs
from chronicle.ingest import keeping
from chronicle.models import Grant, Job, Log
from tests.importers.files import EVENTS

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A file that goes in, one with three refused lines, one of no known format."""
    header, event = (EVENTS / "small.jsonl").read_text().splitlines()[:2]
    (tmp_path / "good.jsonl").write_text(f"{header}\n{event}\n")
    (tmp_path / "half.jsonl").write_text(
        json.dumps({"anagrapheus.events": 1, "session": "half"}) + f"\n{event}\n{{no\n{{no\n{{no\n"
    )
    (tmp_path / "notes.txt").write_text("Buy fish.")
    return tmp_path


@pytest.fixture
def job(folder: Path) -> Job:
    args = {"path": str(folder), "owner": "alice"}
    done = jobs.run(jobs.enqueue("ingest_path", folder.name, key="path", args=args, made_by="up").pk)
    assert done is not None and done.state == "done", done and done.last_error
    return done


def signed_in(name: str, *, owner: str = "") -> Client:
    user = User.objects.create_user(name)
    if owner:
        Grant.objects.create(user=user, owner=owner)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def test_the_report_names_every_file_and_what_was_refused(admin: Client, job: Job, folder: Path) -> None:
    page = admin.get(f"/ingest/{job.pk}/").content.decode()

    assert "2 of 3 files</b> ingested: 1 gave no event; 3 lines refused." in page
    assert "3 of 3 refused lines</b> shown" in page
    assert f"{folder}/notes.txt" in page and "Passed by, as nobody named it: no known format." in page
    for log in Log.objects.all():
        assert f"/logs/{log.public_id}/" in page


@pytest.mark.parametrize("page", ["/jobs/", "/ingest/"])
def test_the_row_leads_to_the_report_and_says_in_words_what_was_refused(admin: Client, job: Job, page: str) -> None:
    shown = admin.get(page).content.decode()

    assert f'<a href="/ingest/{job.pk}/">' in shown
    assert "<div>3 lines refused</div>" in shown


def test_nothing_refused_is_said_too(admin: Client, folder: Path) -> None:
    args = {"path": str(folder / "good.jsonl"), "owner": "alice"}
    jobs.run(jobs.enqueue("ingest_path", "good.jsonl", key="path", args=args, made_by="up").pk)

    assert "nothing refused" in admin.get("/jobs/").content.decode()


def test_a_report_that_is_not_there_yet_is_said_to_come(admin: Client, folder: Path) -> None:
    args = {"path": str(folder), "owner": "alice"}
    waiting = jobs.enqueue("ingest_path", folder.name, key="path", args=args, made_by="up")

    assert "0 of ? files</b> ingested; the report stands here" in admin.get(f"/ingest/{waiting.pk}/").content.decode()
    assert "refused" not in admin.get("/jobs/").content.decode()


@pytest.mark.promise("K5")
def test_who_may_see_the_owners_logs_sees_the_report_and_nobody_else(job: Job) -> None:
    rita, bo, up = signed_in("rita", owner="alice"), signed_in("bo", owner="bob"), signed_in("up")

    assert rita.get(f"/ingest/{job.pk}/").status_code == 200
    assert rita.get("/jobs/").context["all"] == rita.get("/ingest/").context["uploads"] == 1
    for other in (bo, up):  # `up` is called as the command that made the job, which means nothing
        absent = other.get("/ingest/999999/")
        foreign = other.get(f"/ingest/{job.pk}/")
        assert (foreign.status_code, foreign.content) == (404, absent.content)
        assert other.get("/jobs/").context["all"] == other.get("/ingest/").context["uploads"] == 0


def test_what_does_not_fit_into_the_row_is_counted_and_refusals_are_kept_first(
    admin: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "FILES", 2)
    monkeypatch.setattr(keeping, "LINES_IN_ALL", 2)
    args = {"path": str(folder), "owner": "alice"}
    done = jobs.run(jobs.enqueue("ingest_path", folder.name, key="path", args=args, made_by="up").pk)
    assert done is not None and done.result is not None
    page = admin.get(f"/ingest/{done.pk}/").content.decode()

    assert [Path(file["path"]).name for file in done.result["files"]] == ["half.jsonl", "notes.txt"]
    assert "2 of 3 files</b> ingested: 1 gave no event; 3 lines refused." in page
    assert "The reports of 2 are kept, those with refusals before others." in page
    assert "1 of 3 refused lines</b> shown" in page
