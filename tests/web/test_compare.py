"""Two generations side by side, and the bound on what is compared."""

import random
import time
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chronicle.models import Log
from chronicle.reconsolidate import reconsolidate
from chronicle.summarisers.protocol import Draft
from chronicle.web.collation import CHARACTERS, Piece, collate, word_by_word
from tests.summarisers import Giving
from tests.web.conftest import redraw, words

HOSTILE = "<script>alert(1)</script> & <b>bold</b>\u202e."


def at(log: Log, ref: str = "8-14", query: str = "") -> str:
    return reverse("compare", args=[log.public_id, ref]) + query


def test_the_pieces_of_a_side_are_its_sentence_and_say_what_stands_on_one_side_alone() -> None:
    left, right = word_by_word("Dina chose the quiet table.", "Dina took the table.")
    assert "".join(piece.text for piece in left) == "Dina chose the quiet table."
    assert "".join(piece.text for piece in right) == "Dina took the table."
    assert Piece("removed", "chose") in left and Piece("added", "took") in right


def test_sentences_are_set_against_each_other_and_counted() -> None:
    found = collate("One stays. Two goes away.\n\nThree stays.", "One stays. Three stays. Four “came.” Five too.")
    assert [pair.equal for pair in found.pairs] == [True, False, True, False, False]
    assert (found.same, found.differing, found.removed, found.added) == (2, 3, 3, 4)
    assert not found.cut and not found.identical
    assert collate("A b.", "A  b.").differing == 1
    blank = collate("A.\n\nB.", "A. B.")
    assert (blank.differing, blank.identical) == (0, False)
    assert collate("", "").pairs == ()


@pytest.mark.parametrize("alphabet", ["ab", "a", ". ab", "\n.", "абв 。"])
def test_long_prose_of_any_kind_is_compared_up_to_a_bound_in_a_moment(alphabet: str) -> None:
    dice = random.Random(7)
    one, other = ("".join(dice.choices(alphabet, k=1_000_000)) for _ in range(2))
    began = time.monotonic()
    found = collate(one, other)
    assert time.monotonic() - began < 20
    assert found.cut and max(found.compared) <= CHARACTERS and found.of == (1_000_000, 1_000_000)


def test_the_page_defaults_to_the_previous_and_the_current_generation(page: Client, log: Log) -> None:
    redraw(log, "8-14")
    html = page.get(at(log)).content.decode()
    assert "Compare 8-14#2 and 8-14#3" in words(html) and "Generation 3 is current" in words(html)
    other = page.get(at(log, query="?a=1&b=3")).content.decode()
    assert "Compare 8-14#1 and 8-14#3" in words(other)
    assert "<del><span" in other and "<ins><span" in other
    assert "= the same" in words(other) or "the same" in words(other)


def test_one_generation_alone_is_compared_with_itself_and_the_page_says_so(page: Client, log: Log) -> None:
    html = words(page.get(at(log, "1-7")).content.decode())
    assert "Compare 1-7#1 and 1-7#1" in html and "there is no other" in html


@pytest.mark.parametrize(
    ("query", "status"), [("?a=x", 400), ("?a=0", 400), ("?b=99", 404), ("?a=1&b=2", 200), ("?a=2&b=1", 200)]
)
def test_a_number_that_is_none_is_400_and_a_generation_that_is_not_there_404(
    page: Client, log: Log, query: str, status: int
) -> None:
    assert page.get(at(log, query=query)).status_code == status


def draft(**given: Any) -> Giving:
    return Giving(Draft(**{"title": "T", "prose": "Words.", "model": "gemma", **given}))


def test_the_page_says_how_both_were_made_who_accepted_it_and_what_is_stale(page: Client, log: Log) -> None:
    from chronicle import prompts

    prompt = prompts.add("terse", "Be short.", "Be short in the arc.", "test")
    given = draft(prompt_digest=prompt.section_digest, tokens_in=1212, tokens_out=148, pins=("p1:m:abcdef0123",))
    reconsolidate(log, "15-21", accepted=True, by="s.putri", reason="RT-4821 is in no event", summariser=given)
    html = words(page.get(at(log, "15-21")).content.decode())
    for expected in ("gemma", "1212 · 148", "1: abcdef01…", "terse/1", "s.putri accepted", "“RT-4821 is in no event”"):
        assert expected in html
    assert "L1:1-21 is stale: it has not read 8-14#2, 15-21#2" in html and "Re-roll L1:1-21…" in html
    again = draft(prompt_digest=prompts.add("terse", "Be very short.", "Be short.", "test").section_digest)
    reconsolidate(log, "15-21", accepted=True, by="s.putri", summariser=again)
    html = page.get(at(log, "15-21")).content.decode()
    assert "What was asked for" in html and "very" in html and "terse/2" in html


def test_a_rollup_is_compared_with_what_each_generation_read(page: Client, log: Log) -> None:
    reconsolidate(log, "L1:1-21", accepted=True, by="s.putri", summariser=draft())
    html = words(page.get(at(log, "L1:1-21")).content.decode())
    assert "1-7#1, 8-14#1, 15-21#1" in html and "1-7#1, 8-14#2, 15-21#1" in html
    assert "L2:1-63 is stale: it has not read L1:1-21#2" in html


def test_hostile_words_are_shown_and_do_nothing(page: Client, log: Log) -> None:
    given = draft(title=HOSTILE, prose=f"{HOSTILE} {HOSTILE}", model=HOSTILE)
    reconsolidate(log, "8-14", accepted=True, by=HOSTILE, reason=HOSTILE, summariser=given)
    html = page.get(at(log)).content.decode()
    assert "<script>alert" not in html and "<b>bold" not in html and "\u202e" not in html
    assert html.count('<span class="unseen">') >= 4


def test_a_megabyte_of_prose_is_cut_and_said_to_be(page: Client, log: Log) -> None:
    reconsolidate(log, "8-14", accepted=True, by="x", summariser=draft(prose="Word after word. " * 60_000))
    html = words(page.get(at(log)).content.decode())
    assert "characters were compared, the rest is too long for this page" in html


def test_comparing_costs_the_same_number_of_queries_for_two_and_for_twenty_generations(
    page: Client, log: Log, django_assert_num_queries: Any
) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    counts = []
    for _ in range(2):
        with CaptureQueriesContext(
            connection,
        ) as captured:
            page.get(at(log))
        counts.append(len(captured))
        for _ in range(9):
            redraw(log, "8-14")
    assert counts[0] == counts[1]


def test_a_reviewer_sees_the_comparison_and_no_way_to_redo(page: Client, log: Log, reviewer: User) -> None:
    assert ">Re-consolidate 8-14…<" not in page.get(at(log)).content.decode()
    User.objects.filter(pk=reviewer.pk).update(is_superuser=True, is_staff=True)
    assert ">Re-consolidate 8-14…<" in page.get(at(log)).content.decode()
