"""What every importer keeps, over our own fixtures and over every file that CORPUS_DIR holds."""

import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chronicle import canonical
from chronicle.envelope import validate
from chronicle.importers import registry
from chronicle.importers.protocol import Ignored, Item, Read, ReadSection, Refused, record_of
from tests.importers import shaping
from tests.importers.files import EVENTS, FILES, OWN, items, items_or_broken, name_of, opened, own_of
from tests.importers.formats import FORMATS, NAMED, Format
from tests.importers.places import (
    LINE,
    array_of,
    is_archive,
    is_database,
    is_lines,
    is_words,
    lines_of,
    record_at,
    records_on,
    text_lines,
    words_of,
)

MEMORY_CAP = 90 * 1024 * 1024  # an importer takes some 40 MB; one that holds the file goes over
BIG = 24 * 1024 * 1024

every_file = pytest.mark.parametrize("path", FILES, ids=name_of)
every_format = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
every_sample = pytest.mark.parametrize(
    "path", [path for format in FORMATS for path in own_of(format.name)[:6]], ids=name_of
)
lines_alone = pytest.mark.parametrize("path", list(filter(is_lines, OWN)), ids=name_of)


def reads(found: list[Item]) -> list[Read]:
    return [item for item in found if isinstance(item, Read)]


def test_every_importer_is_under_these_laws() -> None:
    names = {importer.name for importer in registry.IMPORTERS if not registry.is_of_a_server(importer)}

    assert set(NAMED) == names, "a new format needs an entry in tests/importers/formats.py"
    assert {opened(path)[0].name for path in OWN} == names, "and a fixture under tests/data/"


@every_file
def test_a_file_is_known_to_exactly_one_importer(path: Path) -> None:
    _, file = opened(path)

    assert [importer.name for importer in registry.IMPORTERS if importer.sniff(file)] == [opened(path)[0].name]


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

    assert not twice or path == EVENTS / "refused.jsonl" or "duplicate" in path.name


@every_file
def test_a_locator_leads_back_to_the_bytes(path: Path) -> None:
    places: dict[int, set[str]] = {}
    for read in reads(items(path)):
        place = record_of(read.event.locator)
        places.setdefault(read.line, set()).add(place)
        assert _is_in(read, words_of(record_at(path, place))), read.event.locator
        if is_lines(path) and (line := LINE.fullmatch(place)):
            assert line[1] == str(read.line)
    if not is_lines(path):
        assert all(len(found) == 1 for found in places.values())
        assert len({place for found in places.values() for place in found}) == len(places)


def _is_in(read: Read, record: str) -> bool:
    """True where a record holds the id of an event, or most of its words."""
    native = read.native_id.partition(":")[0]
    if not native.startswith("#") and len(native) > 3 and native in record:
        return True
    ours = str((read.event.payload or {}).get("tool", ""))  # a request's content begins with the tool's name
    words = re.findall(r"\w{3,}", read.event.content.removeprefix(ours))
    return sum(word in record for word in words) >= len(words) / 2


@every_file
def test_every_record_is_events_or_ignored_or_refused(path: Path) -> None:
    found = items(path)
    beside = sum(not item.marked if isinstance(item, Refused) else isinstance(item, Ignored) for item in found)
    places = {record_of(read.event.locator) for read in reads(found)}
    lines = {read.line for read in reads(found)}
    summaries = {item.line for item in found if isinstance(item, ReadSection)} - lines

    assert beside + len(summaries) + sum(map(lines_of, places)) == _records(path, found, places)


def _records(path: Path, found: list[Item], places: set[str]) -> int:
    """How many records a file has: counted in the bytes where they are lines, else by their numbers."""
    if is_lines(path) and all(map(LINE.fullmatch, places)):
        return len(text_lines(path)) if is_words(path) else sum(map(records_on, text_lines(path)))
    numbers = {item.line for item in found if isinstance(item, Read | ReadSection | Ignored | Refused)} - {0}
    assert numbers == set(range(1, max(numbers, default=0) + 1))
    assert len(numbers) >= sum(map(len, _lists(path, places)))
    return len(numbers)


def _lists(path: Path, places: set[str]) -> list[list[object]]:
    """The lists that the records of these places are elements of: each element of them is a record."""
    if is_database(path) or is_archive(path):
        return []
    arrays = {array for place in places if (array := array_of(place)) is not None}
    return [value for array in arrays if isinstance(value := record_at(path, array or "#"), list)]


@every_file
def test_an_answer_names_a_request_of_the_same_session(path: Path) -> None:
    found = reads(items(path))
    requests = {(read.session, read.native_id): read.event for read in found if read.event.kind == "tool_request"}
    answers = [read for read in found if read.answers is not None]
    for read in answers:
        request = requests[read.session, read.answers or ""]
        assert request.correlation == read.event.correlation


@every_file
def test_a_response_is_joined_to_the_request_that_the_file_holds(path: Path) -> None:
    met: set[tuple[str, str]] = set()
    for read in reads(items(path)):
        key = (read.session, read.event.correlation)
        if read.event.kind == "tool_request":
            met.add(key)
        elif read.event.kind == "tool_response" and read.event.correlation and key in met:
            assert read.answers is not None or read.event.causation is not None, read.event.locator


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

    assert survey.lines >= max(item.line for item in found if isinstance(item, Read | Ignored | Refused))
    assert survey.lines <= _most(path, found)
    assert survey.last_summary >= max((item.line for item in found if isinstance(item, ReadSection)), default=0)


def _most(path: Path, found: list[Item]) -> int:
    last = max(item.line for item in found if isinstance(item, Read | Ignored | Refused))
    places = (record_of(read.event.locator) for read in reads(found))
    return len(text_lines(path)) if is_lines(path) and all(map(LINE.fullmatch, places)) else last


@lines_alone
@pytest.mark.parametrize("bad", [b"{not json", b"\x00\x00", b"[]", b'{"a":NaN}', b'"' + b"x" * 9_000_000 + b'"'])
def test_a_bad_line_is_refused_by_its_number_and_stops_nothing(path: Path, bad: bytes, tmp_path: Path) -> None:
    data = path.read_bytes()
    if not text_lines(path)[0].startswith(("{", "\ufeff{")):
        return  # lines of words, where none is bad
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


@every_format
def test_a_bad_record_is_refused_by_its_number_and_stops_nothing(format: Format, tmp_path: Path) -> None:
    records = [format.made(number, f"Some {word} words.") for number, word in enumerate(("first", "other", "last"), 1)]
    good, bad = tmp_path / "good", tmp_path / "bad"
    format.file(good, records)
    format.file(bad, [records[0], format.bad, *records[1:]])
    importer = registry.named(format.name)
    whole, found = items_or_broken(good, importer), items_or_broken(bad, importer)

    assert isinstance(whole, list)
    assert isinstance(found, list)
    assert len(reads(whole)) >= len(records)
    assert [read.event.content for read in reads(found)] == [read.event.content for read in reads(whole)]
    refused = [item.line for item in found if isinstance(item, Refused)]
    assert refused == [reads(whole)[0].line + 1] or isinstance(format.record, str)


@pytest.mark.parametrize("format", [format for format in FORMATS if format.spoil], ids=lambda format: format.name)
def test_a_bad_row_is_refused_and_stops_nothing(format: Format, tmp_path: Path) -> None:
    path = next(path for path in own_of(format.name) if is_database(path))
    copy = tmp_path / "spoilt"
    shutil.copy(path, copy)
    with closing(sqlite3.connect(copy)) as database:
        assert database.execute(format.spoil).rowcount == 1
        database.commit()
    found, whole = items(copy), items(path)

    assert sum(isinstance(item, Refused) for item in found) == sum(isinstance(item, Refused) for item in whole) + 1
    assert 0 < len(reads(whole)) - len(reads(found)) <= 8


@every_format
def test_memory_does_not_grow_with_the_file(format: Format, tmp_path: Path) -> None:
    path = tmp_path / "big"
    records = 5_000
    words = "many words " * (BIG // records // 11)
    format.file(path, (format.made(number, words) for number in range(1, records + 1)))
    assert path.stat().st_size > BIG * 0.9
    done = subprocess.run(
        [sys.executable, "-m", "tests.importers.measured", format.name, str(path)],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    count, peak = map(int, done.stdout.split())

    assert count >= records
    assert peak < MEMORY_CAP


@every_sample
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=shaping.EDITS)
def test_no_bytes_make_an_importer_raise(path: Path, tmp_path: Path, edits: list[tuple[float, int, bytes]]) -> None:
    copy = tmp_path / "mutated"
    copy.write_bytes(shaping.mutated(path.read_bytes(), edits))
    shaping.check(copy, opened(path)[0])


@every_format
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_shape_of_record_makes_an_importer_raise(format: Format, tmp_path: Path, data: st.DataObject) -> None:
    copy = tmp_path / "shaped"
    format.file(copy, data.draw(shaping.shaped(format)))
    shaping.check(copy, registry.named(format.name))
