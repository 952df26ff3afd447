"""A reviewer hands in a whole folder, looks, and lets it in; in a real browser, which says where each file lay."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from chronicle import jobs
from chronicle.models import Job, Log
from tests.e2e.conftest import Visit
from tests.importers.files import CLAUDE

SESSION = "c0ffee08-0000-4000-8000-000000000008"


@pytest.fixture
def folder(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session with a sub-agent in a file of its own, and a README that is no transcript."""
    settings.INGEST_ROOT = tmp_path / "uploads"
    monkeypatch.setattr("chronicle.tasks.kick", lambda job: None)
    return Path(shutil.copytree(CLAUDE / "project", tmp_path / "claude"))


def test_a_folder_is_looked_at_then_let_in(visit: Visit, folder: Path, log: Log) -> None:
    User.objects.filter(username="r.wijaya").update(is_staff=True, is_superuser=True)
    page = visit.page
    visit.sign_in()
    page.goto(f"{visit.base}/ingest/")
    visit.check("Ingest")
    page.get_by_label("Owner of the logs").fill("garden")
    page.get_by_label("or a whole folder").set_input_files(folder)
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#report")).to_contain_text("what they hold stands here")
    preview = Job.objects.get(kind="preview")
    jobs.run(preview.pk)
    expect(page.locator("#report")).to_contain_text("claude/README.md")  # by itself, once it is done
    visit.check("claude/, 3 files")
    assert page.evaluate("document.activeElement === document.body")  # what renews itself takes no focus
    assert not Log.objects.filter(owner="garden").exists()

    page.get_by_role("button", name="Ingest these").click()
    expect(page.locator("#report")).to_contain_text("the report stands here")
    ingest = Job.objects.get(kind="ingest")
    jobs.run(ingest.pk)
    expect(page.locator("#report")).to_contain_text("gave no event")
    visit.check("claude/, 3 files")
    found = Log.objects.get(owner="garden", source_session=SESSION)
    assert "scout" in found.events.values_list("actor", flat=True)  # read from the file beside
    page.goto(f"{visit.base}/ingest/{preview.pk}/")
    page.get_by_role("link", name="the report", exact=True).click()
    expect(page).to_have_url(f"{visit.base}/ingest/{ingest.pk}/")
