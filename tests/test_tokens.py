"""The estimate of tokens."""

import pytest

from chronicle.tokens import estimate


@pytest.mark.promise("K36")
@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("é", 1),
        ("ééé", 2),
        ("日本語", 3),
        ("🎉", 1),
        ("🎉a", 2),
        ("\ud800", 1),
    ],
)
def test_tokens_are_a_quarter_of_the_bytes_rounded_up(text: str, tokens: int) -> None:
    assert estimate(text) == tokens


@pytest.mark.promise("K36")
def test_no_script_is_counted_at_less_than_its_bytes_are_worth() -> None:
    assert estimate("日" * 1000) == 750 > len("日" * 1000) / 4
