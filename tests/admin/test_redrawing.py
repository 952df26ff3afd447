"""Sections are re-consolidated from the admin after a question with their bills."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from chronicle import jobs
from chronicle.models import AuditEntry, Grant, Job, Log, Section
from chronicle.reading import find
from chronicle.reconsolidate import reconsolidate
from chronicle.sections import current_edition

pytestmark = pytest.mark.django_db

LIST = "admin:chronicle_section_changelist"


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chronicle.tasks.kick", lambda job: None)


def post(client: Client, *sections: Section, **more: Any) -> Any:
    given = {"action": "reconsolidate", "_selected_action": [section.pk for section in sections], **more}
    return client.post(reverse(LIST), given, follow=True)


def test_the_action_asks_first_with_the_bill_of_each_and_draws_after(client: Client, root: User, log: Log) -> None:
    section = find(current_edition(log), "3-4")
    asked = post(client, section).content.decode()
    for expected in ("Draws 3-4#2 over 3 to 4", "0 receipts read 3-4#1", "L1:1-16#1", "no call of a model"):
        assert expected in asked
    assert not Job.objects.filter(kind="reconsolidate").exists()
    for partly in ({"reason": "wrong"}, {"accept": "on"}, {"reason": " ", "accept": "on"}):
        assert "both needed" in post(client, section, confirmed="yes", **partly).content.decode()
    done = post(client, section, confirmed="yes", reason="wrong", accept="on").content.decode()
    job = Job.objects.get(kind="reconsolidate")
    assert f"3-4#1 is drawn again by job {job.pk}" in done
    jobs.run(job.pk)
    assert find(current_edition(log), "3-4").generation == 2
    assert AuditEntry.objects.get(what="section.reconsolidated").who == "root"


def test_a_superseded_generation_is_left_alone(client: Client, root: User, log: Log) -> None:
    old = find(current_edition(log), "3-4")
    reconsolidate(log, "3-4", accepted=True, by="x")
    assert "1 of the selected are superseded" in post(client, old).content.decode()
    post(client, old, confirmed="yes", reason="wrong", accept="on")
    assert not Job.objects.filter(kind="reconsolidate").exists()


def test_the_action_is_for_staff_who_may_change_sections_and_of_their_logs(client: Client, log: Log) -> None:
    user = User.objects.create_user("rita", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_section"))
    client.force_login(user)
    section = find(current_edition(log), "3-4")
    Grant.objects.create(user=user, owner="alice")
    assert post(client, section, confirmed="yes", reason="wrong", accept="on").status_code == 403
    user.user_permissions.add(Permission.objects.get(codename="change_section"))
    assert "is drawn again" in post(client, section, confirmed="yes", reason="wrong", accept="on").content.decode()
    Grant.objects.all().delete()
    post(client, find(current_edition(log), "5-6"), confirmed="yes", reason="wrong", accept="on")
    assert Job.objects.filter(kind="reconsolidate").count() == 1


@pytest.mark.promise("K15")
def test_a_stale_rollup_is_marked_in_the_list_at_no_query_more(
    client: Client, root: User, log: Log, django_assert_max_num_queries: Any
) -> None:
    assert "stale:" not in client.get(reverse(LIST)).content.decode()
    reconsolidate(log, "3-4", accepted=True, by="x")
    with django_assert_max_num_queries(12):
        assert client.get(reverse(LIST)).content.decode().count("▨ stale:") == 1
