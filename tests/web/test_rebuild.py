"""The question before a rebuild, the wait, the report, the list of editions."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from chronicle import jobs
from chronicle.models import Edition, Grant, Job, Log
from chronicle.rebuild import rebuild
from tests.web.conftest import OWNER, words
from tests.web.digest import database_digest

pytestmark = pytest.mark.django_db

ACCEPTED = {"edition": 1, "replay": "", "reason": "another summariser", "accept": "on"}


@pytest.fixture
def admin(client: Client, monkeypatch: pytest.MonkeyPatch) -> Client:
    """Staff with the permission to change sections and a grant, no superuser."""
    monkeypatch.setattr("chronicle.tasks.kick", lambda job: None)
    user = User.objects.create_user("s.putri", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="change_section"))
    Grant.objects.create(user=user, owner=OWNER)
    client.force_login(user)
    return client


def at(log: Log) -> str:
    return reverse("rebuild", args=[log.public_id])


@pytest.mark.promise("K21")
def test_the_bill_stands_before_anything_happens_and_a_get_writes_nothing(admin: Client, log: Log) -> None:
    before = database_digest()
    text = words(admin.get(at(log)).content.decode())
    assert database_digest() == before
    for expected in (
        "draws 16 sections and 6 rollups again",
        "re-consolidations lost 1: every section starts again at generation 1",
        "receipts that cite edition 1 0; their texts stay",
        "no call of a model",
        "1 of 1 edition listed",
        "0 of 0 reports listed",
        "I accept that the generated words of edition 1 are no longer current",
    ):
        assert expected in text, expected


@pytest.mark.promise("K22", "A53")
def test_what_is_accepted_becomes_a_job_and_leads_to_a_report_that_compares(admin: Client, log: Log) -> None:
    answer = admin.post(at(log), ACCEPTED)
    job = Job.objects.get(kind="rebuild")
    assert answer["Location"] == reverse("rebuilding", args=[log.public_id, job.pk])
    waiting = admin.get(answer["Location"]).content.decode()
    assert "waits for a worker" in waiting and 'hx-trigger="every 2s"' in waiting
    jobs.run(job.pk)

    assert admin.get(answer["Location"])["Location"] == f"{at(log)}#reports"
    fragment = admin.get(answer["Location"], headers={"HX-Request": "true", "HX-Target": "waiting"})
    assert (fragment.status_code, fragment["HX-Redirect"]) == (200, f"{at(log)}#reports")
    text = words(admin.get(at(log)).content.decode())
    for expected in (
        "2 of 2 editions listed",
        "1 of 1 report listed",
        "rebuilt, by s.putri at",
        "anchors identical 22 of 22",
        "word for word as generation 1 0 of 22",
        "taken over · re-consolidations lost 0 · 1",
        "rebuilt: another summariser",
    ):
        assert expected in text, expected


@pytest.mark.promise("K30")
def test_a_double_click_is_one_rebuild_and_the_second_answer_says_so(admin: Client, log: Log) -> None:
    first, second = admin.post(at(log), ACCEPTED), admin.post(at(log), ACCEPTED)
    assert first["Location"] == second["Location"] and Job.objects.filter(kind="rebuild").count() == 1
    assert "it is rebuilt once" in admin.get(second["Location"]).content.decode()
    jobs.run(Job.objects.get(kind="rebuild").pk)
    admin.post(at(log), ACCEPTED)
    assert list(log.editions.order_by("number").values_list("state", flat=True)) == ["archived", "current"]
    late = admin.post(at(log), {**ACCEPTED, "edition": 9}, follow=True)
    assert "Edition 2 is in force by now, not 9. Nothing was rebuilt." in late.content.decode()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"reason": " "}, "A reason is needed"),
        ({"accept": ""}, "not accepted yet"),
        ({"edition": "x"}, "whole number"),
        ({"replay": "loose"}, "valid choice"),
        ({"reason": "x" * 2001}, "2000"),
    ],
)
def test_what_is_not_whole_is_422_and_keeps_the_reason(
    admin: Client, log: Log, given: dict[str, Any], said: str
) -> None:
    answer = admin.post(at(log), {**ACCEPTED, **given})
    assert answer.status_code == 422 and said in answer.content.decode()
    assert ("another summariser" in answer.content.decode()) == ("reason" not in given)
    assert not Job.objects.filter(kind="rebuild").exists()


def test_a_replay_is_chosen_by_name_and_priced(admin: Client, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chronicle.policies.summariser_name", lambda _: "model")
    assert "22 calls" in words(admin.get(at(log)).content.decode())
    assert "no call of a model" in words(admin.get(at(log), {"replay": "strict"}).content.decode())
    assert admin.get(at(log), {"replay": "loose"}).status_code == 400


def test_a_rebuild_that_failed_says_why_and_that_the_edition_stands(admin: Client, log: Log) -> None:
    job = Job.objects.get(pk=int(admin.post(at(log), ACCEPTED)["Location"].rstrip("/").rpartition("/")[2]))
    Job.objects.filter(pk=job.pk).update(state="failed", last_error="PinMiss: No <b>call</b> is recorded.")
    html = admin.get(reverse("rebuilding", args=[log.public_id, job.pk])).content.decode()
    assert "No &lt;b&gt;call&lt;/b&gt; is recorded." in html and "Edition 1 is in force as it was" in html
    assert "every 2s" not in html


def test_an_edition_that_is_not_whole_is_told_and_leads_nowhere(admin: Client, log: Log) -> None:
    Edition.objects.create(log=log, number=2, state="building", made_by="<i>", made_at=log.started_at)
    html = admin.get(at(log)).content.decode()
    assert "Edition 2 was begun by &lt;i&gt; and is not whole" in words(html)
    assert "edition=2" not in html


def test_who_may_see_the_log_sees_the_editions_and_no_button(page: Client, log: Log) -> None:
    rebuild(log, discard_generated=True, by="<script>", reason="<b>why</b>")
    html = page.get(at(log)).content.decode()
    assert "takes a member of staff" in html and 'name="accept"' not in html
    assert "<script>" not in html.replace("<script src", "") and "&lt;b&gt;why&lt;/b&gt;" in html
    assert page.post(at(log), ACCEPTED).status_code == 403
    assert not Job.objects.filter(kind="rebuild").exists()


def test_the_chronicle_leads_there_in_the_words_of_who_may(page: Client, log: Log) -> None:
    there = reverse("chronicle", args=[log.public_id])
    assert f'<a href="{at(log)}">Editions</a>' in page.get(there).content.decode()


def test_a_log_without_a_section_has_nothing_to_rebuild(page: Client) -> None:
    from tests.builders import log_of

    empty = log_of(2, owner=OWNER)
    assert page.get(at(empty)).status_code == 404
    assert not Edition.objects.filter(log=empty).exists()
