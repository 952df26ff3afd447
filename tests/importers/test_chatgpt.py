"""ChatGPT's export: the path to the current node, tools by parent links, and who is a person."""

import json
from pathlib import Path

from chronicle.importers.protocol import Ignored, Noted, Read, Session
from tests.importers.files import DATA, items
from tests.importers.test_openai_chat import reads, shown

EXPORT = DATA / "chatgpt" / "conversations.json"


def of_first() -> list[Read]:
    found = reads(items(EXPORT))
    return [read for read in found if read.session == found[0].session]


def test_the_path_from_the_root_to_the_current_node_is_read_in_its_order() -> None:
    assert [read.event.content for read in of_first()] == [
        "I garden on clay.\nBe brief.",
        "[image_asset_pointer: file-service://file-Bulb7]\nHow many bulbs are in this picture, and how are they laid?",
        "Counting\nRows of fourteen.",
        "Laying out\nThree rows.",
        'python {"rows": 3, "each": 14}',
        "42",
        "[image_asset_pointer: sediment://plot]",
        "Thought for 4 seconds",
        "Forty-two bulbs, in three rows.",
    ]


def test_other_branches_are_counted() -> None:
    notes = [item.words for item in items(EXPORT) if isinstance(item, Noted)]

    assert [words.partition(": ")[2] for words in notes] == ["2 messages on other branches are left out"]


def test_profile_and_hidden_nodes_are_system_and_only_typed_words_are_human() -> None:
    kinds = [read.event.actor_kind for read in of_first()]

    assert kinds == ["system", "human", "agent", "agent", "agent", "system", "system", "agent", "agent"]


def test_what_a_tool_says_is_joined_to_the_request_that_its_parents_lead_to() -> None:
    request = next(read for read in of_first() if read.event.kind == "tool_request")
    responses = [read for read in of_first() if read.event.kind == "tool_response"]

    assert [read.answers for read in responses] == [request.native_id] * 2
    assert {read.event.actor for read in responses} == {"python"}


def test_times_that_run_backwards_are_kept_and_move_nothing() -> None:
    times = [read.event.claimed_at for read in of_first()]

    assert times[0] is None
    assert times[1] is not None
    assert times[2] is not None
    assert times[2] < times[1]


def test_a_title_is_the_exports_own_else_the_first_words_of_a_person() -> None:
    titles = [item.title for item in items(EXPORT) if isinstance(item, Session)]

    assert titles == ["Bulbs in rows", "", "Is clay good for roses?", "Empty"]
    assert [item.kind for item in items(EXPORT) if isinstance(item, Ignored)] == ["conversation without content"]


def test_one_conversation_is_the_same_session_alone_and_in_the_export() -> None:
    alone = reads(items(DATA / "chatgpt" / "single.json"))
    within = [read for read in reads(items(EXPORT)) if read.session == alone[0].session]

    assert [read.native_id for read in alone] == [read.native_id for read in within]


def test_parents_in_a_circle_end_the_path(tmp_path: Path) -> None:
    message = {
        "id": "m",
        "author": {"role": "user"},
        "content": {"content_type": "text", "parts": ["Round and round."]},
    }
    mapping = {"a": {"parent": "b", "children": ["b"], "message": message}, "b": {"parent": "a", "children": ["a"]}}
    path = tmp_path / "circle.json"
    path.write_text(json.dumps([{"id": "c", "mapping": mapping, "current_node": "a"}]))

    assert shown(items(path)) == [("message", "human", "user", "Round and round.")]
