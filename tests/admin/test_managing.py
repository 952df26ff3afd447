"""What can be done in the admin: grants managed, policies added, jobs retried after a question."""

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from chronicle import fold, jobs, policies, sections
from chronicle.access import visible_logs
from chronicle.models import AuditEntry, Grant, Job, JobState, Log, Policy, Section, UnitFailure
from tests.builders import units_of
from tests.summarisers import Noting

pytestmark = pytest.mark.django_db

ADD_GRANT = "admin:chronicle_grant_add"
VALUES = {
    "interval_messages": 25,
    "max_events_per_section": 400,
    "rollup_threshold": 12,
    "rollup_batch": 8,
    "max_recent": 8,
    "max_older": 12,
    "recent_window_hours": 24,
    "story_so_far": 0,
    "token_budget": 2000,
    "boundary": "[]",
    "summariser": "outline",
}


def test_a_grant_to_a_group_shows_its_members_the_owners_logs(client: Client, root: User, log: Log) -> None:
    rita, group = User.objects.create_user("rita"), Group.objects.create(name="reviewers")
    rita.groups.add(group)
    assert not visible_logs(rita).exists()
    assert client.post(reverse(ADD_GRANT), {"group": group.pk, "owner": "alice"}).status_code == 302
    assert list(visible_logs(rita)) == [log]


def test_a_grant_made_and_removed_stands_in_the_audit_trail(client: Client, root: User) -> None:
    rita = User.objects.create_user("rita")
    client.post(reverse(ADD_GRANT), {"user": rita.pk, "owner": "alice"})
    grant = Grant.objects.get()
    client.post(reverse("admin:chronicle_grant_delete", args=[grant.pk]), {"post": "yes"})
    assert not Grant.objects.exists()
    trail = AuditEntry.objects.order_by("pk").values_list("who", "what", "target")
    assert list(trail) == [("root", "grant.made", "owner alice"), ("root", "grant.removed", "owner alice")]


def test_a_grant_is_for_a_user_or_a_group_never_for_both_or_none(client: Client, root: User) -> None:
    rita, group = User.objects.create_user("rita"), Group.objects.create(name="reviewers")
    for given in ({}, {"user": rita.pk, "group": group.pk}):
        answer = client.post(reverse(ADD_GRANT), {**given, "owner": "alice"})
        assert "give one of the two" in answer.content.decode()
    assert not Grant.objects.exists()


def test_a_policy_is_added_from_the_first_event_that_is_not_decided(client: Client, root: User, log: Log) -> None:
    answer = client.post(reverse("admin:chronicle_policy_add"), {**VALUES, "log": log.pk, "from_seq": ""})
    assert answer.status_code == 302
    made = policies.rows(log)[-1]
    assert (made.from_seq, made.interval_messages, made.made_by) == (27, 25, "root")
    assert AuditEntry.objects.get(what="policy.made").target == log.public_id


def test_a_policy_without_a_log_is_the_new_default_of_the_site(client: Client, root: User) -> None:
    assert client.post(reverse("admin:chronicle_policy_add"), {**VALUES, "log": "", "from_seq": ""}).status_code == 302
    assert policies.default().interval_messages == 25


@pytest.mark.promise("S60", "S61")
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rollup_batch": 1}, "rollup_batch is a whole number from 2 to 100, not 1."),
        ({"rollup_batch": 9, "rollup_threshold": 8}, "rollup_threshold is from rollup_batch (9) to 200, not 8."),
        ({"max_events_per_section": 5001}, "max_events_per_section is a whole number from 1 to 5000, not 5001."),
        ({"token_budget": 199}, "token_budget is a whole number from 200 to 32000, not 199."),
        ({"boundary": '["no slash"]'}, "each &quot;namespace/type&quot;"),
    ],
)
def test_a_value_out_of_its_range_is_refused_with_the_range_and_nothing_is_written(
    client: Client, root: User, log: Log, given: dict[str, object], words: str
) -> None:
    before = Policy.objects.count()
    answer = client.post(reverse("admin:chronicle_policy_add"), {**VALUES, "log": log.pk, **given})
    assert answer.status_code == 200
    assert words in answer.content.decode()
    assert Policy.objects.count() == before


def test_a_policy_cannot_hold_for_what_is_decided_already(client: Client, root: User, log: Log) -> None:
    answer = client.post(reverse("admin:chronicle_policy_add"), {**VALUES, "log": log.pk, "from_seq": 26})
    assert "From 27 on" in answer.content.decode()
    assert Policy.objects.filter(log=log).count() == 1


def test_jobs_are_retried_only_after_a_question(client: Client, root: User, monkeypatch: pytest.MonkeyPatch) -> None:
    kicked: list[int] = []
    monkeypatch.setattr("chronicle.tasks.kick", lambda job: kicked.append(job.pk))
    job = jobs.enqueue("canary", "", key="canary")
    Job.objects.filter(pk=job.pk).update(state=JobState.PARKED, attempts=3, last_error="WorkerLost")
    chosen = {"action": "retry", "_selected_action": [job.pk]}
    question = client.post(reverse("admin:chronicle_job_changelist"), chosen)
    assert "Retry jobs?" in question.content.decode()
    assert Job.objects.get().state == JobState.PARKED
    client.post(reverse("admin:chronicle_job_changelist"), {**chosen, "confirmed": "yes"})
    assert (Job.objects.get().state, Job.objects.get().attempts, kicked) == (JobState.QUEUED, 0, [job.pk])


@pytest.mark.promise("K10")
def test_a_unit_is_closed_without_summary_after_enough_tries_and_a_question(client: Client, root: User) -> None:
    failing = units_of(1)
    fold.consolidate(failing, summariser=Noting(fails=lambda call: True))
    unit = UnitFailure.objects.get(edition=sections.current_edition(failing))
    made = Section.objects.filter(anchor__edition=unit.edition)
    chosen = {"action": "close_without_summary", "_selected_action": [unit.pk]}
    page = reverse("admin:chronicle_unitfailure_changelist")
    early = client.post(page, {**chosen, "confirmed": "yes"}, follow=True)
    assert "after 5 failed attempts" in early.content.decode()
    UnitFailure.objects.filter(pk=unit.pk).update(attempts=5)
    assert "Close without summary?" in client.post(page, chosen).content.decode()
    assert not made.exists()
    client.post(page, {**chosen, "confirmed": "yes"})
    assert (made.get().origin, made.get().made_by) == ("closed without summary", root.get_username())
