"""How recorded text, times and sizes are shown."""

import unicodedata
from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.template import Context, Template

from chronicle.templatetags import recorded


def test_markup_is_escaped_and_nothing_is_stripped():
    shown = Template("{% load recorded %}{{ text|visible }}").render(Context({"text": "<b onclick=x>&\x1b[31m"}))

    assert shown == '&lt;b onclick=x&gt;&amp;<span class="unseen">␛</span>[31m'


@pytest.mark.parametrize(
    ("character", "mark"), [("\x00", "␀"), ("\r", "␍"), ("\x7f", "␡"), ("\u202e", "[U+202E]"), ("\u200b", "[U+200B]")]
)
def test_an_unseen_character_stands_as_a_mark(character: str, mark: str):
    assert recorded.visible_text(f"a{character}b") == f"a{mark}b"
    assert f'<span class="unseen">{mark}</span>' in recorded.visible(f"a{character}b")


def test_every_control_and_format_character_has_a_mark_but_tab_and_line_feed():
    unseen = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) in {"Cc", "Cf", "Zl", "Zp"}]

    assert [character for character in unseen if not recorded.UNSEEN.fullmatch(character)] == ["\t", "\n"]


def test_letters_marks_and_spaces_stay_as_they_are():
    text = "Ünïcödé, 漢字, हिन्दी, é, emoji 🍽️ and\u00a0spaces"

    assert recorded.visible(text) == text


def test_a_time_is_utc_whatever_zone_it_came_in():
    at = datetime(2026, 11, 30, 9, 41, 22, 5, tzinfo=timezone(timedelta(hours=7)))

    assert recorded.moment(at) == '<time datetime="2026-11-30T02:41:22.000005Z">2026-11-30 02:41:22</time>'
    assert recorded.moment(datetime(1, 1, 1, tzinfo=UTC), "%H:%M").endswith(">00:00</time>")
    assert recorded.moment(None) == ""


@pytest.mark.parametrize(
    ("count", "words"), [(412, "412 B"), (49356, "48.2 KB"), (129024, "126 KB"), (1_500_000, "1.4 MB")]
)
def test_sizes_are_said_in_words(count: int, words: str):
    assert recorded.size(count) == words


def test_numbers_are_grouped_from_five_digits_on_and_words_agree_in_number():
    assert (recorded.grouped(3117), recorded.grouped(11482)) == ("3117", "11\u202f482")
    assert (recorded.plural(1, "event"), recorded.plural(20, "event")) == ("1 event", "20 events")


def test_prose_is_split_at_blank_lines_only():
    assert recorded.paragraphs("one\ntwo\n \n\nthree\n") == ["one\ntwo", "three\n"]
