"""The items of a Codex transcript as events: what the model was given and what it answered. Knows no file.

Guarantees: human is only what a person typed: what the client puts into a user message (environment,
AGENTS.md, skills, notices of interruptions, a summary handed over) is system, block by block; a call and
its output are joined by `call_id`; arguments that are JSON in a string are read, and kept as they are
where they are none; an image leaves its bytes in a blob.
Refuses nothing: an item of a kind not known here gives no event, and is counted by its kind.
"""

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from chronicle import canonical
from chronicle.envelope import ActorKind
from chronicle.errors import InvalidPayload
from chronicle.importers import blocks, lines, text
from chronicle.importers.making import SUMMARY, Maker, Place, Said
from chronicle.importers.protocol import Read

HUMAN, AGENT, CLIENT = "user", "assistant", "codex"
HANDED_OVER = "Another language model started to solve this problem"
REQUEST = "## My request for Codex:"
ENCRYPTED = "compaction.encrypted"
WRAPPERS = (
    "<environment_context",
    "<user_instructions",
    "<turn_aborted",
    "<user_shell_command",
    "<user_action",
    "<subagent_notification",
    "<hook_prompt",
    "<model_switch",
    "<permissions instructions",
    "<collaboration_mode",
    "<personality_spec",
    "<apps_instructions",
    "<plugins_instructions",
    "<skills_instructions",
    "<skill>",
    "<INSTRUCTIONS>",
    "# AGENTS.md",
    HANDED_OVER,
)
_STATES = ("status", "execution")


@dataclass(slots=True)
class Who:
    """Whose session it is: how its agent is called, who speaks to it, what of a sub-agent every event says."""

    agent: str = AGENT
    told_by: ActorKind = ActorKind.HUMAN
    payload: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""

    def made(self) -> dict[str, Any]:
        """Return what an event of the agent says of how it was made."""
        return dict(self.payload) | ({"model": self.model} if self.model else {})


@dataclass(slots=True)
class Item:
    """One item where it stands, with the id that its events are known by."""

    maker: Maker
    who: Who
    at: Place
    native: str
    value: dict[str, Any]

    @property
    def kind(self) -> str:
        return text.name(self.value.get("type"), "")

    def id(self, block: int) -> str:
        return f"{self.native}:{block}"


def is_wrapper(words: str) -> bool:
    """True for text in a user message that no person typed."""
    return words.lstrip().startswith(WRAPPERS)


def title_of(words: str) -> str:
    """Return a title out of a person's words: what was asked, behind what an editor put before it."""
    return text.storable(text.first_line(words.partition(REQUEST)[2] or words))[0]


def texts(value: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a message or a thought, each as the client's own log tells them again."""
    for key in ("content", "summary"):
        for block in blocks.listed(value.get(key)):
            if (words := blocks.words_of(block)) is not None:
                yield words


def events(item: Item) -> Iterator[Read]:
    """Yield the events of one item; none for what says nothing, or is of no known kind."""
    kind = item.kind
    if kind == "message":
        yield from _message(item)
    elif kind == "agent_message":
        yield from _between_agents(item)
    elif kind == "reasoning":
        yield from _reasoning(item)
    elif kind in ("compaction", "compaction_summary", "context_compaction"):
        yield item.maker.marker(item.id(0), item.at, CLIENT, f"[{kind}, encrypted]", type=ENCRYPTED)
    elif kind.endswith("_call"):
        yield from _call(item)
    elif kind.endswith("_output"):
        yield _output(item)


def _message(item: Item) -> Iterator[Read]:
    role = item.value.get("role")
    if role == "user":
        yield from _told(item)
        return
    by, actor = (ActorKind.AGENT, item.who.agent) if role == "assistant" else (ActorKind.SYSTEM, CLIENT)
    said = blocks.said(item.value.get("content"))
    if said.words.strip():
        payload = item.who.made() if by is ActorKind.AGENT else {"role": text.name(role, "unknown")}
        yield item.maker.message(item.id(0), item.at, by, actor, said, payload=payload)


def _told(item: Item) -> Iterator[Read]:
    """A user message: what the client put in, and what was typed, each for itself."""
    found = enumerate(blocks.listed(item.value.get("content")))
    for wrapped, group in itertools.groupby(found, lambda pair: is_wrapper(blocks.words_of(pair[1]) or "")):
        pieces = list(group)
        block = pieces[0][0]
        said = blocks.said([piece for _, piece in pieces])
        if not said.words.strip():
            continue
        by = ActorKind.SYSTEM if wrapped else item.who.told_by
        more = {"type": SUMMARY} if said.words.lstrip().startswith(HANDED_OVER) else {}
        payload = dict(item.who.payload) or None
        yield item.maker.message(item.id(block), item.at, by, _speaker(by), said, block=block, payload=payload, **more)


def _speaker(by: ActorKind) -> str:
    return {ActorKind.HUMAN: HUMAN, ActorKind.SYSTEM: CLIENT}.get(by, AGENT)


def _between_agents(item: Item) -> Iterator[Read]:
    said = blocks.said(item.value.get("content"))
    if said.words.strip():
        actor = text.name(item.value.get("author"), item.who.agent)
        payload = item.who.made() | {"recipient": text.name(item.value.get("recipient"), "")}
        yield item.maker.message(item.id(0), item.at, ActorKind.AGENT, actor, said, payload=payload)


def _reasoning(item: Item) -> Iterator[Read]:
    words = "\n\n".join(found for found in _thoughts(item.value) if found.strip())
    if words:
        yield item.maker.thought(item.id(0), item.at, item.who.agent, words, payload=item.who.made())


def _thoughts(value: Mapping[str, Any]) -> Iterator[str]:
    """The thought itself, or its summary where that alone can be read."""
    content = [words for block in blocks.listed(value.get("content")) if (words := blocks.words_of(block))]
    yield from content or texts({"summary": value.get("summary")})


def _call(item: Item) -> Iterator[Read]:
    value, kind = item.value, item.kind
    tool = text.name(value.get("name"), "") or kind.removesuffix("_call")
    if space := text.name(value.get("namespace"), ""):
        tool = f"{space}.{tool}"
    call = text.name(value.get("call_id"), "") or text.name(value.get("id"), "")
    states = {key: value[key] for key in _STATES if value.get(key) is not None} if kind != "function_call" else {}
    yield item.maker.request(
        item.id(0), item.at, item.who.agent, tool, _arguments(value), call, payload=item.who.made() | states
    )
    result = value.get("result") if value.get("result") is not None else value.get("output")
    if result is not None:
        said = _image(result) or said_of(result)
        yield item.maker.response(item.id(1), item.at, said, call or item.id(0), block=1)


def _arguments(value: Mapping[str, Any]) -> Any:
    for key in ("arguments", "input", "action", "queries"):
        if value.get(key) is not None:
            return parsed(value[key])
    return {}


def parsed(given: Any) -> Any:
    """Return an object that stands as JSON in a string; anything else as it is."""
    if not isinstance(given, str) or not given.lstrip().startswith(("{", "[")):
        return given
    try:
        value, end = lines.parse(given.strip())
    except InvalidPayload:
        return given
    return value if end == len(given.strip()) else given


def _image(result: Any) -> Said | None:
    made = blocks.blob(result, "image/png") if isinstance(result, str) and len(result) > 100 else None
    if made is None:
        return None
    place = {"attachment": made.digest, "media_type": made.media_type, "size": len(made.data)}
    return Said(f"[{made.media_type}, {len(made.data)} bytes]", {"attachments": [place]}, (made,))


def _output(item: Item) -> Read:
    value = item.value
    said = said_of(value["output"] if "output" in value else value.get("tools"))
    call = text.name(value.get("call_id"), "") or text.name(value.get("id"), "")
    payload = dict(item.who.payload) | _spawned(said)
    return item.maker.response(item.id(0), item.at, said, call, tool=_tool_of(item, call), payload=payload or None)


def _tool_of(item: Item, call: str) -> str:
    named = text.name(item.value.get("name"), "")
    if call in item.maker.calls or not named:
        return ""
    return named


def said_of(output: Any) -> Said:
    """Return what a tool gave back: text, blocks, or either wrapped with what is told of the run."""
    if isinstance(output, list):
        return blocks.said(output)
    given = parsed(output)
    if isinstance(given, Mapping) and "metadata" in given and isinstance(given.get("output"), str | list):
        said, rest = blocks.said(given["output"]), {key: value for key, value in given.items() if key != "output"}
        return said._replace(payload=dict(said.payload) | rest)
    if isinstance(output, Mapping) and isinstance(output.get("content"), str | list):
        said, rest = blocks.said(output["content"]), {key: value for key, value in output.items() if key != "content"}
        return said._replace(payload=dict(said.payload) | rest)
    return said_of_plain(output)


def said_of_plain(output: Any) -> Said:
    """Return an output as it stands, a value that is neither text nor blocks as JSON."""
    if output is None:
        return Said("")
    return blocks.said(output) if isinstance(output, str | list) else Said(text.readable(output))


def _spawned(said: Said) -> dict[str, Any]:
    """Return the sub-agent that a result names: its session is the transcript of that id."""
    try:
        given = json.loads(said.words) if said.words.startswith('{"') and len(said.words) < 10_000 else None
    except (ValueError, RecursionError):
        return {}
    agent = given.get("agent_id") if isinstance(given, dict) else None
    return {"agent": {"id": agent}} if isinstance(agent, str) and canonical.unstorable(agent) is None else {}
