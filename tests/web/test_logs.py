"""The page of logs."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from chronicle.models import Log
from tests.builders import log_of, said
from tests.conftest import Clock
from tests.web.conftest import log_with, redraw
from tests.web.conftest import words as said_by


def titles(client: Client, query: str = "") -> list[str]:
    return re.findall(
        r'<a href="/logs/[^"]*">([^<]*)</a> <span class="mono quiet">', client.get(f"/{query}").content.decode()
    )


def words(client: Client, query: str = "") -> str:
    return said_by(client.get(f"/{query}").content.decode())


def test_logs_stand_newest_activity_first_with_their_counts(page: Client, clock: Clock):
    log_with(16, title="long")
    clock.move(minutes=1)
    log_of(1, title="short", source="api")

    assert titles(page) == ["short", "long"]
    line = page.get("/").context["lines"][1]
    assert (line.levels, line.lag) == ({0: 16, 1: 5, 2: 1}, 3)


def test_stale_rollups_are_counted(page: Client, log: Log):
    assert "1 stale" in words(page)
    redraw(log, "22-28")
    assert "2 stale" in words(page)


def test_filters_narrow_by_title_id_owner_and_source_and_say_what_is_hidden(page: Client, reviewer: User):
    reviewer.grants.create(owner="platform")
    log_of(1, title="Dinner for 100%", source="api", public_id="first")
    log_of(1, title="Lunch", owner="platform", source="claude-code")

    assert titles(page, "?text=dinner") == ["Dinner for 100%"]
    assert titles(page, "?text=100%25") == ["Dinner for 100%"]
    assert titles(page, "?text=_") == []
    assert titles(page, "?text=FIRST") == ["Dinner for 100%"]
    assert titles(page, "?owner=platform&source=claude-code") == ["Lunch"]
    assert "1 of 2 logs shown: 1 hidden by the filter, 0 on other pages" in words(page, "?owner=platform")
    assert "0 of 2 logs shown" in words(page, "?owner=nobody")


@pytest.mark.promise("K7")
def test_pages_are_cut_after_the_filter_and_reach_every_log_once(page: Client, clock: Clock):
    for number in range(120):
        if number % 3:
            clock.move(seconds=1)  # thirds share their moment with the one before
        log_of(1, title=f"{'even' if number % 2 == 0 else 'odd'} {number:03}")
    query, seen = "?text=even", []
    while query:
        seen += titles(page, query)
        later = page.get(f"/{query}").context.get("later")
        query = later or ""

    assert seen == [f"even {number:03}" for number in range(118, -2, -2)]
    assert "50 of 120 logs shown: 60 hidden by the filter, 10 on other pages" in words(page, "?text=even")


def test_a_place_that_cannot_be_read_is_refused_with_the_reason(page: Client, small: Log):
    response = page.get("/?before=yesterday")

    assert response.status_code == 400
    assert "A page begins after a time and a log" in response.content.decode()


def test_a_grant_to_a_group_counts_and_a_stranger_sees_nothing(client: Client, small: Log):
    user = User.objects.create_user("charlie")
    client.force_login(user)
    assert "There is no log yet that you may read" in words(client)

    group = Group.objects.create(name="reviewers")
    group.grants.create(owner="demo")
    user.groups.add(group)
    assert titles(client) == ["Small"]


def test_an_admin_sees_every_log(admin_client: Client, small: Log):
    log_of(1, owner="anyone", title="another")

    assert titles(admin_client) == ["another", "Small"]


def test_the_lag_of_a_log_with_failing_units_says_so(page: Client, small: Log):
    edition = small.editions.get()
    now = timezone.now()
    edition.failures.create(
        from_seq=15, to_seq=17, attempts=2, last_error="no words", last_try=now, next_try=now + timedelta(minutes=5)
    )

    assert "3, 1 failing" in words(page)


def test_logs_of_one_title_are_told_apart_by_their_ids_and_the_times_their_sources_state(page: Client):
    early, late = datetime(2026, 3, 1, 9, 5, tzinfo=UTC), datetime(2026, 3, 2, 17, 30, tzinfo=UTC)
    log_of([said(), said(claimed_at=early), said(claimed_at=late), said()], title="Same", public_id="first-of-two")
    log_of(3, title="Same", public_id="second-of-two")
    told = words(page)

    assert "Same first-of" in told
    assert "Same second-o" in told
    assert "2026-03-01 09:05 to 2026-03-02 17:30, as the source states" in told
    assert told.count("as the source states") == 1
    facts = words(page, "logs/first-of-two/")
    assert "first to last, as the source states 2026-03-01 09:05:00 to 2026-03-02 17:30:00" in facts
    assert "as the source states" not in words(page, "logs/second-of-two/")
