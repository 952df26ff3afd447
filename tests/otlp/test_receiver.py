"""POST /v1/traces: what it takes, what it answers, and in which encoding."""

import gzip
import json
import zlib
from typing import Any

import pytest
from django.db import OperationalError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from chronicle.api import traces
from chronicle.models import Event, Log
from tests.otlp.conftest import BINARY, OWNER, Exporter, chat, export, packed, span, token, told, user
from tests.web.digest import database_digest

CALL = chat(1, user("Is the gate shut?"), answer="It is.")
TOLD = [("message", "user", "Is the gate shut?"), ("message", "assistant", "It is.")]


def status(answer: Any, kind: str) -> tuple[int, str]:
    """The code and the words of a Status, in either encoding."""
    if kind != BINARY:
        given = json.loads(answer.content)
        assert set(given) == {"code", "message"}
        return given["code"], given["message"]
    data = answer.content
    assert (data[0], data[2]) == (0x08, 0x12)
    assert data[3] == len(data) - 4 or data[3] > 0x7F
    return data[1], data[4:].decode()


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("kind", ["application/json", BINARY])
def test_spans_land_in_a_log_of_the_tokens_owner_and_the_answer_is_of_their_encoding(
    exporter: Exporter, kind: str, zipped: bool
) -> None:
    answer = exporter.post(packed(CALL) if kind == BINARY else export(CALL), kind, zipped=zipped)

    assert (answer.status_code, answer["Content-Type"]) == (200, kind)
    if kind == BINARY:
        assert ExportTraceServiceResponse.FromString(answer.content) == ExportTraceServiceResponse()
        assert answer.content == b""
    else:
        assert json.loads(answer.content) == {"partialSuccess": {}}
    log = Log.objects.get()
    assert (log.owner, log.source, log.source_session, log.title) == (OWNER, "otlp", "roses", "Is the gate shut?")
    assert told() == TOLD
    assert Event.objects.order_by("seq")[1].locator == "resourceSpans/0/scopeSpans/0/spans/0:1"
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("kind", ["application/json", BINARY])
def test_a_span_that_is_none_is_counted_and_the_others_are_taken(exporter: Exporter, kind: str) -> None:
    bad = CALL | {"spanId": "00" * 8}
    answer = exporter.post(packed(bad, CALL) if kind == BINARY else export(bad, CALL), kind)

    assert answer.status_code == 200
    if kind == BINARY:
        partial = ExportTraceServiceResponse.FromString(answer.content).partial_success
        assert (partial.rejected_spans, partial.error_message.endswith("a span without an id")) == (1, True)
    else:
        partial = json.loads(answer.content)["partialSuccess"]
        assert partial == {
            "rejectedSpans": "1",
            "errorMessage": "resourceSpans/0/scopeSpans/0/spans/0: a span without an id",
        }
    assert told() == TOLD


def test_an_export_of_nothing_or_of_plumbing_makes_no_log(exporter: Exporter) -> None:
    assert exporter.send().status_code == 200
    assert exporter.post({}).status_code == 200
    assert exporter.post(b"", BINARY).status_code == 200
    assert exporter.send(span(1, {"http.request.method": "GET"})).status_code == 200
    assert not Log.objects.exists()


@pytest.mark.parametrize("kind", ["application/json", BINARY])
@pytest.mark.parametrize("held", ["", "bad", "read"])
def test_without_a_token_that_may_record_nothing_is_read(db: None, kind: str, held: str) -> None:
    exporter = Exporter(token("read,expand") if held == "read" else held)
    before = database_digest()
    answer = exporter.post(b"{ no export", kind)

    expected = (403, 7) if held == "read" else (401, 16)
    assert (answer.status_code, status(answer, kind)[0]) == expected
    assert answer.has_header("WWW-Authenticate") == (held != "read")
    assert database_digest() == before


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b"{ no", "application/json", "not JSON"),
        (b"[]", "application/json", "one JSON object"),
        (b'{"resourceSpans": 1}', "application/json", "a list"),
        (b'{"a":"\xff"}', "application/json", "not UTF-8"),
        (b"{} {}", "application/json", "one JSON object"),
        (b'{"a":' * 100 + b"1" + b"}" * 100, "application/json", "nested deeper"),
        (b"\xff\xff\xff", BINARY, "no ExportTraceServiceRequest"),
    ],
)
def test_what_is_no_export_is_a_bad_request_that_is_not_sent_again(
    exporter: Exporter, body: bytes, kind: str, words: str
) -> None:
    answer = exporter.post(body, kind)

    assert (answer.status_code, answer["Content-Type"]) == (400, kind)
    code, message = status(answer, kind)
    assert code == 3
    assert words in message
    assert not answer.has_header("Retry-After")


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (gzip.compress(b"\0" * 40_000_000), {}),
        (gzip.compress(b" " * 3_000_000), {}),
        (b"x", {"CONTENT_LENGTH": str(17 * 1024 * 1024)}),
    ],
)
def test_a_body_too_large_packed_or_unpacked_is_refused_before_it_is_held(
    exporter: Exporter, body: bytes, headers: dict[str, str]
) -> None:
    held = {"Authorization": f"Bearer {exporter.token}", "Content-Encoding": "gzip"}
    answer = exporter.client.generic("POST", "/v1/traces", body, "application/json", headers=held, **headers)

    assert (answer.status_code, status(answer, "")[0]) == (413, 8)


@pytest.mark.parametrize("body", [b"no gzip", gzip.compress(b"{}")[:-9], gzip.compress(b"{}") + b"more"])
def test_a_gzip_that_is_none_or_cut_is_a_bad_request(exporter: Exporter, body: bytes) -> None:
    assert exporter.post(body, Content_Encoding="gzip").status_code == 400


def test_a_gzip_of_several_members_is_one_body(exporter: Exporter) -> None:
    data = json.dumps(export(CALL)).encode()
    body = gzip.compress(data[:99]) + gzip.compress(data[99:])

    assert exporter.post(body, Content_Encoding="gzip").status_code == 200
    assert told() == TOLD


def test_other_types_other_encodings_other_methods_and_chunks_are_refused(exporter: Exporter) -> None:
    held = {"Authorization": f"Bearer {exporter.token}"}

    assert exporter.post(b"x", "text/plain").status_code == 415
    assert exporter.post(zlib.compress(b"{}"), Content_Encoding="deflate").status_code == 415
    got = exporter.client.get("/v1/traces", headers=held)
    assert (got.status_code, got["Allow"]) == (405, "POST")
    chunks = exporter.client.generic(
        "POST", "/v1/traces", b"{}", "application/json", headers={**held, "Transfer-Encoding": "chunked"}
    )
    assert chunks.status_code == 411


def test_too_many_spans_in_one_post_are_refused_whole(exporter: Exporter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chronicle.otlp.MAX_SPANS", 2)

    assert exporter.send(CALL, CALL, CALL).status_code == 413
    assert not Event.objects.exists()


@pytest.mark.parametrize("kind", ["application/json", BINARY])
def test_a_busy_database_asks_for_the_post_again(
    exporter: Exporter, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: Any, **__: Any) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr("chronicle.otlp.receive", busy)
    answer = exporter.post(packed(CALL) if kind == BINARY else export(CALL), kind)

    assert (answer.status_code, answer["Retry-After"], status(answer, kind)[0]) == (503, "5", 14)


def test_a_token_with_too_many_posts_in_work_is_asked_to_wait(
    exporter: Exporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, "MOST_AT_ONCE", 0)
    answer = exporter.send(CALL)

    assert (answer.status_code, answer["Retry-After"], status(answer, "")[0]) == (429, "1", 8)
    monkeypatch.setattr(traces, "MOST_AT_ONCE", 1)
    assert exporter.send(CALL).status_code == 200
    assert exporter.send(CALL).status_code == 200


def test_what_nobody_foresaw_is_told_in_the_sites_log_and_not_in_the_answer(
    exporter: Exporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr("chronicle.otlp.receive", fails)
    answer = exporter.send(CALL)

    assert answer.status_code == 500
    assert b"secret" not in answer.content
