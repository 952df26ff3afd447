"""Spans over many posts: one log, each message once, in the order of arrival, whatever comes again or late."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from chronicle.ingest import ingest_file
from chronicle.models import Attachment, Event, Log
from tests.otlp.conftest import OWNER, Exporter, chat, export, packed, span, token, told, user

YES = {"role": "assistant", "content": "Yes."}
ASK = {
    "role": "assistant",
    "tool_calls": [{"id": "call_1", "function": {"name": "look", "arguments": '{"at": "gate"}'}}],
}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "shut"}


def look(number: int, call: str = "call_1", result: str = "shut", **more: Any) -> Any:
    given = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.conversation.id": "roses"}
    given |= {"gen_ai.tool.call.result": result} if result else {}
    return span(number, given | ({"gen_ai.tool.call.id": call} if call else {}), **more)


def contents() -> list[str]:
    return [content for _, _, content in told()]


def test_a_conversation_over_several_posts_is_one_log_and_its_history_is_told_once(exporter: Exporter) -> None:
    exporter.send(chat(1, user("Is it shut?"), answer=ASK))
    exporter.send(look(2))
    exporter.send(chat(3, user("Is it shut?"), ASK, RESULT, answer="Yes."))
    exporter.send(chat(4, user("Is it shut?"), ASK, RESULT, YES, user("Sure?"), answer="Yes."))

    assert told() == [
        ("message", "user", "Is it shut?"),
        ("tool_request", "assistant", 'look {"at": "gate"}'),
        ("tool_response", "look", "shut"),
        ("message", "assistant", "Yes."),
        ("message", "user", "Sure?"),
        ("message", "assistant", "Yes."),
    ]
    asked, answered = Event.objects.filter(correlation="call_1").order_by("seq")
    assert answered.causation == asked.event_id


def test_a_post_sent_again_adds_nothing_in_either_encoding(exporter: Exporter) -> None:
    spans = [
        chat(1, user("Is it shut?"), answer="Yes."),
        chat(2, user("Is it shut?"), YES, user("Is it shut?"), answer="Yes."),
        look(3, call=""),
        span(4, {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "roses"}),
    ]
    exporter.send(*spans)
    before = told()
    for _ in range(2):
        exporter.send(*spans)
        exporter.post(packed(*spans), "application/x-protobuf")
        exporter.send(spans[1])

    assert told() == before
    assert len(before) == 7


def test_a_later_call_that_arrives_first_leaves_the_earlier_nothing_to_repeat(exporter: Exporter) -> None:
    exporter.send(chat(4, user("Is it shut?"), ASK, RESULT, answer="Yes."))
    exporter.send(look(2))
    exporter.send(chat(1, user("Is it shut?"), answer=ASK))

    assert contents() == ["Is it shut?", 'look {"at": "gate"}', "shut", "Yes."]


def test_a_parent_that_arrives_after_its_child_is_not_told_again(exporter: Exporter) -> None:
    inner = chat(2, user("Is it shut?"), answer="Yes.", parentSpanId=f"{9:016x}")
    outer = chat(9, user("Is it shut?"), answer="Yes, it is.")
    outer |= {"startTimeUnixNano": str(int(inner["startTimeUnixNano"]) - 10), "name": "call_llm"}
    exporter.send(inner)
    exporter.send(outer)

    assert contents() == ["Is it shut?", "Yes."]


def test_a_tool_without_an_id_is_of_the_call_that_waits_for_it(exporter: Exporter) -> None:
    exporter.send(chat(1, user("Is it shut?"), answer=ASK))
    exporter.send(look(2, call=""))
    exporter.send(chat(3, user("Is it shut?"), ASK, RESULT, answer="Yes."))

    assert contents() == ["Is it shut?", 'look {"at": "gate"}', "shut", "Yes."]
    assert set(Event.objects.filter(kind__startswith="tool").values_list("correlation", flat=True)) == {"call_1"}


def test_the_same_answer_to_two_calls_is_two_events_however_many_there_are(exporter: Exporter) -> None:
    for number in range(1, 13):
        exporter.send(chat(number, user("Again?"), answer="Yes."))
    exporter.send(chat(5, user("Again?"), answer="Yes."))

    assert Counter(contents()) == {"Again?": 1, "Yes.": 12}


def test_conversations_of_one_post_are_logs_of_their_own_and_owners_do_not_meet(exporter: Exporter) -> None:
    spans = [chat(1, user("Roses?"), answer="Yes."), chat(2, user("Plums?"), answer="No.", conversation="plums")]
    exporter.send(*spans)
    Exporter(token(name="eve", owner="mallory")).send(*spans)

    logs = Counter(Log.objects.values_list("owner", "source_session"))
    assert logs == {(owner, session): 1 for owner in (OWNER, "mallory") for session in ("roses", "plums")}
    assert {log.last_seq for log in Log.objects.all()} == {2}


def test_a_file_of_what_was_posted_adds_nothing_and_a_post_of_what_was_ingested_neither(
    exporter: Exporter, tmp_path: Path
) -> None:
    whole = export(
        chat(1, user("Is it shut?"), answer=ASK), look(2), chat(3, user("Is it shut?"), ASK, RESULT, answer="Yes.")
    )
    path = tmp_path / "spans.json"
    path.write_text(json.dumps(whole))
    exporter.post(whole)
    before = told()
    report = ingest_file(path, owner=OWNER)

    assert [(log.added, log.replayed) for log in report.logs] == [(0, 4)]
    exporter.post(whole)
    assert told() == before


def test_an_image_becomes_an_attachment(exporter: Exporter) -> None:
    pixel = {"type": "blob", "mime_type": "image/png", "content": "iVBORw0KGgo="}
    exporter.send(chat(1, {"role": "user", "parts": [pixel]}, answer="A pixel."))

    assert Attachment.objects.get().media_type == "image/png"


@pytest.mark.promise("K4")
def test_many_posts_at_once_on_one_conversation_all_land_once(
    live_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chronicle.api.traces.MOST_AT_ONCE", 100)
    held = {"Authorization": f"Bearer {token()}"}
    history: list[dict[str, Any]] = []
    posts = []
    for number in range(1, 9):
        history.append(user(f"Question {number}?"))
        posts.append(export(chat(number, *history, answer=f"Answer {number}.")))
        history.append({"role": "assistant", "content": f"Answer {number}."})

    def post(body: Any) -> int:
        return httpx.post(f"{live_server.url}/v1/traces", json=body, headers=held, timeout=60).status_code

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(post, [*posts, *reversed(posts)])) == {200}
    expected = Counter(
        f"{what} {number}{end}" for number in range(1, 9) for what, end in (("Question", "?"), ("Answer", "."))
    )
    assert Counter(contents()) == expected
    assert list(Event.objects.order_by("seq").values_list("seq", flat=True)) == list(range(1, 17))
