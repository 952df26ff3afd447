"""One event."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from chronicle import canonical
from chronicle.ingest import ingest_file
from chronicle.log import append
from chronicle.models import Attachment, Log, Source
from chronicle.web.event import WHOLE, indented
from tests.builders import log_of, said
from tests.ingesting import only_log, talk, written
from tests.web.conftest import words

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20


def ask(client: Client, log: Log, path: str, status: int = 200):
    response = client.get(f"/logs/{log.public_id}/events/{path}")
    assert response.status_code == status
    return response


def test_facts_digest_and_the_predecessor_s_digest_are_those_of_the_log(page: Client, small: Log):
    first, second = small.events.order_by("seq")[:2]
    html = words(ask(page, small, "2/").content.decode())

    assert f"digest {second.digest} follows event 1 {first.digest}" in html
    assert f"follows the log’s own {canonical.genesis(small.public_id)}" in words(
        ask(page, small, "1/").content.decode()
    )
    assert "covered by 1-7" in html
    assert "no section yet: tail" in words(ask(page, small, "15/").content.decode())


@pytest.mark.promise("DC4")
def test_a_request_lists_its_responses_and_a_response_its_request(page: Client, small: Log):
    assert [row.seq for row in ask(page, small, "3/").context["page"].responses] == [4]
    assert [row.seq for row in ask(page, small, "4/").context["page"].cause] == [3]


def test_without_a_call_id_responses_are_found_by_what_they_name_as_their_cause(page: Client):
    request = said("", kind="tool_request", payload={"q": 1})
    answer = said("41", kind="tool_response", causation=request.event_id)
    log = log_of([request, said(), answer, said("no answer", kind="tool_response")])
    lonely = log_of([said("", kind="tool_request")])

    assert [row.seq for row in ask(page, log, "1/").context["page"].responses] == [3]
    assert "None recorded among the next 2000 events" in words(ask(page, lonely, "1/").content.decode())


def test_the_raw_tab_shows_each_stored_field_and_the_payload_as_it_was_hashed(page: Client):
    log = log_of([said("ü\u202e\x1b", payload={"b": 1.0, "a": "é", "n": 12345678901234567890})])
    event = log.events.get()
    html = ask(page, log, "1/?tab=raw").content.decode()

    assert '"\\u00fc\\u202e\\u001b"' in html.replace("&quot;", '"')
    assert event.payload in html.replace("&quot;", '"')
    for value in (event.digest, event.content_digest, event.salt, str(event.event_id)):
        assert value in html
    assert ask(page, log, "1/?as=payload").content == event.payload.encode()
    assert ask(page, log, "1/?as=content").content == event.content.encode()


def test_a_text_as_a_file_is_kept_never_shown(page: Client):
    response = ask(page, log_of([said("<script>")]), "1/?as=content")

    assert response["Content-Type"] == "application/octet-stream"
    assert response["Content-Disposition"] == 'attachment; filename="event-1-content.txt"'
    assert response["X-Content-Type-Options"] == "nosniff"


def test_a_text_too_long_for_a_page_is_counted_and_leads_to_the_whole(page: Client):
    log = log_of([said("x" * (WHOLE + 5), payload={"long": "y" * WHOLE})])
    html = words(ask(page, log, "1/").content.decode())

    assert "100 000 of 100 005 characters shown; the whole as a file" in html
    assert "100 000 of 100 011 bytes shown" in html


@pytest.mark.parametrize("query", ["?tab=other", "?as=salt"])
def test_a_form_that_does_not_exist_is_refused(page: Client, small: Log, query: str):
    ask(page, small, f"1/{query}", 400)


@pytest.mark.promise("K43")
def test_a_text_stored_escaped_is_marked_as_such(page: Client):
    log = log_of([said("\\u0000 \\\\", text_form="escaped")])

    assert "Stored escaped" in ask(page, log, "1/").content.decode()


@pytest.mark.promise("K32")
def test_the_log_s_own_time_and_the_stated_one_stand_apart(page: Client, clock):
    log = log_of([said(claimed_at=datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)), said()])

    assert "stated by the source 2025-01-02 03:04:05.000000 UTC" in words(ask(page, log, "1/").content.decode())
    assert "at, when this log wrote it 2026-03-01 12:00:00.000000 UTC" in words(ask(page, log, "1/").content.decode())
    assert "no time stated" in ask(page, log, "2/").content.decode()


def test_the_place_in_the_file_it_was_read_from_is_named(page: Client, db: None):
    log = log_of()
    source = Source.objects.create(
        digest="0" * 64, name="a <b>.jsonl", format="claude-code", size=1, ingested_at=timezone.now()
    )
    append(log, [said(locator="12:0")], source=source)

    assert "read from a &lt;b&gt;.jsonl, claude-code, at 12:0" in words(ask(page, log, "1/").content.decode())


def attach(media_type: str, data: bytes = PNG) -> tuple[Log, str]:
    digest = canonical.sha256(data)
    Attachment.objects.create(digest=digest, media_type=media_type, size=len(data), data=data)
    place = {"attachment": digest, "media_type": media_type, "size": len(data)}
    return log_of([said("[image]", payload={"attachments": [place]}), said()]), digest


def test_an_image_is_shown_on_demand_from_its_own_address(page: Client, db: None):
    log, digest = attach("image/png")
    html = ask(page, log, "1/").content.decode()
    response = ask(page, log, f"1/attachments/{digest}/")

    assert f'<img src="/logs/{log.public_id}/events/1/attachments/{digest}/" loading="lazy"' in html
    assert "<details" in html[: html.index("<img")]
    assert response.content == PNG
    assert response["Content-Type"] == "image/png"
    assert response["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("media_type", ["image/svg+xml", "text/html", "application/pdf"])
def test_what_is_no_plain_image_is_a_file_to_keep(page: Client, db: None, media_type: str):
    log, digest = attach(media_type, b"<svg onload=alert(1)>")
    response = ask(page, log, f"1/attachments/{digest}/")

    assert response["Content-Type"] == "application/octet-stream"
    assert response["Content-Disposition"].startswith("attachment")
    assert "<img" not in ask(page, log, "1/").content.decode()


def test_an_attachment_is_reached_through_the_event_that_names_it_only(page: Client, db: None):
    log, digest = attach("image/png")
    ask(page, log, f"2/attachments/{digest}/", 404)

    foreign = log_of([said(payload={"attachments": [{"attachment": digest}]})], owner="someone else")
    ask(page, foreign, f"1/attachments/{digest}/", 404)


def test_an_indented_payload_keeps_numbers_as_written_and_shows_characters():
    assert indented('{"a":[1.0,1e400,[]],"b":{},"\\u00e9":"x,\\"y\\":[\\u202e]"}') == (
        '{\n  "a": [\n    1.0,\n    1e400,\n    []\n  ],\n  "b": {},\n  "é": "x,\\"y\\":[\u202e]"\n}'
    )


def test_a_payload_cut_in_the_middle_is_indented_as_far_as_it_goes():
    assert indented('{"a":"\\u00e9\\u00') == '{\n  "a": "\\u00e9\\u00'


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=20,
    )
)
def test_an_indented_payload_says_the_same_as_the_canonical_one(value):
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    assert json.loads(indented(text)) == json.loads(text)


def test_versions_of_one_id_name_each_other_and_say_which_is_a_conflict(page: Client, tmp_path: Path):
    for name in ("One", "One, two", "Six"):
        log = only_log(ingest_file(written(tmp_path, [talk(1, words=name), talk(2)], name), owner="demo"))
    first, grown, conflict = (words(ask(page, log, f"{seq}/").content.decode()) for seq in (1, 3, 4))

    assert "a version that grew: event 3; another version: event 4" in first
    assert "read again under the same id with other content" in first
    assert (
        "extends what was read before under the same id the first version: event 1; another version: event 4" in grown
    )
    assert "conflict: says otherwise than what was read before under the same id the first version: event 1" in conflict
    assert "under the same id" not in words(ask(page, log, "2/").content.decode())


def test_the_number_of_queries_of_a_page_does_not_grow_with_the_versions(page: Client, tmp_path: Path):
    def queries(session: str, count: int) -> int:
        said = [talk(1, session=session, words=f"Version {number}.") for number in range(count)]
        log = only_log(ingest_file(written(tmp_path, said, session), owner="demo"))
        with CaptureQueriesContext(connection) as captured:
            ask(page, log, "1/")
        return len(captured)

    assert queries("one", 1) == queries("many", 60)
