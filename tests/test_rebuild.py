"""Rebuilds: a new edition beside the one in force, switched at once; the same anchors, the words drawn or replayed."""

from typing import Any

import pytest
from asgiref.sync import async_to_sync

from chronicle import editions, failures, policies, sections
from chronicle.draws import Draws
from chronicle.errors import (
    GenerativeRebuild,
    PinMiss,
    SummaryFailed,
    Superseded,
)
from chronicle.fold import close_without_summary, consolidate, due_logs
from chronicle.log import append
from chronicle.models import Anchor, AuditEntry, Edition, Event, Log, Pin, Section
from chronicle.reading import Prose, find
from chronicle.rebuild import arebuild, bill, reports
from chronicle.reconsolidate import reconsolidate
from chronicle.rollups import roll_up
from chronicle.sections import NewSection, cover_of, current_edition
from tests.builders import log_of, marker, said, units_of
from tests.rebuilding import edition, redone, slots, states, words
from tests.summarisers import Awaited, Noting, Scripted

pytestmark = pytest.mark.django_db


@pytest.mark.promise("A52", "A53", "A36", "K22")
def test_a_rebuild_gives_the_same_anchors_and_new_words_in_a_new_edition() -> None:
    log = units_of(30)
    consolidate(log, summariser=Noting("First"))
    report = redone(log, summariser=Noting("Second"))

    old, new = edition(log, 1), edition(log, 2)
    assert states(log) == {1: "archived", 2: "current"} and current_edition(log) == new
    assert slots(old) == slots(new) and len(slots(new)) > 30
    assert all(prose.startswith("First") for prose in words(old).values())
    assert all(prose.startswith("Second") for prose in words(new).values())
    compared = report.compared
    assert (compared.anchors, compared.anchors_of) == (len(slots(old)), len(slots(old)))
    assert (compared.prose_first, compared.prose_current) == (0, 0)
    assert (report.sections, report.rollups, report.calls) == (30, len(slots(new)) - 30, len(slots(new)))
    assert (new.made_by, new.reason) == ("Ines", "rebuilt: a better prompt")


@pytest.mark.promise("A52", "K22")
def test_a_replay_gives_every_word_back_and_never_reaches_the_model() -> None:
    log, model = units_of(50), Scripted()
    consolidate(log, summariser=model)
    calls, last, pins = model.calls, Event.objects.filter(log=log).count(), Pin.objects.count()
    report = redone(log, summariser=model, replay="strict")

    whole = Anchor.objects.filter(edition=edition(log, 1)).count()
    assert calls == whole > 50 and model.calls == calls
    assert report.sections == 50 and report.calls == 0
    assert report.compared == (whole, whole, whole, whole)
    assert words(edition(log, 2)) == words(edition(log, 1))
    assert (Event.objects.filter(log=log).count(), Pin.objects.count()) == (last, pins)
    rests_on = [
        list(Section.objects.filter(anchor__edition__number=number).order_by("pins__key").values_list("pins__key"))
        for number in (1, 2)
    ]
    assert rests_on[0] == rests_on[1] and None not in rests_on[1]


@pytest.mark.promise("A52", "A24")
def test_slots_whose_events_say_the_same_get_their_own_words_back() -> None:
    """Two slots ask under one key, and a model may answer each in its own words: the rollups rest on which is whose."""
    log = log_of([event for _ in range(20) for event in (said("The same words."), marker())])
    model = Scripted()
    consolidate(log, summariser=model)
    calls = model.calls
    report = redone(log, summariser=model, replay="strict")

    assert Pin.objects.values("key").distinct().count() < Pin.objects.count()
    of = report.compared.anchors_of
    assert of > 20 and report.compared == (of, of, of, of) and model.calls == calls
    again = redone(log, summariser=model, replay="strict")
    assert again.compared == (of, of, of, of) and model.calls == calls


def test_a_rollup_of_a_later_generation_is_named_before_a_strict_replay_stops_at_it() -> None:
    log, model = units_of(8), Scripted()
    consolidate(log, summariser=model)
    reconsolidate(log, "3-4", accepted=True, by="Ines", summariser=model)
    append(log, [event for _ in range(6) for event in (said(), marker())])
    consolidate(log, summariser=model)

    assert bill(log, replay="strict").stops_at == "L1:1-16"
    assert "will stop at L1:1-16" in bill(log, replay="strict").words()["stops"]
    assert "stops" not in bill(log, replay="record").words()
    with pytest.raises(PinMiss):
        redone(log, summariser=model, replay="strict")


@pytest.mark.promise("A52", "A50")
def test_the_outline_gives_the_same_words_without_any_model() -> None:
    log = units_of(50)
    consolidate(log)
    report = redone(log)

    of = report.compared.anchors_of
    assert report.compared == (of, of, of, of) and report.calls == 0
    assert redone(log, replay="strict").compared == (of, of, of, of)


def test_a_changed_request_stops_a_strict_replay_where_it_is_and_the_old_edition_stays() -> None:
    log, model = units_of(20), Scripted()
    consolidate(log, summariser=model)
    model.prompt, calls = "Tell it shorter.", model.calls
    with pytest.raises(PinMiss):
        redone(log, summariser=model, replay="strict")

    assert model.calls == calls and states(log) == {1: "current", 2: "building"}
    report = redone(log, summariser=model, replay="record")
    assert states(log) == {1: "archived", 2: "archived", 3: "current"}
    assert report.calls == report.compared.anchors_of == model.calls - calls
    assert Event.objects.filter(log=log, type="ReplayDiverged").exists()


def test_a_replay_of_draws_that_are_not_pinned_is_refused_before_anything_is_made() -> None:
    log, model = units_of(3), Noting()
    consolidate(log, summariser=model)
    with pytest.raises(PinMiss, match="draws of noting are not pinned"):
        redone(log, summariser=model, replay="strict")
    assert states(log) == {1: "current"} and model.calls == 3
    with pytest.raises(ValueError, match="replay is None"):
        redone(log, replay="loose")


@pytest.mark.promise("A49", "K21")
def test_without_acknowledgement_it_is_refused_with_its_bill_and_nothing_is_reset() -> None:
    log, model = units_of(13), Scripted()
    policies.rows(log)
    consolidate(log, summariser=model)
    reconsolidate(log, "3-4", accepted=True, by="Ines", summariser=model)
    before = (states(log), slots(edition(log, 1)), words(edition(log, 1)), model.calls)
    with pytest.raises(GenerativeRebuild) as refused:
        redone(log, summariser=model, discard_generated=False)

    found = refused.value.details["bill"]
    assert (found["edition"], found["sections"], found["rollups"], found["taken_over"]) == (1, 13, 1, 0)
    assert (found["reconsolidated"], found["receipts"]) == (1, 0)
    assert before == (states(log), slots(edition(log, 1)), words(edition(log, 1)), model.calls)
    assert not AuditEntry.objects.filter(what="chronicle.rebuilt").exists()


@pytest.mark.promise("K21", "K36")
def test_the_bill_counts_the_calls_of_a_model_and_estimates_their_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    log = units_of(13)
    consolidate(log)
    assert bill(log).price == (0, 0, 0)
    monkeypatch.setattr("chronicle.policies.summariser_name", lambda _: "model")
    price, edition_ = bill(log).price, current_edition(log)
    size = sum(len(e.content.encode()) + len(e.payload) for e in Event.objects.filter(log=log, kind="message"))
    rolled = Section.objects.filter(anchor__edition=edition_, anchor__rolled_up_into__isnull=False)
    assert price.calls == 14
    assert price.tokens_in == -(-size // 4) + sum(section.token_estimate for section in rolled)
    assert price.tokens_out == sum(Section.objects.values_list("token_estimate", flat=True))
    assert bill(log, replay="strict").price == (0, 0, 0)
    assert "an estimate" in bill(log).words()["price"]


@pytest.mark.promise("A53")
def test_every_re_consolidation_is_dropped_and_stays_readable_in_the_old_edition() -> None:
    log = units_of(13)
    consolidate(log, summariser=Noting("First"))
    reconsolidate(log, "3-4", accepted=True, by="Ines", summariser=Noting("Better"))
    report = redone(log, summariser=Noting("First"))

    assert set(Section.objects.filter(anchor__edition=edition(log, 2)).values_list("generation", flat=True)) == {1}
    assert Prose(edition(log, 1)).section("3-4#2").text.startswith("Better")
    assert report.lost == 1
    assert (report.compared.prose_first, report.compared.prose_current) == (14, 13)
    assert find(edition(log, 2), "3-4").prose == find(edition(log, 1), "3-4#1").prose


def imported(log: Log, from_seq: int, to_seq: int, **given: Any) -> Section:
    new = NewSection(
        **{
            "from_seq": from_seq,
            "to_seq": to_seq,
            "kind": "imported",
            "event_count": to_seq - from_seq + 1,
            "title": "A compaction",
            "prose": f"What the tool wrote at {to_seq}.",
            "origin": "imported",
            "replaces_from": 1,
            "unit_seq": to_seq - 1,
            "model": "theirs",
            **given,
        }
    )
    edition = current_edition(log)
    before = cover_of(edition)[-1:] if given.get("replaces_from") else []
    return sections.append_new(edition, new, sources=before)


def mixed_log() -> Log:
    """Units, a summary that came with the log, units, another one, and units."""
    log = log_of([said("1"), marker(), said("3"), marker()])
    consolidate(log, summariser=Noting())
    append(log, [said("5"), said("6"), said("7")])
    imported(log, 5, 7)
    append(log, [said("8"), marker(), said("10"), said("11")])
    consolidate(log, summariser=Noting())
    imported(log, 10, 11, replaces_from=5)
    append(log, [said("12"), marker(), said("in the tail")])
    consolidate(log, summariser=Noting())
    return log


@pytest.mark.promise("A52", "A36")
def test_sections_that_came_with_the_log_are_taken_over_word_for_word_in_their_place() -> None:
    log = mixed_log()
    report = redone(log, summariser=Noting("Second"))
    old, new = edition(log, 1), edition(log, 2)

    assert slots(old) == slots(new)
    assert report.taken_over == 2 and report.compared.prose_first == 2
    for ref in ("5-7", "10-11"):
        one, other = find(old, ref), find(new, ref)
        for name in ("title", "prose", "origin", "replaces_from", "model", "made_by"):
            assert getattr(one, name) == getattr(other, name)
    [source] = find(new, "10-11").sources.all()
    assert source.source == find(new, "8-9")
    assert find(new, "8-9").prose.startswith("Second")


def test_a_unit_closed_without_summary_is_taken_over_too() -> None:
    log = units_of(4)
    consolidate(log, summariser=Noting(fails=lambda call: call == 3))
    for _ in range(4):
        failure = failures.keep(current_edition(log), 0, 5, 6, SummaryFailed("no words"))
    close_without_summary(failure, by="Ines")
    consolidate(log, summariser=Noting())
    noting = Noting("Second")
    report = redone(log, summariser=noting)

    assert noting.calls == 3 and report.taken_over == 1
    assert find(edition(log, 2), "5-6").origin == "closed without summary"
    assert slots(edition(log, 1)) == slots(edition(log, 2))


def test_rollups_are_taken_as_they_stand_however_consolidation_ran() -> None:
    """Which rollups exist depends on when consolidation ran: here one at a time, over a policy that changed."""
    log = units_of(0)
    edition_ = current_edition(log)
    for round in range(40):
        append(log, [said(f"{round}"), marker()])
        consolidate(log, summariser=Noting())
        if round == 15:
            policies.set_for(log, made_by="Ines", rollup_batch=3, rollup_threshold=4, max_recent=3, max_older=3)
    roll_up(edition_, draws=Draws(edition_, summariser=Noting()))
    redone(log, summariser=Noting("Second"))

    assert slots(edition(log, 1)) == slots(edition(log, 2))
    assert max(level for level, *_ in slots(edition(log, 2))) >= 2


def test_what_is_consolidated_while_it_is_built_is_built_too() -> None:
    log = units_of(13)
    consolidate(log, summariser=Noting("First"))

    def meanwhile(call: int) -> bool:
        if call in (5, 20):
            append(log, [event for n in range(8) for event in (said(f"{call}.{n}"), marker())])
            consolidate(log, summariser=Noting("First"))
        return False

    redone(log, summariser=Noting("Second", fails=meanwhile))
    assert slots(edition(log, 1)) == slots(edition(log, 2))
    assert sections.consolidated_through(edition(log, 2)) == Log.objects.get().last_seq == 58


def test_a_summary_that_comes_in_while_it_is_built_is_taken_over() -> None:
    log = log_of([event for n in range(4) for event in (said(f"{n}"), marker())] + [said("9"), said("10")])
    consolidate(log, summariser=Noting())

    def meanwhile(call: int) -> bool:
        if call == 2:
            imported(log, 9, 10)
        return False

    redone(log, summariser=Noting("Second", fails=meanwhile))
    assert find(edition(log, 2), "9-10").origin == "imported"


def test_units_that_close_meanwhile_and_are_in_no_section_wait_for_consolidation() -> None:
    log = units_of(3)
    consolidate(log, summariser=Noting())
    append(log, [said("later"), marker()])
    redone(log, summariser=Noting())

    assert sections.consolidated_through(edition(log, 2)) == 6
    assert log in due_logs()
    assert consolidate(log, summariser=Noting()).through == 8
    assert find(edition(log, 2), "7-8")


def test_what_is_archived_takes_no_section_any_more() -> None:
    log = units_of(3)
    consolidate(log, summariser=Noting())
    old = current_edition(log)
    redone(log, summariser=Noting())
    append(log, [said(), marker()])
    words_ = NewSection(from_seq=7, to_seq=8, kind="unit", event_count=1, title="Late", prose="Late.")
    with pytest.raises(Superseded, match="edition 1 is archived"):
        sections.append_new(old, words_)
    with pytest.raises(Superseded, match="edition 1 is archived"):
        sections.supersede(old, find(old, "1-2"), NewSection(**{**vars_of(words_), "from_seq": 1, "to_seq": 2}))


def vars_of(new: NewSection) -> dict[str, Any]:
    return {name: getattr(new, name) for name in ("kind", "event_count", "title", "prose")}


def test_what_does_not_fit_any_more_is_archived_and_begun_anew() -> None:
    log = units_of(5)
    consolidate(log, summariser=Noting())
    left = Edition.objects.create(log=log, number=2, state="building", made_at=log.started_at, reason="rebuilt: x")
    words_ = NewSection(from_seq=1, to_seq=3, kind="unit", event_count=2, title="Other", prose="Another range.")
    sections.append_new(left, words_)

    assert redone(log, summariser=Noting()).edition == 3
    assert states(log) == {1: "archived", 2: "archived", 3: "current"}


def test_a_second_rebuild_makes_a_third_edition() -> None:
    log = units_of(3)
    for prose in ("One", "Two", "Three"):
        if prose == "One":
            consolidate(log, summariser=Noting(prose))
        else:
            redone(log, summariser=Noting(prose))
    assert states(log) == {1: "archived", 2: "archived", 3: "current"}
    assert [find(edition(log, n), "1-2").prose.split()[0] for n in (1, 2, 3)] == ["One", "Two", "Three"]
    assert [line.number for line in editions.lines(log)] == [3, 2, 1]
    assert [line.sections for line in editions.lines(log)] == [3, 3, 3]


def test_an_empty_chronicle_is_rebuilt_as_an_empty_one() -> None:
    log = log_of(3)
    assert redone(log).compared == (0, 0, 0, 0)
    assert states(log) == {1: "archived", 2: "current"}
    assert consolidate(log).through == 0


def test_who_did_it_why_and_how_it_compares_is_in_the_audit_trail_without_prose() -> None:
    log = units_of(3)
    consolidate(log, summariser=Noting("Secret"))
    report = redone(log, summariser=Noting("Secret"))

    entry = AuditEntry.objects.get(what="chronicle.rebuilt")
    assert (entry.who, entry.target) == ("Ines", log.public_id)
    assert "Secret" not in entry.details and "a better prompt" in entry.details
    [told] = reports(log)
    assert told["compared"] == report.compared._asdict() and told["by"] == "Ines"
    assert told["words"].startswith("3 of 3 anchors identical; 3 of 3 word for word as generation 1")


def test_log_lines_carry_ids_and_no_words(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    log = units_of(13)
    consolidate(log, summariser=Noting("Secret"))
    redone(log, summariser=Noting("Secret"), reason="hush")
    assert "edition 2 replaces edition 1, through 26" in caplog.text
    assert "Secret" not in caplog.text and "hush" not in caplog.text


def test_it_says_how_far_it_is() -> None:
    log, told = units_of(60), []
    consolidate(log, summariser=Noting())
    redone(log, summariser=Noting(), progress=lambda *how_far: told.append(how_far))
    of = Anchor.objects.filter(edition=edition(log, 1)).count()
    assert told[:3] == [(0, of, "sections"), (25, of, "sections"), (50, of, "sections")]
    assert told[-1] == (of - 1, of, "sections")


@pytest.mark.promise("A41", "A42")
def test_an_asynchronous_summariser_is_refused_before_anything_is_made_and_awaited_by_the_other_way() -> None:
    log, awaited = units_of(13), Awaited()
    consolidate(log, summariser=Noting())
    with pytest.raises(TypeError, match="awaited path"):
        redone(log, summariser=awaited)
    assert awaited.calls == 0 and states(log) == {1: "current"}

    done = async_to_sync(arebuild)(log, discard_generated=True, by="Ines", summariser=awaited)
    assert done.edition == 2 and awaited.calls == 14
    assert slots(edition(log, 1)) == slots(edition(log, 2))
    with pytest.raises(GenerativeRebuild):
        async_to_sync(arebuild)(log, discard_generated=False, by="Ines", summariser=awaited)
