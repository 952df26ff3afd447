"""A log under any sequence of appends, sections, generations, rollups, pins, readings and rebuilds, carried away and
back: the same bytes, the same proof, and nothing landing twice."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from chronicle import carry, policies, receipts
from chronicle.errors import CarryRefused
from chronicle.fold import consolidate
from chronicle.log import append
from chronicle.models import Log, UnitFailure
from chronicle.pins import PinLedger
from chronicle.rebuild import rebuild
from chronicle.sections import current_edition, current_sections
from chronicle.verifier import Status
from chronicle.verify import verify_log
from tests.builders import log_of, marker, said
from tests.carry.world import again, emptied, moved_on
from tests.summarisers import Noting

WORDS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1, max_size=20).filter(
    str.strip
)


class CarryMachine(RuleBasedStateMachine):
    """`kept` is the last file that was carried: whatever happened since, it still loads and adds nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.block = transaction.atomic()
        self.block.__enter__()
        self.log = log_of(1)
        self.kept: Path | None = None
        self.drawn = 0

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.block.__exit__(None, None, None)
        self.folder.cleanup()

    @rule(words=st.lists(WORDS, min_size=1, max_size=3), units=st.integers(1, 5), secret=st.booleans())
    def close_units(self, words: list[str], units: int, secret: bool) -> None:
        audience = ("booking", "Zoë") if secret else ()
        unit = [*(said(one, audience=audience, payload={one: one}) for one in words), marker()]
        append(self.log, [replace(event, event_id=uuid4()) for event in unit * units])

    @rule()
    def consolidate_all(self) -> None:
        UnitFailure.objects.all().delete()
        consolidate(self.log, summariser=Noting())

    @rule(place=st.integers(0), words=WORDS, times=st.integers(1, 11))
    def write_generations(self, place: int, words: str, times: int) -> None:
        found = [section.anchor.ref for section in current_sections(current_edition(self.log))]
        for number in range(times if found else 0):
            again(self.log, found[place % len(found)], f"{words[:60]} {number}", pins=(f"p1:x:{number}",))

    @rule(result=st.none() | WORDS | st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=3))
    def pin(self, result: object) -> None:
        self.drawn += 1
        unit = PinLedger(self.log).open(f"1/{self.drawn}-{self.drawn}")
        unit.resolve(f"p1:model_call:{self.drawn}", "model_call", lambda: result)
        unit.commit()
        self.log.refresh_from_db()

    @rule(budget=st.none() | st.integers(1, 2000))
    def read_a_brief(self, budget: int | None) -> None:
        receipts.read_brief(self.log, by="concierge", capability="read", budget=budget)

    @rule(interval=st.integers(1, 9))
    def set_a_policy(self, interval: int) -> None:
        policies.set_for(self.log, made_by="ada", interval_messages=interval)

    @precondition(lambda self: current_sections(current_edition(self.log)).exists())
    @rule()
    def rebuild_all(self) -> None:
        rebuild(self.log, discard_generated=True, by="ada", summariser=Noting("Again"))

    @rule()
    def carry_away_and_back(self) -> None:
        here, back = Path(self.folder.name, "here"), Path(self.folder.name, "back")
        carry.export([self.log], here)
        report = carry.check(here)
        assert report.refused is None
        emptied()
        if self.kept is not None:
            carry.load(self.kept)
        loaded = carry.load(here)
        assert loaded.total("other") == 0
        carry.export(list(Log.objects.all()), back)
        assert back.read_bytes() == here.read_bytes()
        assert carry.load(here).replayed
        self.log = moved_on(self.log)
        assert verify_log(self.log).status is Status.OK
        self.kept = here.replace(Path(self.folder.name, "kept"))

    @precondition(lambda self: self.kept is not None)
    @rule(place=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
    def change_a_byte(self, place: float, flip: int) -> None:
        assert self.kept is not None
        data = bytearray(self.kept.read_bytes())
        data[int(place * len(data))] ^= flip
        bad = Path(self.folder.name, "bad")
        bad.write_bytes(data)
        with pytest.raises(CarryRefused):
            carry.load(bad)

    @precondition(lambda self: self.kept is not None)
    @rule()
    def load_the_older_file_again(self) -> None:
        assert self.kept is not None
        assert carry.load(self.kept).replayed


@pytest.mark.promise("K23", "K24", "A64", "A65", "A66", "K17", "K18", "K19")
@pytest.mark.django_db
def test_a_log_comes_back_as_it_was_under_any_sequence() -> None:
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        CarryMachine,
        settings=settings(
            max_examples=15, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
