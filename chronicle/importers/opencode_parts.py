"""Parts of opencode's messages, as events. Pure; knows no file.

Guarantees: a part is known by its id; a tool's part gives its request, and its response once there is one, joined by
the call's id; usage stands once, on the last event of its message. Human is what a user's message says in a text
that is not synthetic, and nobody in a session that another began. Steps, snapshots and patches are ignored by kind.
The output that a compaction cleared later is kept: it stands in the part still.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from chronicle.envelope import ActorKind
from chronicle.importers import blocks, text
from chronicle.importers.making import SUMMARY, Maker, Place
from chronicle.importers.protocol import Ignored, Item, Read, ReadSection, Session

AGENT, HUMAN, CLIENT = "assistant", "user", "opencode"
GIVES = {"text", "reasoning", "tool", "file", "compaction", "subtask", "retry"}


@dataclass(slots=True)
class Known:
    """One session so far. `child` where another session's agent began it."""

    maker: Maker
    child: bool = False
    begun: bool = False
    titled: bool = False
    boundary: str = ""  # the marker of a compaction whose summary has not come yet, or what stood before its tail
    compactions: int = 0
    before: dict[str, str] = field(default_factory=dict)  # message id → the event before its first


def is_message(info: Any) -> bool:
    """True for what says who a message is of."""
    return isinstance(info, dict) and info.get("role") in ("user", "assistant") and _is_id(info, "id", "msg")


def is_session(info: Any) -> bool:
    return isinstance(info, dict) and _is_id(info, "id", "ses") and isinstance(info.get("time"), dict)


def is_part(part: Any) -> bool:
    named = isinstance(part, dict) and _is_id(part, "messageID", "msg") and _is_id(part, "sessionID", "ses")
    return named and isinstance(part.get("type"), str)


def _is_id(value: dict[str, Any], key: str, prefix: str) -> bool:
    return isinstance(value.get(key), str) and value[key].startswith(prefix)


def greeting(known: Known, title: Any) -> Iterator[Session]:
    """Yield a session where it begins, with the title that it has."""
    if not known.begun:
        known.begun = True
        words = text.storable(text.first_line(title))[0] if isinstance(title, str) else ""
        known.titled = bool(words) and not words.startswith("New session")
        yield Session(known.maker.session, words)


def events(known: Known, info: dict[str, Any], part: Any, at: Place, block: int = 0) -> Iterator[Item]:
    """Yield what one part of a message gives; `block` is the number of its first event in its record."""
    kind = text.name(part.get("type"), "") if isinstance(part, dict) else ""
    if kind not in GIVES:
        return
    native = text.name(part.get("id"), "") or known.maker.counted(text.readable(part, ordered=True))
    at = at._replace(time=_time(part, info))
    known.before.setdefault(text.name(info.get("id"), ""), known.maker.last)
    yield from _made(known, info, part, kind, native, at, block)


def error(known: Known, info: dict[str, Any], at: Place, block: int = 0) -> Iterator[Read]:
    """Yield the error that ended a message, if one did."""
    given = info.get("error")
    if not isinstance(given, dict):
        return
    data = given.get("data")
    words = data.get("message") if isinstance(data, dict) else given.get("message")
    shown = f"{text.name(given.get('name'), 'Error')}: {words}" if isinstance(words, str) else text.readable(given)
    native = f"{text.name(info.get('id'), 'message')}:error"
    at = at._replace(time=_of(info, "completed") or _of(info, "created"))
    yield known.maker.message(native, at, ActorKind.SYSTEM, CLIENT, shown, type="error", block=block)


def with_usage(info: dict[str, Any], items: list[Item]) -> list[Item]:
    """Put a message's usage on the last of its events."""
    last = next((item for item in reversed(items) if isinstance(item, Read)), None)
    if last is None or not (usage := usage_of(info)):
        return items
    payload = dict(last.event.payload or {}) | {"usage": usage}
    changed = replace(last, event=replace(last.event, payload=payload))
    return [changed if item is last else item for item in items]


def usage_of(info: dict[str, Any]) -> dict[str, Any]:
    tokens = info.get("tokens")
    if not isinstance(tokens, dict) or not tokens or info.get("role") != "assistant":
        return {}
    return tokens | ({"cost": info["cost"]} if isinstance(info.get("cost"), int | float) else {})


def _of(value: dict[str, Any], key: str) -> Any:
    time = value.get("time")
    return time.get(key) if isinstance(time, dict) else None


def _time(part: dict[str, Any], info: dict[str, Any]) -> Any:
    return _of(part, "start") or _of(part, "created") or _of(info, "created")


def _payload(info: dict[str, Any], **more: Any) -> dict[str, Any]:
    model = info.get("modelID") if info.get("role") == "assistant" else None
    return ({"model": model} if isinstance(model, str) else {}) | more


def _agent(info: dict[str, Any]) -> str:
    return text.name(info.get("agent"), "") or text.name(info.get("mode"), AGENT)


def _by(known: Known, info: dict[str, Any], part: dict[str, Any]) -> tuple[ActorKind, str]:
    if info.get("role") == "assistant":
        return ActorKind.AGENT, _agent(info)
    if info.get("role") != "user" or part.get("synthetic") is True or part.get("ignored") is True:
        return ActorKind.SYSTEM, CLIENT
    return (ActorKind.AGENT, AGENT) if known.child else (ActorKind.HUMAN, HUMAN)


def _made(
    known: Known, info: dict[str, Any], part: dict[str, Any], kind: str, native: str, at: Place, block: int
) -> Iterator[Item]:
    maker, (by, actor) = known.maker, _by(known, info, part)
    if kind == "tool":
        yield from _tool(known, info, part, native, at, block)
    elif kind == "compaction":
        yield _compaction(known, part, native, at, block)
    elif kind == "retry":
        words = text.readable(part.get("error"))
        yield maker.message(f"{native}:0", at, ActorKind.SYSTEM, CLIENT, words, type="retry", block=block)
    elif kind == "subtask":
        given = part.get("prompt")
        words = given if isinstance(given, str) else text.readable(part)
        payload = {"agent": part.get("agent")} if isinstance(part.get("agent"), str) else {}
        yield maker.message(
            f"{native}:0", at, ActorKind.SYSTEM, CLIENT, words, type="subtask", payload=payload, block=block
        )
    elif kind == "file":
        said = blocks.said(part | {"media_type": part.get("mime")})
        yield maker.message(f"{native}:0", at, by, actor, said, payload=_payload(info), block=block)
    elif isinstance(said_so := part.get("text"), str) and said_so.strip():
        yield from _words(known, info, kind, said_so, native, at, block, (by, actor))


def _words(
    known: Known,
    info: dict[str, Any],
    kind: str,
    words: str,
    native: str,
    at: Place,
    block: int,
    by: tuple[ActorKind, str],
) -> Iterator[Item]:
    maker, payload = known.maker, _payload(info)
    if kind == "reasoning":
        yield maker.thought(f"{native}:0", at, by[1], words, payload=payload, block=block)
        return
    if by[0] is ActorKind.HUMAN and not known.titled:
        known.titled = True
        yield Session(maker.session, text.storable(text.first_line(words))[0])
    summary = info.get("summary") is True
    end, type = known.boundary, SUMMARY if summary else ""
    yield maker.message(f"{native}:0", at, *by, words, payload=payload, type=type, block=block)
    if summary and end:
        known.boundary, known.compactions = "", known.compactions + 1
        prose, model = text.storable(words)[0], text.name(info.get("modelID"), "")
        rolling = known.compactions > 1
        yield ReadSection(maker.session, end, prose, at.record, text.first_line(prose), model=model, rolling=rolling)


def _compaction(known: Known, part: dict[str, Any], native: str, at: Place, block: int) -> Read:
    """Mark a compaction; its summary covers all before it, or before the first message that it keeps."""
    tail = known.before.get(text.name(part.get("tail_start_id"), ""), "")
    payload = {key: part[key] for key in ("auto", "overflow") if isinstance(part.get(key), bool)}
    words = f"[compaction{', automatic' if part.get('auto') is True else ''}]"
    read = known.maker.marker(f"{native}:0", at, CLIENT, words, payload=payload, block=block)
    known.boundary = tail or read.native_id
    return read


def _tool(
    known: Known, info: dict[str, Any], part: dict[str, Any], native: str, at: Place, block: int
) -> Iterator[Read]:
    given = part.get("state")
    state: dict[str, Any] = given if isinstance(given, dict) else {}
    arguments = state.get("input") or state.get("raw") or {}
    call, tool = part.get("callID"), part.get("tool")
    metadata = state.get("metadata")
    child = metadata.get("sessionId") if isinstance(metadata, dict) else None
    more = {"session": child} if isinstance(child, str) else {}
    started = at._replace(time=_of(state, "start") or at.time)
    yield known.maker.request(
        f"{native}:0", started, _agent(info), tool, arguments, call, payload=_payload(info), block=block
    )
    if state.get("status") in ("completed", "error"):
        failed = state["status"] == "error"
        content = state.get("error" if failed else "output")
        said = blocks.said([content if content is not None else "", *blocks.listed(state.get("attachments"))])
        ended = at._replace(time=_of(state, "end") or started.time)
        payload = more | ({"is_error": True} if failed else {})
        call = known.maker.unanswered[-1].call
        yield known.maker.response(f"{native}:1", ended, said, call, tool=tool, payload=payload, block=block + 1)


def message(known: Known, info: dict[str, Any], parts: list[Any], at: Place) -> list[Item]:
    """Return what a whole message gives that stands in one record."""
    made: list[Item] = []
    for part in parts:
        made += events(known, info, part, at, _count(made))
    made += error(known, info, at, _count(made))
    made = with_usage(info, made)
    if not _count(made):
        made.append(Ignored(f"{text.name(info.get('role'), 'unknown')} message without content", at.record))
    return made


def _count(made: list[Item]) -> int:
    return sum(isinstance(item, Read) for item in made)
