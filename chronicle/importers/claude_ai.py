"""The data export of Claude.ai (`conversations.json`), and single conversations of its shape.

Guarantees: `content` is read and `text`, which repeats it, only where there is no content; calls and results
are joined by their ids, without ids by the tool's name and position; what was read out of an attached file is an
event of its own. Where a conversation names its current message, the path to it is read and other branches
are counted for the report; else all messages in their order. Refused: an element without messages.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from chronicle.envelope import ActorKind
from chronicle.importers import chat_messages, parts, text
from chronicle.importers.chat_messages import Chat, Made
from chronicle.importers.making import Maker, Place
from chronicle.importers.parts import Part
from chronicle.importers.protocol import Ignored, Item, Noted, Opened, Read, Refused, Session, Survey

MESSAGES = "chat_messages"
ATTACHED = "attachment"
_NOISE = ("token_budget", "flag")


class ClaudeAI:
    """The importer."""

    name: ClassVar[str] = "claude-ai"

    def sniff(self, opened: Opened) -> bool:
        """True for a conversation with an id and messages of senders, or an array of such."""
        head = parts.head(opened)
        given = head if isinstance(head, list) else [head]
        return any(isinstance(one, dict) and "uuid" in one and isinstance(one.get(MESSAGES), list) for one in given)

    def survey(self, opened: Opened) -> Survey:
        """Count the conversations."""
        return parts.survey(opened)

    def read(self, opened: Opened) -> Iterator[Item]:
        """Yield the items of an export."""
        timeless: set[int] = set()
        for part in parts.parts(opened):
            if part.reason:
                yield from parts.said_of(part)
            elif not isinstance(part.value, dict) or not isinstance(part.value.get(MESSAGES), list):
                yield Refused(part.record, f"{part.place}: no conversation with messages")
            else:
                yield from _conversation(part, timeless)
        yield from text.timeless(timeless)


def _conversation(part: Part, timeless: set[int]) -> Iterator[Item]:
    value = part.value
    id = text.name(value.get("uuid"), "") or f"conversation-{part.place}"
    name = value.get("name")
    title = text.storable(text.first_line(name))[0] if isinstance(name, str) else ""
    yield Session(id, title)
    chat, model = Chat(Maker(id, timeless=timeless)), text.name(value.get("model"), "")
    path = _path(value)
    found: list[Read] = []
    for index, message in enumerate(value[MESSAGES]):
        if not isinstance(message, dict):
            yield Noted(part.record, f"{part.place}: message {index} is no object; it is left out")
        elif path is None or message.get("uuid") in path:
            found += _events(chat, part, index, message, model)
    if not title and (first := next((read for read in found if read.event.actor_kind == ActorKind.HUMAN), None)):
        yield Session(id, text.first_line(first.event.content))
    yield from found
    if not found:
        yield Ignored("conversation without content", part.record)
    yield from _branches(part, id, value[MESSAGES], path)


def _path(value: Mapping[str, Any]) -> set[Any] | None:
    """Return the ids on the way to the current message; None where the export does not name it."""
    parents = {
        message.get("uuid"): message.get("parent_message_uuid")
        for message in value[MESSAGES]
        if isinstance(message, dict) and isinstance(message.get("uuid"), str)
    }
    at, path = value.get("current_leaf_message_uuid"), set[Any]()
    if not isinstance(at, str) or at not in parents:
        return None
    while isinstance(at, str) and at not in path:
        path.add(at)
        at = parents.get(at)
    return path


def _branches(part: Part, id: str, messages: Sequence[Any], path: set[Any] | None) -> Iterator[Noted]:
    given = [message for message in messages if isinstance(message, dict)]
    if path is not None:
        if left := sum(message.get("uuid") not in path for message in given):
            yield Noted(part.record, f"{text.storable(id)[0]}: {left} messages on other branches are left out")
        return
    parents = [parent for message in given if isinstance(parent := message.get("parent_message_uuid"), str)]
    if len(set(parents)) < len(parents):
        yield Noted(part.record, f"{text.storable(id)[0]}: it has branches, which stand in the order of the export")


def _events(chat: Chat, part: Part, index: int, message: Mapping[str, Any], model: str) -> Iterator[Read]:
    at = Place(part.record, part.place, message.get("created_at"))
    id = text.name(message.get("uuid"), "") or f"message-{index}"
    human = message.get("sender") in ("human", "user")
    role = "user" if human else "assistant" if message.get("sender") == "assistant" else str(message.get("sender"))
    said = {"role": role, "content": _content(message)}
    made = Made(model=model)
    found = list(chat_messages.events(chat, id, at, said, made, f"{index}."))
    if not found and isinstance(message.get("text"), str):
        found = list(chat_messages.events(chat, id, at, said | {"content": message["text"]}, made, f"{index}."))
    yield from found
    by = ActorKind.HUMAN if human else ActorKind.AGENT
    yield from _attached(chat, at, id, message, by, role, f"{index}.", len(found))


def _content(message: Mapping[str, Any]) -> list[Any]:
    given = message.get("content")
    listed = given if isinstance(given, list) else [given] if given else []
    return [block for block in listed if not (isinstance(block, dict) and block.get("type") in _NOISE)]


def _attached(
    chat: Chat, at: Place, id: str, message: Mapping[str, Any], by: ActorKind, actor: str, within: str, block: int
) -> Iterator[Read]:
    """What was attached: the text that was read out of a file, or its name alone."""
    names: set[str] = set()
    for key in ("attachments", "files", "files_v2"):
        given = message.get(key)
        for number, file in enumerate(given if isinstance(given, list) else ()):
            name = text.name(file.get("file_name") or file.get("file_uuid"), "file") if isinstance(file, dict) else ""
            if not name or name in names:
                continue
            names.add(name)
            read = file.get("extracted_content")
            kept = {field: value for field, value in file.items() if field != "extracted_content"}
            words = read if isinstance(read, str) and read.strip() else f"[{name}]"
            more: dict[str, Any] = {"type": ATTACHED, "payload": {"file": kept}, "block": f"{within}{block}"}
            yield chat.maker.message(f"{id}:{key}{number}", at, by, actor, words, **more)
            block += 1


IMPORTERS = (ClaudeAI(),)
