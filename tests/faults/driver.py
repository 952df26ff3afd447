"""`python -m tests.faults.driver`: does what a test asks, in a process of the world's own; one JSON line each way.

What is to happen at once happens in forked processes that all wait at one barrier.
"""

import json
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import django

from chronicle.child import die_with

MANY = multiprocessing.get_context("fork")


def units(log: str, contents: list[str], size: int = 3) -> int:
    """Append a closed unit for each content; return the log's last seq."""
    from chronicle.log import append, create_log
    from chronicle.models import Log
    from tests.builders import marker, said

    found = Log.objects.filter(public_id=log).first() or create_log("demo", public_id=log)
    events = []
    for content in contents:
        events += [said(f"{content} {place}") for place in range(size - 1)] + [marker()]
    return append(found, events).last_seq


def enqueue(kind: str, target: str, key: str) -> int:
    """Queue a job and kick it."""
    from chronicle import jobs, tasks

    job = jobs.enqueue(kind, target, key=key)
    tasks.kick(job)
    return job.pk


def consolidation(log: str) -> int:
    """Queue the consolidation of a log and kick it."""
    from chronicle import jobs, tasks
    from chronicle.models import Log

    job = jobs.consolidation(Log.objects.get(public_id=log), made_by="fault")
    tasks.kick(job)
    return job.pk


def tick_often(every: float) -> None:
    """From now on have the cluster tick every so many seconds, as the schedule does each minute."""
    from django_q.brokers import get_broker

    from chronicle import tasks

    def ticking() -> None:
        while True:
            if get_broker().queue_size() < 3:
                tasks.kick_tick()
            time.sleep(every)

    threading.Thread(target=ticking, daemon=True).start()


def run(job: int) -> str | None:
    """Do a job here."""
    from chronicle import jobs

    done = jobs.run(job)
    return done and done.state


def cost(job: int) -> dict[str, int]:
    from chronicle.models import Job

    found: dict[str, int] = Job.objects.get(pk=job).cost
    return found


def may_sign_in(name: str, password: str) -> bool:
    from django.contrib.auth import authenticate

    return authenticate(username=name, password=password) is not None


def token(name: str, can: str, owner: str = "demo") -> str:
    from chronicle import credentials

    return credentials.make(name, owner=owner, can=can.split(","), by="fault").token


def revoke(token: str) -> str:
    from chronicle import credentials

    return credentials.revoke(token, by="fault").prefix


def sweep() -> list[int]:
    from django.utils import timezone

    from chronicle import jobs

    return list(jobs.sweep(timezone.now()))


def first_writes(log: str, count: int) -> list[str]:
    """So many processes write first to one new log, at once; what went wrong in each, "" for nothing."""
    from chronicle.log import Chronicarius, DatabaseStore
    from tests.builders import said

    return at_once(
        [lambda n=n: Chronicarius(DatabaseStore()).record(log, "demo", said(f"by {n}")) for n in range(count)]
    )


def appends(log: str, writers: int, each: int, readers: int) -> list[str]:
    """Writers append one by one while readers follow by cursor until they have seen all."""
    from chronicle.log import append, create_log, read
    from tests.builders import said

    found = create_log("demo", public_id=log)

    def write() -> None:
        for number in range(each):
            append(found, [said(f"{number}")])

    def follow() -> None:
        seen: list[int] = []
        while len(seen) < writers * each:
            seen += [event.seq for event in read(found, since_seq=seen[-1] if seen else 0)]
            time.sleep(0.01)
        assert seen == list(range(1, writers * each + 1)), "an event was missed, seen twice or out of order"

    return at_once([write] * writers + [follow] * readers)


def races(log: str, rounds: int, leased: bool) -> dict[str, int]:
    """Two workers set out on one log at once, round after round; how often each thing happened."""
    from chronicle import fold, jobs
    from chronicle.models import Log

    units(log, ["round 0"])
    found = Log.objects.get(public_id=log)
    tally = {"won": 0, "left it": 0, "wrong": 0}
    for number in range(rounds):
        units(log, [f"round {number + 1}"])
        job = jobs.consolidation(found, made_by="race").pk

        def work(job: int = job) -> str:
            if leased:
                return "won" if jobs.run(job) else "left it"
            return "won" if fold.consolidate(found).sections else "left it"

        for word in at_once([work, work]):
            tally[word if word in tally else "wrong"] += 1
    return tally


def at_once(works: list[Callable[[], Any]]) -> list[str]:
    """Run each in a process of its own, all from one moment on; what each returned, or its error, as text."""
    from django.db import connections

    connections.close_all()
    barrier, answers = MANY.Barrier(len(works)), MANY.SimpleQueue()

    def one(number: int) -> None:
        try:
            barrier.wait()
            answer = works[number]()
            answers.put((number, answer if isinstance(answer, str) else ""))
        except BaseException as error:
            answers.put((number, f"{type(error).__name__}: {error}"))
        finally:
            connections.close_all()

    processes = [MANY.Process(target=one, args=(number,)) for number in range(len(works))]
    for process in processes:
        process.start()
    found = dict(answers.get() for _ in processes)
    for process in processes:
        process.join()
    return [found[number] for number in range(len(works))]


FUNCTIONS = (
    units,
    enqueue,
    consolidation,
    tick_often,
    run,
    cost,
    may_sign_in,
    token,
    revoke,
    sweep,
    first_writes,
    appends,
    races,
)
DOES: dict[str, Callable[..., Any]] = {function.__name__: function for function in FUNCTIONS}


def main() -> None:
    die_with(os.getppid())
    django.setup()
    for line in sys.stdin:
        what, arguments = json.loads(line)
        sys.stdout.write(json.dumps(DOES[what](**arguments)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
