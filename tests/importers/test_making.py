"""Events made the same way for every format."""

from datetime import UTC, datetime

import pytest

from chronicle.envelope import ActorKind, validate
from chronicle.importers import blocks, text
from chronicle.importers.making import SHOWN, Maker, Place

AT = Place(3, "messages/2", "2026-05-04T08:00:00+07:00")


def test_a_response_names_the_latest_request_of_its_call_id_however_far_apart() -> None:
    maker = Maker("s")
    first = maker.request("r1", AT, "bot", "search", {"q": 1}, "call")
    other = maker.request("r2", AT, "bot", "book", {}, "other")
    assert maker.response("a1", AT, "found", "call").answers == first.native_id
    again = maker.request("r3", AT, "bot", "search", {"q": 2}, "call")
    assert maker.response("a2", AT, "found", "call").answers == again.native_id
    answer = maker.response("a3", AT, "booked", "other")
    assert (answer.answers, answer.event.actor) == (other.native_id, "book")


def test_a_response_of_no_known_call_stands_alone() -> None:
    read = Maker("s").response("a", AT, "words", "nobody")

    assert (read.answers, read.event.actor, read.event.correlation) == (None, "tool", "nobody")


def test_calls_without_ids_are_paired_by_position() -> None:
    maker = Maker("s")
    first = maker.request("r1", AT, "bot", "ls", "-l")
    maker.request("r2", AT, "bot", "cat", "x")
    read = maker.response("a1", AT, "files", maker.waiting())

    assert (read.answers, read.event.correlation) == (first.native_id, first.event.correlation)
    assert maker.waiting() == "r2"
    assert maker.waiting("ls") == ""


def test_arguments_stand_whole_in_the_payload_and_are_cut_in_the_content() -> None:
    read = Maker("s").request("r", AT, "bot", "write", {"text": "x" * 5000}, "c")

    assert read.event.payload == {"tool": "write", "arguments": {"text": "x" * 5000}}
    assert len(read.event.content) < SHOWN + 100
    assert read.event.content.endswith("whole in the payload]")


def test_arguments_that_are_text_are_kept_as_they_stand() -> None:
    read = Maker("s").request("r", AT, "bot", "run", '{"broken": ', "c")

    assert read.event.payload == {"tool": "run", "arguments": '{"broken": '}
    assert read.event.content == 'run {"broken": '


@pytest.mark.parametrize("given", ["2026-05-04T08:00:00", "yesterday", 7, True, {"a": 1}])
def test_a_time_that_is_no_moment_is_kept_as_stated(given: object) -> None:
    maker = Maker("s")
    read = maker.message("m", Place(5, "5", given), ActorKind.HUMAN, "Ida", "words")

    assert read.event.claimed_at is None
    assert read.event.payload == {"timestamp": given}
    assert maker.timeless == {5}


@pytest.mark.parametrize(
    "given",
    [1777856400, 1777856400.0, 1777856400000, 1777856400000000, 1777856400000000000, "1777856400000000000",
     "2026-05-04T01:00:00Z", "2026-05-04T08:00:00+07:00", "1777856400.000"],
)  # fmt: skip
def test_moments_are_read_in_every_unit(given: object) -> None:
    assert text.moment(given) == datetime(2026, 5, 4, 1, tzinfo=UTC)


@pytest.mark.parametrize("given", ["2024", "20240101", 0, -5, float("nan"), float("inf"), 10**30, "9" * 40, None, []])
def test_what_is_no_moment_is_none(given: object) -> None:
    assert text.moment(given) is None


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAEC"}},
        {"type": "input_image", "image_url": "data:image/png;base64,AAEC"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAEC"}},
        {"inlineData": {"mimeType": "image/png", "data": "AAEC"}},
        {"type": "image", "image": "data:image/png;base64,AAEC"},
    ],
)
def test_an_image_is_taken_out_and_named_by_type_and_size(block: object) -> None:
    said = blocks.said(["Look:", block])

    assert said.words == "Look:\n[image/png, 3 bytes]"
    assert [(blob.media_type, blob.data) for blob in said.blobs] == [("image/png", b"\x00\x01\x02")]
    assert said.payload["attachments"][0]["size"] == 3


def test_a_link_stays_a_link_in_words_and_an_unknown_block_is_kept_whole() -> None:
    link = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    odd = {"type": "dance", "steps": 3}
    said = blocks.said([link, odd, 7])

    assert said.words == "[image_url: https://example.org/a.png]\n[dance]\n7"
    assert said.payload["other"] == [link, odd, 7]
    assert not said.blobs


def test_what_no_database_takes_is_escaped_and_everything_made_can_be_stored() -> None:
    maker = Maker("s")
    for read in (
        maker.message("m", AT, ActorKind.HUMAN, "\x00" * 300, "a\x00b"),
        maker.thought("t", AT, "", "\ud800"),
        maker.marker("k", AT, "system", "compacted"),
        maker.request("r", AT, "bot", {"no": "name"}, None, 7),
        maker.response("a", AT, "", None),
        maker.stub("s", AT, "too long", "system"),
    ):
        validate(read.event)
    assert maker.message("m", AT, ActorKind.HUMAN, "Ida", "a\x00b").event.text_form == "escaped"


def test_a_record_without_an_id_is_known_by_its_bytes_and_count() -> None:
    maker = Maker("s")

    assert maker.counted(b"x") != maker.counted("x")
    assert Maker("t").counted("x") == Maker("u").counted(b"x")
