"""The projector: folds with positions of their own, batches, and what it refuses."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from chronicle import drawing, sections
from chronicle.draws import Draws
from chronicle.envelope import StoredEvent
from chronicle.errors import GenerativeRebuild, LeaseLost, Superseded
from chronicle.failures import next_try
from chronicle.fold import ChronicleFold
from chronicle.log import append, read
from chronicle.models import Log, Section
from chronicle.projector import Prepared, Projector
from tests.builders import log_of, said, units_of
from tests.summarisers import Noting

pytestmark = pytest.mark.django_db


def drawn_by(log: Log, summariser: Noting) -> ChronicleFold:
    edition = sections.current_edition(log)
    return ChronicleFold(edition, draws=Draws(edition, summariser=summariser))


class Counting:
    """A deterministic fold: counts events."""

    name = "counting"
    determinism = "deterministic"

    def __init__(self) -> None:
        self.batches: list[int] = []

    def check(self) -> None: ...

    def since(self, position: int) -> int:
        return position

    def prepare(self, events: Sequence[StoredEvent]) -> Any:
        yield from ()
        return Prepared(events[-1].seq, len(events))

    def apply(self, work: int) -> None:
        self.batches.append(work)


@pytest.mark.promise("A39", "A45")
def test_a_deterministic_fold_keeps_its_own_position_and_reads_in_batches() -> None:
    log, counting = log_of(25), Counting()
    projector = Projector(
        log,
        [
            counting,
            ChronicleFold(
                sections.current_edition(log), draws=Draws(sections.current_edition(log), summariser=Noting())
            ),
        ],
        batch_size=10,
    )
    projector.catch_up("counting")
    assert counting.batches == [10, 10, 5]
    assert (projector.position("counting"), projector.position("chronicle")) == (25, 0)


class Totalling(Counting):
    """A deterministic fold with a state that can be dropped."""

    def __init__(self, fails_after: int = 100) -> None:
        super().__init__()
        self.fails_after = fails_after

    def reset(self) -> None:
        self.batches.clear()

    def apply(self, work: int) -> None:
        super().apply(work)
        if len(self.batches) > self.fails_after:
            raise ValueError("no more")


@pytest.mark.promise("A50")
def test_a_deterministic_fold_is_rebuilt_without_being_asked() -> None:
    log, totalling = log_of(25), Totalling()
    projector = Projector(log, [totalling], batch_size=10)
    projector.catch_up()
    append(log, [said()])
    projector.rebuild("counting")
    assert totalling.batches == [10, 10, 6] and projector.position("counting") == 26


@pytest.mark.promise("DA12")
def test_a_rebuild_of_a_fold_that_fails_in_the_middle_leaves_its_position() -> None:
    log, totalling = log_of(25), Totalling()
    projector = Projector(log, [totalling], batch_size=10)
    projector.catch_up()
    totalling.fails_after = 1
    with pytest.raises(ValueError, match="no more"):
        projector.rebuild("counting")
    assert projector.position("counting") == 25


@pytest.mark.promise("A49")
def test_a_generative_fold_is_not_rebuilt_in_its_place() -> None:
    log = units_of(3)
    projector = Projector(log, [drawn_by(log, Noting()), Counting()])
    projector.catch_up()
    with pytest.raises(GenerativeRebuild, match="Nothing was reset"):
        projector.rebuild("chronicle")
    assert Section.objects.count() == 3 and projector.position("chronicle") == 6
    with pytest.raises(TypeError, match="no reset"):
        projector.rebuild("counting")
    with pytest.raises(KeyError):
        projector.rebuild("unknown")


@pytest.mark.promise("A39", "A40", "A46")
def test_a_projector_refuses_what_cannot_be_run() -> None:
    log = log_of(1)
    for size in (0, -1):
        with pytest.raises(ValueError, match="batch_size"):
            Projector(log, [], batch_size=size)
    with pytest.raises(ValueError, match="one name"):
        Projector(log, [Counting(), Counting()])
    with pytest.raises(KeyError):
        Projector(log, [Counting()]).catch_up("nobody")
    for declared in (None, "both"):
        undeclared = Counting()
        undeclared.determinism = declared  # type: ignore[assignment]
        with pytest.raises(ValueError, match="deterministic or generative"):
            Projector(log, [undeclared])
    assert Projector.__init__.__kwdefaults__["batch_size"] == 1000


@pytest.mark.promise("A43")
def test_a_replayed_batch_keeps_the_row_and_its_prose() -> None:
    log = units_of(1)
    one = ChronicleFold(
        sections.current_edition(log), draws=Draws(sections.current_edition(log), summariser=Noting("First"))
    )
    other = ChronicleFold(
        sections.current_edition(log), draws=Draws(sections.current_edition(log), summariser=Noting("Second"))
    )
    events = list(read(log))
    for chronicle_fold in (one, other):
        chronicle_fold.apply(drawing.run(chronicle_fold.prepare(events)).work)
    assert Section.objects.get().prose.startswith("First")


def test_waits_grow_to_six_hours(clock: Any) -> None:
    assert [next_try(clock(), n) - clock() for n in (1, 2, 3)] == [timedelta(minutes=m) for m in (1, 2, 4)]
    assert next_try(clock(), 50) - clock() == timedelta(hours=6)


def test_superseded_is_an_error_of_ours() -> None:
    assert issubclass(LeaseLost, Superseded)
