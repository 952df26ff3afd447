"""A log with everything a page can show, built through the public doors, and the people who look at it."""

import re
from collections.abc import Sequence

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chronicle import policies
from chronicle.envelope import PendingEvent
from chronicle.fold import consolidate
from chronicle.models import Grant, Log, Section
from chronicle.sections import NewSection, current_edition, current_sections, supersede
from chronicle.summarisers.constant import Constant
from tests.builders import bookkeeping, log_of, marker, said

OWNER = "demo"
UNIT = 7


def unit(number: int) -> Sequence[PendingEvent]:
    """Seven events: a question, a thought, a call and its answer, bookkeeping, an answer, the marker."""
    request = PendingEvent(
        kind="tool_request",
        actor_kind="agent",
        actor="search",
        type="places.search",
        payload={"area": "Senopati", "unit": number},
        correlation=f"call-{number}",
    )
    response = PendingEvent(
        kind="tool_response",
        actor_kind="system",
        actor="places.search",
        payload={"results": [{"name": f"Dapur {place}", "rating": 4.6} for place in range(40)]},
        causation=request.event_id,
        correlation=f"call-{number}",
    )
    agent = {"actor_kind": "agent", "actor": "concierge"}
    return [
        said(f"Question {number}: a table for eight."),
        said("Hand the search over.", kind="thought", **agent),
        request,
        response,
        bookkeeping(),
        said(f"Answer {number}.", **agent),
        marker(),
    ]


def log_with(units: int, *, rest: int = 3, owner: str = OWNER, title: str = "A farewell dinner") -> Log:
    """A consolidated log of so many units and a tail of `rest` messages; three sections or rollups make a rollup."""
    events = [event for number in range(1, units + 1) for event in unit(number)]
    log = log_of([*events, *(said(f"rest {number}") for number in range(rest))], owner=owner, title=title)
    policies.set_for(log, made_by="test", rollup_batch=3, rollup_threshold=4)
    consolidate(log, summariser=Constant(title="Words about a dinner", prose="First part.\n\nSecond part."))
    log.refresh_from_db()
    return log


def words(html: str) -> str:
    """What a page says, without its tags: inline ones join, others part."""
    joined = re.sub(r"</?(?:a|abbr|b|i|span|time|code)\b[^>]*>", "", html)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", joined))


def redraw(log: Log, ref: str) -> Section:
    """Write the next generation over a section."""
    edition = current_edition(log)
    old = next(section for section in current_sections(edition) if section.anchor.ref == ref)
    anchor = old.anchor
    new = NewSection(
        level=anchor.level,
        from_seq=anchor.from_seq,
        to_seq=anchor.to_seq,
        kind=anchor.kind,
        event_count=anchor.event_count,
        title="Other words",
        prose="Redrawn.",
    )
    return supersede(edition, old, new)


@pytest.fixture
def log(db: None) -> Log:
    """112 events and a tail of 3, rollups at two levels; 8-14 has two generations, so L1:1-21 is stale."""
    log = log_with(16)
    redraw(log, "8-14")
    return log


@pytest.fixture
def small(db: None) -> Log:
    """Two sections and a tail."""
    return log_with(2, title="Small")


@pytest.fixture
def reviewer(db: None) -> User:
    user = User.objects.create_user("r.wijaya")
    Grant.objects.create(user=user, owner=OWNER)
    return user


@pytest.fixture
def page(client: Client, reviewer: User) -> Client:
    """A client signed in as the reviewer."""
    client.force_login(reviewer)
    return client
