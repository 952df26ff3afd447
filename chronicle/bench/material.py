"""What is measured on: events, and a transcript of the kind that Claude Code writes."""

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

from chronicle.envelope import ActorKind, Kind, PendingEvent

SENTENCE = "The room for thirteen is held until Thursday, and the deposit is paid from the second account. "


def events(count: int) -> list[PendingEvent]:
    """A dialogue of `count` messages of some 190 characters, people and agents in turn."""
    kinds = (ActorKind.HUMAN, ActorKind.AGENT)
    return [
        PendingEvent(
            kind=Kind.MESSAGE, actor_kind=kinds[n % 2], actor=f"speaker-{n % 2}", content=f"{n}: {SENTENCE * 2}"
        )
        for n in range(count)
    ]


def write_transcript(path: Path, lines: int, session: str) -> Path:
    """Write a transcript of `lines` records: a question, a tool call, its result, an answer, and again."""
    with path.open("w") as file:
        for number, record in zip(range(lines), _records(session), strict=False):
            record["uuid"] = str(UUID(int=number + 1))
            file.write(json.dumps(record) + "\n")
    return path


def _records(session: str) -> Iterator[dict[str, object]]:
    turn = 0
    while True:
        turn += 1
        call = f"toolu_{turn:06}"
        tool = {"type": "tool_use", "id": call, "name": "Read", "input": {"path": f"notes/{turn}.md"}}
        result = {"type": "tool_result", "tool_use_id": call, "content": SENTENCE * 6}
        yield _record("user", f"{turn}: {SENTENCE}", session)
        yield _record("assistant", [tool], session)
        yield _record("user", [result], session)
        yield _record("assistant", [{"type": "text", "text": f"{turn}: {SENTENCE * 3}"}], session)


def _record(role: str, content: object, session: str) -> dict[str, object]:
    return {
        "type": role,
        "sessionId": session,
        "timestamp": "2026-03-01T12:00:00.000Z",
        "cwd": "/home/demo",
        "version": "2.1.0",
        "message": {"role": role, "content": content},
    }
