"""What every importer keeps, over our own fixtures and over every file that CORPUS_DIR holds."""

import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chronicle import canonical
from chronicle.envelope import validate
from chronicle.importers import registry
from chronicle.importers.protocol import Ignored, Importer, Item, Read, ReadSection, Refused
from tests.importers.files import (
    ANAGRAPHEUS,
    CLAUDE,
    EVENTS,
    FILES,
    OWN,
    document,
    items,
    items_or_broken,
    name_of,
    opened,
    records_on,
    text_lines,
)

JSON_LINES = [path for path in FILES if path.suffix != ".sqlite"]
every_file = pytest.mark.parametrize("path", FILES, ids=name_of)
every_json_lines = pytest.mark.parametrize("path", JSON_LINES, ids=name_of)


def reads(found: list[Item]) -> list[Read]:
    return [item for item in found if isinstance(item, Read)]


def test_there_are_fixtures_of_every_format() -> None:
    assert {opened(path)[0].name for path in OWN} == set(registry.names())


@every_file
def test_a_file_is_known_to_exactly_one_importer(path: Path) -> None:
    _, file = opened(path)

    assert sum(importer.sniff(file) for importer in registry.IMPORTERS) == 1


@every_file
def test_every_event_can_be_stored(path: Path) -> None:
    for read in reads(items(path)):
        validate(read.event)
        canonical.dump(read.event.payload)
        assert read.event.claimed_at is None or read.event.claimed_at.utcoffset() is not None


@every_file
def test_order_is_the_order_of_the_source(path: Path) -> None:
    lines = [item.line for item in items(path) if isinstance(item, Read | ReadSection | Ignored | Refused)]

    assert lines == sorted(lines)


@every_file
def test_ids_are_stable_from_one_reading_to_the_next(path: Path) -> None:
    first, second = reads(items(path)), reads(items(path))

    assert [read.native_id for read in first] == [read.native_id for read in second]
    assert [read.event.content for read in first] == [read.event.content for read in second]


@every_file
def test_an_id_in_a_session_stands_for_one_content(path: Path) -> None:
    said: dict[tuple[str, str], set[str]] = {}
    for read in reads(items(path)):
        said.setdefault((read.session, read.native_id), set()).add(read.event.content)
    twice = {key for key, contents in said.items() if len(contents) > 1}

    assert not twice or path == EVENTS / "refused.jsonl"


@every_json_lines
def test_a_locator_leads_back_to_the_bytes(path: Path) -> None:
    for read in reads(items(path)):
        place, _, rest = read.event.locator.partition(":")
        record = str(document(path, place))
        native = read.native_id.partition(":")[0]
        assert place.partition(".")[0] == str(read.line)
        assert native.startswith("#") or native in record
        assert not rest.startswith("seq=") or f"'seq': {rest.removeprefix('seq=')}" in record


def test_a_locator_of_a_database_leads_back_to_its_row() -> None:
    path = ANAGRAPHEUS / "run.sqlite"
    with closing(sqlite3.connect(path)) as database:
        ids = dict(database.execute("SELECT seq, event_id FROM events"))
    for read in reads(items(path)):
        assert ids[int(read.event.locator.removeprefix("events:seq="))] == read.native_id


@every_json_lines
def test_every_record_is_events_or_ignored_or_refused(path: Path) -> None:
    found = items(path)
    with_events = {item.event.locator.partition(":")[0] for item in reads(found)}
    places = {place.partition(".")[0] for place in with_events}
    summaries = {item.line for item in found if isinstance(item, ReadSection) and str(item.line) not in places}
    beside = sum(isinstance(item, Ignored | Refused) for item in found)

    assert len(with_events) + len(summaries) + beside == sum(map(records_on, text_lines(path)))


@every_file
def test_an_answer_names_a_request_of_the_same_session(path: Path) -> None:
    found = reads(items(path))
    requests = {(read.session, read.native_id): read.event for read in found if read.event.kind == "tool_request"}
    answers = [read for read in found if read.answers is not None]
    for read in answers:
        request = requests[read.session, read.answers or ""]
        assert request.correlation == read.event.correlation


@every_file
def test_a_summary_ends_at_an_event_that_was_read_before_it(path: Path) -> None:
    met: set[tuple[str, str]] = set()
    for item in items(path):
        if isinstance(item, Read):
            met.add((item.session, item.native_id))
        elif isinstance(item, ReadSection):
            assert (item.session, item.to_id) in met
            assert item.from_id is None or (item.session, item.from_id) in met
            assert item.prose.strip()


@every_file
def test_the_survey_sees_every_line_and_the_last_summary(path: Path) -> None:
    importer, file = opened(path)
    survey = importer.survey(file)
    found = items(path)

    assert survey.lines == max(item.line for item in found if isinstance(item, Read | Ignored | Refused))
    assert survey.last_summary >= max((item.line for item in found if isinstance(item, ReadSection)), default=0)


@pytest.mark.parametrize("path", [path for path in OWN if path.suffix != ".sqlite"], ids=name_of)
@pytest.mark.parametrize("bad", [b"{not json", b"\x00\x00", b"[]", b'{"a":NaN}', b'"' + b"x" * 9_000_000 + b'"'])
def test_a_bad_line_is_refused_by_its_number_and_stops_nothing(path: Path, bad: bytes, tmp_path: Path) -> None:
    data = path.read_bytes()
    if data.startswith(b"\xff\xfe"):
        bad = bad.decode().encode("utf-16-le")
    end = "\n".encode("utf-16-le") if data.startswith(b"\xff\xfe") else b"\n"
    first, _, rest = data.partition(end)
    copy = tmp_path / path.name
    copy.write_bytes(first + end + bad + end + rest)
    importer, _ = opened(path)
    found, whole = items_or_broken(copy, importer), items(path)

    assert isinstance(found, list)
    assert [item.line for item in found if isinstance(item, Refused)][:1] == [2]
    assert [read.event.content for read in reads(found)] == [read.event.content for read in reads(whole)]


def counted(found: list[Item]) -> Counter[str]:
    return Counter(type(item).__name__ for item in found)


MUTATED = [
    CLAUDE / "compaction.jsonl",
    CLAUDE / "parallel.jsonl",
    CLAUDE / "oddtext.jsonl",
    CLAUDE / "image.jsonl",
    CLAUDE / "subagent-nested.jsonl",
    EVENTS / "small.jsonl",
    ANAGRAPHEUS / "pins-only.recording.jsonl",
    ANAGRAPHEUS / "run.sqlite",
]
EDITS = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.integers(0, 40),
        st.one_of(
            st.binary(max_size=12),
            st.sampled_from([b"null", b"{}", b"[]", b'"', b"\n", b"-1", b"1e999", b"\\ud800", b"\xff", b"true", b"[["]),
        ),
    ),
    min_size=1,
    max_size=6,
)


def mutated(data: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
    for where, length, instead in edits:
        start = int(where * len(data))
        data = data[:start] + instead + data[start + length :]
    return data


@pytest.mark.parametrize("path", MUTATED, ids=name_of)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=EDITS)
def test_no_bytes_make_an_importer_raise(path: Path, tmp_path: Path, edits: list[tuple[float, int, bytes]]) -> None:
    importer, _ = opened(path)
    copy = tmp_path / "mutated"
    copy.write_bytes(mutated(path.read_bytes(), edits))
    found = items_or_broken(copy, importer)

    for read in reads(found if isinstance(found, list) else []):
        canonical.dump(read.event.payload)
        assert canonical.unstorable(read.event.content) is None
        assert canonical.unstorable(read.event.actor + read.event.correlation + read.event.type) is None


WHOLE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
SHAPES = {
    "claude-code": ({"type": "user", "sessionId": "s", "uuid": "u"}, ("message", "type", "data", "toolUseResult")),
    "events": ({"kind": "message", "actor_kind": "human", "actor": "A", "content": "c"}, ("content", "payload", "at")),
    "anagrapheus": ({"seq": 1, "payload": {}, "envelope": {}}, ("seq", "payload", "envelope")),
}
HEADS = {
    "claude-code": b"",
    "events": b'{"anagrapheus.events":1,"session":"s"}\n',
    "anagrapheus": b'{"anagrapheus.recording":1}\n',
}


@pytest.mark.parametrize("importer", registry.IMPORTERS, ids=lambda importer: importer.name)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_shape_of_record_makes_an_importer_raise(importer: Importer, tmp_path: Path, data: st.DataObject) -> None:
    record, keys = SHAPES[importer.name]
    blocks = st.lists(
        st.fixed_dictionaries(
            {"type": st.sampled_from(["text", "thinking", "tool_use", "tool_result", "image", "odd"]) | WHOLE},
            optional=dict.fromkeys(
                ("text", "thinking", "id", "name", "input", "tool_use_id", "content", "source"), WHOLE
            ),
        )
        | WHOLE,
        max_size=4,
    )
    value = WHOLE | st.fixed_dictionaries({"content": blocks, "role": WHOLE}, optional={"model": WHOLE, "id": WHOLE})
    changed = record | {key: data.draw(value) for key in data.draw(st.sets(st.sampled_from(keys), min_size=1))}
    copy = tmp_path / "shaped"
    copy.write_bytes(HEADS[importer.name] + json.dumps(changed).encode() + b"\n")
    found = items_or_broken(copy, importer)

    assert isinstance(found, list)
    for read in reads(found):
        canonical.dump(read.event.payload)
