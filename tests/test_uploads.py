"""Uploads: kept under one root, ingested by a job, reported file by file."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from chronicle import jobs, uploads
from chronicle.models import Event, Job, JobState, Log

pytestmark = pytest.mark.django_db

HEADER = {"anagrapheus.events": 1, "session": "dinner", "title": "A dinner"}
EVENT = {"id": "e1", "kind": "message", "actor_kind": "human", "actor": "Dina", "content": "Eight of us."}


@pytest.fixture(autouse=True)
def root(tmp_path: Path, settings: Any) -> Path:
    settings.INGEST_ROOT = tmp_path / "uploads"
    return settings.INGEST_ROOT


def file(name: str = "dinner.jsonl", *rows: Any) -> SimpleUploadedFile:
    lines = [json.dumps(row) if isinstance(row, dict) else row for row in rows or (HEADER, EVENT)]
    return SimpleUploadedFile(name, "\n".join(lines).encode())


def done(*files: SimpleUploadedFile) -> Job:
    job = jobs.run(uploads.keep(files, owner="alice", made_by="rita").pk)
    assert job is not None
    return job


def reports(job: Job) -> list[dict[str, Any]]:
    assert job.state == JobState.DONE, job.last_error
    assert job.result is not None
    found: list[dict[str, Any]] = job.result["files"]
    return found


def test_an_upload_becomes_a_log_of_the_owner_and_a_report() -> None:
    (report,) = reports(done(file()))
    log = Log.objects.get()
    assert (log.owner, log.title, log.last_seq) == ("alice", "A dinner", 1)
    assert (report["path"], report["format"]) == ("dinner.jsonl", "events")
    (named,) = report["logs"]
    assert (named["log"], named["added"], named["replayed"]) == (log.public_id, 1, 0)


def test_the_same_upload_twice_adds_nothing() -> None:
    done(file())
    (report,) = reports(done(file()))
    assert (report["logs"][0]["added"], report["logs"][0]["replayed"]) == (0, 1)
    assert Event.objects.count() == 1


def test_files_that_cannot_be_read_are_said_and_stop_no_other() -> None:
    job = done(file("empty.jsonl", ""), file("notes.txt", "Buy fish."), file())
    empty, unknown, good = reports(job)
    assert [one["reason"] for one in empty["refused"]] == ["The file is empty."]
    assert (unknown["logs"], len(unknown["refused"])) == ([], 1)
    assert good["logs"][0]["added"] == 1
    assert job.progress == {"done": 3, "of": 3, "what": "files"}


def test_a_bad_line_is_refused_by_its_number_and_the_others_land() -> None:
    (report,) = reports(done(file("dinner.jsonl", HEADER, "{not json", EVENT)))
    assert [one["line"] for one in report["refused"]] == [2]
    assert report["logs"][0]["added"] == 1


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "a\x00b", "..", "con\u202etxt.jsonl", "x" * 5000])
def test_no_name_that_a_browser_sends_becomes_a_path(root: Path, name: str) -> None:
    given = file()
    given._name = name  # past the form's own cleaning
    job = uploads.keep([given], owner="alice", made_by="rita")
    (kept,) = (path for path in root.rglob("*") if path.is_file())
    assert kept.name == "1"
    assert len(kept.parent.name) == 32
    assert kept.parent.parent == root
    assert job.args["files"][0]["path"] == f"{kept.parent.name}/1"
    assert kept.parent.stat().st_mode & 0o077 == 0


def test_a_path_that_leads_out_of_the_root_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(json.dumps(HEADER))
    for path in ("../secret", str(tmp_path / "secret")):
        files = [{"path": path, "name": "secret"}]
        job = jobs.enqueue("ingest", "secret", key=f"ingest:{path}", args={"owner": "alice", "files": files})
        ran = jobs.run(job.pk)
        assert ran is not None
        assert ran.state == JobState.FAILED
        assert "leads out of the folder" in ran.last_error
    assert not Log.objects.exists()


def test_a_link_out_of_the_root_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(json.dumps(HEADER))
    root.mkdir()
    (root / "1").symlink_to(tmp_path / "secret")
    job = jobs.enqueue("ingest", "x", key="ingest:x", args={"owner": "alice", "files": [{"path": "1", "name": "x"}]})
    ran = jobs.run(job.pk)
    assert ran is not None
    assert ran.state == JobState.FAILED


def test_an_upload_that_is_gone_says_so() -> None:
    files = [{"path": "none/1", "name": "dinner.jsonl"}]
    ran = jobs.run(jobs.enqueue("ingest", "x", key="ingest:y", args={"owner": "alice", "files": files}).pk)
    assert ran is not None
    assert "gone from the server" in reports(ran)[0]["refused"][0]["reason"]
