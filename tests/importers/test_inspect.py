"""Logs of Inspect: an archive and a document."""

import json
import zipfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from chronicle.errors import BrokenFile
from chronicle.importers import archives, lines, registry
from chronicle.importers.protocol import Ignored, Item, Noted, Read, Refused, Session
from tests.importers.files import DATA, items, opened

OWN = DATA / "inspect"
both = pytest.mark.parametrize("name", ["hedge.eval", "hedge.json"])
SAMPLE = {"id": "1", "epoch": 1, "messages": [{"id": "m1", "role": "user", "content": "Words.", "source": "input"}]}
HEADER = {"version": 2, "eval": {"task": "garden", "eval_id": "e1"}}


def reads(found: list[Item]) -> list[Read]:
    return [item for item in found if isinstance(item, Read)]


def written(tmp_path: Path, members: dict[str, bytes | str], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("header.json", json.dumps(HEADER))
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@both
def test_each_sample_is_a_session_titled_by_task_sample_and_epoch(name: str) -> None:
    found = [item for item in items(OWN / name) if isinstance(item, Session)]

    assert [(item.id, item.title) for item in found] == [
        ("smpl-1", "garden/choose, hedge, epoch 1"),
        ("ev1 hedge epoch 2", "garden/choose, hedge, epoch 2"),
    ]


@both
def test_a_conversation_is_read_with_shortened_texts_put_back(name: str) -> None:
    found = [read.event for read in reads(items(OWN / name)) if read.session == "smpl-1"]

    assert [(event.kind, event.actor_kind, event.actor, event.content) for event in found] == [
        ("message", "system", "inspect", "You know plants."),
        ("message", "system", "dataset", "Choose a hedge.\n[image/png, 70 bytes]"),
        ("thought", "agent", "agent", "Slow or fast?"),
        ("message", "agent", "agent", "I look it up."),
        ("tool_request", "agent", "agent", 'search {"q": "hedge"}'),
        ("tool_request", "agent", "agent", 'search {"q": "yew"}'),
        ("tool_response", "system", "search", "yew: slow"),
        ("tool_response", "system", "search", "The search took too long."),
        ("message", "system", "solver", "Go on."),
        ("thought", "agent", "agent", "[reasoning that the model keeps to itself]"),
        ("message", "agent", "agent", "Yew."),
    ]


@both
def test_times_usage_and_model_come_from_the_events(name: str) -> None:
    found = [read for read in reads(items(OWN / name)) if read.session == "smpl-1"]
    usage = [read.event.payload for read in found if "usage" in (read.event.payload or {})]

    assert found[0].event.claimed_at == datetime(2026, 5, 4, 1, 0, 1, tzinfo=UTC)
    assert [read.event.claimed_at.second for read in found[2:8] if read.event.claimed_at] == [3, 3, 3, 3, 4, 5]
    assert len(usage) == 1
    assert usage[0] is not None
    assert usage[0]["model"] == "small/model-1"


@both
def test_answers_are_joined_by_call_and_errors_are_marked(name: str) -> None:
    found = {read.event.correlation: read for read in reads(items(OWN / name)) if read.event.kind == "tool_response"}

    assert all(read.answers for read in found.values())
    assert found["c1"].event.payload == {"is_error": True, "error": "timeout"}


@both
def test_what_the_log_cannot_place_is_noted(name: str) -> None:
    words = [item.words for item in items(OWN / name) if isinstance(item, Noted)]

    assert "1 compactions; the log does not say where in the conversation they stand" in words
    assert "the sample ended in an error: The sandbox went away." in words


def test_members_and_events_beside_the_conversation_are_counted_by_kind() -> None:
    counted = Counter(item.kind for item in items(OWN / "hedge.eval") if isinstance(item, Ignored))

    assert counted["event/model"] == 1
    assert counted["event/score"] == 1
    assert counted["journal"] == 1
    assert counted["header.json"] == 1


def test_a_locator_names_the_member_and_the_message() -> None:
    assert reads(items(OWN / "hedge.eval"))[0].event.locator == "samples/hedge_epoch_1.json!messages/0:0"
    assert reads(items(OWN / "hedge.json"))[3].event.locator == "samples/0:2.1"


def test_a_bomb_is_refused_by_its_name_and_the_other_samples_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "FREE", 100_000)
    bomb = json.dumps(SAMPLE | {"store": " " * 9_000_000})
    path = written(tmp_path, {"samples/bomb.json": bomb, "samples/good.json": json.dumps(SAMPLE)})
    found = items(path)

    assert next(item.reason for item in found if isinstance(item, Refused)).startswith("samples/bomb.json: it inflates")
    assert [read.event.content for read in reads(found)] == ["Words."]


@pytest.mark.parametrize("name", ["samples/../../etc/passwd.json", "samples//absolute.json", "samples/a\x07b.json"])
def test_a_members_name_is_words_and_never_a_path(tmp_path: Path, name: str) -> None:
    found = items(written(tmp_path, {name: json.dumps(SAMPLE)}))

    assert [read.event.content for read in reads(found)] == ["Words."]
    assert not (tmp_path.parent / "etc").exists()


def test_a_damaged_member_is_refused_by_its_name(tmp_path: Path) -> None:
    path = written(tmp_path, {"samples/a.json": json.dumps(SAMPLE), "samples/b.json": "{}"}, zipfile.ZIP_STORED)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"Words.", b"Wurst."))
    refused = [item.reason for item in items(path) if isinstance(item, Refused)]

    assert len(refused) == 1
    assert refused[0].startswith("samples/a.json: ")


def test_too_many_members_are_refused_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MEMBERS", 1)
    path = written(tmp_path, {"samples/a.json": json.dumps(SAMPLE)})

    with pytest.raises(BrokenFile, match="over the limit of 1"):
        list(registry.named("inspect").read(lines.open_file(path)))


def test_an_archive_of_something_else_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "book.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<w/>")

    with pytest.raises(Exception, match="no known format"):
        opened(path)
