"""Projector: folds read a log in batches; each prepares outside any transaction and applies inside one.

Guarantees: state and position commit together; all draws of a batch are done before its transaction
opens (if the batch then fails, they are lost and drawn again, anchors unchanged); another writer that
was first makes the batch Superseded and nothing is written.
Refuses: a fold that does not declare itself deterministic or generative, two folds of one name, a
batch size below 1, an asynchronous draw under the synchronous path, a rebuild in place of generated state.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from django.db import transaction

from chronicle import drawing
from chronicle.envelope import StoredEvent
from chronicle.errors import GenerativeRebuild, Superseded
from chronicle.log import locked, read
from chronicle.models import FoldPosition, Log

DETERMINISTIC = "deterministic"
GENERATIVE = "generative"
BATCH = 1000

type Fence = Callable[[], None]


class Prepared(NamedTuple):
    """What a fold will write: the seq that its state will then stand at, and whether to stop there for now."""

    upto: int
    work: Any
    stop: bool = False


class Fold(Protocol):
    """`determinism` is "deterministic" or "generative"; there is no default.

    `since` returns where to go on from, given the stored position; `prepare` yields draws and returns a
    Prepared; `apply` writes, inside the transaction that moves the position; `check` runs before a
    synchronous catch-up and may refuse it.
    """

    name: str
    determinism: str

    def check(self) -> None: ...

    def since(self, position: int) -> int: ...

    def prepare(self, events: Sequence[StoredEvent]) -> drawing.Steps[Prepared]: ...

    def apply(self, work: Any) -> None: ...


@runtime_checkable
class Resettable(Protocol):
    """A fold that can drop its state, to be made anew from the log."""

    def reset(self) -> None: ...


class Projector:
    """Runs folds over one log. `fence` is called inside each writing transaction and raises when the lease is lost."""

    def __init__(self, log: Log, folds: Iterable[Fold], *, batch_size: int = BATCH, fence: Fence | None = None) -> None:
        folds = list(folds)
        self._log = log
        self._folds = {fold.name: fold for fold in folds}
        self._batch_size = batch_size
        self._fence = fence
        if len(self._folds) != len(folds):
            raise ValueError("Two folds have one name; each needs its own.")
        if batch_size < 1:
            raise ValueError(f"batch_size starts at 1, not {batch_size}.")
        for fold in folds:
            if getattr(fold, "determinism", None) not in (DETERMINISTIC, GENERATIVE):
                raise ValueError(f"Fold {fold.name!r} must declare itself deterministic or generative.")

    def position(self, name: str) -> int:
        """Return the seq a fold's state stands at. Raises KeyError for an unknown fold."""
        fold = self._folds[name]
        stored = FoldPosition.objects.filter(log=self._log, fold=name).values_list("seq", flat=True).first()
        return fold.since(stored or 0)

    def catch_up(self, *names: str) -> None:
        """Run the named folds (all by default) to the end of the log. Raises KeyError, TypeError, Superseded."""
        folds = [self._folds[name] for name in names or self._folds]
        for fold in folds:
            fold.check()
        for fold in folds:
            drawing.run(self._catch_up(fold))

    async def acatch_up(self, *names: str) -> None:
        """As `catch_up`, awaiting draws; folds and draws one after another, database work on one thread."""
        for fold in [self._folds[name] for name in names or self._folds]:
            await drawing.arun(self._catch_up(fold))

    def steps(self, *names: str) -> drawing.Steps[None]:
        """As `catch_up`, for whoever drives the draws together with others."""
        for fold in [self._folds[name] for name in names or self._folds]:
            yield from self._catch_up(fold)

    def rebuild(self, name: str) -> None:
        """Make a deterministic fold's state anew, in one transaction: a failure in the middle leaves the old one.

        Raises GenerativeRebuild for a fold that draws: generated words are rebuilt beside the old, by
        `chronicle.rebuild`, once that is accepted. Raises KeyError, and TypeError for a fold without `reset`.
        """
        fold = self._folds[name]
        if fold.determinism != DETERMINISTIC:
            raise GenerativeRebuild(f"Fold {name!r} is generated: a rebuild would draw other words. Nothing was reset.")
        if not isinstance(fold, Resettable):
            raise TypeError(f"Fold {name!r} has no reset, so it cannot be made anew.")
        with transaction.atomic():
            locked(self._log.pk)
            fold.reset()
            FoldPosition.objects.filter(log=self._log, fold=name).update(seq=0, seen_seq=0)
            self.catch_up(name)

    def _catch_up(self, fold: Fold) -> drawing.Steps[None]:
        size = self._batch_size
        while True:
            since = self.position(fold.name)
            events = list(read(self._log, since_seq=since, limit=size))
            if not events:
                return
            prepared = yield from fold.prepare(events)
            if prepared.upto > since or prepared.stop:
                self._apply(fold, since, prepared)
                size = self._batch_size
            else:
                size *= 2  # nothing closes in so few events: read on from the same place
            if prepared.stop or (prepared.upto <= since and len(events) < size // 2):
                return

    def _apply(self, fold: Fold, since: int, prepared: Prepared) -> None:
        with transaction.atomic():
            locked(self._log.pk)
            if self._fence is not None:
                self._fence()
            if self.position(fold.name) != since:
                raise Superseded(f"Fold {fold.name!r} was moved past {since} by another worker.")
            fold.apply(prepared.work)
            FoldPosition.objects.update_or_create(
                log=self._log, fold=fold.name, defaults={"seq": max(prepared.upto, since)}
            )
