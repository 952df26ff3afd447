"""`reconsolidate`, and what a repeat of the same request is told."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from chronicle import asking, jobs
from chronicle.errors import ChronicleFork, DivergenceNotAccepted, InvalidPolicy, SummaryFailed
from chronicle.fold import consolidate
from chronicle.models import AuditEntry, Job, JobState, Log, Section
from chronicle.reading import find
from chronicle.sections import current_edition
from tests.builders import units_of
from tests.summarisers import Noting, Pinned

pytestmark = pytest.mark.django_db


@pytest.fixture
def log() -> Log:
    made = units_of(13)
    consolidate(made, summariser=Noting())
    return made


def run(*arguments: str) -> tuple[int, str]:
    """Return exit code and stdout."""
    out = StringIO()
    try:
        call_command("reconsolidate", *arguments, stdout=out)
    except CommandError as error:
        return error.returncode, out.getvalue()
    return 0, out.getvalue()


def answer(*arguments: str) -> tuple[int, dict[str, Any]]:
    code, out = run(*arguments, "--json")
    found: dict[str, Any] = json.loads(out)
    return code, found


def by_policy(monkeypatch: pytest.MonkeyPatch, summariser: Any) -> None:
    monkeypatch.setattr("chronicle.policies.summariser_named", lambda _: summariser)


def test_without_acceptance_the_bill_is_printed_and_nothing_drawn(log: Log) -> None:
    code, out = run(log.public_id, "3-4")
    assert code == 1
    for expected in ("Draws 3-4#2 over 3 to 4", "0 receipts read 3-4#1", "L1:1-16#1", "no call of a model", "diverge"):
        assert expected in out
    code, found = answer(log.public_id, "3-4")
    assert (code, found["error"]) == (1, "divergence_not_accepted")
    assert found["bill"]["rollups"][0]["id"] == "L1:1-16#1"
    assert not Job.objects.exists() and not Section.objects.filter(generation=2).exists()


def test_with_acceptance_the_next_generation_is_drawn_under_the_job_and_named(log: Log) -> None:
    code, found = answer(log.public_id, "3-4", "--accept-divergence", "--reason", "a wrong number")
    assert (code, found["section"], found["supersedes"], found["replayed"]) == (0, "3-4#2", "3-4#1", False)
    assert find(current_edition(log), "3-4").generation == 2
    entry = AuditEntry.objects.get(what="section.reconsolidated")
    assert entry.who == "command" and json.loads(entry.details)["reason"] == "a wrong number"
    assert Job.objects.get().state == JobState.DONE
    assert run(log.public_id, "3-4", "--accept-divergence") == (0, "3-4#3 is current; 3-4#2 stays readable.\n")


@pytest.mark.promise("K30")
def test_the_same_request_again_costs_no_draw_and_says_that_it_is_a_repeat(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    noting = Noting("Other")
    by_policy(monkeypatch, noting)
    given = (log.public_id, "3-4#1", "--accept-divergence", "--reason", "a wrong number")
    first, again = answer(*given), answer(*given)
    other = answer(*given[:-1], "another reason")
    assert (first[1]["replayed"], again[1]["replayed"], other[1]["replayed"]) == (False, True, True)
    assert (again[1]["payload_differs"], other[1]["payload_differs"]) == (False, True)
    assert {one[1]["section"] for one in (first, again, other)} == {"3-4#2"} and noting.calls == 1
    assert "It was asked for before" in run(*given)[1]


@pytest.mark.promise("K30")
def test_two_clicks_of_two_people_make_one_job_and_the_second_is_told(log: Log) -> None:
    first = asking.reconsolidation(log, "3-4", accepted=True, by="ardian", reason="one")
    second = asking.reconsolidation(log, "3-4#1", accepted=True, by="sari", reason="two")
    assert (first.replayed, second.replayed, second.payload_differs) == (False, True, True)
    assert first.job.pk == second.job.pk and second.job.made_by == "ardian"
    jobs.run(first.job.pk)
    late = asking.reconsolidation(log, "3-4#1", accepted=True, by="sari", reason="two")
    assert late.replayed and late.section == "3-4#2"
    assert Section.objects.filter(generation=2).count() == 1


def test_a_generation_that_was_superseded_by_another_way_is_refused_with_the_current_one(log: Log) -> None:
    from chronicle.reconsolidate import reconsolidate

    reconsolidate(log, "3-4", accepted=True, by="a library")
    code, found = answer(log.public_id, "3-4#1", "--accept-divergence")
    assert (code, found["error"], found["current"]) == (1, "chronicle_fork", "3-4#2")
    with pytest.raises(ChronicleFork):
        asking.reconsolidation(log, "3-4#1", accepted=False, by="x")
    with pytest.raises(DivergenceNotAccepted):
        asking.reconsolidation(log, "3-4#2", accepted=False, by="x")
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    "given", [("no-such-log", "3-4"), ("LOG", "2-4"), ("LOG", "nonsense"), ("LOG", "3-4", "--summariser", "os:system")]
)
def test_what_is_not_here_is_wrong_use(log: Log, given: tuple[str, ...]) -> None:
    named = [log.public_id if one == "LOG" else one for one in given]
    assert run(*named)[0] == 2
    assert run(*named, "--accept-divergence")[0] == 2
    with pytest.raises(InvalidPolicy):
        asking.reconsolidation(log, "3-4", accepted=True, by="x", prompt="no-such/1")


def test_a_draw_that_fails_is_told_and_the_next_request_is_free(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    by_policy(monkeypatch, Noting(fails=lambda call: True))
    code, found = answer(log.public_id, "3-4", "--accept-divergence")
    assert code == 1 and "SummaryFailed" in found["message"]
    assert Job.objects.get().state == JobState.FAILED  # a person asked; nothing is drawn again by itself
    by_policy(monkeypatch, Noting())
    assert answer(log.public_id, "3-4", "--accept-divergence")[1]["section"] == "3-4#2"


def test_a_worker_that_died_after_the_write_does_not_draw_again(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    noting = Noting("Other")
    by_policy(monkeypatch, noting)
    job = asking.reconsolidation(log, "3-4", accepted=True, by="ardian").job
    held = jobs.take(job.pk, lease=jobs.FIRST_WAIT)
    assert held is not None
    jobs.HANDLERS["reconsolidate"](held)  # and then it dies
    Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - jobs.FIRST_WAIT)
    jobs.sweep(timezone.now())
    done = jobs.run(job.pk)
    assert done is not None and (done.state, (done.result or {})["section"]) == (JobState.DONE, "3-4#2")
    assert noting.calls == 1 and Section.objects.filter(generation=2).count() == 1


def test_a_lost_lease_writes_nothing_and_its_draw_counts_as_wasted(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    job = asking.reconsolidation(log, "3-4", accepted=True, by="ardian").job
    taken = lambda: Job.objects.filter(pk=job.pk).update(lease_until=timezone.now()) and None  # noqa: E731
    by_policy(monkeypatch, Pinned(meanwhile=taken))
    jobs.run(job.pk)
    again = Job.objects.get()
    assert again.cost["wasted_tokens"] == 24 and not Section.objects.filter(generation=2).exists()
    later = Pinned()
    by_policy(monkeypatch, later)
    jobs.sweep(timezone.now())
    done = jobs.run(job.pk)
    assert done is not None and done.state == JobState.DONE and later.draws == 0


def test_a_draw_of_the_job_is_lost_to_one_that_was_first(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    from chronicle.reconsolidate import reconsolidate

    job = asking.reconsolidation(log, "3-4", accepted=True, by="ardian").job
    first = Noting("First")
    by_policy(
        monkeypatch,
        Pinned(meanwhile=lambda: reconsolidate(log, "3-4", accepted=True, by="x", summariser=first) and None),
    )
    done = jobs.run(job.pk)
    assert done is not None and done.state == JobState.FAILED
    assert "ChronicleFork" in done.last_error and "3-4#2" in done.last_error and done.cost["wasted_tokens"] == 24
    assert isinstance(SummaryFailed("x"), jobs.FINAL_FOR["reconsolidate"])


def test_a_repeat_names_the_generation_that_is_current_by_now_and_says_what_was_not_used(log: Log) -> None:
    run(log.public_id, "3-4#1", "--accept-divergence", "--reason", "first")
    run(log.public_id, "3-4#2", "--accept-divergence", "--reason", "second")
    code, out = run(log.public_id, "3-4#1", "--accept-divergence", "--reason", "third")

    assert code == 0
    assert "It was asked for before and gave 3-4#2; 3-4#3 is current." in out
    assert "what was said now was not used" in out
