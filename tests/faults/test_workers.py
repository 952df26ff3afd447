"""R01, R03, R04, R08: workers that are killed, kill themselves, race, and come back too late."""

import json
import os
import signal
from typing import Any

import pytest

from tests.faults.world import World, until
from tests.plugins.worlds import MakeWorld

SECTIONS = "SELECT count(*) FROM chronicle_section"


def cluster(world: World) -> None:
    world.start("-m", "chronicle.child", str(os.getpid()), "tasks", "qcluster", name="cluster")
    world.ask("tick_often", every=0.5)


def held(world: World, log: str, before: int, after: int) -> int:
    """A log whose unit after the first `before` is held in mid-draw; return the job that a worker is held in."""
    (world.folder / "hold").touch()
    names = [f"unit {n}" for n in range(before)] + ["HOLD"] + [f"later unit {n}" for n in range(after)]
    world.ask("units", log=log, contents=names)
    job: int = world.ask("consolidation", log=log)
    return job


@pytest.mark.promise("S24", "K31")
def test_a_worker_killed_in_mid_draw_leaves_nothing_half_written_and_another_finishes(make_world: MakeWorld) -> None:
    world = make_world(JOB_LEASE="2")
    cluster(world)
    job = held(world, "dinner", before=26, after=3)
    [worker] = until(lambda: world.lines("drawing"))
    written = world.value(SECTIONS)
    os.kill(int(worker), signal.SIGKILL)
    (world.folder / "hold").unlink()

    until(lambda: world.job(job)[0] == "done")
    assert 0 < written < 30, "some units were written before, some were still to be drawn"
    assert world.value("SELECT count(*) FROM chronicle_anchor WHERE level = 0") == 30
    assert world.value("SELECT count(*) FROM chronicle_section WHERE generation > 1") == 0
    assert len(world.lines("drawing")) == 1
    world.sound()


@pytest.mark.promise("A13", "A21", "K31")
def test_what_a_killed_worker_has_paid_for_is_not_drawn_again(make_world: MakeWorld) -> None:
    world = make_world(JOB_LEASE="2", SUMMARISER="tests.faults.summarisers:Paid")
    cluster(world)
    job = held(world, "dinner", before=10, after=0)
    [worker] = until(lambda: world.lines("drawing"))
    os.kill(int(worker), signal.SIGKILL)
    assert (world.value(SECTIONS), world.value("SELECT count(*) FROM chronicle_pinscratch")) == (0, 10)
    (world.folder / "hold").unlink()

    until(lambda: world.job(job)[0] == "done")
    calls = world.lines("calls")
    assert len(calls) == len(set(calls)) == 11, "no request was paid for twice"
    assert world.value(SECTIONS) == world.value("SELECT count(*) FROM chronicle_pin") == 11
    assert world.value("SELECT count(*) FROM chronicle_pin WHERE attempts = 2") == 10
    assert world.value("SELECT count(*) FROM chronicle_pinscratch") == 0
    world.sound()


def test_a_job_that_kills_its_worker_is_parked_after_three_attempts_while_others_flow(make_world: MakeWorld) -> None:
    world = make_world(JOB_LEASE="1")
    cluster(world)
    deadly = world.ask("enqueue", kind="die", target="deaths", key="deadly")
    done = []
    while world.job(deadly)[0] != "parked":
        job = world.ask("enqueue", kind="note", target="notes", key=f"note {len(done)}")
        until(lambda job=job: world.job(job)[0] == "done")
        done.append(job)

    state, attempts, error = world.job(deadly)
    assert (state, attempts) == ("parked", 3) and "WorkerLost" in error
    assert len(world.lines("deaths")) == 3
    assert len(world.lines("notes")) == len(done) > 0


@pytest.mark.promise("S24", "K31")
@pytest.mark.parametrize("leased", [True, False], ids=["under the lease", "without one"])
def test_two_workers_on_one_log_fifty_times_draw_each_unit_once(make_world: MakeWorld, leased: bool) -> None:
    world = make_world()
    tally = world.ask("races", log="dinner", rounds=50, leased=leased)
    assert tally["wrong"] == 0 and tally["won"] + tally["left it"] == 100
    assert tally["won"] == 50
    assert world.value("SELECT count(*) FROM chronicle_anchor WHERE level = 0") == 51
    world.sound()


@pytest.mark.promise("K31")
def test_a_worker_stopped_past_its_lease_and_continued_writes_nothing(make_world: MakeWorld) -> None:
    world = make_world(JOB_LEASE="1.5")
    job = held(world, "dinner", before=2, after=2)
    late = world.start("-m", "tests.faults.driver", name="late")
    assert late.stdin
    late.stdin.write(json.dumps(["run", {"job": job}]) + "\n")
    late.stdin.flush()
    until(lambda: world.lines("drawing"))
    os.kill(late.pid, signal.SIGSTOP)
    until(lambda: world.ask("sweep")[0] == 1)
    (world.folder / "hold").unlink()
    assert world.ask("run", job=job) == "done"
    before = everything(world)

    os.kill(late.pid, signal.SIGCONT)
    until(lambda: "lease lost" in world.log("late"))
    until(lambda: '"done"' in world.log("late"))
    assert everything(world) == before
    cost = world.ask("cost", job=job)
    assert cost["tokens_in"] == 500 and cost["wasted_tokens"] == 5 * 110
    world.sound()


def everything(world: World) -> list[Any]:
    """All that a late write could have touched."""
    tables = ("anchor", "section", "foldposition", "unitfailure", "auditentry")
    return [world.rows(f"SELECT * FROM chronicle_{table} ORDER BY id") for table in tables]
