"""One message of a Gemini CLI session as events. Knows no file.

Guarantees: thoughts come before words, words before calls, a result behind its call; each has an id under
the message's, by its place or its call's id. A call's state stands on its result, for it changes. Human is
what a person typed: context put in by the client, a summary of the history, words to a sub-agent are not.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from chronicle.envelope import ActorKind
from chronicle.importers import blocks, text
from chronicle.importers.making import SUMMARY, Maker, Place, Said
from chronicle.importers.protocol import Read

HUMAN, AGENT, CLIENT, SUBAGENT = "user", "gemini", "gemini-cli", "subagent"
WRAPPERS = ("<session_context>", "<state_snapshot>", "<system_note>", "<hook_context>", "<user_memory>")
ENDED = ("success", "error", "cancelled")


@dataclass(slots=True)
class Message:
    """A message where it stands. `aside` in a sub-agent's session; `synthetic` where the client made it."""

    maker: Maker
    native: str
    number: int
    place: str
    value: dict[str, Any]
    aside: bool
    synthetic: bool
    block: int = -1

    def at(self, time: Any = None) -> Place:
        return Place(self.number, self.place, self.value.get("timestamp") if time is None else time)

    def next(self) -> int:
        self.block += 1
        return self.block

    @property
    def agent(self) -> str:
        return SUBAGENT if self.aside else AGENT

    def made(self) -> dict[str, Any]:
        """Return what every event that the agent made says of it."""
        found: dict[str, Any] = {"message": self.native}
        if model := text.name(self.value.get("model"), ""):
            found["model"] = model
        if self.aside:
            found["agent"] = {"id": self.maker.session}
        return found


def events(message: Message) -> Iterator[Read]:
    """Yield the events of a message."""
    for index, thought in enumerate(blocks.listed(message.value.get("thoughts"))):
        yield from _thought(message, index, thought)
    content = blocks.listed(message.value.get("content"))
    calls = [call for call in blocks.listed(message.value.get("toolCalls")) if isinstance(call, dict)]
    yield from _content(message, content)
    for index, call in enumerate(calls):
        yield from _call(message, f"{message.native}:call.{text.name(call.get('id'), str(index))}", call)
    met = {call.get("id") for call in calls if isinstance(call.get("id"), str)}
    for index, piece in enumerate(content):
        yield from _function(message, index, piece, met)


def _thought(message: Message, index: int, thought: Any) -> Iterator[Read]:
    if isinstance(thought, dict):
        words = "\n".join(
            thought[key] for key in ("subject", "description", "text") if isinstance(thought.get(key), str)
        )
        time = thought.get("timestamp")
    else:
        words, time = thought if isinstance(thought, str) else text.readable(thought), None
    if words.strip():
        native, block = f"{message.native}:thought.{index}", message.next()
        yield message.maker.thought(native, message.at(time), message.agent, words, block=block, payload=message.made())


def _content(message: Message, content: Any) -> Iterator[Read]:
    """The words of a message, with what it shows; its thoughts apart; its calls are told by themselves."""
    plain = [piece for piece in content if not _is_function(piece)]
    for index, piece in enumerate(plain):
        if _is_thought(piece):
            yield from _thought(message, 1000 + index, {"text": piece.get("text")})
    said = blocks.said([piece for piece in plain if not _is_thought(piece)])
    if not said.words.strip():
        return
    by, actor, type = _speaker(message, said.words)
    payload = message.made() if by is ActorKind.AGENT else _shown(message, said)
    native, block = f"{message.native}:said", message.next()
    yield message.maker.message(native, message.at(), by, actor, said, block=block, payload=payload, type=type)


def _is_thought(piece: Any) -> bool:
    return isinstance(piece, dict) and piece.get("thought") is True


def _is_function(piece: Any) -> bool:
    return isinstance(piece, dict) and ("functionCall" in piece or "functionResponse" in piece)


def _speaker(message: Message, words: str) -> tuple[ActorKind, str, str]:
    """Who says a message, and the type of its event."""
    kind = text.name(message.value.get("type"), "")
    if kind == "gemini":
        return ActorKind.AGENT, message.agent, ""
    if kind == "user" and (message.synthetic or words.lstrip().startswith(WRAPPERS)):
        return ActorKind.SYSTEM, CLIENT, SUMMARY if message.synthetic or "<state_snapshot>" in words else ""
    if kind == "user":
        return (ActorKind.AGENT, AGENT, "") if message.aside else (ActorKind.HUMAN, HUMAN, "")
    return ActorKind.SYSTEM, CLIENT, kind[:100]


def _shown(message: Message, said: Said) -> dict[str, Any] | None:
    """Return what a person saw of a message where it is not what the model was given."""
    shown = message.value.get("displayContent")
    words = blocks.said(shown).words if shown is not None else ""
    return {"displayed": words} if words and words != said.words else None


def _call(message: Message, native: str, call: dict[str, Any]) -> Iterator[Read]:
    tool, named = text.name(call.get("name"), "tool"), text.name(call.get("id"), "")
    yield message.maker.request(
        native, message.at(), message.agent, tool, call.get("args", {}), named,
        block=message.next(), payload=message.made(),
    )  # fmt: skip
    said = _result(call)
    if said is None:
        return
    payload: dict[str, Any] = {"status": call["status"]} if isinstance(call.get("status"), str) else {}
    if call.get("status") in ("error", "cancelled"):
        payload["is_error"] = True
    if agent := text.name(call.get("agentId"), ""):
        payload["agent"] = {"id": agent}
    block = message.next()
    yield message.maker.response(
        f"{native}.result", message.at(call.get("timestamp")), said, named or text.name(native, ""),
        block=block, payload=payload or None,
    )  # fmt: skip


def _result(call: dict[str, Any]) -> Said | None:
    """Return what a call gave, or None where it has not ended."""
    result = blocks.listed(call.get("result"))
    if result:
        return said_of(result)
    shown = call.get("resultDisplay")
    if shown:
        return Said(shown if isinstance(shown, str) else text.readable(shown))
    return Said("") if call.get("status") in ENDED else None


def said_of(result: Any) -> Said:
    """Return the parts of a result as words, images and files taken out."""
    pieces = []
    for piece in result:
        response = piece.get("functionResponse") if isinstance(piece, dict) else None
        if isinstance(response, dict):
            pieces.append(_answer(response.get("response")))
            pieces += blocks.listed(response.get("parts"))
        else:
            pieces.append(piece)
    return blocks.said(pieces)


def _answer(response: Any) -> str:
    if isinstance(response, dict) and len(response) == 1:
        value = next(iter(response.values()))
        return value if isinstance(value, str) else text.readable(value)
    return response if isinstance(response, str) else text.readable(response)


def _function(message: Message, index: int, piece: Any, met: set[Any]) -> Iterator[Read]:
    """A call or a result that stands among the words, where nothing else tells it."""
    if not isinstance(piece, dict):
        return
    native = f"{message.native}:part.{index}"
    called, answered = piece.get("functionCall"), piece.get("functionResponse")
    if isinstance(called, dict) and (named := text.name(called.get("id"), "")) not in met:
        if named in message.maker.calls:
            return
        yield message.maker.request(
            native, message.at(), message.agent, called.get("name"), called.get("args", {}), named,
            block=message.next(), payload=message.made(),
        )  # fmt: skip
    elif isinstance(answered, dict):
        named = text.name(answered.get("id"), "")
        waits = any(call.call == named for call in message.maker.unanswered)
        if waits or named not in message.maker.calls:
            tool = "" if named in message.maker.calls else text.name(answered.get("name"), "")
            block = message.next()
            yield message.maker.response(native, message.at(), said_of([piece]), named, tool=tool, block=block)
