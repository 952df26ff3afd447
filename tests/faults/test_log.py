"""R05, R06: many processes write to one log at once."""

import pytest

from tests.plugins.worlds import MakeWorld


@pytest.mark.promise("C15", "C16")
def test_forty_processes_that_write_first_to_one_new_log_store_forty_events(make_world: MakeWorld) -> None:
    world = make_world()
    assert world.ask("first_writes", log="new", count=40) == [""] * 40
    assert world.value("SELECT last_seq FROM chronicle_log") == 40
    world.sound()


@pytest.mark.promise("C25")
def test_readers_by_cursor_see_each_of_a_thousand_events_once_and_in_order(make_world: MakeWorld) -> None:
    world = make_world()
    assert world.ask("appends", log="busy", writers=40, each=25, readers=5) == [""] * 45
    assert world.value("SELECT last_seq FROM chronicle_log") == 1000
    world.sound()
