"""Lines and the documents on them: encodings, ends, sizes, and what is no file at all."""

import os
import tracemalloc
from pathlib import Path

import pytest

from chronicle import canonical
from chronicle.errors import BrokenFile
from chronicle.importers import lines, text
from chronicle.importers.lines import Document

WAYS = pytest.mark.parametrize("lenient", [False, True])


def documents(tmp_path: Path, data: bytes, *, lenient: bool = False) -> list[Document]:
    path = tmp_path / "file"
    path.write_bytes(data)
    return list(lines.documents(lines.open_file(path), lenient=lenient))


@WAYS
@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1}\n{"a":2}\n',
        b'{"a":1}\n{"a":2}',
        b'\xef\xbb\xbf{"a":1}\n{"a":2}\n',
        b'{"a":1}\r\n{"a":2}\r\n',
        b"\xff\xfe" + '{"a":1}\n{"a":2}\n'.encode("utf-16-le"),
        b"\xfe\xff" + '{"a":1}\r\n{"a":2}'.encode("utf-16-be"),
        b"\xff\xfe\x00\x00" + '{"a":1}\n{"a":2}\n'.encode("utf-32-le"),
        b'\x00\x00{"a":1}\x00\n {"a":2}\x00\x00',
    ],
    ids=["lf", "no end", "bom", "crlf", "utf-16-le", "utf-16-be", "utf-32", "padded with NUL"],
)
def test_the_same_documents_are_read_from_every_encoding(tmp_path: Path, data: bytes, lenient: bool) -> None:
    found = documents(tmp_path, data, lenient=lenient)

    assert [(document.line, document.place, document.value) for document in found] == [
        (1, "1", {"a": 1}),
        (2, "2", {"a": 2}),
    ]


@WAYS
def test_documents_glued_on_one_line_are_split_and_keep_the_lines_number(tmp_path: Path, lenient: bool) -> None:
    found = documents(tmp_path, b'{"a":1}{"a":2} {"a":3}\n{"a":4}\n', lenient=lenient)

    assert [document.place for document in found] == ["1", "1.2", "1.3", "2"]
    assert [document.value["a"] for document in found] == [1, 2, 3, 4]


@WAYS
def test_the_rest_of_a_line_that_is_no_document_is_refused_alone(tmp_path: Path, lenient: bool) -> None:
    first, rest = documents(tmp_path, b'{"a":1}{"a":\n', lenient=lenient)

    assert first.value == {"a": 1}
    assert rest.reason.startswith("not JSON: Expecting value at character")


@WAYS
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"a":NaN}', "NaN is not JSON"),
        (b'{"a":-Infinity}', "-Infinity is not JSON"),
        (b'{"a":1e999}', "the number 1e999 is larger than any that can be kept"),
        (b'{"a":' + b"7" * 1001 + b"}", "a number of 1001 digits is over the limit of 1000"),
        (b"[" * 65 + b"]" * 65, "nested deeper than 64"),
        (b"[" * 100_000, "nested deeper than 64"),
        (b'{"a":1', "not JSON: Expecting ',' delimiter at character 7"),
        (b"\x00\x00\x00", "only NUL bytes"),
    ],
)
def test_a_line_that_cannot_be_read_says_why(tmp_path: Path, line: bytes, reason: str, lenient: bool) -> None:
    found = documents(tmp_path, b"{}\n" + line + b"\n{}\n", lenient=lenient)

    assert [(document.line, document.reason) for document in found if document.reason] == [(2, reason)]
    assert [document.value for document in found if not document.reason] == [{}, {}]


def test_a_key_given_twice_is_refused_where_records_are_exact_and_read_where_they_are_not(tmp_path: Path) -> None:
    (exact,) = documents(tmp_path, b'{"a":1,"a":2}')
    (lenient,) = documents(tmp_path, b'{"a":1,"a":2}', lenient=True)

    assert exact.reason.startswith("key 'a' is given twice in one object")
    assert lenient.value == {"a": 2}


def test_a_file_that_ends_inside_a_line_says_so(tmp_path: Path) -> None:
    *_, last = documents(tmp_path, b'{"a":1}\n{"a":')

    assert last.line == 2
    assert last.reason.endswith("the file ends in this line, without a line end")


def test_a_blank_line_is_blank_and_counts_as_a_line(tmp_path: Path) -> None:
    found = documents(tmp_path, b"\n   \n{}\n\n")

    assert [(document.line, document.blank) for document in found] == [(1, True), (2, True), (3, False), (4, True)]


@WAYS
@pytest.mark.promise("K43")
def test_bytes_and_characters_that_no_database_takes_are_kept_and_can_be_had_back(
    tmp_path: Path, lenient: bool
) -> None:
    wanted = ["a\udcffb", "half \ud83d", "nul \x00", "raw \x01 control", "\\u0000 is no NUL"]
    data = b'["a\xffb","half \\ud83d","nul \\u0000","raw \x01 control","\\\\u0000 is no NUL"]'
    (found,) = documents(tmp_path, data, lenient=lenient)
    stored = [text.storable(value) for value in found.value]

    assert found.value == wanted
    assert [form for _, form in stored] == ["escaped", "escaped", "escaped", "plain", "plain"]
    assert all(canonical.unstorable(content) is None for content, _ in stored)
    restored = [canonical.restore_text(content) if form == "escaped" else content for content, form in stored]
    assert restored == wanted
    assert restored[0].encode("utf-8", "surrogateescape") == b"a\xffb"
    assert found.invalid == 3


def test_a_line_over_the_cap_is_measured_and_never_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LINE_CAP", 1024 * 1024)
    path = tmp_path / "long"
    with path.open("wb") as file:
        file.write(b'{"a":1}\n{"begun":"')
        file.truncate(300 * 1024 * 1024)
        file.seek(0, 2)
        file.write(b'"}\n{"a":2}\n')
    tracemalloc.start()
    found = list(lines.documents(lines.open_file(path), lenient=True))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert [document.line for document in found] == [1, 2, 3]
    assert found[1].reason == "a line of 314,572,795 bytes is over the limit of 1,048,576; none of it was read"
    assert found[1].edges.startswith(b'{"begun":"')
    assert found[2].value == {"a": 2}
    assert peak < 20 * 1024 * 1024


def test_what_is_written_behind_the_opened_size_is_left_for_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "growing"
    path.write_bytes(b'{"a":1}\n')
    opened = lines.open_file(path)
    before = lines.digest(opened)
    with path.open("ab") as file:
        file.write(b'{"a":2}\n')

    assert [document.value for document in lines.documents(opened)] == [{"a": 1}]
    assert lines.digest(opened) == before != lines.digest(lines.open_file(path))


def test_what_is_not_a_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "file").write_bytes(b"{}")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "folder").mkdir()
    refusals = {}
    for name in ("fifo", "link", "folder", "absent", "nul\x00name", "/dev/null"):
        with pytest.raises(BrokenFile) as refusal:
            lines.open_file(tmp_path / name)
        refusals[name] = str(refusal.value)

    assert refusals["fifo"] == refusals["/dev/null"] == "not a regular file"
    assert refusals["link"] == "a symbolic link is not followed; name the file it leads to"
    assert refusals["folder"] == "a folder, not a file"
    assert refusals["absent"] == "cannot be opened: No such file or directory"
    assert "null" in refusals["nul\x00name"]


def test_names_are_cut_to_a_length_and_stay_different() -> None:
    long, longer = "n" * 300, "n" * 301

    assert text.name("  ", "tool") == text.name(None, "tool") == text.name(7, "tool") == "tool"
    assert len(text.name(long, "")) <= 200
    assert text.name(long, "") != text.name(longer, "")
    assert text.name("a\x00b", "") == "a\\u0000b"


@pytest.mark.promise("K32")
def test_a_time_without_a_zone_is_no_time() -> None:
    assert text.when("2026-05-04T08:00:00.5Z") is not None
    assert text.when("2026-05-04T08:00:00+07:00") is not None
    odd = ["2026-05-04T08:00:00", "yesterday", "", None, 1777881600, "0000-00-00T00:00:00Z"]
    assert [text.when(time) for time in odd] == [None] * 6


def test_a_title_is_the_first_line_with_words_cut_at_a_word() -> None:
    assert text.first_line("\n\n  Count   the trees\tplease \nand more") == "Count the trees please"
    assert text.first_line("word " * 30) == "word " * 14 + "word…"
    assert text.first_line(" \n") == ""


def test_a_number_too_long_is_found_wherever_it_stands(tmp_path: Path) -> None:
    for before in range(0, 600, 7):
        line = b'{"a":"' + b"x" * before + b'","b":' + b"7" * 1001 + b"}"
        (found,) = documents(tmp_path, line + b"\n", lenient=True)
        assert found.reason == "a number of 1001 digits is over the limit of 1000"
    (kept,) = documents(tmp_path, b'{"a":"' + b"7" * 5000 + b'","b":' + b"7" * 999 + b"}\n", lenient=True)
    assert kept.value["b"] == int("7" * 999)
