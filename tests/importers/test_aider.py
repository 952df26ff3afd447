"""Aider's chat history: who says a line of Markdown, and where a chat begins."""

import os
from pathlib import Path

import pytest

from chronicle.importers.protocol import Ignored, Item, Noted, Read, Session
from tests.importers.files import DATA, items

AIDER = DATA / "aider"


def reads(found: list[Item]) -> list[Read]:
    return [item for item in found if isinstance(item, Read)]


def said(found: list[Item], actor: str) -> list[str]:
    return [read.event.content for read in reads(found) if read.event.actor == actor]


def written(tmp_path: Path, words: str) -> list[Item]:
    path = tmp_path / ".aider.chat.history.md"
    path.write_text("# aider chat started at 2026-05-04 08:00:00\n\n> Aider v0.47.2  \n\n" + words)
    return items(path)


def test_a_run_of_lines_is_one_event_and_its_first_characters_say_whose() -> None:
    first = [
        (r.event.kind, r.event.actor_kind, r.event.actor, r.event.locator)
        for r in reads(items(AIDER / "history.txt"))[:4]
    ]

    assert first == [
        ("tool_response", "system", "aider", "4-6:0"),
        ("message", "human", "user", "8-10:0"),
        ("message", "agent", "assistant", "12-32:0"),
        ("tool_response", "system", "aider", "34-35:0"),
    ]


def test_what_a_person_typed_keeps_its_lines_and_its_own_hashes() -> None:
    assert said(items(AIDER / "history.txt"), "user") == [
        "Rename beds to plots.\n\n# Keep the comment.",
        "/undo",
        "/undo\n/diff",
        "/show",
        "Write a fence and stop.",
        "Go on.",
        "A chat begun in the same second.",
    ]


def test_quotations_edits_and_headings_within_an_answer_are_the_answers() -> None:
    answer = said(items(AIDER / "history.txt"), "assistant")[0]

    assert "> Beds are where things grow.\n> All of them." in answer
    assert "#### a heading in a file" in answer
    assert ">>>>>>> REPLACE" in answer
    assert answer.endswith("That is all.")


def test_a_printed_text_of_many_lines_ends_at_the_two_spaces() -> None:
    shown = said(items(AIDER / "history.txt"), "aider")[3]

    assert shown.startswith("\n\nHere are the beds.\nbed 1: beans\n\n#. bed 2: kale\nThat was the last.")
    assert shown.endswith("^C KeyboardInterrupt")


def test_a_fence_that_was_never_closed_swallows_nothing() -> None:
    found = items(AIDER / "history.txt")

    assert '```python\nprint("never closed")' in said(found, "assistant")
    assert "^C KeyboardInterrupt" in said(found, "aider")


def test_each_chat_is_a_session_and_two_begun_in_one_second_are_two() -> None:
    found = items(AIDER / "history.txt")
    titles = {item.id: item.title for item in found if isinstance(item, Session)}

    assert list(titles.values()) == [
        "Rename beds to plots.",
        "Write a fence and stop.",
        "A chat begun in the same second.",
    ]
    assert [name[:19] for name in titles] == ["2026-05-04 08:00:00", "2026-05-04 09:00:01", "2026-05-04 09:00:01"]


def test_two_projects_whose_chats_began_together_are_two_sessions(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        (folder / "h.md").write_text(f"# aider chat started at 2026-05-04 08:00:00\n\n> {folder}/bin/aider  \n")

    assert reads(items(one / "h.md"))[0].session != reads(items(other / "h.md"))[0].session


def test_the_start_has_no_zone_so_no_time_is_claimed_and_the_report_says_so() -> None:
    found = items(AIDER / "history.txt")

    assert all(read.event.claimed_at is None for read in reads(found))
    assert reads(found)[0].event.payload == {"timestamp": "2026-05-04 08:00:00"}
    assert [item.line for item in found if isinstance(item, Noted)] == [4]


def test_the_model_and_the_tokens_that_the_tool_prints_stand_on_the_answer() -> None:
    payloads = [read.event.payload for read in reads(items(AIDER / "history.txt")) if read.event.actor == "assistant"]

    assert payloads[0] == {"model": "claude-3-5-sonnet", "usage": {"input_tokens": 8985, "output_tokens": 1200}}
    assert payloads[1] == {"model": "gpt-4o"}


def test_a_file_may_begin_within_a_chat() -> None:
    found = items(AIDER / "slice.txt")

    assert said(found, "assistant") == ["and kale in bed 2."]
    assert {read.session[:7] for read in reads(found)} == {"a slice"}


def test_a_file_whose_spaces_were_stripped_is_read_by_its_first_characters_alone() -> None:
    found = items(AIDER / "stripped.txt")

    assert said(found, "user") == ["Are the beans up?"]
    assert said(found, "aider") == ["Aider v0.47.2", "Tokens: 10 sent, 2 received."]
    assert said(found, "assistant")[0] == "They are."
    assert reads(found)[-1].event.text_form == "escaped"


def test_a_chat_that_grows_keeps_its_ids_and_a_cut_answer_goes_on(tmp_path: Path) -> None:
    whole = (AIDER / "history.txt").read_text().splitlines(keepends=True)
    path = tmp_path / "history.txt"
    path.write_text("".join(whole[:20]))
    shorter, longer = reads(items(path)), reads(items(AIDER / "history.txt"))

    assert [read.native_id for read in shorter] == [read.native_id for read in longer[: len(shorter)]]
    assert longer[2].event.content.startswith(shorter[2].event.content)


def test_a_hash_line_without_words_is_counted_and_no_event(tmp_path: Path) -> None:
    found = written(tmp_path, "####   \n\nSaid.\n")

    assert said(found, "user") == []
    assert [item.kind for item in found if isinstance(item, Ignored)].count("nothing typed") == 1


def test_a_long_answer_is_parted_and_loses_nothing(tmp_path: Path) -> None:
    line = "word " * 200 + "\n"
    found = written(tmp_path, "#### Tell all.  \n\n" + line * 9000)
    answers = said(found, "assistant")

    assert len(answers) == 3
    assert sum(answer.count("word") for answer in answers) == 200 * 9000


@pytest.mark.skipif(not os.environ.get("CORPUS_DIR"), reason="needs CORPUS_DIR")
def test_a_real_history_keeps_what_was_typed_apart() -> None:
    found = items(Path(os.environ["CORPUS_DIR"]) / "aider" / "aider-chat-history-slice.md")

    assert not any(content.lstrip().startswith("####") for content in said(found, "aider"))
    assert len(said(found, "user")) == 50
