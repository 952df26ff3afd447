"""Whole documents, read piece by piece."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chronicle.importers import lines, parts
from chronicle.importers.protocol import Opened


def opened(tmp_path: Path, data: bytes) -> Opened:
    path = tmp_path / "document"
    path.write_bytes(data)
    return lines.open_file(path)


def read(tmp_path: Path, data: bytes, *split: str) -> list[tuple[str, Any]]:
    """Place and value of each part, or the reason why there is none."""
    return [(part.place, part.reason or part.value) for part in parts.parts(opened(tmp_path, data), *split)]


def test_a_root_array_is_read_by_element(tmp_path: Path) -> None:
    assert read(tmp_path, b'[1, {"a": "]\\""}, [[]]]') == [("0", 1), ("1", {"a": ']"'}), ("2", [[]])]


def test_members_that_are_not_split_come_first_even_where_they_stand_behind(tmp_path: Path) -> None:
    data = b'{"a": 1, "messages": [{"b": 2}], "z": [9]}'

    assert read(tmp_path, data, "messages") == [("#", {"a": 1, "z": [9]}), ("messages/0", {"b": 2})]


@pytest.mark.parametrize("between", [b"", b"\n", b"\r\n\r\n", b",\n", b"\x00"])
def test_documents_one_after_another_are_told_apart(tmp_path: Path, between: bytes) -> None:
    found = read(tmp_path, b'{"m": [1]}' + between + b'{"m": [2], "k": 3}' + between + b"[4]", "m")

    assert found == [("#", {}), ("m/0", 1), ("2:#", {"k": 3}), ("2:m/0", 2), ("3:0", 4)]


def test_a_text_that_holds_a_document_is_read_as_the_document(tmp_path: Path) -> None:
    data = json.dumps(json.dumps({"m": [5], "q": 7})).encode()

    assert read(tmp_path, data, "m") == [("~#", {"q": 7}), ("~m/0", 5)]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_any_encoding_with_a_mark_is_read(tmp_path: Path, encoding: str) -> None:
    assert read(tmp_path, '["Ä 🙂"]'.encode(encoding)) == [("0", "Ä 🙂")]


def test_a_bad_element_is_refused_by_its_place_and_stops_nothing(tmp_path: Path) -> None:
    found = read(tmp_path, b'{"m": [1, {"c": ], 3]}', "m")

    assert [place for place, _ in found] == ["#", "m/0", "m/1", "m/2"]
    assert "byte 11" in found[2][1]


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"[1,2", "byte 5"),
        (b'[1,{"a": "b', "byte 4"),
        (b"[1 2]", "byte 4"),
        (b"[1]]", "2:byte 4"),
        (b'{"a" 1}', "byte 6"),
        (b"{1: 2}", "byte 2"),
    ],
)
def test_where_a_document_cannot_be_followed_the_rest_is_refused_once_with_its_byte(
    tmp_path: Path, data: bytes, place: str
) -> None:
    found = list(parts.parts(opened(tmp_path, data)))

    assert [part.place for part in found if part.reason] == [place]


def test_an_element_over_the_cap_is_measured_and_passed_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "CAP", 100)
    monkeypatch.setattr(parts._Scanner.value, "__defaults__", (100,))
    found = read(tmp_path, json.dumps(["a", "b" * 200, "c"]).encode())

    assert found[0] == ("0", "a")
    assert "a value of 202 bytes" in found[1][1]
    assert found[2] == ("2", "c")


def test_bare_constants_are_kept_as_words_and_numbers_no_float_holds_are_refused(tmp_path: Path) -> None:
    found = read(tmp_path, b'[NaN, -Infinity, 1e999, {"a": 1, "a": 2}]')

    assert found[:2] == [("0", "NaN"), ("1", "-Infinity")]
    assert "1e999" in found[2][1]
    assert found[3] == ("3", {"a": 2})


def test_an_empty_file_has_no_parts(tmp_path: Path) -> None:
    assert read(tmp_path, b"") == []
    assert read(tmp_path, b" \n\x00") == []


def test_the_start_of_a_part_leads_back_to_its_bytes(tmp_path: Path) -> None:
    data = b'{"k": "v", "m": [ {"a": 1} , "x\\u00e9"]}'
    for part in parts.parts(opened(tmp_path, data), "m"):
        if not part.is_header:
            assert data[part.start : part.start + len(part.data)] == part.data
            assert json.loads(part.data) == part.value


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=15,
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=st.lists(VALUES, max_size=5),
    ascii_only=st.booleans(),
    indent=st.sampled_from([None, 1]),
    chunk=st.integers(2, 40),
)
def test_it_reads_what_json_reads_wherever_a_window_ends(
    tmp_path: Path,
    monkeypatch_chunk: pytest.MonkeyPatch,
    values: list[Any],
    ascii_only: bool,
    indent: int | None,
    chunk: int,
) -> None:
    monkeypatch_chunk.setattr(lines, "CHUNK", chunk)
    data = json.dumps({"m": values, "k": values}, ensure_ascii=ascii_only, indent=indent).encode()
    found = read(tmp_path, data, "m")

    assert found[0] == ("#", {"k": values})
    assert [value for _, value in found[1:]] == values


@pytest.fixture
def monkeypatch_chunk(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    return monkeypatch


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=40) | st.text(alphabet='[]{}",:\\ 1an', max_size=40).map(str.encode))
def test_no_bytes_make_it_raise_or_go_on_for_ever(tmp_path: Path, data: bytes) -> None:
    found = list(parts.parts(opened(tmp_path, data), "a"))

    assert [part.record for part in found] == list(range(1, len(found) + 1))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a": [1, {"b": "cut of', {"a": [1, {"b": "cut of"}]}),
        (b'{"a": 1}\n{"a": 2}\n', {"a": 1}),
        (b'[{"role": "user"', [{"role": "user"}]),
        (json.dumps(json.dumps({"agents": []})).encode(), {"agents": []}),
        (b"# markdown", None),
        (b"", None),
    ],
)
def test_the_head_of_a_file_is_read_as_far_as_it_goes(tmp_path: Path, data: bytes, expected: Any) -> None:
    assert parts.head(opened(tmp_path, data)) == expected
