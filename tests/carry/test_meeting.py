"""A sound file meets a database that has something of it already: what is here stays, and a fork is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chronicle import carry, policies, receipts
from chronicle.errors import CarryRefused
from chronicle.fold import consolidate
from chronicle.log import append
from chronicle.models import AuditEntry, Edition, Event, Log, Prompt, Section
from tests.builders import marker, said, units_of
from tests.carry.bundle import Bundle
from tests.carry.test_carry import exported
from tests.carry.world import again, emptied, moved_on, whole_log
from tests.ingesting import ingested, only_log, talk, written
from tests.summarisers import Noting

pytestmark = pytest.mark.django_db


@pytest.fixture
def log() -> Log:
    log = units_of(5)
    consolidate(log, summariser=Noting())
    return log


def refused(path: Path) -> CarryRefused:
    before = (Event.objects.count(), Section.objects.count(), AuditEntry.objects.count(), Edition.objects.count())
    with pytest.raises(CarryRefused) as caught:
        carry.load(path)
    after = (Event.objects.count(), Section.objects.count(), AuditEntry.objects.count(), Edition.objects.count())
    assert after == before
    assert caught.value.details["line"] > 1
    return caught.value


def forked(log: Log, folder: Path, *, before: Callable[[Log], Any] | None, after: Callable[[Log], Any]) -> Path:
    """A file in which `after` happened to the log, and a database in which `before` did."""
    exported(folder / "common", log)
    after(log)
    exported(folder / "theirs", log)
    emptied()
    carry.load(folder / "common")
    if before is not None:
        before(moved_on(log))
    return folder / "theirs"


@pytest.mark.promise("K24", "A67")
def test_other_words_under_a_stored_id_are_kept_counted_and_named(log: Log, tmp_path: Path) -> None:
    ours = lambda log: again(log, "3-4", "Our account", pins=())  # noqa: E731
    theirs = lambda log: again(log, "3-4", "Their account", pins=())  # noqa: E731
    loaded = carry.load(forked(log, tmp_path, before=ours, after=theirs))
    tally = loaded.logs[log.public_id].as_json()["section"]
    assert (tally["landed"], tally["there"], tally["other"]) == (0, 5, 1)
    assert tally["other_ids"] == ["edition 1: 3-4#2"]
    assert Section.objects.get(generation=2).title == "Our account"
    assert loaded.as_json()["payload_differs"] is True


@pytest.mark.promise("A66", "K24")
def test_a_generation_behind_other_words_is_a_fork(log: Log, tmp_path: Path) -> None:
    def theirs(log: Log) -> None:
        again(log, "3-4", "Their account", pins=())
        again(log, "3-4", "Their better account", pins=())

    error = refused(forked(log, tmp_path, before=lambda log: again(log, "3-4", "Ours", pins=()), after=theirs))
    assert "section 3-4#3 supersedes 3-4#2, which has other words here (a fork)" in str(error)


@pytest.mark.promise("K24")
def test_a_rollup_or_a_receipt_over_other_words_is_refused(tmp_path: Path) -> None:
    def theirs(log: Log) -> None:
        again(log, "3-4", "Theirs", pins=())
        receipts.read_brief(log, by="concierge", capability="read")

    log = units_of(11)
    consolidate(log, summariser=Noting())
    error = refused(forked(log, tmp_path, before=lambda log: again(log, "3-4", "Ours", pins=()), after=theirs))
    assert "receipt 1 cites section 3-4#2, which has other words here" in str(error)
    emptied()

    def roll(log: Log) -> None:
        again(log, "5-6", "Theirs", pins=())
        append(log, [said(), marker()])
        consolidate(log, summariser=Noting())

    log = units_of(11)
    consolidate(log, summariser=Noting())
    error = refused(forked(log, tmp_path, before=lambda log: again(log, "5-6", "Ours", pins=()), after=roll))
    assert "section L1:1-16 read 5-6#2, which has other words here" in str(error)


@pytest.mark.promise("K24", "A66")
def test_events_that_went_another_way_are_a_fork_named_by_its_first(log: Log, tmp_path: Path) -> None:
    other = lambda words: lambda log: append(log, [said(words)])  # noqa: E731
    error = refused(forked(log, tmp_path, before=other("ours"), after=other("theirs")))
    assert "event 11 is another one here" in str(error)


@pytest.mark.promise("K24")
def test_a_log_that_is_ahead_stays_as_it_is(log: Log, tmp_path: Path) -> None:
    old = exported(tmp_path / "a", log)
    append(log, [said(), marker()])
    consolidate(log, summariser=Noting())
    assert carry.load(old).replayed
    assert moved_on(log).last_seq == 12


@pytest.mark.promise("K24")
def test_another_owners_log_is_refused(log: Log, tmp_path: Path) -> None:
    bundle = Bundle(exported(tmp_path / "a", log))
    bundle.one("log")["owner"] = bundle.header["logs"][0]["owner"] = "mallory"
    assert "is another owner's here" in str(refused(bundle.write(tmp_path / "b")))


def test_another_log_of_the_same_ingested_session_is_refused(tmp_path: Path) -> None:
    session = written(tmp_path, [talk(1), talk(2)])
    log = only_log(ingested(session))
    exported(tmp_path / "a", log)
    emptied()
    ingested(session)
    assert "is of the same ingested session" in str(refused(tmp_path / "a"))


@pytest.mark.promise("K24")
def test_anchors_and_stamps_that_differ_are_forks(log: Log, tmp_path: Path) -> None:
    def closes_later(log: Log) -> None:
        append(log, [said(), said(), said(), marker()])
        consolidate(log, summariser=Noting())

    path = forked(log, tmp_path, before=None, after=closes_later)
    early = Bundle(path)
    here = moved_on(log)
    carry.load(tmp_path / "common")
    carry.load(path)
    anchor = early.of("anchor")[-1]
    section = early.of("section")[-1]
    for row in (anchor, section):
        row["to_seq"] = 13
    anchor.update(unit_seq=13)
    early.reseal(section)
    assert "section 11-13 overlaps 11-14, which is here (a fork)" in str(refused(early.write(tmp_path / "b")))
    early = Bundle(path)
    early.of("anchor")[-1]["kind"] = "manual"
    assert "section 11-14 closed another way here" in str(refused(early.write(tmp_path / "b")))
    assert moved_on(here).last_seq == 14


@pytest.mark.promise("K24")
def test_policies_under_which_what_lands_would_have_closed_otherwise_are_refused(log: Log, tmp_path: Path) -> None:
    def goes_on(log: Log) -> None:
        append(log, [said(), marker()])
        consolidate(log, summariser=Noting())

    def another(log: Log) -> None:
        policies.set_for(log, made_by="ada", interval_messages=9)

    error = refused(forked(log, tmp_path, before=another, after=goes_on))
    assert "a policy from 11 on is here and not in the file" in str(error)
    emptied()
    carry.load(tmp_path / "common")
    here = moved_on(log)
    another(here)
    theirs = exported(tmp_path / "theirs", here)
    emptied()
    carry.load(tmp_path / "common")
    goes_on(moved_on(log))
    assert "the policy from 11 on is not here, where sections go to 12" in str(refused(theirs))
    bundle = Bundle(tmp_path / "common")
    bundle.one("policy")["interval_messages"] = 3
    assert "the policy from 1 on says something else here" in str(refused(bundle.write(tmp_path / "b")))


@pytest.mark.promise("K24")
def test_two_rebuilds_under_one_number_are_a_fork(tmp_path: Path) -> None:
    log = whole_log(tmp_path, generations=1)
    path = exported(tmp_path / "a", log)
    bundle = Bundle(path)
    bundle.one("edition", number=2)["made_at"] = "2026-01-01T00:00:00.000000+00:00"
    assert "edition 2 is another rebuild here" in str(refused(bundle.write(tmp_path / "b")))
    bundle = Bundle(path)
    bundle.one("edition", number=1)["made_at"] = "2026-01-01T00:00:00.000000+00:00"
    assert carry.load(bundle.write(tmp_path / "b")).replayed


@pytest.mark.promise("K24")
def test_prompts_receipts_and_sources_that_say_something_else_are_kept_and_named(tmp_path: Path) -> None:
    log = whole_log(tmp_path, generations=1)
    path = exported(tmp_path / "a", log)
    bundle = Bundle(path)
    bundle.one("source")["name"] = "elsewhere.jsonl"
    bundle.one("attachment")["media_type"] = "image/gif"
    loaded = carry.load(bundle.write(tmp_path / "b"))
    assert loaded.logs[log.public_id].other == {"source": 1, "attachment": 1}
    emptied()
    Prompt.objects.create(
        **{**dict.fromkeys(("section", "rollup"), "Other."), "section_digest": "0" * 64, "rollup_digest": "0" * 64},
        name="terse",
        version=1,
        made_at=log.started_at,
    )
    loaded = carry.load(path)
    assert loaded.logs[log.public_id].ids == {"prompt": ["terse/1"]}


def test_a_receipt_of_the_same_number_here_is_kept_and_named(log: Log, tmp_path: Path) -> None:
    read = lambda by: lambda log: receipts.read_brief(log, by=by, capability="read")  # noqa: E731
    loaded = carry.load(forked(log, tmp_path, before=read("ours"), after=read("theirs")))
    assert loaded.logs[log.public_id].ids == {"receipt": ["1"]}
