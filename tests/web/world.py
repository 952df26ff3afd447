"""A small world for tests over every page: one log of each kind of row, and people who may or may not see it."""

from dataclasses import dataclass

from django.contrib.auth.models import Group, User
from django.test import Client

from chronicle import asking, failures, jobs, receipts, sections
from chronicle.envelope import PendingEvent
from chronicle.errors import SummaryFailed
from chronicle.fold import consolidate
from chronicle.models import Attachment, Grant, Job, JobState, Log, UnitFailure
from tests.builders import log_of, marker, said

OWNER = "alice"
DIGEST = "ab" * 32


@dataclass(frozen=True, slots=True)
class World:
    """`upload` and `preview` (it failed) were made by the reviewer;
    `parked` and `failure` are of the log, `redraw` waits to draw 1-3
    again, `rebuild` the whole chronicle. Receipt 1 is of a brief."""

    log: Log
    upload: Job
    preview: Job
    parked: Job
    failure: UnitFailure
    redraw: Job
    rebuild: Job


def picture() -> PendingEvent:
    """A response whose payload names an attachment."""
    place = {"attachment": DIGEST, "media_type": "image/png", "size": 3}
    return said("", kind="tool_response", actor_kind="system", actor="camera", payload={"attachments": [place]})


def world(*, units: int = 13) -> World:
    """Closed units (13 give a rollup), an event with a picture before them, one in the tail, jobs, a failed unit."""
    Attachment.objects.create(digest=DIGEST, media_type="image/png", size=3, data=b"png")
    closed = [event for number in range(units) for event in (said(f"Plate {number} of eight."), marker())]
    log = log_of([picture(), *closed, said("Not closed yet.")], owner=OWNER, title="A dinner for eight")
    consolidate(log)
    parked = jobs.enqueue("consolidate", log.public_id, key="parked")
    Job.objects.filter(pk=parked.pk).update(state=JobState.PARKED, last_error="WorkerLost: it died three times.")
    files = {"owner": OWNER, "files": [{"path": "none/1", "name": "dinner.jsonl"}]}
    upload = jobs.enqueue("ingest", "dinner.jsonl", key="upload", args=files, made_by="reviewer")
    looked = jobs.enqueue("preview", "dinner.jsonl", key="preview", args=files, made_by="reviewer")
    Job.objects.filter(pk=looked.pk).update(state=JobState.FAILED, last_error="OSError: no space left on device")
    failure = failures.keep(
        sections.current_edition(log), 0, log.last_seq, log.last_seq, SummaryFailed("the model gave no prose")
    )
    redraw = asking.reconsolidation(log, "1-3", accepted=True, by="root", reason="a wrong number").job
    rebuild = asking.rebuilding(log, accepted=True, by="root", reason="a better prompt").job
    receipts.read_brief(log, by="concierge", capability="read")
    return World(log, upload, looked, parked, failure, redraw, rebuild)


def people() -> dict[str, Client]:
    """A client each: anonymous, a stranger, a reviewer, a reviewer by their group, an admin."""
    group = Group.objects.create(name="reviewers")
    Grant.objects.create(group=group, owner=OWNER)
    users = {
        "stranger": User.objects.create_user("stranger"),
        "reviewer": User.objects.create_user("reviewer"),
        "group reviewer": User.objects.create_user("member"),
        "admin": User.objects.create_superuser("root"),
    }
    users["group reviewer"].groups.add(group)
    Grant.objects.create(user=users["reviewer"], owner=OWNER)
    Grant.objects.create(user=users["stranger"], owner="somebody else")
    clients = {"anonymous": Client()}
    for name, user in users.items():
        clients[name] = Client()
        clients[name].force_login(user)
    return clients
