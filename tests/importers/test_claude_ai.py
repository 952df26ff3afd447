"""Claude.ai's export: content once, calls without ids, attached texts, branches."""

from chronicle.importers.protocol import Noted, Session
from tests.importers.files import DATA, items
from tests.importers.test_openai_chat import reads, shown

EXPORT = DATA / "claude-ai" / "conversations.json"


def test_content_is_read_and_the_text_that_repeats_it_is_not() -> None:
    assert shown(items(EXPORT)) == [
        ("message", "human", "user", "Is my compost ready?"),
        ("message", "human", "user", "Turned in March, dark and crumbly."),
        ("message", "human", "user", "[heap.jpg]"),
        ("thought", "agent", "assistant", "Dark and crumbly is a good sign."),
        ("message", "agent", "assistant", "Let me look."),
        ("tool_request", "agent", "assistant", 'garden_search {"query": "ripe compost"}'),
        ("tool_response", "system", "garden_search", "ripe: dark, crumbly, smells of earth"),
        ("message", "agent", "assistant", "Yes, it is ripe."),
        ("message", "human", "user", "Thanks, and an old message without blocks."),
        ("message", "human", "user", "Which worms belong in it?"),
        ("message", "agent", "assistant", "Red wigglers."),
    ]


def test_a_result_without_an_id_is_joined_by_its_tool_and_position() -> None:
    found = reads(items(EXPORT))
    request = next(read for read in found if read.event.kind == "tool_request")

    assert [read.answers for read in found if read.event.kind == "tool_response"] == [request.native_id]


def test_the_path_to_the_current_message_is_read_and_other_branches_are_counted() -> None:
    notes = [item.words for item in items(EXPORT) if isinstance(item, Noted)]

    assert len(notes) == 1
    assert "1 messages on other branches" in notes[0]


def test_a_title_is_the_exports_own_else_the_first_words_of_a_person() -> None:
    titles = [item.title for item in items(EXPORT) if isinstance(item, Session)]

    assert titles == ["Compost heap", "", "Which worms belong in it?", "Nothing"]


def test_an_id_stays_when_a_message_gains_a_block() -> None:
    ids = [read.native_id for read in reads(items(EXPORT)) if read.native_id.startswith("m-2")]

    assert ids == ["m-2:0", "m-2:1", "m-2:2", "m-2:3", "m-2:4"]
