"""An admin has a section drawn again, in a real browser."""

import re

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from chronicle import jobs
from chronicle.models import AuditEntry, Job, JobState, Log
from tests.e2e.conftest import Visit

REASON = "RT-4821 is in no event."


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chronicle.tasks.kick", lambda job: None)


@pytest.fixture
def admin(log: Log) -> Log:
    User.objects.filter(username="r.wijaya").update(is_staff=True, is_superuser=True)
    return log


def test_an_admin_reads_the_bill_gives_a_reason_and_lands_on_the_comparison(visit: Visit, admin: Log):
    page = visit.page
    visit.sign_in()
    page.goto(f"{visit.base}/logs/{admin.public_id}/sections/22-28/")
    visit.check("Section 22-28")
    page.get_by_role("link", name="Re-consolidate…").click()
    visit.check("Re-consolidate 22-28")
    expect(page.locator(".notice")).to_contain_text("L1:22-42#1")
    page.get_by_role("button", name="Accept the divergence").click()
    expect(page).to_have_url(re.compile("/22-28/reconsolidate/$"))  # nothing goes without a reason and a tick
    page.get_by_label("Reason, kept in the audit trail").fill(REASON)
    page.get_by_label("I accept").check()
    page.get_by_role("button", name="Accept the divergence").click()
    visit.check("Re-consolidating 22-28")
    expect(page.locator("#waiting")).to_contain_text("waits for a worker")

    job = Job.objects.get(kind="reconsolidate")
    done = jobs.run(job.pk)
    assert done is not None and done.state == JobState.DONE
    expect(page).to_have_url(re.compile(r"/22-28/compare/\?a=1&b=2$"))  # by itself, once it is done
    visit.check("Compare 22-28#1 and 22-28#2")
    expect(page.locator("main")).to_contain_text("L1:22-42 is stale: it has not read 22-28#2")
    expect(page.locator("main")).to_contain_text(REASON)
    assert AuditEntry.objects.get(what="section.reconsolidated").who == "r.wijaya"

    page.get_by_role("link", name="A farewell dinner").click()
    expect(page.locator("main")).to_contain_text("L1:22-42 is stale")
    page.get_by_role("link", name="Re-roll L1:22-42…").click()
    visit.check("Re-consolidate L1:22-42")


def test_the_comparison_fits_a_narrow_screen_in_the_dark(visit: Visit, admin: Log):
    page = visit.page
    visit.sign_in()
    page.set_viewport_size({"width": 320, "height": 700})
    page.emulate_media(color_scheme="dark")
    here = f"{visit.base}/logs/{admin.public_id}/sections/8-14"
    for address, heading in (
        (f"{here}/compare/", "Compare 8-14#1 and 8-14#2"),
        (f"{here}/reconsolidate/", "Re-consolidate 8-14"),
    ):
        page.goto(address)
        visit.check(heading)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, address


def test_without_a_script_the_wait_is_left_by_a_link(visit_without_script: Visit, admin: Log):
    visit, page = visit_without_script, visit_without_script.page
    visit.sign_in()
    page.goto(f"{visit.base}/logs/{admin.public_id}/sections/22-28/reconsolidate/")
    page.get_by_label("Reason, kept in the audit trail").fill(REASON)
    page.get_by_label("I accept").check()
    page.get_by_role("button", name="Accept the divergence").click()
    visit.check("Re-consolidating 22-28")
    jobs.run(Job.objects.get(kind="reconsolidate").pk)
    page.get_by_role("link", name="look now").click()
    visit.check("Compare 22-28#1 and 22-28#2")
