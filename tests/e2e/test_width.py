"""No page is wider than its screen, whatever was recorded: one word of 300 letters, or words with bidi marks."""

import json
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User

from chronicle import failures, jobs, sections
from chronicle.errors import SummaryFailed
from chronicle.fold import consolidate
from chronicle.models import Grant, Job, JobState, Log
from chronicle.summarisers.constant import Constant
from tests.builders import log_of, marker, said
from tests.e2e.conftest import PASSWORD, Visit

LONG = "W" * 299 + "m"
BIDI = "\u202e" + "ab\u2066\u200b" * 74
AT = datetime(2026, 11, 30, 2, 17, 29, 54, tzinfo=UTC)
NAMES = {"letters": LONG, "bidi": BIDI}


def hostile(name: str) -> Log:
    """A log in which whatever can be given is `name`, as long as its column allows, with its jobs and a failed unit."""
    owner, short, actor = LONG[:200], name[:60], name[:200]
    events = [
        said(name, actor=actor, claimed_at=AT),
        said(
            "", kind="tool_request", actor=actor, type=actor, namespace=actor, payload={name: name}, audience=(actor,)
        ),
        marker(actor=actor),
        said("Not closed yet."),
    ]
    log = log_of(events, owner=owner, title=name, source=short, source_session=name, public_id="h" * 200)
    consolidate(log, summariser=Constant(title=name[:160], prose=f"{name}\n\n{name}"))
    parked = jobs.enqueue("consolidate", log.public_id, key="parked")
    Job.objects.filter(pk=parked.pk).update(state=JobState.PARKED, last_error=name)
    files = {"owner": owner, "files": [{"path": "none/1", "name": name}]}
    jobs.enqueue("ingest", name[:200], key="upload", args=files, made_by="r.wijaya")
    failures.keep(sections.current_edition(log), 0, 4, 4, SummaryFailed(name))
    user = User.objects.create_user("r.wijaya", password=PASSWORD)
    Grant.objects.create(user=user, owner=owner)
    return log


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_no_page_scrolls_sideways_whatever_was_recorded(visit: Visit, transactional_db: None, name: str):
    log = hostile(name)
    here = f"{visit.base}/logs/{log.public_id}/"
    section = log.editions.get().anchors.get().ref
    upload = Job.objects.get(kind="ingest").pk
    pages = [
        *(f"{visit.base}/{path}" for path in ("", "jobs/", "ingest/", f"ingest/{upload}/")),
        *(f"{here}{path}" for path in ("", f"?open={section}&open=tail", "?seq=2", "?seq=x", "events/", "events/1/")),
        *(f"{here}{path}" for path in ("events/2/", "events/2/?tab=raw", "events/1/?tab=raw", f"sections/{section}/")),
    ]
    visit.sign_in()
    wide = []
    for page in pages:
        visit.page.goto(page)
        assert visit.page.locator("main h1").count(), page
        for width in (1280, 390, 320):
            visit.page.set_viewport_size({"width": width, "height": 800})
            shown = visit.page.evaluate("document.documentElement.scrollWidth")
            if shown > width:
                wide.append((page.removeprefix(visit.base).replace(log.public_id, "…"), width, shown, widest(visit)))

    assert not wide, json.dumps(wide, indent=1)


def widest(visit: Visit) -> list[str]:
    """The innermost elements that stand over the right edge."""
    return visit.page.evaluate(
        """() => [...document.querySelectorAll("main *, header *")]
            .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
            .map((one) => `${one.parentElement.className} > ${one.tagName}.${one.className.baseVal ?? one.className}`)
            .slice(-4)"""
    )


def test_short_words_in_a_table_are_not_broken(visit: Visit, log: Log):
    visit.sign_in()
    for path in ("events/", "?seq=74", "sections/8-14/"):
        visit.page.goto(f"{visit.base}/logs/{log.public_id}/{path}")
        for which, one_line in ((".events .seq a", 20), (".fold th", 30)):  # two lines: 25, and 41 with the padding
            heights = visit.page.locator(which).evaluate_all("all => all.map((one) => one.offsetHeight)")
            assert heights or which == ".fold th"
            assert max(heights, default=0) < one_line, (path, which)
