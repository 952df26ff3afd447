"""Letta's agent files (`.af`): each agent's messages are a session; the older file of one agent too.

Guarantees: order is the list's; what a user typed is human, alerts, logins and heartbeats in the same envelope are
system; `send_message` is the agent's visible reply, a message beside its request; what an agent says beside such a
call is a thought. Ids of a file are its own (`message-0` is in every file): a message is known by its time and its
words, an agent by its name and its first message. A summary of hidden messages is a section; messages that are no
longer in the context are marked. Nothing of tools' source code, secrets or memory blocks is read. Refused: an
agent without messages.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from chronicle import canonical
from chronicle.envelope import ActorKind
from chronicle.importers import blocks, chat_messages, parts, text
from chronicle.importers.making import SUMMARY, Maker, Place, Said, arguments
from chronicle.importers.parts import Part
from chronicle.importers.protocol import (
    Ignored,
    Item,
    Noted,
    Opened,
    Read,
    ReadSection,
    Refused,
    Session,
    Survey,
)

AGENTS = "agents"
SAYS = "send_message"
HUMAN, SYSTEM = "user", "letta"
IN_CONTEXT = "in_context_message_ids"
_HIDDEN = "prior messages"
_MONOLOGUE = ("memgpt", "sleeptime")


@dataclass(slots=True)
class Agent:
    """An agent being read."""

    maker: Maker
    part: Part
    name: str
    thinks_aloud: bool = False  # what it says beside a call is a thought
    summaries: int = 0
    counts: dict[str, int] = field(default_factory=dict)


class Letta:
    """The importer."""

    name: ClassVar[str] = "letta"

    def sniff(self, opened: Opened) -> bool:
        """True for agents with messages and what they run on, or the older single agent."""
        head = parts.head(opened)
        if not isinstance(head, dict):
            return False
        if isinstance(given := head.get(AGENTS), list):
            first = next((one for one in given if isinstance(one, dict)), {})
            return bool({IN_CONTEXT, "agent_type", "llm_config"} & first.keys())
        return _is_old(head)

    def survey(self, opened: Opened) -> Survey:
        """Count the agents, and find the last with a summary of hidden messages."""
        return parts.survey(opened, AGENTS, summary=re.compile(_HIDDEN.encode()))

    def read(self, opened: Opened) -> Iterator[Item]:
        """Yield the items of a file."""
        timeless: set[int] = set()
        for part in parts.parts(opened, AGENTS):
            if part.reason or (part.is_header and not _is_old(part.value)):
                yield from parts.said_of(part)
            elif not isinstance(part.value, dict) or not isinstance(part.value.get("messages"), list):
                yield Refused(part.record, f"{part.place}: no agent with messages")
            else:
                yield from _agent(part, timeless)
        yield from text.timeless(timeless)


def _is_old(value: Any) -> bool:
    """True for the file of one agent, as it was before files held several."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("messages"), list)
        and "llm_config" in value
        and bool({"core_memory", "agent_type", "in_context_message_indices"} & value.keys())
    )


def _agent(part: Part, timeless: set[int]) -> Iterator[Item]:
    value = part.value
    messages = value["messages"]
    given = [message for message in messages if isinstance(message, dict)]
    name = text.name(value.get("name"), "agent")
    maker = Maker(text.name(f"{name}@{_beginning(given)}", "agent"), timeless=timeless)
    agent = Agent(maker, part, name, str(value.get("agent_type")).startswith(_MONOLOGUE))
    yield Session(maker.session, text.storable(text.first_line(name))[0])
    found = [item for index, message in enumerate(messages) for item in _message(agent, index, message)]
    yield from found
    marked = list(_evicted(agent, value, messages))
    yield from marked
    if not any(isinstance(item, Read) for item in [*found, *marked]):
        yield Ignored("agent without messages", part.record)


def _beginning(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return a name for the first message that is not the system's, which changes with the agent's memory."""
    first = next((message for message in messages if message.get("role") != "system"), None)
    first = first or next(iter(messages), {})
    return canonical.sha256(_identity(first).encode("utf-8", "surrogatepass"))[:16]


def _identity(message: Mapping[str, Any]) -> str:
    return f"{message.get('created_at')} {chat_messages.identity(message)}"


def _message(agent: Agent, index: int, message: Any) -> Iterator[Item]:
    part = agent.part
    if not isinstance(message, dict):
        yield Noted(part.record, f"{part.place}: message {index} is no object; it is left out")
        return
    before = agent.maker.last
    digest = canonical.sha256(_identity(message).encode("utf-8", "surrogatepass"))[:32]
    agent.counts[digest] = agent.counts.get(digest, 0) + 1
    native, at = f"#{digest}.{agent.counts[digest]}", Place(part.record, part.place, message.get("created_at"))
    for read in _events(agent, native, at, message, str(index)):
        summarises = bool(before) and read.event.type == SUMMARY
        if summarises:
            title = text.first_line(read.event.content)
            yield agent.maker.marker(f"{native}:compaction", at, SYSTEM, title, block=f"{index}.1")
        yield read
        if summarises:
            agent.summaries += 1
            yield _section(agent, read, f"{native}:compaction")


def _section(agent: Agent, read: Read, before: str) -> ReadSection:
    prose = read.event.content
    return ReadSection(
        agent.maker.session,
        before,
        prose,
        read.line,
        title=text.first_line(prose),
        rolling=agent.summaries > 1,
    )


def _events(agent: Agent, native: str, at: Place, message: Mapping[str, Any], index: str) -> Iterator[Read]:
    role, number = message.get("role"), 0

    def more() -> dict[str, Any]:
        nonlocal number
        number += 1
        return {"block": f"{index}.{number - 1}"}

    said = _said(message.get("content"))
    if role == "user":
        yield _from_outside(agent, native, at, said, text.name(message.get("name"), HUMAN), more())
    elif role in ("tool", "function"):
        yield from _returned(agent, native, at, message, said, more)
    elif role in ("assistant", "approval"):
        yield from _thoughts(agent, native, at, message, more)
        yield from _of_agent(agent, native, at, message, said, more)
    elif said.words.strip():
        yield agent.maker.message(f"{native}:0", at, ActorKind.SYSTEM, text.name(role, "system"), said, **more())


def _said(content: Any) -> Said:
    """Return a content without its thoughts, which are told apart."""
    return blocks.said([block for block in blocks.listed(content) if not _is_thought(block)])


def _is_thought(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in (
        "reasoning", "redacted_reasoning", "omitted_reasoning", "summarized_reasoning",
    )  # fmt: skip


def _thoughts(agent: Agent, native: str, at: Place, message: Mapping[str, Any], more: Any) -> Iterator[Read]:
    for position, block in enumerate(blocks.listed(message.get("content"))):
        words = block.get("reasoning") if _is_thought(block) else None
        if isinstance(words, str) and words.strip():
            yield agent.maker.thought(f"{native}:r{position}", at, agent.name, words, **more())


def _from_outside(agent: Agent, native: str, at: Place, said: Said, actor: str, more: dict[str, Any]) -> Read:
    """What came as a user's message: an envelope says whether a person typed it."""
    envelope = arguments(said.words)
    kind = envelope.get("type") if isinstance(envelope, dict) else None
    told = envelope.get("message") if isinstance(envelope, dict) else None
    if not isinstance(kind, str):
        return agent.maker.message(f"{native}:0", at, ActorKind.HUMAN, actor, said, **more)
    kept = {key: value for key, value in envelope.items() if key not in ("message", "type")}
    words = Said(told if isinstance(told, str) else said.words, dict(said.payload) | {"envelope": kept} if kept else {})
    if kind == "user_message":
        return agent.maker.message(
            f"{native}:0", at, ActorKind.HUMAN, text.name(envelope.get("name"), actor), words, **more
        )
    hides = isinstance(told, str) and _HIDDEN in told and "summary" in told
    type = SUMMARY if hides else text.name(kind, "alert")[:100]
    return agent.maker.message(f"{native}:0", at, ActorKind.SYSTEM, SYSTEM, words, type=type, **more)


def _returned(
    agent: Agent, native: str, at: Place, message: Mapping[str, Any], said: Said, more: Any
) -> Iterator[Read]:
    """What tools returned: several in one message where they were called in parallel."""
    given = message.get("tool_returns")
    returns = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    if len(returns) < 2:
        status = {"status": returns[0]["status"]} if returns and isinstance(returns[0].get("status"), str) else {}
        call = message.get("tool_call_id") or (returns[0].get("tool_call_id") if returns else "")
        name = message.get("name")
        yield agent.maker.response(f"{native}:0", at, said, call, tool=name, payload=status, **more())
        return
    for position, one in enumerate(returns):
        words = one.get("func_response")
        told = Said(words if isinstance(words, str) else text.readable(words), {"status": one.get("status")})
        yield agent.maker.response(f"{native}:{position}", at, told, one.get("tool_call_id"), **more())


def _of_agent(
    agent: Agent, native: str, at: Place, message: Mapping[str, Any], said: Said, more: Any
) -> Iterator[Read]:
    given = message.get("tool_calls")
    calls = [call for call in given if isinstance(call, dict)] if isinstance(given, list) else []
    model = {"model": message["model"]} if isinstance(message.get("model"), str) else {}
    if message.get("role") == "approval" and not calls:
        yield _approval(agent, native, at, message, said, more())
        return
    if said.words.strip():
        aside = calls and (agent.thinks_aloud or any(_function(call).get("name") == SAYS for call in calls))
        if aside:
            yield agent.maker.thought(f"{native}:0", at, agent.name, said, payload=model, **more())
        else:
            yield agent.maker.message(f"{native}:0", at, ActorKind.AGENT, agent.name, said, payload=model, **more())
    for position, call in enumerate(calls):
        yield from _call(agent, f"{native}:c{position}", at, call, model, more)


def _function(call: Mapping[str, Any]) -> Mapping[str, Any]:
    given = call.get("function")
    return given if isinstance(given, dict) else call


def _call(
    agent: Agent, native: str, at: Place, call: Mapping[str, Any], model: dict[str, Any], more: Any
) -> Iterator[Read]:
    function = _function(call)
    asked = arguments(function.get("arguments"))
    yield agent.maker.request(
        native, at, agent.name, function.get("name"), asked, call.get("id"), payload=model, **more()
    )
    words = asked.get("message") if isinstance(asked, dict) and function.get("name") == SAYS else None
    if isinstance(words, str) and words.strip():
        yield agent.maker.message(f"{native}.said", at, ActorKind.AGENT, agent.name, words, payload=model, **more())


def _approval(
    agent: Agent, native: str, at: Place, message: Mapping[str, Any], said: Said, more: dict[str, Any]
) -> Read:
    """A person's answer to a request for approval."""
    kept = {key: message[key] for key in ("approve", "denial_reason", "approvals") if message.get(key) is not None}
    reason = message.get("denial_reason")
    words = (
        said.words or (reason if isinstance(reason, str) else "") or f"approve {text.readable(message.get('approve'))}"
    )
    return agent.maker.message(f"{native}:0", at, ActorKind.HUMAN, HUMAN, words, type="approval", payload=kept, **more)


def _evicted(agent: Agent, value: Mapping[str, Any], messages: Sequence[Any]) -> Iterator[Read]:
    """Mark, at the end, that the context holds only some of the messages: when they left it is not written."""
    given = value.get(IN_CONTEXT)
    if not isinstance(given, list) or not given:
        return
    kept = {id for id in given if isinstance(id, str)}
    left = [message["id"] for message in messages if isinstance(message, dict) and isinstance(message.get("id"), str)]
    out = [id for id in left if id not in kept]
    if not out:
        return
    native = f"#evicted.{canonical.sha256(agent.maker.last.encode())[:16]}.{len(out)}"
    at = Place(agent.part.record, agent.part.place)
    words = f"{IN_CONTEXT}: {len(left) - len(out)} of {len(left)}"
    payload = {"evicted": len(out), "in_context": len(left) - len(out)}
    yield agent.maker.marker(native, at, SYSTEM, words, payload=payload, block=f"{len(messages)}.0")


IMPORTERS = (Letta(),)
