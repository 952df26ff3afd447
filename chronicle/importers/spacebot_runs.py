"""Branches and workers of Spacebot: what a channel's agent gave to another, its transcript, and what came back.

Guarantees: a run is a request of the channel's agent (tool `branch` or `worker`), the events of its own actor
between, and a response joined by the run's id once there is a conclusion; each step has an id by its place in
the transcript, so that a run that goes on appends. A transcript is gzip JSON of which at most CAP bytes, and
RATIO times its size, are inflated. What the program cut when it stored a step stays cut.
Refuses (InvalidPayload, by the run): a transcript that is damaged, too large, or no list of steps.
"""

import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from chronicle.envelope import ActorKind
from chronicle.errors import InvalidPayload
from chronicle.importers import openai_items, sqlite_files, text
from chronicle.importers.making import Maker, Place, Said
from chronicle.importers.protocol import Read

CAP = 64 * 1024 * 1024
RATIO = 200
FREE = 1024 * 1024  # so much may be inflated from however few bytes
AGENT = "assistant"


class Run(NamedTuple):
    """One row of a table of runs."""

    kind: str  # branch, worker
    id: str
    task: str
    result: str
    started: Any
    ended: Any
    transcript: Any
    more: dict[str, Any]  # status, type, outcome: whatever columns there are

    @property
    def actor(self) -> str:
        return text.name(self.more.get("worker_type") or self.more.get("profile"), "") or self.kind


def steps(transcript: Any) -> list[Any]:
    """Return the steps of a transcript, none where there is none. Raises InvalidPayload."""
    if transcript is None or transcript in (b"", ""):
        return []
    found = sqlite_files.document(_inflated(transcript) if isinstance(transcript, bytes) else transcript)
    if isinstance(found, dict) and isinstance(found.get("steps"), list):
        found = found["steps"]
    if not isinstance(found, list):
        raise InvalidPayload("no list of steps")
    return found


def _inflated(data: bytes) -> bytes:
    if not data.startswith(b"\x1f\x8b"):
        return data
    most = min(CAP, max(FREE, RATIO * len(data)))
    inflater = zlib.decompressobj(wbits=31)
    try:
        found = inflater.decompress(data, most + 1)
    except zlib.error as error:
        raise InvalidPayload(f"damaged gzip: {error}") from None
    if len(found) > most:
        raise InvalidPayload(f"it inflates to over {most:,} bytes")
    if not inflater.eof:
        raise InvalidPayload("its gzip is cut")
    return found


class _Blocks:
    """Where the next event of a run stands: its locator's block counts on, its id names step and part."""

    def __init__(self, run: Run, record: int, place: str) -> None:
        self._run, self._record, self._place, self._next = run, record, place, 0
        self.payload = {"agent": {"id": run.id, "kind": run.kind}}

    def at(self, name: str, time: Any = None) -> tuple[str, Place, int]:
        block, self._next = self._next, self._next + 1
        return (
            f"{self._run.id}:{self._run.kind}.{name}",
            Place(self._record, self._place, sqlite_files.utc(time)),
            block,
        )


def reads(maker: Maker, run: Run, found: list[Any], record: int, place: str) -> Iterator[Read]:
    """Yield the events of a run."""
    blocks = _Blocks(run, record, place)
    native, at, block = blocks.at("task", run.started)
    given = {
        key: value for key, value in run.more.items() if value not in (None, "") and key not in ("status", "lifecycle")
    }
    yield maker.request(
        native, at, AGENT, run.kind, {"task": run.task}, run.id, payload=blocks.payload | {"run": given}, block=block
    )
    for number, step in enumerate(found):
        yield from _step(maker, run, step, number, blocks)
    if run.ended is not None or run.result.strip():
        native, at, block = blocks.at("result", run.ended)
        state = {key: run.more[key] for key in ("status", "lifecycle", "outcome_kind") if run.more.get(key) is not None}
        yield maker.response(native, at, run.result, run.id, payload=blocks.payload | state, block=block)


def _step(maker: Maker, run: Run, step: Any, number: int, blocks: _Blocks) -> Iterator[Read]:
    kind = step.get("type") if isinstance(step, dict) else None
    if kind == "action":
        content = step.get("content")
        for part, piece in enumerate(content if isinstance(content, list) else []):
            yield from _piece(maker, run, piece, f"{number}.{part}", blocks)
    elif kind == "tool_result":
        yield _result(maker, run, step, f"{number}.0", blocks)
    elif kind in ("user_text", "system_text", "text") and isinstance(words := step.get("text"), str):
        if words.strip() and words.strip() != run.task.strip():
            by = ActorKind.AGENT if kind == "user_text" else ActorKind.SYSTEM
            yield _said(maker, by, AGENT if by is ActorKind.AGENT else "spacebot", words, f"{number}.0", blocks)
    else:
        shown = Said(f"[{text.name(kind, 'a step of no known kind')}]", {"step": step})
        yield _said(maker, ActorKind.SYSTEM, "spacebot", shown, f"{number}.0", blocks)


def _piece(maker: Maker, run: Run, piece: Any, name: str, blocks: _Blocks) -> Iterator[Read]:
    kind = piece.get("type") if isinstance(piece, dict) else None
    if kind == "tool_call":
        native, at, block = blocks.at(name)
        arguments, call = openai_items.parsed(piece.get("args")), _call(run, piece.get("id"))
        yield maker.request(
            native, at, run.actor, piece.get("name"), arguments, call, payload=blocks.payload, block=block
        )
    elif isinstance(words := piece.get("text") if isinstance(piece, dict) else piece, str):
        if words.strip() and kind in ("reasoning", "thinking"):
            native, at, block = blocks.at(name)
            yield maker.thought(native, at, run.actor, words, payload=blocks.payload, block=block)
        elif words.strip():
            yield _said(maker, ActorKind.AGENT, run.actor, words, name, blocks)
    else:
        shown = Said(f"[{text.name(kind, 'a block of no known kind')}]", {"block": piece})
        yield _said(maker, ActorKind.AGENT, run.actor, shown, name, blocks)


def _said(maker: Maker, by: ActorKind, actor: str, said: Said | str, name: str, blocks: _Blocks) -> Read:
    native, at, block = blocks.at(name)
    return maker.message(native, at, by, actor, said, payload=blocks.payload, block=block)


def _result(maker: Maker, run: Run, step: dict[str, Any], name: str, blocks: _Blocks) -> Read:
    native, at, block = blocks.at(name)
    words = next((step[key] for key in ("text", "live_output") if isinstance(step.get(key), str) and step[key]), "")
    state = {"status": step["status"]} if isinstance(step.get("status"), str) else {}
    call = _call(run, step.get("call_id"))
    return maker.response(native, at, words, call, tool=step.get("name"), payload=blocks.payload | state, block=block)


def _call(run: Run, given: Any) -> str:
    """Call ids are a run's own: two runs of a channel may count theirs alike."""
    return text.name(f"{run.id}/{given}", "") if isinstance(given, str) and given else ""
