"""The page that gives a log as a file."""

from typing import Any

import pytest
from django.test import Client

from chronicle import exports
from chronicle.exports import forms
from chronicle.fold import consolidate
from chronicle.models import AuditEntry, Log
from tests.builders import units_of
from tests.summarisers import Scripted


@pytest.fixture
def log() -> Log:
    log = units_of(3)
    consolidate(log, summariser=Scripted())
    return log


def send(client: Client, log: Log, **given: Any) -> Any:
    return client.post(f"/logs/{log.public_id}/export/", given)


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        ("carry", b'{"format":'),
        ("anagrapheus", b'{"anagrapheus.recording":1'),
        ("markdown", b"# "),
        ("html", b"<!DOCTYPE html>"),
        ("csv", b"seq,kind,"),
        ("otlp", b'{"resourceSpans"'),
    ],
)
def test_each_form_is_sent_as_a_file_and_kept_in_the_audit_trail(
    admin_client: Client, log: Log, form: str, begins: bytes
) -> None:
    response = send(admin_client, log, form=form)

    assert response.status_code == 200
    assert response["Content-Disposition"].startswith("attachment; filename=")
    assert response["Cache-Control"] == "no-store"
    assert b"".join(response.streaming_content).startswith(begins)
    assert AuditEntry.objects.filter(what="log.exported", target=log.public_id).count() == 1


@pytest.mark.parametrize("form", ["carry", "anagrapheus"])
def test_what_holds_everything_is_for_those_who_may_change_sections(page: Client, log: Log, form: str) -> None:
    assert send(page, log, form=form).status_code == 403
    assert f'value="{form}"' not in page.get(f"/logs/{log.public_id}/export/").content.decode()
    assert not AuditEntry.objects.filter(what="log.exported").exists()


def test_the_page_writes_nothing_and_says_what_each_form_leaves_out(page: Client, log: Log) -> None:
    before = AuditEntry.objects.count()
    html = page.get(f"/logs/{log.public_id}/export/").content.decode()

    assert "-lossy.csv" in html
    assert "superseded generations" in html
    assert AuditEntry.objects.count() == before


@pytest.mark.parametrize(
    "given",
    [{}, {"form": "exe"}, {"form": "csv", "first": "x"}, {"form": "csv", "first": "5", "last": "2"},
     {"form": "csv", "last": "99"}, {"form": "csv", "first": "0"}, {"form": "csv", "first": "9" * 30}],
)  # fmt: skip
def test_what_cannot_be_read_is_said_and_nothing_is_sent(page: Client, log: Log, given: dict[str, str]) -> None:
    response = send(page, log, **given)

    assert response.status_code == 422
    assert "Nothing was exported." in response.content.decode()


def test_a_page_of_html_that_is_too_long_says_which_part_to_take(
    page: Client, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = [exports.Form(f.name, f.suffix, f.media_type, f.lossy, f.write, page=4) for f in exports.FORMS]
    monkeypatch.setattr(forms, "FORMS", small)
    response = send(page, log, form="html")

    assert response.status_code == 422
    assert "1 to 4 for the first" in response.content.decode()
