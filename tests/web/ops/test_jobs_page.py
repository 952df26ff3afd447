"""The page of jobs: what is shown to whom, the filter, the pages, the retry."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from chronicle import failures, jobs, sections
from chronicle.errors import SummaryFailed
from chronicle.models import Grant, Job, JobState, Log, UnitFailure
from tests.builders import log_of

pytestmark = pytest.mark.django_db

FRAGMENT = {"HX-Request": "true", "HX-Target": "jobs"}


@pytest.fixture
def kicked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    kicks: list[int] = []
    monkeypatch.setattr("chronicle.tasks.kick", lambda job: kicks.append(job.pk))
    return kicks


@pytest.fixture
def log() -> Log:
    return log_of(3, owner="alice", title="A dinner for eight")


@pytest.fixture
def reviewer(client: Client) -> User:
    user = User.objects.create_user("rita")
    Grant.objects.create(user=user, owner="alice")
    client.force_login(user)
    return user


def consolidation(log: Log, **values: object) -> Job:
    job = jobs.enqueue("consolidate", log.public_id, key=f"consolidate:{log.pk}:{Job.objects.count()}")
    Job.objects.filter(pk=job.pk).update(**values)
    return Job.objects.get(pk=job.pk)


def failure_of(log: Log) -> UnitFailure:
    return failures.keep(sections.current_edition(log), 0, 1, 3, SummaryFailed("the model gave no prose"))


def test_a_reviewer_sees_what_runs_and_how_far_it_is(client: Client, reviewer: User, log: Log) -> None:
    job = consolidation(log, state="running", progress={"done": 3, "of": 12, "what": "units"})
    page = client.get("/jobs/").content.decode()
    assert "3 of 12 units" in page
    assert "A dinner for eight" in page
    assert f">{job.pk}</span> consolidate" in page
    assert "1 of 1 job</b> shown" in page


def test_a_parked_job_says_why_and_offers_a_retry(client: Client, reviewer: User, log: Log) -> None:
    job = consolidation(log, state="parked", attempts=3, last_error="WorkerLost: it died three times.")
    page = client.get("/jobs/").content.decode()
    assert "WorkerLost: it died three times." in page
    assert f'action="/jobs/{job.pk}/retry/"' in page


def test_a_retry_queues_the_job_again_and_leads_back(
    client: Client, reviewer: User, log: Log, kicked: list[int]
) -> None:
    job = consolidation(log, state="parked", attempts=3)
    answer = client.post(f"/jobs/{job.pk}/retry/?state=parked")
    assert (answer.status_code, answer["Location"]) == (302, "/jobs/?state=parked")
    job.refresh_from_db()
    assert (job.state, job.attempts, kicked) == (JobState.QUEUED, 0, [job.pk])
    assert f"Job {job.pk} is queued again." in client.get("/jobs/").content.decode()


def test_a_retry_with_htmx_answers_with_the_region(client: Client, reviewer: User, log: Log, kicked: list[int]) -> None:
    job = consolidation(log, state="failed")
    answer = client.post(f"/jobs/{job.pk}/retry/", headers=FRAGMENT).content.decode()
    assert answer.lstrip().startswith('<div id="jobs"')
    assert f"Job {job.pk} is queued again." in answer
    assert kicked == [job.pk]


def test_a_retry_is_a_post_only_and_needs_the_forms_token(reviewer: User, log: Log) -> None:
    job = consolidation(log, state="parked")
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(reviewer)
    assert strict.get(f"/jobs/{job.pk}/retry/").status_code == 405
    assert strict.post(f"/jobs/{job.pk}/retry/").status_code == 403
    assert Job.objects.get(pk=job.pk).state == JobState.PARKED


def test_the_region_that_renews_itself_is_a_part_of_the_page(client: Client, reviewer: User, log: Log) -> None:
    consolidation(log, state="running")
    part = client.get("/jobs/?state=running", headers=FRAGMENT).content.decode().strip()
    assert part in client.get("/jobs/?state=running").content.decode()
    assert 'hx-get="/jobs/?state=running"' in part
    assert 'hx-trigger="every 4s"' in part


def test_the_filter_hides_and_says_how_many(client: Client, reviewer: User, log: Log) -> None:
    consolidation(log, state="done", finished_at=timezone.now())
    parked = consolidation(log, state="parked")
    page = client.get("/jobs/?state=parked").content.decode()
    assert "1 of 2 jobs</b> shown: 1 hidden by the filter, 0 on other pages" in page
    assert f">{parked.pk}</span> consolidate" in page
    assert page.count("consolidate</th>") == 1


@pytest.mark.parametrize("query", ["state=asleep", "before=x", "before=0", "before=99999999999999999999"])
def test_a_filter_that_cannot_be_read_is_refused_and_named(client: Client, reviewer: User, query: str) -> None:
    answer = client.get(f"/jobs/?{query}")
    assert answer.status_code == 400
    assert f"The filter {query.partition('=')[0]} cannot be read" in answer.content.decode()


def test_pages_are_cut_by_id_and_each_job_stands_on_one(client: Client, reviewer: User, log: Log) -> None:
    made = [consolidation(log, state="done").pk for _ in range(120)]
    seen: list[int] = []
    address = "/jobs/?state=done"
    while address:
        context = client.get(address).context
        seen += [row.job.pk for row in context["rows"]]
        assert context["hidden"] + context["elsewhere"] + len(context["rows"]) == context["all"] == 120
        address = f"/jobs/?{context['older']}" if context["older"] else ""
    assert seen == made[::-1]


@pytest.mark.parametrize("many", [1, 30])
def test_the_number_of_queries_does_not_depend_on_the_number_of_jobs(
    client: Client, reviewer: User, log: Log, many: int, django_assert_num_queries: object
) -> None:
    for _ in range(many):
        consolidation(log, state="done")
        failures.keep(sections.current_edition(log), 0, 1, Job.objects.count(), SummaryFailed("no prose"))
    with django_assert_num_queries(8):  # type: ignore[operator]
        client.get("/jobs/")


def test_a_unit_that_could_not_be_drawn_is_shown_and_tried_again(
    client: Client, reviewer: User, log: Log, kicked: list[int]
) -> None:
    failure = failure_of(log)
    page = client.get("/jobs/").content.decode()
    assert "SummaryFailed: the model gave no prose" in page
    assert '<span class="anchor">1-3</span>' in page
    assert client.post(f"/jobs/units/{failure.pk}/retry/").status_code == 302
    failure.refresh_from_db()
    assert failure.next_try <= timezone.now()
    assert failure.attempts == 1
    job = Job.objects.get()
    assert (job.kind, job.target, job.made_by, kicked) == ("consolidate", log.public_id, "rita", [job.pk])


def test_an_admin_sees_every_job(client: Client, log: Log) -> None:
    client.force_login(User.objects.create_superuser("root"))
    consolidation(log)
    jobs.enqueue("canary", "", key="canary")
    assert client.get("/jobs/").context["all"] == 2


@pytest.mark.promise("K5")
def test_a_job_of_another_owners_log_is_not_there_to_see_or_to_retry(
    client: Client, reviewer: User, kicked: list[int]
) -> None:
    foreign = log_of(2, owner="bob", title="Not for Rita")
    job, failure = consolidation(foreign, state="parked"), failure_of(foreign)
    upload = jobs.enqueue("ingest", "theirs.jsonl", key="ingest:1", args={"owner": "bob", "files": []}, made_by="bo")
    page = client.get("/jobs/")
    assert (page.context["all"], page.context["failures_all"]) == (0, 0)
    assert "Not for Rita" not in page.content.decode()
    unknown = client.post("/jobs/999999/retry/")
    for address in (f"/jobs/{job.pk}/retry/", f"/jobs/{upload.pk}/retry/", f"/jobs/units/{failure.pk}/retry/"):
        answer = client.post(address)
        assert (answer.status_code, answer.content) == (404, unknown.content)
    assert Job.objects.get(pk=job.pk).state == JobState.PARKED
    assert kicked == []


@pytest.mark.parametrize("kind", ["ingest", "ingest_path", "canary"])
def test_a_job_whose_words_happen_to_be_a_logs_id_is_shown_to_nobody_for_that(
    client: Client, reviewer: User, log: Log, kind: str
) -> None:
    jobs.enqueue(kind, log.public_id, key=kind, args={"owner": "bob", "files": []}, made_by="bo")
    assert client.get("/jobs/").context["all"] == 0


def test_a_grant_taken_back_hides_the_jobs_one_asked_for(client: Client, reviewer: User, log: Log) -> None:
    consolidation(log, made_by="rita")
    Grant.objects.all().delete()
    assert client.get("/jobs/").context["all"] == 0
