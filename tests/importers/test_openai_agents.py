"""Sessions of the Agents SDK and Responses items, with what other real files of them hold."""

from pathlib import Path

import pytest

from chronicle.importers.protocol import Ignored, Noted, Read, Refused, Session
from tests.importers.files import DATA, items

FOLDER = DATA / "openai-agents"
DATABASE = FOLDER / "sessions.sqlite"


def reads(path: Path, session: str = "") -> list[Read]:
    return [item for item in items(path) if isinstance(item, Read) and session in ("", item.session)]


def test_sessions_that_interleave_are_told_apart_and_each_keeps_its_order() -> None:
    garden = [read.event.content for read in reads(DATABASE, "garden")]

    assert {read.session for read in reads(DATABASE)} == {"garden", "dinner"}
    assert garden[0] == "When do I cut the hedge?"
    assert [read.line for read in reads(DATABASE)] == sorted(read.line for read in reads(DATABASE))


def test_the_same_words_again_are_a_new_message_and_the_fake_id_is_no_key() -> None:
    said = [read for read in reads(DATABASE, "garden") if read.event.kind == "message"]

    assert [read.event.content for read in said[:2]] == [read.event.content for read in said[2:]]
    assert len({read.native_id for read in said}) == 4


def test_parallel_calls_are_answered_out_of_order_by_their_ids_and_one_is_never_answered() -> None:
    found = {read.native_id: read for read in reads(DATABASE, "garden")}
    answers = {read.event.actor: found[read.answers or ""].event.payload for read in found.values() if read.answers}

    assert {tool: (payload or {})["arguments"] for tool, payload in answers.items()} == {
        "weather": {"place": "Lane 3"},
        "calendar": {"plant": "hornbeam"},
    }
    assert sum(read.event.kind == "tool_request" for read in found.values()) == 3


@pytest.mark.parametrize(
    ("tool", "words"),
    [("file_search", "Roast the pumpkin"), ("oven", "200"), ("code_interpreter", "1200"), ("mcp_list_tools", "oven")],
)
def test_a_hosted_tool_gives_its_request_and_its_result_from_one_item(tool: str, words: str) -> None:
    request, response = [
        read for read in reads(DATABASE, "dinner") if tool in (read.event.actor, (read.event.payload or {}).get("tool"))
    ]

    assert (request.event.kind, response.event.kind) == ("tool_request", "tool_response")
    assert response.answers == request.native_id
    assert words in response.event.content


def test_an_approval_answers_the_request_for_it() -> None:
    answer = next(read for read in reads(DATABASE, "dinner") if read.event.content.startswith("not approved"))
    request = next(read for read in reads(DATABASE) if read.native_id == answer.answers)

    assert (request.event.payload or {})["tool"] == "order"


def test_a_compaction_is_a_marker_and_what_is_encrypted_is_counted() -> None:
    found = items(DATABASE)
    noted = [item.words for item in found if isinstance(item, Noted)]

    assert [item.event.type for item in found if isinstance(item, Read) and item.event.kind == "marker"] == [
        "compaction"
    ]
    assert len(noted) == 2
    assert all("encrypted" in words for words in noted)
    assert [item.kind for item in found if isinstance(item, Ignored)] == ["reasoning without content", "item_reference"]


def test_a_row_that_breaks_off_is_refused_by_its_number_and_id() -> None:
    (refused,) = [item for item in items(DATABASE) if isinstance(item, Refused)]

    assert refused.line == 25
    assert refused.reason.startswith("row 25: not JSON")


def test_a_time_of_the_database_is_utc() -> None:
    assert {str(read.event.claimed_at)[:17] for read in reads(DATABASE)} == {"2026-05-04 08:00:"}
    assert all(read.event.claimed_at for read in reads(DATABASE))


def test_tables_of_other_names_and_spacing_are_known_by_their_columns() -> None:
    assert len(reads(FOLDER / "variant.sqlite", "garden")) == 7


def test_a_list_of_items_gives_what_its_lines_give_under_the_same_ids() -> None:
    whole = {read.native_id for read in reads(FOLDER / "items.json")}
    lines = {read.native_id for read in reads(FOLDER / "items.jsonl")}

    assert len(lines) == 4
    assert lines < whole


def test_arguments_that_are_no_json_are_kept_as_they_are_and_an_orphan_output_stands_alone() -> None:
    found = reads(FOLDER / "items.json")
    request = next(read for read in found if read.event.kind == "tool_request")
    orphan = next(read for read in found if read.event.content == "nobody asked")

    assert (request.event.payload or {})["arguments"] == '{"plant": "yew"'
    assert (orphan.answers, orphan.event.correlation) == (None, "lost")


def test_a_response_names_its_model_and_has_its_usage_once_on_its_last_event() -> None:
    found = reads(FOLDER / "response.json")

    assert {(read.event.payload or {})["model"] for read in found} == {"gpt-garden"}
    assert ["usage" in (read.event.payload or {}) for read in found] == [False, True]


def test_the_first_words_of_a_person_are_the_title() -> None:
    titles = {item.id: item.title for item in items(DATABASE) if isinstance(item, Session) and item.title}

    assert titles == {"garden": "When do I cut the hedge?", "dinner": "A soup for eight, please."}
