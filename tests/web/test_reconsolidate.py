"""The question, the wait and the way to compare; stale marks wherever a rollup is shown."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chronicle import jobs
from chronicle.models import Grant, Job, JobState, Log, Receipt, ReceiptPart, Section
from chronicle.reading import find
from chronicle.sections import current_edition
from tests.web.conftest import OWNER, redraw, words
from tests.web.digest import database_digest

ACCEPTED = {"generation": 1, "reason": "RT-4821 is in no event", "accept": "on"}


@pytest.fixture
def admin(client: Client, db: None, monkeypatch: pytest.MonkeyPatch) -> Client:
    """Staff with the permission to change sections and a grant, no superuser."""
    monkeypatch.setattr("chronicle.tasks.kick", lambda job: None)
    user = User.objects.create_user("s.putri", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="change_section"))
    Grant.objects.create(user=user, owner=OWNER)
    client.force_login(user)
    return client


def at(log: Log, ref: str = "1-7") -> str:
    return reverse("reconsolidate", args=[log.public_id, ref])


def receipt(log: Log, ref: str, reader: str) -> None:
    made = Receipt.objects.create(
        log=log,
        number=1,
        reader=reader,
        capability="read",
        at=timezone.now(),
        upto_seq=38,
        token_estimate=7,
        text_digest="0" * 64,
    )
    ReceiptPart.objects.create(receipt=made, position=0, section=find(current_edition(log), ref), form="title")


@pytest.mark.promise("K39")
def test_the_bill_names_readers_rollups_price_and_who_draws_and_writes_nothing(admin: Client, log: Log) -> None:
    receipt(log, "1-7", "<b>concierge</b>")
    before = database_digest()
    html = admin.get(at(log)).content.decode()
    assert database_digest() == before
    text = words(html)
    for expected in (
        "generation 1 will no longer agree",
        "1 receipt and 1 rollup",
        "receipt 1",
        "rollup L1:1-21#1",
        "stale already, and stays so",
        "1 of 1 receipt and 1 of 1 rollup listed",
        "no call of a model",
        "discards generation 2",
        "5 of 7",
        "L2:1-63",
    ):
        assert expected in text
    assert "&lt;b&gt;concierge&lt;/b&gt;" in html and "<b>concierge" not in html
    assert 'name="reason"' in html and 'name="accept"' in html


def test_what_is_accepted_with_a_reason_becomes_a_job_and_then_leads_to_compare(admin: Client, log: Log) -> None:
    answer = admin.post(at(log), ACCEPTED)
    job = Job.objects.get(kind="reconsolidate")
    assert answer["Location"] == reverse("reconsolidation", args=[log.public_id, "1-7", job.pk])
    waiting = admin.get(answer["Location"]).content.decode()
    assert "waits for a worker" in waiting and 'hx-trigger="every 2s"' in waiting
    assert "reconsolidate" in admin.get(reverse("jobs")).content.decode()
    jobs.run(job.pk)
    there = reverse("compare", args=[log.public_id, "1-7"]) + "?a=1&b=2"
    assert admin.get(answer["Location"])["Location"] == there
    fragment = admin.get(answer["Location"], headers={"HX-Request": "true", "HX-Target": "waiting"})
    assert (fragment.status_code, fragment["HX-Redirect"]) == (200, there)
    assert "s.putri accepted the divergence" in words(admin.get(there).content.decode())


@pytest.mark.promise("K30")
def test_a_double_click_costs_one_draw_and_the_second_answer_says_so(admin: Client, log: Log) -> None:
    first, second = admin.post(at(log), ACCEPTED), admin.post(at(log), ACCEPTED)
    assert first["Location"] == second["Location"] and Job.objects.filter(kind="reconsolidate").count() == 1
    assert "it is drawn once" in admin.get(second["Location"]).content.decode()
    jobs.run(Job.objects.get(kind="reconsolidate").pk)
    late = admin.post(at(log), {**ACCEPTED, "reason": "another"}, follow=True)
    assert late.redirect_chain[-1][0].endswith("/compare/?a=1&b=2")
    assert "with other words, which were not used" in late.content.decode()
    assert Section.objects.filter(anchor__from_seq=1, anchor__level=0).count() == 2


def test_who_saw_a_generation_that_another_superseded_is_told_and_nothing_is_drawn(admin: Client, log: Log) -> None:
    answer = admin.post(at(log, "8-14"), ACCEPTED, follow=True)
    assert "8-14#2 is current. Nothing was drawn." in answer.content.decode()
    assert answer.redirect_chain[-1][0].endswith("/8-14/compare/?a=1&b=2")
    assert not Job.objects.filter(kind="reconsolidate").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"reason": " "}, "A reason is needed"),
        ({"accept": ""}, "not accepted yet"),
        ({"generation": "x"}, "whole number"),
        ({"summariser": "os:system"}, "valid choice"),
        ({"reason": "x" * 2001}, "2000"),
        ({"summariser": "model"}, "MODEL"),
    ],
)
def test_what_is_not_whole_is_422_and_keeps_the_reason(
    admin: Client, log: Log, given: dict[str, Any], said: str
) -> None:
    answer = admin.post(at(log), {**ACCEPTED, **given})
    html = answer.content.decode()
    assert answer.status_code == 422 and said in html
    assert str({**ACCEPTED, **given}["reason"]) in html
    assert not Job.objects.filter(kind="reconsolidate").exists()


def test_the_choice_of_who_draws_changes_the_bill_and_is_posted_with_it(
    admin: Client, log: Log, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    html = admin.get(f"{at(log)}?summariser=model").content.decode()
    assert "1 call, about" in words(html) and 'name="summariser" value="model"' in " ".join(html.split())
    assert admin.get(f"{at(log)}?summariser=os:system").status_code == 400
    admin.post(at(log), {**ACCEPTED, "summariser": "outline"})
    assert Job.objects.get(kind="reconsolidate").args["summariser"] == "outline"


def test_a_reviewer_may_look_at_the_bill_and_has_no_button(page: Client, log: Log) -> None:
    html = page.get(at(log)).content.decode()
    assert "takes a member of staff" in html and 'name="reason"' not in html
    before = database_digest()
    assert page.post(at(log), ACCEPTED).status_code == 403
    assert database_digest() == before
    assert "Re-consolidate…" not in page.get(reverse("section", args=[log.public_id, "1-7"])).content.decode()


def test_staff_without_the_permission_may_not_and_neither_may_who_has_it_without_being_staff(
    client: Client, log: Log
) -> None:
    permission = Permission.objects.get(codename="change_section")
    staff, other = User.objects.create_user("staff", is_staff=True), User.objects.create_user("other")
    other.user_permissions.add(permission)
    for user in (staff, other):
        Grant.objects.create(user=user, owner=OWNER)
        client.force_login(user)
        assert client.post(at(log), ACCEPTED).status_code == 403


def test_a_failed_draw_says_why_and_only_who_may_redo_may_retry_it(admin: Client, log: Log, reviewer: User) -> None:
    admin.post(at(log), ACCEPTED)
    job = Job.objects.get(kind="reconsolidate")
    Job.objects.filter(pk=job.pk).update(state=JobState.FAILED, last_error="SummaryFailed: <i>none</i>")
    html = admin.get(reverse("reconsolidation", args=[log.public_id, "1-7", job.pk])).content.decode()
    assert "It was not drawn: SummaryFailed: &lt;i&gt;none" in html and "hx-trigger" not in html
    retry = reverse("job-retry", args=[job.pk])
    admin.force_login(reviewer)
    assert f'action="{retry}' not in admin.get(reverse("jobs")).content.decode()
    assert admin.post(retry).status_code == 403
    admin.force_login(User.objects.get(username="s.putri"))
    assert f'action="{retry}' in admin.get(reverse("jobs")).content.decode()
    assert admin.post(retry).status_code == 302


@pytest.mark.promise("K15", "K16")
def test_a_stale_rollup_is_marked_wherever_it_appears_with_what_to_do_and_its_price(page: Client, log: Log) -> None:
    marked = {
        "tree and timeline": reverse("chronicle", args=[log.public_id]) + "?open=L2:1-63",
        "its own page": reverse("section", args=[log.public_id, "L1:1-21"]),
        "a child's page": reverse("section", args=[log.public_id, "8-14"]),
        "compare": reverse("compare", args=[log.public_id, "8-14"]),
    }
    for place, address in marked.items():
        html = page.get(address).content.decode()
        assert "L1:1-21 is stale: it has not read 8-14#2" in words(html), place
        assert f'href="{at(log, "L1:1-21")}"' in html and "no call of a model" in html, place
    chronicle = page.get(marked["tree and timeline"]).content.decode()
    assert 'class="hatch"' in chronicle and "stale: 8-14#2" in chronicle
    over = page.get(reverse("section", args=[log.public_id, "L2:1-63"])).content.decode()
    assert '<span class="state" data-state="stale">stale</span>' in " ".join(over.split())
    assert "1 stale" in page.get(reverse("logs")).content.decode()


def test_many_stale_rollups_cost_no_more_queries_than_one(page: Client, log: Log) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    address, counts = reverse("chronicle", args=[log.public_id]), []
    for refs in (("1-7",), ("22-28", "43-49", "64-70", "L1:22-42")):
        for ref in refs:
            redraw(log, ref)
        with CaptureQueriesContext(connection) as captured:
            page.get(address)
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_the_generations_of_a_section_lead_to_their_comparison(page: Client, log: Log) -> None:
    html = page.get(reverse("section", args=[log.public_id, "8-14"])).content.decode()
    assert "/sections/8-14/compare/?a=1&amp;b=2" in html
