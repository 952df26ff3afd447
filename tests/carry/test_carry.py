"""Carried: what leaves one database arrives in another, all of it, byte for byte, as often as one likes."""

import stat
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from chronicle import carry, receipts, sections
from chronicle.append_only import missing
from chronicle.carry import exporting, loading
from chronicle.carry.landing import LogLanding
from chronicle.carry.rows import carried_name
from chronicle.errors import CarryRefused
from chronicle.fold import consolidate
from chronicle.log import append, read
from chronicle.models import AuditEntry, Event, Log, Receipt, Section
from chronicle.verifier import Status
from chronicle.verify import verify_log
from tests.builders import log_of, marker, said, units_of
from tests.carry.bundle import Bundle
from tests.carry.world import again, emptied, moved_on, whole_log
from tests.summarisers import Noting

pytestmark = pytest.mark.django_db

EVERY_KIND = {
    "log", "policy", "prompt", "source", "event", "pin", "attachment", "edition", "anchor", "section", "receipt",
    "finding", "sign_off", "section_pin", "section_source", "receipt_part",
}  # fmt: skip


def exported(path: Path, *logs: Log) -> Path:
    carry.export(logs or list(Log.objects.all()), path)
    return path


def rows_here() -> int:
    tables = connection.introspection.table_names()
    with connection.cursor() as cursor:
        found = 0
        for table in sorted(name for name in tables if name.startswith("chronicle_")):
            cursor.execute(f"SELECT count(*) FROM {table}")
            found += cursor.fetchone()[0]
    return found


@pytest.mark.promise("K23", "A64", "A65", "K9", "K19", "K48", "K49")
def test_a_whole_log_arrives_byte_for_byte_and_a_second_load_adds_nothing(tmp_path: Path) -> None:
    log = whole_log(tmp_path)
    digests = list(Section.objects.order_by("digest").values_list("digest", flat=True))
    done = carry.export([log], tmp_path / "a")
    assert done.kinds.keys() == EVERY_KIND
    assert all(written == there > 0 for written, there in done.kinds.values()), done.kinds
    assert carry.check(tmp_path / "a").refused is None

    emptied()
    loaded = carry.load(tmp_path / "a", made_by="ada")
    assert loaded.total("landed") == sum(there for _, there in done.kinds.values())
    assert (loaded.total("there"), loaded.total("other"), loaded.replayed) == (0, 0, False)
    assert exported(tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes()
    assert list(Section.objects.order_by("digest").values_list("digest", flat=True)) == digests
    assert verify_log(moved_on(log)).status is Status.OK

    again_ = carry.load(tmp_path / "a")
    assert (again_.total("landed"), again_.total("other"), again_.replayed) == (0, 0, True)
    assert again_.total("there") == loaded.total("landed")
    assert exported(tmp_path / "c").read_bytes() == (tmp_path / "a").read_bytes()
    assert AuditEntry.objects.get(what="carry.loaded").who == "ada"
    assert not missing(connection)


@pytest.mark.promise("K23", "A64", "K9")
def test_eleven_generations_keep_their_order_as_numbers_and_their_ids(tmp_path: Path) -> None:
    log = whole_log(tmp_path, generations=11)
    bundle = Bundle(exported(tmp_path / "a", log))
    rows = bundle.of("section", level=0, from_seq=5)[-11:]
    assert [row["generation"] for row in rows] == list(range(1, 12))
    assert [row["supersedes"] for row in rows] == [None, *range(1, 11)]
    second = [row for row in bundle.of("section") if bundle.line(row) > bundle.line(bundle.one("edition", number=2))]
    places = [(row["level"], row["from_seq"], row["generation"]) for row in second]
    assert places == sorted(places)
    emptied()
    carry.load(tmp_path / "a")
    edition = sections.current_edition(moved_on(log))
    refs = [one.ref for one in Section.objects.filter(anchor__edition=edition, anchor__from_seq=5, anchor__level=0)]
    assert sorted(refs, key=lambda ref: int(ref.partition("#")[2] or 1))[-2:] == ["5-6#10", "5-6#11"]


@pytest.mark.promise("K23")
def test_a_receipt_that_was_carried_still_makes_its_text_again(tmp_path: Path) -> None:
    log = whole_log(tmp_path)
    exported(tmp_path / "a", log)
    texts = [receipts.text_of(receipt) for receipt in Receipt.objects.order_by("number")]
    emptied()
    carry.load(tmp_path / "a")
    found = list(Receipt.objects.order_by("number"))
    assert [receipts.text_of(receipt) for receipt in found] == texts
    assert all(receipts.stands(receipt) for receipt in found)


@pytest.mark.promise("A69")
def test_a_log_that_was_carried_goes_on_as_any_other(tmp_path: Path) -> None:
    log = units_of(5)
    consolidate(log, summariser=Noting())
    exported(tmp_path / "a", log)
    emptied()
    carry.load(tmp_path / "a")
    here = moved_on(log)
    append(here, [said("And on."), marker()])
    done = consolidate(here, summariser=Noting())
    assert (done.sections, done.through) == (1, 12)
    assert verify_log(here).status is Status.OK


@pytest.mark.promise("A65", "A68")
def test_what_is_missing_of_a_log_is_appended_and_an_older_file_adds_nothing(tmp_path: Path) -> None:
    log = units_of(13)
    consolidate(log, summariser=Noting())
    old = exported(tmp_path / "old", log)
    append(log, [said(), marker()])
    again(log, "3-4", "Better", pins=())
    consolidate(log, summariser=Noting())
    new = exported(tmp_path / "new", log)

    late = carry.load(old)
    assert late.replayed

    emptied()
    carry.load(old)
    loaded = carry.load(new)
    assert loaded.logs[log.public_id].landed == {"event": 2, "anchor": 1, "section": 2}
    assert exported(tmp_path / "b").read_bytes() == new.read_bytes()


@pytest.mark.promise("A65", "K18")
def test_a_rollup_that_is_missing_stamps_the_children_that_are_here(tmp_path: Path) -> None:
    log = units_of(11)
    consolidate(log, summariser=Noting())
    old = exported(tmp_path / "old", log)
    append(log, [said(), marker()])
    consolidate(log, summariser=Noting())
    new = exported(tmp_path / "new", log)
    assert len(Bundle(new).of("anchor", level=1)) == 1
    emptied()
    carry.load(old)
    carry.load(new)
    assert exported(tmp_path / "b").read_bytes() == new.read_bytes()


@pytest.mark.promise("A65")
def test_another_edition_lands_and_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    log = whole_log(tmp_path, generations=2)
    new = exported(tmp_path / "new", log)
    bundle = Bundle(new)
    first = bundle.one("edition", number=2)
    at = bundle.rows.index(first)
    later = bundle.rows[at:]
    bundle.drop(*later, *bundle.of("receipt"))
    bundle.one("edition", number=1)["state"] = "current"
    emptied()
    carry.load(bundle.write(tmp_path / "old"))
    assert sections.current_edition(moved_on(log)).number == 1
    carry.load(new)
    assert sections.current_edition(moved_on(log)).number == 2
    assert exported(tmp_path / "b").read_bytes() == new.read_bytes()
    carry.load(tmp_path / "old")
    assert sections.current_edition(moved_on(log)).number == 2


@pytest.mark.promise("A65")
def test_several_logs_land_each_in_one_transaction_and_a_load_that_broke_off_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        consolidate(units_of(2 + number), summariser=Noting())
    file = exported(tmp_path / "a")
    names = [log["id"] for log in Bundle(file).header["logs"]]
    assert names == sorted(names)
    emptied()
    landing = LogLanding.end

    def breaks_off(self: LogLanding, line: int) -> None:
        if self._write and self.row.id == names[1]:
            raise OSError("the machine went down")
        landing(self, line)

    monkeypatch.setattr(LogLanding, "end", breaks_off)
    with pytest.raises(OSError, match="went down"):
        carry.load(file)
    monkeypatch.undo()
    assert [log.public_id for log in Log.objects.all()] == names[:1]
    loaded = carry.load(file)
    assert [bool(tally.landed) for tally in loaded.logs.values()] == [False, True, True]
    assert exported(tmp_path / "b").read_bytes() == file.read_bytes()


@pytest.mark.promise("K24")
def test_nothing_is_written_before_every_log_of_the_file_was_compared(tmp_path: Path) -> None:
    first, second = sorted((units_of(3), units_of(3)), key=lambda log: log.public_id)
    file = exported(tmp_path / "a", first, second)
    emptied()
    carry.load(exported_of(file, second, tmp_path))
    append(moved_on(second), [said("Here it went on.")])
    behind = Bundle(file)
    row = behind.of("log")[1]
    assert row["id"] == second.public_id
    row["owner"] = behind.header["logs"][1]["owner"] = "mallory"
    before = rows_here()
    with pytest.raises(CarryRefused, match="another owner's"):
        carry.load(behind.write(tmp_path / "b"))
    assert rows_here() == before


def exported_of(file: Path, log: Log, folder: Path) -> Path:
    """The part of a file that holds one log."""
    bundle = Bundle(file)
    bundle.header["logs"] = [one for one in bundle.header["logs"] if one["id"] == log.public_id]
    at = bundle.rows.index(bundle.one("log", id=log.public_id))
    ends = [place for place, row in enumerate(bundle.rows) if row["row"] == "log" and place > at]
    bundle.rows = bundle.rows[at : ends[0] if ends else None]
    return bundle.write(folder / "part")


def test_an_export_shows_the_moment_it_began_whatever_is_written_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = units_of(13)
    consolidate(log, summariser=Noting())
    calm = exported(tmp_path / "calm", log).read_bytes()
    real: Any = exporting.rows

    def busy(shot: Any, named: set[str]) -> Any:
        append(log, [said("late"), marker()])
        again(log, "3-4", "Late", pins=())
        consolidate(log, summariser=Noting())
        receipts.read_brief(log, by="late", capability="read")
        yield from real(shot, named)

    monkeypatch.setattr(exporting, "rows", busy)
    done = carry.export([log], tmp_path / "busy")
    assert (tmp_path / "busy").read_bytes() == calm
    assert done.kinds["event"] == (26, 28)
    assert done.kinds["section"] == (14, 16)


def test_a_file_appears_whole_under_its_name_for_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = log_of(3)
    path = tmp_path / "here" / "a"
    path.parent.mkdir()
    path.write_text("what was there")

    def breaks(*_: Any) -> Any:
        raise CarryRefused("no")

    with monkeypatch.context() as patch, pytest.raises(CarryRefused):
        patch.setattr(exporting, "rows", breaks)
        carry.export([log], path)
    assert [one.name for one in path.parent.iterdir()] == ["a"]
    assert path.read_text() == "what was there"
    exported(path, log)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert carry.check(path).refused is None


def test_a_file_that_changes_while_it_is_loaded_lands_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = units_of(3)
    consolidate(log, summariser=Noting())
    path = exported(tmp_path / "a", log)
    bundle = Bundle(path)
    emptied()
    real = loading._compare

    def changed(*given: Any) -> None:
        real(*given)
        bundle.one("log")["title"] = "Another title"
        bundle.write(path)

    monkeypatch.setattr(loading, "_compare", changed)
    with pytest.raises(CarryRefused, match="changed while it was loaded"):
        carry.load(path)
    assert not Log.objects.exists()


def test_an_empty_log_is_carried_too(tmp_path: Path) -> None:
    log = log_of(0, title="Nothing yet")
    exported(tmp_path / "a", log)
    emptied()
    carry.load(tmp_path / "a")
    assert exported(tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes()
    assert (moved_on(log).title, list(read(moved_on(log)))) == ("Nothing yet", [])
    with pytest.raises(CarryRefused, match="no log"):
        carry.export([], tmp_path / "c")


def test_events_of_many_pages_and_sources_arrive_in_order(tmp_path: Path) -> None:
    log = log_of(5001)
    exported(tmp_path / "a", log)
    emptied()
    carry.load(tmp_path / "a")
    assert list(Event.objects.order_by("seq").values_list("seq", flat=True)) == list(range(1, 5002))
    assert exported(tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes()


@pytest.mark.parametrize(
    ("name", "carried"),
    [
        ("/home/ida/logs/run.sqlite", "run.sqlite"),
        ("C:\\Users\\Ida\\run.sqlite", "run.sqlite"),
        ("\\\\server\\share\\run.sqlite", "run.sqlite"),
        ("pond/events/event-1.json", "pond/events/event-1.json"),
        ("run.sqlite", "run.sqlite"),
        ("a:b", "a:b"),
    ],
)
def test_no_path_of_this_machine_leaves_it(name: str, carried: str) -> None:
    assert carried_name(name) == carried
