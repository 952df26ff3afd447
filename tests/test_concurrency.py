"""Two transactions on one log wait for each other; another log is not waited for; readers never miss a seq."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction

from chronicle.envelope import Kind
from chronicle.errors import LogNotFound
from chronicle.log import append, create_log, read
from chronicle.models import AnchorKind, Event, Log
from tests.builders import log_of, said

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def held_elsewhere(log: Log) -> Iterator[threading.Event]:
    """Another thread appends to the log and keeps its transaction open until told to commit."""
    appended, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            append(log, [said("held")])
            appended.set()
            go_on.wait(20)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    assert appended.wait(20)
    try:
        yield go_on
    finally:
        go_on.set()
        thread.join()


def impatient() -> None:
    """Make this connection give up on a lock almost at once."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL lock_timeout = '100ms'")
        else:
            cursor.execute("PRAGMA busy_timeout = 100")


@pytest.mark.promise("K3", "DC2", "K4")
def test_a_writer_waits_for_the_open_transaction_of_another_on_the_same_log() -> None:
    log = create_log("demo")
    with held_elsewhere(log):
        with pytest.raises(OperationalError):
            if connection.vendor == "postgresql":
                with transaction.atomic():
                    impatient()
                    append(log, [said("impatient")])
            else:
                impatient()
                append(log, [said("impatient")])
        assert list(read(log)) == []  # nothing is seen before it is committed
    connection.close()
    append(log, [said("after")])
    assert [(event.seq, event.content) for event in read(log)] == [(1, "held"), (2, "after")]


@pytest.mark.promise("K3")
def test_a_writer_of_another_log_is_not_waited_for_where_the_database_has_row_locks() -> None:
    held, free = create_log("demo"), create_log("demo")
    with held_elsewhere(held) as go_on:
        if connection.vendor == "sqlite":
            go_on.set()  # one writer a file: it waits its turn, and then lands
            append(free, [said("in its turn")])
        else:
            with transaction.atomic():
                impatient()
                append(free, [said("meanwhile")])
    assert Event.objects.filter(log=free).count() == 1


@pytest.mark.promise("C17", "C16", "DC1")
def test_of_two_owners_first_writes_one_wins_and_the_other_writes_nothing() -> None:
    from chronicle.log import Chronicarius, DatabaseStore

    barrier, lost = threading.Barrier(2), []

    def write(owner: str) -> None:
        barrier.wait(20)
        try:
            Chronicarius(DatabaseStore()).record("contested", owner, said(f"by {owner}"))
        except LogNotFound:
            lost.append(owner)
        connection.close()

    threads = [threading.Thread(target=write, args=(owner,)) for owner in ("ardian", "mallory")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log = Log.objects.get(public_id="contested")
    assert len(lost) == 1
    assert log.owner not in lost
    assert [event.content for event in read(log)] == [f"by {log.owner}"]


@pytest.mark.promise("R8", "C52")
def test_a_rollback_that_fails_does_not_hide_the_first_error(monkeypatch: Any) -> None:
    log = log_of(1)

    def broken() -> None:
        raise OperationalError("the rollback failed")

    monkeypatch.setattr(connection, "_rollback", broken)
    with pytest.raises(ValueError, match="the first error"), transaction.atomic():
        append(log, [said()])
        raise ValueError("the first error")
    monkeypatch.undo()
    connection.close()
    assert Event.objects.filter(log=log).count() == 1


@pytest.mark.promise("DC4")
def test_a_response_names_its_request_and_an_orphan_can_be_found() -> None:
    request = said("", kind=Kind.TOOL_REQUEST, actor_kind="agent", actor="search", correlation="c1")
    answer = said("41", kind=Kind.TOOL_RESPONSE, actor_kind="system", correlation="c1", causation=request.event_id)
    orphan = said("9", kind=Kind.TOOL_RESPONSE, actor_kind="system", correlation="c2")
    log = log_of([request, answer, orphan])
    requests = Event.objects.filter(log=log, kind=Kind.TOOL_REQUEST).values("event_id")
    orphans = Event.objects.filter(log=log, kind=Kind.TOOL_RESPONSE).exclude(causation__in=requests)
    orphans = orphans | Event.objects.filter(log=log, kind=Kind.TOOL_RESPONSE, causation=None)
    assert [event.content for event in orphans] == ["9"]


@pytest.mark.promise("S86")
def test_the_kinds_of_anchors_are_a_closed_list() -> None:
    assert {"interval", "bootstrap", "pressure", "emergency", "rollup"} <= set(AnchorKind.values)
    assert set(AnchorKind.values) - {"interval", "bootstrap", "pressure", "emergency", "rollup"} == {
        "unit",
        "manual",
        "imported",
    }
