"""The page that takes transcripts in, and the report of an upload."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from chronicle import jobs
from chronicle.models import Event, Grant, Job, JobState, Log

pytestmark = pytest.mark.django_db

LINES = (
    {"anagrapheus.events": 1, "session": "dinner", "title": "A dinner"},
    {"id": "e1", "kind": "message", "actor_kind": "human", "actor": "Dina", "content": "Eight of us."},
)
FRAGMENT = {"HX-Request": "true", "HX-Target": "report"}


def file(name: str = "dinner.jsonl", content: str | None = None) -> SimpleUploadedFile:
    given = "\n".join(json.dumps(line) for line in LINES) if content is None else content
    return SimpleUploadedFile(name, given.encode())


@pytest.fixture(autouse=True)
def root(tmp_path: Path, settings: Any) -> Path:
    settings.INGEST_ROOT = tmp_path / "uploads"
    return Path(settings.INGEST_ROOT)


@pytest.fixture(autouse=True)
def kicked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    kicks: list[int] = []
    monkeypatch.setattr("chronicle.tasks.kick", lambda job: kicks.append(job.pk))
    return kicks


@pytest.fixture
def rita(client: Client) -> User:
    user = User.objects.create_user("rita")
    Grant.objects.create(user=user, owner="alice")
    client.force_login(user)
    return user


def test_files_handed_in_are_queued_and_the_report_says_what_became_of_each(
    client: Client, rita: User, kicked: list[int]
) -> None:
    answer = client.post("/ingest/", {"owner": "alice", "files": [file(), file("notes.txt", "Buy fish.")]})
    job = Job.objects.get()
    assert (answer.status_code, answer["Location"], kicked) == (302, f"/ingest/{job.pk}/", [job.pk])
    waiting = client.get(answer["Location"]).content.decode()
    assert "waiting" in waiting
    assert "the report stands here when the job is done" in waiting
    jobs.run(job.pk)
    report = client.get(answer["Location"]).content.decode()
    log = Log.objects.get(owner="alice")
    assert f'<a href="/logs/{log.public_id}/">' in report
    assert "1 of 2 files</b> ingested: 1 gave no event" in report
    assert "notes.txt" in report
    assert "not ingested" in report
    assert "no known format (formats that are known: " in report


@pytest.mark.parametrize("name", ["..", ".", "a/..", "\u202e", "\x01\x02", "C:\\"])
def test_a_file_without_a_usable_name_is_taken_and_its_name_is_shown(client: Client, rita: User, name: str) -> None:
    odd = file("odd.jsonl")
    odd._name = name
    client.post("/ingest/", {"owner": "alice", "files": [file("a.jsonl"), odd, file("b.jsonl")]})
    job = Job.objects.get()
    names = [kept["name"] for kept in job.args["files"]]
    assert (names[0], names[2], len(names)) == ("a.jsonl", "b.jsonl", 3)
    assert names[1].startswith("no usable name (")
    jobs.run(job.pk)
    report = client.get(f"/ingest/{job.pk}/").content.decode()
    assert "3 of 3 files</b> ingested" in report
    assert "no usable name (" in report


def test_a_folder_is_taken_beside_the_files(client: Client, rita: User) -> None:
    client.post("/ingest/", {"owner": "alice", "files": [file("a.jsonl")], "folder": [file("b.jsonl")]})
    assert [kept["name"] for kept in Job.objects.get().args["files"]] == ["a.jsonl", "b.jsonl"]
    assert "webkitdirectory" in client.get("/ingest/").content.decode()


def test_refused_lines_stand_with_their_numbers(client: Client, rita: User) -> None:
    lines = [json.dumps(LINES[0]), "{not json", json.dumps(LINES[1])]
    client.post("/ingest/", {"owner": "alice", "files": [file(content="\n".join(lines))]})
    job = jobs.run(Job.objects.get().pk)
    assert job is not None
    page = client.get(f"/ingest/{job.pk}/")
    assert [line["line"] for line in page.context["files"][0].lines] == [2]
    assert "1 of 1 refused line</b> shown" in page.content.decode()


def test_the_part_that_renews_itself_stops_when_the_job_is_done(client: Client, rita: User) -> None:
    client.post("/ingest/", {"owner": "alice", "files": [file()]})
    job = Job.objects.get()
    part = client.get(f"/ingest/{job.pk}/", headers=FRAGMENT).content.decode().strip()
    assert part in client.get(f"/ingest/{job.pk}/").content.decode()
    assert 'hx-trigger="every 2s"' in part
    jobs.run(job.pk)
    assert "hx-trigger" not in client.get(f"/ingest/{job.pk}/", headers=FRAGMENT).content.decode()


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([], "No file was chosen."),
        ([("empty.jsonl", "")], "The file is empty."),
        ([("a.jsonl", ""), ("b.jsonl", "")], "All 2 files are empty."),
    ],
)
def test_nothing_to_ingest_is_said_and_nothing_is_queued(
    client: Client, rita: User, root: Path, files: list[tuple[str, str]], words: str
) -> None:
    answer = client.post("/ingest/", {"owner": "alice", "files": [file(*one) for one in files]})
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert not Job.objects.exists()
    assert not root.exists()


def test_an_upload_over_the_limit_is_refused_before_it_is_read(client: Client, rita: User, settings: Any) -> None:
    settings.MAX_UPLOAD = 100
    answer = client.post("/ingest/", {"owner": "alice", "files": [file(content="x" * 200)]})
    assert answer.status_code == 413
    assert "larger than the limit" in answer.content.decode()
    assert "100 B together" in answer.content.decode()


def test_more_files_than_the_limit_are_refused_with_a_sentence(client: Client, rita: User, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_NUMBER_FILES = 2
    answer = client.post("/ingest/", {"owner": "alice", "files": [file(), file(), file()]})
    assert answer.status_code == 413
    assert "more files than the limit" in answer.content.decode()


def test_an_upload_needs_the_forms_token(rita: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(rita)
    assert strict.post("/ingest/", {"owner": "alice", "files": [file()]}).status_code == 403
    assert not Job.objects.exists()


def test_an_upload_without_sign_in_is_sent_to_sign_in_and_kept_nowhere(client: Client, root: Path) -> None:
    answer = client.post("/ingest/", {"owner": "alice", "files": [file()]})
    assert answer["Location"] == "/login/?next=/ingest/"
    assert not root.exists()


@pytest.mark.promise("K5")
def test_a_reviewer_writes_for_the_owners_granted_to_them_and_for_no_other(client: Client, rita: User) -> None:
    group = Group.objects.create(name="reviewers")
    rita.groups.add(group)
    Grant.objects.create(group=group, owner="carol")
    assert client.get("/ingest/").context["owners"] == ["alice", "carol"]
    assert client.post("/ingest/", {"owner": "carol", "files": [file()]}).status_code == 302
    refused = client.post("/ingest/", {"owner": "bob", "files": [file()]})
    assert refused.status_code == 422
    assert "No grant lets you write for this owner" in refused.content.decode()
    assert Job.objects.count() == 1


def test_an_admin_may_name_a_new_owner(client: Client) -> None:
    client.force_login(User.objects.create_superuser("root"))
    assert client.post("/ingest/", {"owner": "a new owner", "files": [file()]}).status_code == 302
    jobs.run(Job.objects.get().pk)
    assert Log.objects.get().owner == "a new owner"


def test_who_was_granted_nothing_is_told_so_and_has_no_form(client: Client) -> None:
    client.force_login(User.objects.create_user("charlie"))
    page = client.get("/ingest/").content.decode()
    assert "No owner was granted to you" in page
    assert 'type="file"' not in page
    assert client.post("/ingest/", {"owner": "alice", "files": [file()]}).status_code == 422
    assert not Event.objects.exists()


@pytest.mark.promise("K5")
def test_the_report_of_another_persons_upload_is_not_there(client: Client, rita: User) -> None:
    client.post("/ingest/", {"owner": "alice", "files": [file()]})
    job = Job.objects.get()
    charlie = Client()
    charlie.force_login(User.objects.create_user("charlie"))
    unknown = charlie.get("/ingest/999999/")
    foreign = charlie.get(f"/ingest/{job.pk}/")
    assert (foreign.status_code, foreign.content) == (404, unknown.content)
    assert charlie.get("/ingest/").context["uploads"] == 0


def test_a_report_leads_only_to_logs_that_its_reader_may_still_see(client: Client, rita: User) -> None:
    client.post("/ingest/", {"owner": "alice", "files": [file()]})
    job = jobs.run(Job.objects.get().pk)
    assert job is not None
    assert job.state == JobState.DONE
    Grant.objects.all().delete()
    page = client.get(f"/ingest/{job.pk}/").content.decode()
    assert f"/logs/{Log.objects.get().public_id}/" not in page


def test_a_job_of_another_kind_has_no_report(client: Client) -> None:
    client.force_login(User.objects.create_superuser("root"))
    assert client.get(f"/ingest/{jobs.enqueue('canary', '', key='canary').pk}/").status_code == 404
