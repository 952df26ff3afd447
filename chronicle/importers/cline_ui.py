"""Rows of Cline's user interface (`ui_messages.json`), as events.

Guarantees: order is the order of the rows; a row is known by its time and kind and how often that stood before, for
times repeat; a command's outputs answer it by position, and so does what a later request shows of a tool's
result; usage, which stands on the request, is counted on the first event that follows it; a range of history
that was deleted is a mark of compaction, a summary a section. Rows that a later one replaces (`partial`), a
question repeated, and what only the interface needs are ignored by kind.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from chronicle import canonical
from chronicle.envelope import COMPACTION, ActorKind
from chronicle.importers import blocks, parts, text
from chronicle.importers.making import SUMMARY, Maker, Place, Said, arguments
from chronicle.importers.parts import Part
from chronicle.importers.protocol import Ignored, Item, Opened, Read, ReadSection, Refused, Session

HUMAN, AGENT, CLIENT = "user", "cline", "client"
TYPED = ("task", "user_feedback", "user_feedback_diff")
SAID = ("text", "completion_result", "followup", "plan_mode_respond", "plan_mode_response", "act_mode_respond")
OUTPUTS = ("command_output", "browser_action_result", "mcp_server_response")
CALLS = ("tool", "command", "browser_action_launch", "browser_action", "use_mcp_server")
CONDENSED = ("condense", "condense_context", "summarize_task")
NOISE = (
    "api_req_started", "api_req_finished", "checkpoint_created", "checkpoint_saved", "task_progress", "resume_task",
    "resume_completed_task", "mcp_server_request_started", "load_mcp_documentation", "deleted_api_reqs",
    "codebase_search_result",
)  # fmt: skip
RANGE = "conversationHistoryDeletedRange"
_RESULT = re.compile(r"\[(\w{1,60})\b[^\n]*?\] Result:[ \t]*\n*")


@dataclass(slots=True)
class Rows:
    """The rows of one file being read."""

    maker: Maker
    counts: dict[str, int] = field(default_factory=dict)
    usage: Any = None
    command: str = ""  # the call id of the last command
    deleted: Any = None
    completed: str = ""
    summaries: int = 0
    titled: bool = False


def is_row(value: Any) -> bool:
    """True for a row: a time, and what kind of saying or asking it is."""
    if not isinstance(value, dict) or value.get("type") not in ("say", "ask"):
        return False
    return isinstance(value.get("ts"), int | float) and isinstance(value.get(value["type"]), str)


def read(opened: Opened) -> Iterator[Item]:
    """Yield the items of a file."""
    rows: Rows | None = None
    for part in parts.parts(opened):
        if part.reason or part.is_header:
            yield from parts.said_of(part)
        elif not is_row(part.value):
            yield Refused(part.record, f"{part.place}: not a row")
        else:
            if rows is None:
                rows = Rows(Maker(_session(part.value)))
                yield Session(rows.maker.session)
            yield from _row(rows, part)
    if rows is not None:
        yield from text.timeless(rows.maker.timeless)


def _session(first: Mapping[str, Any]) -> str:
    return canonical.sha256(f"{first['ts']} {first.get('text')}".encode("utf-8", "surrogatepass"))[:32]


def _row(rows: Rows, part: Part) -> Iterator[Item]:
    value = part.value
    kind = value[value["type"]]
    named = f"{value['ts']}:{value['type']}:{text.name(kind, 'unknown')[:100]}"
    rows.counts[named] = rows.counts.get(named, 0) + 1
    native = text.name(f"{named}:{rows.counts[named]}", "row")
    at = Place(part.record, part.place, value["ts"])
    before = rows.maker.last
    found = [*_deleted(rows, native, at, value), *_events(rows, native, at, value, kind)]
    for read in found:
        if not rows.titled and read.event.actor_kind == ActorKind.HUMAN:
            rows.titled = True
            yield Session(rows.maker.session, text.first_line(read.event.content))
        summarises = bool(before) and read.event.type == SUMMARY
        if summarises:
            title = text.first_line(read.event.content)
            yield rows.maker.marker(f"{native}:compaction", at, CLIENT, title, block=2)
        yield read
        if summarises:
            rows.summaries += 1
            yield _section(rows, read, f"{native}:compaction")
    if not found:
        yield Ignored(
            f"{'partial ' if value.get('partial') is True else ''}{text.name(kind, 'unknown')[:100]}", part.record
        )


def _section(rows: Rows, read: Read, before: str) -> ReadSection:
    prose = read.event.content
    return ReadSection(
        rows.maker.session, before, prose, read.line, title=text.first_line(prose), rolling=rows.summaries > 1
    )


def _deleted(rows: Rows, native: str, at: Place, value: Mapping[str, Any]) -> Iterator[Read]:
    """Mark where messages were taken out of what the agent is sent."""
    given = value.get(RANGE)
    if not isinstance(given, list) or given == rows.deleted or value.get("partial") is True:
        return
    rows.deleted = given
    words = f"{RANGE} {text.readable(given)}"
    yield rows.maker.marker(f"{native}:deleted", at, CLIENT, words, type=COMPACTION, payload={"range": given}, block=1)


def _events(rows: Rows, native: str, at: Place, value: Mapping[str, Any], kind: str) -> Iterator[Read]:
    words = value["text"] if isinstance(value.get("text"), str) else ""
    if value.get("partial") is True:
        return
    if kind == "api_req_started":
        yield from _requested(rows, native, at, words)
    elif kind in CONDENSED or _summarizes(kind, words):
        yield from _condensed(rows, native, at, value, words)
    elif kind in CALLS:
        yield _call(rows, native, at, value, kind, words)
    elif kind in OUTPUTS:
        yield from _output(rows, native, at, value, kind, words)
    elif kind not in NOISE:
        yield from _spoken(rows, native, at, value, kind, words)


def _payload(rows: Rows, value: Mapping[str, Any]) -> dict[str, Any]:
    """The model that a row names, and the usage of the request before it, once."""
    given, kept = value.get("modelInfo"), {}
    if isinstance(given, dict) and isinstance(given.get("modelId"), str):
        kept["model"] = given["modelId"]
    if rows.usage:
        kept["usage"], rows.usage = rows.usage, None
    return kept


def _requested(rows: Rows, native: str, at: Place, words: str) -> Iterator[Read]:
    """A request to the model: its usage, and the result of a tool, which stands nowhere else."""
    given = arguments(words)
    if not isinstance(given, dict):
        return
    kept = {key: given[key] for key in ("tokensIn", "tokensOut", "cacheWrites", "cacheReads", "cost") if given.get(key)}
    rows.usage = kept or None
    asked = given.get("request")
    result = _RESULT.match(asked) if isinstance(asked, str) else None
    waiting = next((call for call in reversed(rows.maker.unanswered) if call.call != rows.command), None)
    if isinstance(asked, str) and result is not None and waiting is not None:
        yield rows.maker.response(f"{native}:0", at, _trimmed(asked[result.end() :]), waiting.call)


def _trimmed(shown: str) -> str:
    return shown.partition("<environment_details>")[0].rstrip()


def _summarizes(kind: str, words: str) -> bool:
    given = arguments(words) if kind == "tool" else None
    return isinstance(given, dict) and given.get("tool") == "summarizeTask"


def _condensed(rows: Rows, native: str, at: Place, value: Mapping[str, Any], words: str) -> Iterator[Read]:
    inner, given = value.get("contextCondense"), arguments(words)
    found = inner.get("summary") if isinstance(inner, dict) else None
    if found is None and isinstance(given, dict):
        found = given.get("summary") or given.get("content") or given.get("context")
    prose = found if isinstance(found, str) else words
    if prose.strip():
        yield rows.maker.message(f"{native}:0", at, ActorKind.SYSTEM, CLIENT, prose, type=SUMMARY)


def _call(rows: Rows, native: str, at: Place, value: Mapping[str, Any], kind: str, words: str) -> Read:
    given = arguments(words)
    tool, asked = kind, given if isinstance(given, dict) else {kind: words}
    if kind in ("tool", "use_mcp_server") and isinstance(given, dict):
        named = next((key for key in ("tool", "toolName", "uri") if isinstance(given.get(key), str)), "")
        tool = text.name(given.get(named), kind)
        asked = {key: inner for key, inner in given.items() if key != named}
    read = rows.maker.request(f"{native}:0", at, AGENT, tool, asked, payload=_payload(rows, value))
    if kind == "command":
        rows.command = text.name(f"{native}:0", "")
    return read


def _output(rows: Rows, native: str, at: Place, value: Mapping[str, Any], kind: str, words: str) -> Iterator[Read]:
    if not words.strip():
        return
    given = arguments(words)
    said = _said(value, words)
    if isinstance(given, dict) and isinstance(given.get("screenshot"), str):
        rest = {key: inner for key, inner in given.items() if key != "screenshot"}
        said = blocks.said([text.readable(rest), {"type": "image_url", "image_url": {"url": given["screenshot"]}}])
    call = rows.command if kind == "command_output" else rows.maker.waiting()
    yield rows.maker.response(f"{native}:0", at, said, call)


def _said(value: Mapping[str, Any], words: str) -> Said:
    """Return a row's words with its images, and the names of its files."""
    given: list[Any] = [words] if words else []
    for key, made in (("images", lambda one: {"type": "image_url", "image_url": {"url": one}}), ("files", str)):
        listed = value.get(key)
        given += [made(one) for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
    return blocks.said(given)


def _spoken(rows: Rows, native: str, at: Place, value: Mapping[str, Any], kind: str, words: str) -> Iterator[Read]:
    thought = words if kind == "reasoning" else value.get("reasoning")
    if isinstance(thought, str) and thought.strip():
        yield rows.maker.thought(f"{native}:r", at, AGENT, thought, payload=_payload(rows, value), block=1)
    said = _said(value, words)
    if kind == "reasoning" or not said.words.strip() or _asks_again(rows, value, kind, words):
        return
    if kind in TYPED:
        yield rows.maker.message(f"{native}:0", at, ActorKind.HUMAN, HUMAN, said)
    elif kind in SAID:
        yield _answered(rows, native, at, value, said)
    else:
        type = text.name(f"{value['type']}.{kind}", "row")
        yield rows.maker.message(f"{native}:0", at, ActorKind.SYSTEM, CLIENT, said, type=type)


def _answered(rows: Rows, native: str, at: Place, value: Mapping[str, Any], said: Said) -> Read:
    """What the agent said or asked; a question may stand in an object with the answers it offers."""
    parsed = arguments(said.words)
    given: dict[str, Any] = parsed if isinstance(parsed, dict) else {}
    told = next((given[key] for key in ("question", "response") if isinstance(given.get(key), str)), said.words)
    kept = _payload(rows, value) | ({"options": given["options"]} if given.get("options") else {})
    words = said._replace(words=told)
    return rows.maker.message(f"{native}:0", at, ActorKind.AGENT, AGENT, words, payload=kept)


def _asks_again(rows: Rows, value: Mapping[str, Any], kind: str, words: str) -> bool:
    """True for a completion that is asked about after it was said, in the same words."""
    if kind != "completion_result":
        return False
    again, rows.completed = value["type"] == "ask" and words == rows.completed, words
    return again
