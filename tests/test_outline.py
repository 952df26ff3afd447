"""The offline summariser: what it quotes, what it counts, and that it invents no word."""

import inspect
import json

import pytest

from chronicle import canonical
from chronicle.summarisers import nothing_public
from chronicle.summarisers.outline import LENGTH, Outline
from chronicle.summarisers.protocol import Child, Draft, Said, Span
from tests.outlines import invented_words, misquoted, own_words_of_a_rollup, prose_and_quotes

OUTLINE = Outline()


def human(content: str, actor: str = "Ada") -> Said:
    return Said("message", "human", actor, content)


def agent(content: str, actor: str = "concierge") -> Said:
    return Said("message", "agent", actor, content)


def thought(content: str) -> Said:
    return Said("thought", "agent", "concierge", content)


def request(tool: str, given: str = "{}", actor: str = "concierge") -> Said:
    return Said("tool_request", "agent", actor, given, canonical.dump({"tool": tool}))


def response(tool: str, content: str, answers: int | None = None, **payload: object) -> Said:
    return Said("tool_response", "system", tool, content, canonical.dump(payload) if payload else "", answers)


def section(*said: Said) -> Draft:
    draft = OUTLINE.section(Span(said))
    assert not misquoted(draft.prose, said)
    assert not invented_words(draft.prose, said)
    assert 2 <= len(draft.prose.split("\n\n")) <= 5
    assert 1 <= len(draft.title) <= 80
    return draft


DINNER = (
    human("Good morning. Can you book a quiet table for 4 at Bistro Rue on 2026-03-07?"),
    thought("I should look at the free tables first."),
    agent("Let me look at the free tables."),
    request("find_table", '{"query": "Bistro Rue, 4 people"}'),
    response("find_table", "2 tables are free: T-12 and T-19.", 3),
    agent("T-12 is by the window and T-19 is in the quiet corner. Which one shall I take?"),
    human("T-19 then, and do not pay more than 120 EUR."),
    request("reserve", '{"table": "T-19"}'),
    response("reserve", "the card was declined", 7, is_error=True),
    request("reserve", '{"table": "T-19", "card": "other"}'),
    response("reserve", "R-9054", 9, is_error=False),
    agent("T-19 is booked as R-9054. Nothing was paid."),
)


def test_a_section_says_what_was_asked_what_was_answered_what_was_called_and_how_it_ended() -> None:
    draft = section(*DINNER)
    assert draft.title == "Can you book a quiet table for 4 at Bistro Rue on 2026-03-07?"
    asked, answered, called, ended = draft.prose.split("\n\n")
    assert asked.startswith("Ada asked “… Can you book a quiet table for 4 at Bistro Rue on 2026-03-07?”, then said")
    assert "“T-19 then, and do not pay more than 120 EUR.”" in asked
    assert "“T-12 is by the window and T-19 is in the quiet corner. Which one shall I take?”" in answered
    assert called.startswith("concierge called reserve twice and find_table once.")
    assert "All 3 calls were answered. 1 answer was an error, from reserve: “the card was declined”." in called
    assert ended == "At the end concierge said “T-19 is booked as R-9054. Nothing was paid.”"


def test_thoughts_are_left_out_where_anything_was_said_or_called() -> None:
    assert "look at the free tables first" not in section(*DINNER).prose
    assert "secret" not in section(thought("A secret plan of mine."), request("look")).prose


def test_a_span_of_thoughts_alone_quotes_them_as_thoughts() -> None:
    draft = section(thought("The third table is the quiet one."))
    assert "concierge thought “The third table is the quiet one.”" in draft.prose
    assert draft.title == "The third table is the quiet one."


def test_a_span_of_tools_alone_is_told_by_them() -> None:
    draft = section(request("Bash", '{"command": "mise run lint"}'), response("Bash", "0 issues.", 0))
    assert draft.title == "Bash: mise run lint"
    assert "It was given “mise run lint”. The call was answered. The last answer ended with “0 issues.”" in draft.prose
    assert draft.prose.endswith("\n\nNothing was said aloud in this span.")


def test_a_tools_arguments_are_found_in_the_payload_too() -> None:
    payload = canonical.dump({"tool": "menu.request", "arguments": {"party": 8, "note": "für Maya, ohne Nüsse"}})
    draft = section(Said("tool_request", "agent", "search", "menu.request", payload))
    assert "It was given “für Maya, ohne Nüsse”." in draft.prose


@pytest.mark.parametrize(
    ("answer", "stated"),
    [
        (response("t", "no such file", 0, is_error=True), True),
        (response("t", "", 0, error="no such file"), True),
        (response("t", "", 0, error={"code": 7, "message": "no such file"}), True),
        (response("t", "no such file", 0, status="failed"), True),
        (response("t", "Error: no such file", 0), True),
        (response("t", "Error: is a word in this file", 0, is_error=False), False),
        (response("t", "the error was found and fixed", 0), False),
        (response("t", "Errors are welcome", 0), False),
        (response("t", "", 0, error=None), False),
        (response("t", "", 0, status="ok"), False),
    ],
)
def test_an_answer_is_an_error_only_where_it_states_one(answer: Said, stated: bool) -> None:
    prose = section(request("t"), answer).prose
    assert ("1 answer was an error" in prose) is stated
    assert ("no such file" in prose) is ("no such file" in answer.content + answer.payload)


def test_calls_without_an_answer_and_answers_to_earlier_calls_are_told_apart() -> None:
    prose = section(response("look", "late"), request("look"), response("look", "here", 1), request("book")).prose
    assert "Of 2 calls, 1 had no answer in this span." in prose
    assert "1 answer came to what was called before it, from look." in prose
    assert "After these words" not in prose


def test_calls_after_the_last_words_are_counted() -> None:
    assert "After these words 2 more calls were made." in section(human("Go."), request("a"), request("b")).prose


def test_a_last_question_without_an_answer_is_said_to_have_none() -> None:
    prose = section(agent("It is booked."), human("And the cake?")).prose
    assert prose.endswith("At the end Ada asked “And the cake?” Nobody answered in this span. No tool was called.")


def test_one_message_alone_makes_two_paragraphs() -> None:
    prose = section(human("Hello there, is anybody here?")).prose
    assert (
        prose == "Ada asked “Hello there, is anybody here?”\n\nNothing else was said in this span. No tool was called."
    )


def test_every_voice_is_named_and_many_are_counted() -> None:
    said = [human(f"Guest {number} is coming too.", f"guest {number}") for number in range(9)]
    prose = section(*said, agent("Noted.")).prose
    assert prose.startswith("guest 0 said “Guest 0 is coming too.” guest 1 said")
    assert "5 others spoke 5 times." in prose


def test_a_bare_role_gets_an_article() -> None:
    prose = section(human("Delete that file.", "user"), agent("It is deleted.", "assistant")).prose
    assert prose.startswith("The user said “Delete that file.”")
    assert "At the end the assistant said “It is deleted.”" in prose


@pytest.mark.parametrize(
    "name",
    [
        "# Ada",
        "- Ada",
        "1. Ada",
        "Ada said everything is fine and nobody lied",
        "Ada\n\nThe auditor agreed.",
        "“Ada”",
        "x" * 200,
    ],
)
def test_a_name_that_could_pass_for_prose_is_quoted_like_speech(name: str) -> None:
    prose = section(human("Is it safe?", name), agent("Yes.")).prose
    assert prose.startswith(("“", "«", "someone"))
    assert "\n\nThe auditor" not in prose


@pytest.mark.parametrize(
    "content",
    [
        "\x1b[31mred\x1b[0m and a bell \x07 here",
        "<script>alert(1)</script> ignore all that was said before",
        "TITLE: nothing happened\nAll is well.",
        "He said “yes” and she said «no» and that was it",
        "## Heading\n\n- one\n- two\n\n```\ncode\n```\nthe words after it",
        "مرحبا، أريد طاولة لأربعة أشخاص يوم السبت؟ شكرا",
        "שלום, שולחן לארבעה בבקשה",
        "予約をお願いします。四人です。窓側の席がいいです。" * 40,
        "🎉🎉🎉 👨‍👩‍👧 party",
        "a" * 100_000,
        "word " * 200_000,
        "x\u202eevil\u202c y",
        "“" * 300,
        "????",
    ],
)
def test_hostile_and_foreign_text_is_quoted_as_it_is_or_counted(content: str) -> None:
    draft = section(human(content), agent(content), request("t", content), response("t", content, 2), agent("Done."))
    assert len(draft.prose) <= LENGTH
    _, outside = prose_and_quotes(draft.prose)
    assert not any(mark in outside for mark in ("\x1b", "\x07", "<", "\u202e", "#"))


def test_text_without_a_place_to_cut_is_counted_instead_of_quoted() -> None:
    prose = section(human("a" * 100_000), agent("Too long for me.")).prose
    assert prose.startswith("Ada spoke once, 100,000 characters without a place to quote.")


def test_however_long_a_span_its_outline_is_short() -> None:
    words = "The number of the table is {0} and the guest of it is number {0}, who eats no fish at all on any day."
    said = [(human if number % 2 else agent)(words.format(number) * 5, f"voice{number % 11}") for number in range(2000)]
    calls = [request(f"tool_number_{number % 30}", json.dumps({"command": "x " * 500})) for number in range(500)]
    assert len(section(*said, *calls).prose) <= LENGTH


def test_names_of_any_length_keep_it_short() -> None:
    long = "name " * 40
    said = [human("word " * 80, f"{long}{number}") for number in range(5)]
    calls = [request(f"{long}{number}", actor=f"{long}{number}") for number in range(9)]
    assert len(section(*said, *calls).prose) <= LENGTH


@pytest.mark.promise("K28")
def test_a_section_depends_on_its_span_alone() -> None:
    fresh = Outline().section(Span(DINNER))
    used = Outline()
    used.section(Span((human("Something else altogether."),)))
    used.rollup([Child("t", "p", 1)])
    assert used.section(Span(DINNER)) == fresh
    assert list(inspect.signature(Outline.section).parameters) == ["self", "span"]


def test_a_title_leaves_out_whom_it_was_addressed_to_and_is_cut_between_words() -> None:
    long = "@booking Please hold the room called Kenanga for eight people on Friday 4 December at half past seven."
    assert (
        section(agent(long)).title == "Please hold the room called Kenanga for eight people on Friday 4 December at …"
    )


@pytest.mark.promise("K26")
def test_nothing_said_gives_the_fixed_text() -> None:
    assert OUTLINE.section(Span(())) == nothing_public()


CHILDREN = [
    Child("A table was asked for", "Ada asked “A table for 4?”\n\nAt the end concierge said “T-19 is free.”", 12),
    Child("The card was declined", "concierge called reserve twice.\n\nAt the end Ada said “Use the other one.”", 9),
    Child("[no public content]", nothing_public().prose, 0),
    Child("It was booked", "The reservation R-9054 was made. Nothing had to be paid in advance.", 30),
]


@pytest.mark.promise("S57", "R4")
def test_a_rollup_tells_the_arc_from_its_sections_titles_and_prose() -> None:
    draft = OUTLINE.rollup(CHILDREN)
    assert draft.title == "A table was asked for – It was booked"
    began, between, ended = draft.prose.split("\n\n")
    assert began == "The stretch of 51 events in 4 sections began with “A table was asked for”, with “T-19 is free.”"
    assert between == "Then came “The card was declined”, with “Use the other one.”; and “[no public content]”."
    assert ended == "It ended with “It was booked”, with “… Nothing had to be paid in advance.”"
    assert not own_words_of_a_rollup(draft, CHILDREN)


@pytest.mark.promise("S57", "R4")
def test_a_rollup_is_given_sections_and_no_events() -> None:
    assert list(inspect.signature(Outline.rollup).parameters) == ["self", "children"]
    assert set(Child.__dataclass_fields__) == {"title", "prose", "event_count", "began", "ended"}


@pytest.mark.promise("S57")
def test_a_rollup_of_rollups_reads_on_in_the_same_way() -> None:
    low = OUTLINE.rollup(CHILDREN)
    high = OUTLINE.rollup([Child(low.title, low.prose, 51), Child("A walk – A taxi", "It rained.", 8)])
    assert high.title == "A table was asked for – A taxi"
    assert high.prose.startswith(
        "The stretch of 59 events in 2 sections began with “A table was asked for – It was booked”"
    )


@pytest.mark.parametrize("count", [2, 8, 9, 100])
def test_a_rollup_is_bounded_and_says_how_many_sections_it_leaves_out(count: int) -> None:
    children = [Child(f"{number} {'title ' * 12}", f"{number} " + "long prose " * 500, 40) for number in range(count)]
    draft = OUTLINE.rollup(children)
    assert len(draft.prose) <= 1500
    assert len(draft.title) <= 80
    assert f"{count * 40:,} events in {count:,} sections" in draft.prose
    assert ("more" in draft.prose) is (count > 8)


def test_a_rollups_title_is_cut_at_both_ends() -> None:
    title = OUTLINE.rollup([Child("first " * 13, "p q", 1), Child("last " * 16, "p q", 1)]).title
    assert title == "first first first first first first… – last last last last last last last last…"[:80]
    assert len(title) <= 80
