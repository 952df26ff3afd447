"""An upload looked at before it is ingested: what each file holds, then the two ways on."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chronicle import jobs, uploads
from chronicle.ingest import found, ingest_file
from chronicle.models import AuditEntry, Event, Grant, Job, JobState, Log, Source
from tests.importers.files import CLAUDE
from tests.web.digest import database_digest

pytestmark = pytest.mark.django_db

HEADER = {"anagrapheus.events": 1, "session": "dinner", "title": "A <b>dinner</b>"}
EVENTS = [
    {"id": f"e{number}", "kind": "message", "actor_kind": "human", "actor": "Dina", "content": f"Seat {number}."}
    for number in range(1, 4)
]


def lines(*rows: Any) -> bytes:
    return "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows).encode()


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
def rita(client: Client) -> Client:
    user = User.objects.create_user("rita")
    Grant.objects.create(user=user, owner="alice")
    client.force_login(user)
    return client


def sent(client: Client, *files: tuple[str, bytes], field: str = "files", then: str = "preview") -> Any:
    """Post files under the names that a browser would send, paths and all; the test client's own cuts them."""
    parts = [f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
             for name, value in (("owner", "alice"), ("then", then))]  # fmt: skip
    for name, content in files:
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n\r\n'
        parts.append(head.encode() + content + b"\r\n")
    body = b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()
    return client.generic("POST", "/ingest/", body, MULTIPART_CONTENT)


def looked_at(client: Client, *files: tuple[str, bytes], field: str = "files") -> Job:
    answer = sent(client, *files, field=field)
    assert answer.status_code == 302, answer.content.decode()
    job = jobs.run(Job.objects.latest("pk").pk)
    assert job is not None and job.state == JobState.DONE, job and job.last_error
    return job


def test_a_preview_says_what_a_file_holds_and_writes_nothing_to_a_log(rita: Client, kicked: list[int]) -> None:
    answer = sent(rita, ("dinner.jsonl", lines(HEADER, *EVENTS, "{not json")), ("notes.txt", b"Buy fish."))
    job = Job.objects.get()
    assert (answer["Location"], kicked) == (f"/ingest/{job.pk}/", [job.pk])
    waiting = rita.get(answer["Location"]).content.decode()
    assert "0 of 2 files</b> looked at" in waiting
    assert "Throw away" not in waiting
    jobs.run(job.pk)
    page = rita.get(answer["Location"]).content.decode()

    assert not Log.objects.exists() and not Event.objects.exists() and not Source.objects.exists()
    assert "A &lt;b&gt;dinner&lt;/b&gt;" in page
    assert "3, of them 3 new" in " ".join(page.split())
    assert "a new one" in page
    assert "1 of 1 refusal and 0 of 0 notes</b> shown" in page
    assert "4 records</b> read: 3 give events" in page or "5 records</b> read" in page
    assert "no known format" in page
    assert "1 of 2 files</b> can be read" in page


def test_what_was_looked_at_is_ingested_once_however_often_it_is_asked_for(rita: Client, kicked: list[int]) -> None:
    job = looked_at(rita, ("dinner.jsonl", lines(HEADER, *EVENTS)))
    first = rita.post(f"/ingest/{job.pk}/accept/")
    again = rita.post(f"/ingest/{job.pk}/accept/")
    ingest = Job.objects.get(kind="ingest")
    assert first["Location"] == again["Location"] == f"/ingest/{ingest.pk}/"
    jobs.run(ingest.pk)
    assert rita.post(f"/ingest/{job.pk}/accept/")["Location"] == first["Location"]
    assert Event.objects.count() == 3
    assert Job.objects.filter(kind="ingest").count() == 1
    assert f'<a href="/ingest/{ingest.pk}/">the report</a>' in rita.get(f"/ingest/{job.pk}/").content.decode()
    refused = rita.post(f"/ingest/{job.pk}/discard/")
    assert refused.status_code == 409
    assert "ingested already" in refused.content.decode()
    assert [entry.what for entry in AuditEntry.objects.filter(what__startswith="upload.")] == ["upload.accepted"]


def test_what_is_thrown_away_is_gone_and_the_page_says_by_whom(rita: Client, root: Path) -> None:
    job = looked_at(rita, ("dinner.jsonl", lines(HEADER, *EVENTS)))
    assert [path.name for path in root.rglob("*") if path.is_file()] == ["1"]
    for _ in range(2):
        assert rita.post(f"/ingest/{job.pk}/discard/").status_code == 302
    assert not list(root.iterdir())
    page = rita.get(f"/ingest/{job.pk}/").content.decode()
    assert "Thrown away by rita" in page
    assert "Ingest this file" not in page
    refused = rita.post(f"/ingest/{job.pk}/accept/")
    assert refused.status_code == 409
    assert "hand it in again" in refused.content.decode()
    assert [(entry.who, entry.what) for entry in AuditEntry.objects.all()] == [("rita", "upload.discarded")]
    assert "preview, thrown away" in " ".join(rita.get("/ingest/").content.decode().split())


def test_nothing_is_decided_while_the_files_are_being_looked_at(rita: Client) -> None:
    sent(rita, ("dinner.jsonl", lines(HEADER, *EVENTS)))
    job = Job.objects.get()
    for way in ("accept", "discard"):
        refused = rita.post(f"/ingest/{job.pk}/{way}/")
        assert refused.status_code == 409
        assert "still being looked at" in refused.content.decode()
    assert Job.objects.count() == 1


def test_a_grant_taken_back_after_the_preview_lets_nothing_in(rita: Client) -> None:
    job = looked_at(rita, ("dinner.jsonl", lines(HEADER, *EVENTS)))
    Grant.objects.all().delete()
    refused = rita.post(f"/ingest/{job.pk}/accept/")
    assert refused.status_code == 403
    assert "No grant lets you write for this owner any more" in refused.content.decode()
    assert Job.objects.count() == 1


def test_what_nobody_decided_on_is_thrown_away_after_seven_days(rita: Client, root: Path) -> None:
    late = looked_at(rita, ("late.jsonl", lines(HEADER, *EVENTS)))
    taken = looked_at(rita, ("taken.jsonl", lines(HEADER, *EVENTS)))
    rita.post(f"/ingest/{taken.pk}/accept/")
    new = looked_at(rita, ("new.jsonl", lines(HEADER, *EVENTS)))
    old = timezone.now() - timedelta(days=7, minutes=1)
    Job.objects.filter(pk__in=(late.pk, taken.pk)).update(made_at=old)

    assert uploads.sweep(timezone.now()) == 1
    assert uploads.sweep(timezone.now()) == 0
    assert "Thrown away by schedule" in rita.get(f"/ingest/{late.pk}/").content.decode()
    kept = {path.name for path in root.iterdir()}
    assert kept == {job.args["files"][0]["path"].partition("/")[0] for job in (taken, new)}


def test_a_folder_gives_the_logs_that_the_command_gives(rita: Client) -> None:
    own = sorted(path for path in CLAUDE.rglob("*") if path.is_file())
    given = [(f"claude/{path.relative_to(CLAUDE)}", path.read_bytes()) for path in reversed(own)]
    job = looked_at(rita, *given, field="folder")
    assert job.target == f"claude/, {len(own)} files"
    assert [file["inside"] for file in job.args["files"]] == sorted(name for name, _ in given)
    rita.post(f"/ingest/{job.pk}/accept/")
    done = jobs.run(Job.objects.get(kind="ingest").pk)
    assert done is not None and done.state == JobState.DONE, done and done.last_error
    uploaded = {log.source_session: list(log.events.order_by("seq").values_list("kind", "actor", "content"))
                for log in Log.objects.filter(owner="alice")}  # fmt: skip
    for file in found([CLAUDE]):
        ingest_file(file.path, owner="bob", inside=file.inside)
    walked = {log.source_session: list(log.events.order_by("seq").values_list("kind", "actor", "content"))
              for log in Log.objects.filter(owner="bob")}  # fmt: skip
    assert uploaded == walked
    assert len(uploaded) > 1


@pytest.mark.parametrize(
    ("name", "inside"),
    [
        ("folder/a.jsonl", "folder/a.jsonl"),
        ("a.jsonl", ""),
        ("../../etc/a.jsonl", "etc/a.jsonl"),
        ("/etc/a.jsonl", "etc/a.jsonl"),
        ("//etc/a.jsonl", "etc/a.jsonl"),
        ("folder/../a.jsonl", "folder/a.jsonl"),
        ("folder/./a.jsonl", "folder/a.jsonl"),
        ("folder\u202e/a.jsonl", "folder\u202e/a.jsonl"),
        ("folder\x00/a.jsonl", "folder\\u0000/a.jsonl"),
    ],
)
def test_no_path_that_a_browser_sends_leads_out_of_the_upload(root: Path, rita: Client, name: str, inside: str) -> None:
    job = looked_at(rita, (name, lines(HEADER, *EVENTS)), field="folder")
    (kept,) = job.args["files"]
    folder = kept["path"].partition("/")[0]
    assert kept.get("inside", "") == inside
    assert kept["name"] == "a.jsonl"
    (file,) = (path for path in root.rglob("*") if path.is_file())
    assert str(file.relative_to(root / folder)) == (f"tree/{inside}" if inside else "1")
    assert rita.get(f"/ingest/{job.pk}/").status_code == 200


def test_files_that_cannot_lie_at_their_places_are_kept_as_numbers(rita: Client, root: Path) -> None:
    whole = lines(HEADER, *EVENTS)
    names = ("d/a", "d/a", "d/a/b", "d/" + "n" * 300)
    job = looked_at(rita, *((name, whole) for name in names), field="folder")
    kept = {path.relative_to(root).as_posix().partition("/")[2] for path in root.rglob("*") if path.is_file()}
    assert kept == {"tree/d/a", "2", "3", "4"}
    assert sorted(file["inside"] for file in job.args["files"]) == sorted(names)
    assert job.result is not None and job.result["totals"]["read"] == 4


def test_a_path_that_no_form_can_carry_is_refused_with_a_sentence(rita: Client, root: Path) -> None:
    answer = sent(rita, ("n" * 1100 + "/a.jsonl", lines(HEADER, *EVENTS)), field="folder")
    assert answer.status_code == 400
    assert "the path of a file in its folder is too long" in answer.content.decode()
    assert not Job.objects.exists() and not root.exists()


def test_a_file_of_no_known_format_is_refused_where_it_was_named_and_passed_by_in_a_folder(rita: Client) -> None:
    named = looked_at(rita, ("notes.txt", b"Buy fish."))
    walked = looked_at(rita, ("garden/notes.txt", b"Buy fish."), field="folder")
    assert named.result is not None and walked.result is not None
    assert (named.result["totals"]["refusals"], named.result["totals"]["passed_by"]) == (1, 0)
    assert (walked.result["totals"]["refusals"], walked.result["totals"]["passed_by"]) == (0, 1)
    assert "To be passed by, as nobody named it" in rita.get(f"/ingest/{walked.pk}/").content.decode()


def test_what_the_logs_hold_is_told_apart_from_what_is_new(rita: Client) -> None:
    job = looked_at(rita, ("dinner.jsonl", lines(HEADER, *EVENTS[:2])))
    rita.post(f"/ingest/{job.pk}/accept/")
    jobs.run(Job.objects.get(kind="ingest").pk)
    grown = looked_at(rita, ("dinner.jsonl", lines(HEADER, *EVENTS)))
    page = rita.get(f"/ingest/{grown.pk}/").content.decode()
    assert "3, of them 1 new" in " ".join(page.split())
    assert f'href="/logs/{Log.objects.get().public_id}/"' in page


def test_a_page_of_many_files_asks_the_database_as_often_as_one_of_few(rita: Client) -> None:
    few = looked_at(rita, ("a.jsonl", lines(HEADER, *EVENTS)))
    many = looked_at(rita, *((f"{number}.jsonl", lines(HEADER, *EVENTS)) for number in range(40)))
    counts = []
    for job in (few, many):
        with CaptureQueriesContext(connection) as asked:
            assert rita.get(f"/ingest/{job.pk}/").status_code == 200
        counts.append(len(asked))
    assert counts[0] == counts[1]


def test_reading_a_preview_changes_nothing(rita: Client) -> None:
    job = looked_at(rita, ("dinner.jsonl", lines(HEADER, *EVENTS)))
    before = database_digest()
    for address in ("/ingest/", f"/ingest/{job.pk}/"):
        assert rita.get(address).status_code == 200
    assert database_digest() == before


def test_without_the_button_an_upload_is_ingested_at_once(rita: Client) -> None:
    sent(rita, ("dinner.jsonl", lines(HEADER, *EVENTS)), then="ingest")
    rita.post("/ingest/", {"owner": "alice", "files": [SimpleUploadedFile("b.jsonl", lines(HEADER, *EVENTS))]})
    assert [job.kind for job in Job.objects.order_by("pk")] == ["ingest", "ingest"]
