"""The list of promises can be read, and the table counts only what was shown."""

import pytest

from tests.plugins import promises
from tests.plugins.promises import Promise, Standing

DUE = Promise("A1", "words", "test", "")
LATER = Promise("A2", "words", "later", "carry")


def test_the_document_lists_each_promise_once_with_how_it_is_held() -> None:
    listed = promises.read_promises(promises.DOCUMENT.read_text())

    assert len(listed) == 282
    assert {promise.mark for promise in listed.values()} == set(promises.MARKS)


def test_a_replaced_promise_names_one_that_is_listed_and_stands() -> None:
    listed = promises.read_promises(promises.DOCUMENT.read_text())

    for promise in listed.values():
        if promise.mark == "replaced":
            assert listed[promise.why].mark != "replaced", promise.id


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("| A1 | words | perhaps |", "line 1"),
        ("| A1 | words | later |", "line 1"),
        ("| A1 | words | test: it is so |", "line 1"),
        ("| A1 |  | test |", "line 1"),
        ("| A1 | words | test", "line 1"),
        ("| A1 | words | test |\n| A1 | words | test |", "a second time"),
    ],
)
def test_a_row_that_cannot_be_read_is_named(row: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        promises.read_promises(row)


@pytest.mark.parametrize(
    ("ends", "proven"),
    [
        ({("t", "sqlite"): "passed"}, True),
        ({("t", "sqlite"): "passed", ("t", "postgres"): "failed"}, False),
        ({("t", "sqlite"): "passed", ("u", "sqlite"): "failed"}, False),
        ({("t", "sqlite"): "passed", ("u", "sqlite"): "skipped"}, True),
        ({("t", "sqlite"): "skipped"}, False),
        ({}, False),
    ],
)
def test_a_promise_is_proven_by_a_passing_test_and_no_failing_one(
    ends: dict[tuple[str, str], str], proven: bool
) -> None:
    row = Standing(DUE, ends)

    assert row.proven is proven
    assert bool(promises.missing([row])) is not proven


def test_what_is_later_is_not_missed_until_a_test_that_carries_it_fails() -> None:
    assert promises.missing([Standing(LATER, {})]) == []
    assert promises.missing([Standing(LATER, {("t", "sqlite"): "failed"})])


def test_the_tally_counts_each_kind_and_what_is_not_proven() -> None:
    rows = promises.standings(
        {"A1": DUE, "A2": LATER, "A3": Promise("A3", "words", "test", "")},
        {"t": {"A1", "A2"}},
        {("t", "sqlite"): "passed", ("t", "postgres"): "passed"},
    )

    assert promises.tally(rows) == (
        "promises: 2 due, 1 proven by 1 tests, 0 not by test, 0 replaced by others, 1 later, 1 NOT PROVEN"
    )
    assert promises.describe(rows[0]) == ["A1    proven", "        t: passed on postgres, passed on sqlite"]
