"""A file that does not fit itself is refused whole, with the line and the place, before anything is written."""

import json
from pathlib import Path
from typing import Any

import pytest

from chronicle import canonical, carry
from chronicle.carry import file, shapes
from chronicle.errors import CarryRefused
from chronicle.models import AuditEntry, Event, Log
from tests.builders import log_of
from tests.carry.bundle import Bundle, Row
from tests.carry.changes import REFUSED, Change
from tests.carry.world import emptied, whole_log


@pytest.fixture(scope="module")
def exported(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file for all tests of the module; its log is rolled back."""
    from django.db import transaction

    folder = tmp_path_factory.mktemp("exported")
    with django_db_blocker.unblock(), transaction.atomic():
        carry.export([whole_log(folder, generations=3)], folder / "a")
        transaction.set_rollback(True)
    return folder / "a"


def refusal(path: Path) -> str:
    """Why a file is refused, by `check` and by `load` alike."""
    report = carry.check(path)
    assert report.refused is not None
    before = (Log.objects.count(), Event.objects.count(), AuditEntry.objects.count())
    with pytest.raises(CarryRefused) as refused:
        carry.load(path)
    assert (Log.objects.count(), Event.objects.count(), AuditEntry.objects.count()) == before
    assert str(refused.value) == str(report.refused)
    return str(refused.value)


@pytest.mark.promise("K24", "A66", "K8", "K17", "K18", "K19", "K48", "K49", "DA1", "DA2", "DA3", "DA4")
@pytest.mark.django_db
@pytest.mark.parametrize(("change", "why"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_a_file_that_does_not_fit_itself_is_refused_whole(
    exported: Path, tmp_path: Path, change: Change, why: str
) -> None:
    bundle = Bundle(exported)
    change(bundle)
    said = refusal(bundle.write(tmp_path / "b"))
    assert why in said
    assert said.startswith("line ")


def test_an_untouched_bundle_is_written_as_it_was(exported: Path, tmp_path: Path) -> None:
    assert Bundle(exported).write(tmp_path / "b").read_bytes() == exported.read_bytes()
    assert carry.check(exported).status == "OK"


@pytest.mark.promise("K24", "K48")
def test_a_changed_byte_anywhere_is_refused(exported: Path, tmp_path: Path) -> None:
    data = exported.read_bytes()
    places = [*range(0, len(data), 97), len(data) - 1, len(data) - 2, data.rindex(b'"counts"') + 13]
    for place in places:
        for flip in (1, 0x20):
            bad = bytearray(data)
            bad[place] ^= flip
            (tmp_path / "b").write_bytes(bad)
            assert carry.check(tmp_path / "b").refused is not None, (place, flip)


@pytest.mark.promise("K24")
def test_a_file_that_was_cut_anywhere_is_refused_and_called_truncated(exported: Path, tmp_path: Path) -> None:
    data = exported.read_bytes()
    ends = [place + 1 for place, byte in enumerate(data) if byte == 10][:-1]
    for end in [*ends[::7], ends[-1], len(data) - 1, ends[3] + 10]:
        (tmp_path / "b").write_bytes(data[:end])
        report = carry.check(tmp_path / "b")
        assert report.status == "TRUNCATED", (end, report.refused)


HEAD = b'{"format":"anagrapheus-site","kind":"carry","logs":[],"version":1}\n'


@pytest.mark.promise("A28", "K24")
@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "line 1: the file is empty"),
        (b"{}\n", "line 1: no header of a carry"),
        (b"[]\n", "line 1: no header of a carry"),
        (b"words\n", "line 1: no header of a carry"),
        (b"\xff\xfe\n", "line 1: no header of a carry"),
        (HEAD.replace(b"site", b"sight"), "line 1: no header of a carry"),
        (HEAD.replace(b'"version":1', b'"version":true'), "version 'True' of a carry is not known; 1 is"),
        (HEAD.replace(b'"version":1', b'"version":1.0'), "version '1.0' of a carry is not known"),
        (HEAD.replace(b'"version":1', b'"version":2'), "version '2' of a carry is not known"),
        (HEAD.replace(b'"version":1', b'"version":"1"'), "version '1' of a carry is not known"),
        (HEAD.replace(b',"version":1', b""), "version 'None' of a carry is not known"),
        (HEAD.replace(b'"carry"', b'"letter"'), "$.kind"),
        (HEAD.replace(b'"logs":[]', b'"logs":[1]'), "$.logs[0]"),
        (HEAD.replace(b'"logs":[]', b'"logs":[],"logs":[]'), "given twice"),
        (HEAD.replace(b'"logs":[]', b'"logs": []'), "not in the one form"),
        (HEAD.replace(b'"logs":[]', b'"logs":NaN'), "NaN is not JSON"),
        (HEAD[:-1] + b"\r\n", "line 1: line ends are LF, not CR LF"),
        (HEAD[:-1], "line 1: it does not end"),
        (HEAD, "line 2: the file ends without its last line"),
        (b"[" * 100_000 + b"\n", "line 1: no header of a carry"),
        (HEAD + b"[" * 100_000 + b"\n", "line 2: "),
        (HEAD + b'{"row":"log","id":' + b"[" * 100_000 + b"\n", "line 2: "),
        (HEAD + b"\xff\n", "line 2: it is not"),
        (HEAD + b"NaN\n", "line 2: it is not JSON"),
        (HEAD + b'{"row":"end","counts":{},"sha256":"' + b"0" * 64 + b'"}\n', "line 2: it is not in the one form"),
        (HEAD + b'{"counts":{},"row":"end","sha256":"' + b"0" * 64 + b'"}\n', "line 2: the bytes before it are not"),
        (HEAD + b'{"counts":{"event":1},"row":"end","sha256":"' + b"0" * 64 + b'"}\n', "it counts 1 event"),
        (HEAD + b'{"counts":{},"counts":{},"row":"end","sha256":"' + b"0" * 64 + b'"}\n', "line 2: it is not"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_carry_is_refused_by_its_line(tmp_path: Path, data: bytes, why: str) -> None:
    (tmp_path / "a").write_bytes(data)
    report = carry.check(tmp_path / "a")
    assert why in str(report.refused)


def test_what_stands_behind_the_last_line_is_refused(exported: Path, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(exported.read_bytes() + b"\n")
    assert "something behind the last line" in str(carry.check(tmp_path / "a").refused)


def test_a_line_over_the_limit_is_refused_without_being_held(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shapes, "LINE_CAP", 400)
    monkeypatch.setattr(file, "HEADER_CAP", 10_000)
    report = carry.check(exported)
    assert "is over the limit of 400 bytes" in str(report.refused)


@pytest.mark.django_db
def test_a_row_that_could_not_be_read_again_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_of(3)
    monkeypatch.setattr(shapes, "LINE_CAP", 500)
    with pytest.raises(CarryRefused, match="over the limit of a carry's line"):
        carry.export([log], tmp_path / "a")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["nowhere", "", "link"])
def test_what_is_no_regular_file_is_refused(tmp_path: Path, exported: Path, name: str) -> None:
    (tmp_path / "link").symlink_to(exported)
    assert "cannot be read" in str(carry.check(tmp_path / name).refused)


@pytest.mark.promise("K2", "A3")
@pytest.mark.django_db
def test_an_id_or_a_key_that_stands_twice_is_refused_although_the_chain_is_sound(tmp_path: Path) -> None:
    log = log_of(4)
    carry.export([log], tmp_path / "a")
    for field in ("event_id", "key"):
        bundle = Bundle(tmp_path / "a")
        events = bundle.of("event")
        for event in events:
            event[field] = events[0]["event_id"] if event in (events[0], events[2]) else event["event_id"]
        rechained(bundle)
        emptied()
        assert f"holds two events of one {field}" in refusal(bundle.write(tmp_path / "b"))


def rechained(bundle: Bundle) -> None:
    """Give all events of the first log the digests that fit what they say, as whoever wrote them anew would."""
    from chronicle.carry.values import event_of
    from chronicle.seal import content_digest, entry_digest

    log = bundle.one("log")
    previous = canonical.genesis(log["id"])
    for row in bundle.of("event"):
        event = event_of(shapes.decoder.decode(json.dumps(row)))  # type: ignore[arg-type]
        content = content_digest(
            event.salt, event, event.payload, event.audience, event.idempotency_key, row["source"] or ""
        )
        previous = entry_digest(
            log["id"], event.seq, previous, row["event_id"], event.type, event.schema_version, event.at, content
        )
        row["content_digest"], row["digest"] = content, previous
    log["head"] = bundle.header["logs"][0]["head"] = previous


@pytest.mark.promise("K24")
def test_what_a_refusal_means_for_each_log_of_a_file(exported: Path, tmp_path: Path) -> None:
    bundle = Bundle(exported)
    row: Row = bundle.one("section", from_seq=5)
    row["prose"] = "x"
    (log,) = carry.check(bundle.write(tmp_path / "b")).logs
    assert (log.status, log.seq) == ("BROKEN", 4)
    assert "its words" in log.why
    (log,) = carry.check(exported).logs
    assert (log.status, log.seq, log.tail, log.holes) == ("OK", 32, 0, [])
    assert log.as_json().keys() >= {"log", "status", "seq", "sections", "tail", "holes", "against"}
