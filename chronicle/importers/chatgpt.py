"""ChatGPT's data export (`conversations.json`), and single conversations of its shape.

Guarantees: a conversation is the path from its root to `current_node`, in that order, whatever the order of its
mapping; other branches (edits, regenerations) are counted for the report. There are no call ids: what a tool
says is joined to the request that its parent is. Human is what a person typed: hidden nodes and the user's
profile are system. Images and files are pointers in the export: they are named, for their bytes are not there.
An event's block is its node's place in the mapping. Refused: an element without a mapping.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from chronicle.envelope import ActorKind
from chronicle.importers import blocks, parts, text
from chronicle.importers.making import Maker, Place, Said, arguments
from chronicle.importers.parts import Part
from chronicle.importers.protocol import Ignored, Item, Noted, Opened, Read, Refused, Session, Survey

HUMAN, AGENT = "user", "assistant"
CONTEXT = ("user_editable_context", "model_editable_context")
WORDS = ("text", "content", "result", "summary", "title", "user_profile", "user_instructions", "model_set_context")


class Node(NamedTuple):
    """A message on the path: its node's id, its place in the mapping, the id of its parent."""

    id: str
    position: int
    parent: str
    message: Mapping[str, Any]


@dataclass(slots=True)
class Talk:
    """A conversation being read. `calls` are the call ids of requests and of what answered them, by node."""

    maker: Maker
    part: Part
    calls: dict[str, str] = field(default_factory=dict)


class ChatGPT:
    """The importer."""

    name: ClassVar[str] = "chatgpt"

    def sniff(self, opened: Opened) -> bool:
        """True for a conversation with a mapping of nodes, or an array of such."""
        head = parts.head(opened)
        first = next((one for one in head if isinstance(one, dict)), None) if isinstance(head, list) else head
        return isinstance(first, dict) and _is_mapping(first.get("mapping"))

    def survey(self, opened: Opened) -> Survey:
        """Count the conversations."""
        return parts.survey(opened)

    def read(self, opened: Opened) -> Iterator[Item]:
        """Yield the items of an export."""
        timeless: set[int] = set()
        for part in parts.parts(opened):
            if part.reason:
                yield from parts.said_of(part)
            elif not isinstance(part.value, dict) or not isinstance(part.value.get("mapping"), dict):
                yield Refused(part.record, f"{part.place}: no conversation with a mapping")
            else:
                yield from _conversation(part, timeless)
        yield from text.timeless(timeless)


def _is_mapping(given: Any) -> bool:
    """True for nodes that name their parents and children; the head of a file may hold the first alone."""
    if not isinstance(given, dict):
        return False
    first = next(iter(given.values()), None)
    return isinstance(first, dict) and bool({"message", "parent", "children"} & first.keys())


def _conversation(part: Part, timeless: set[int]) -> Iterator[Item]:
    value = part.value
    id = text.name(value.get("conversation_id") or value.get("id"), "") or f"conversation-{part.place}"
    title = value.get("title")
    yield Session(id, text.storable(text.first_line(title))[0] if isinstance(title, str) else "")
    talk = Talk(Maker(id, timeless=timeless), part)
    path = list(_path(value))
    found = [read for node in path for read in _events(talk, node)]
    first = next((read.event.content for read in found if read.event.actor_kind == ActorKind.HUMAN), "")
    if first and not (isinstance(title, str) and title.strip()):
        yield Session(id, text.first_line(first))
    yield from found
    if not found:
        yield Ignored("conversation without content", part.record)
    if left := _with_message(value["mapping"]) - len(path):
        words = f"{left} message{'s' if left > 1 else ''} on other branches {'are' if left > 1 else 'is'} left out"
        yield Noted(part.record, f"{text.storable(id)[0]}: {words}")


def _with_message(mapping: Mapping[str, Any]) -> int:
    return sum(isinstance(node, dict) and isinstance(node.get("message"), dict) for node in mapping.values())


def _path(value: Mapping[str, Any]) -> Iterator[Node]:
    """Yield the nodes with messages from the root to the current one."""
    mapping = value["mapping"]
    places = {id: index for index, id in enumerate(mapping)}
    met: list[str] = []
    at = value.get("current_node")
    if not isinstance(at, str) or at not in mapping:
        at = _last_leaf(mapping)
    seen: set[str] = set()
    while isinstance(at, str) and at in mapping and at not in seen:
        seen.add(at)
        met.append(at)
        at = mapping[at].get("parent") if isinstance(mapping[at], dict) else None
    for id in reversed(met):
        node = mapping[id]
        if isinstance(node, dict) and isinstance(node.get("message"), dict):
            yield Node(id, places[id], str(node.get("parent")), node["message"])


def _last_leaf(mapping: Mapping[str, Any]) -> str | None:
    """Return the last node without children, where the export names no current one."""
    leaves = [id for id, node in mapping.items() if isinstance(node, dict) and not node.get("children")]
    return leaves[-1] if leaves else None


def _object(given: Any) -> Mapping[str, Any]:
    return given if isinstance(given, dict) else {}


def _events(talk: Talk, node: Node) -> Iterator[Read]:
    message = node.message
    at = Place(talk.part.record, talk.part.place, message.get("create_time"))
    id = text.name(message.get("id"), "") or text.name(node.id, "node")
    author, content = _object(message.get("author")), _object(message.get("content"))
    more: dict[str, Any] = {"payload": _payload(message), "block": f"{node.position}.0"}
    role, recipient = author.get("role"), text.name(message.get("recipient"), "all")
    if content.get("content_type") == "thoughts":
        yield from _thoughts(talk, id, at, node, content, more)
        return
    said = _said(content, message)
    if role == AGENT and recipient != "all":
        yield talk.maker.request(f"{id}:0", at, AGENT, recipient, arguments(said.words), **more)
        talk.calls[node.id] = text.name(f"{id}:0", "")
    elif role == "tool":
        talk.calls[node.id] = call = talk.calls.get(node.parent, "")
        if said.words.strip() or call:
            yield talk.maker.response(f"{id}:0", at, said, call, tool=text.name(author.get("name"), ""), **more)
    elif said.words.strip():
        yield _spoken(talk, id, at, said, author, content, more)


def _spoken(
    talk: Talk,
    id: str,
    at: Place,
    said: Said,
    author: Mapping[str, Any],
    content: Mapping[str, Any],
    more: dict[str, Any],
) -> Read:
    role, kind = text.name(author.get("role"), "unknown"), content.get("content_type")
    if role == AGENT and kind == "reasoning_recap":
        return talk.maker.thought(f"{id}:0", at, AGENT, said, type="reasoning_recap", **more)
    if role == AGENT:
        return talk.maker.message(f"{id}:0", at, ActorKind.AGENT, text.name(author.get("name"), AGENT), said, **more)
    typed = role == HUMAN and kind not in CONTEXT and not more["payload"].get("hidden")
    actor = text.name(author.get("name"), HUMAN) if typed else "system"
    type = "" if typed or role == "system" else text.name(kind, "context")[:100]
    by = ActorKind.HUMAN if typed else ActorKind.SYSTEM
    return talk.maker.message(f"{id}:0", at, by, actor, said, type="" if type == "text" else type, **more)


def _thoughts(
    talk: Talk, id: str, at: Place, node: Node, content: Mapping[str, Any], more: dict[str, Any]
) -> Iterator[Read]:
    given = content.get("thoughts")
    for index, thought in enumerate(given if isinstance(given, list) else ()):
        told = _object(thought)
        found = [told[key] for key in ("summary", "content") if isinstance(told.get(key), str)]
        words = "\n".join(filter(None, found))
        if words.strip():
            block = more | {"block": f"{node.position}.{index}"}
            yield talk.maker.thought(f"{id}:{index}", at, AGENT, words, **block)


def _payload(message: Mapping[str, Any]) -> dict[str, Any]:
    metadata = _object(message.get("metadata"))
    kept: dict[str, Any] = {}
    if isinstance(metadata.get("model_slug"), str):
        kept["model"] = metadata["model_slug"]
    if metadata.get("is_visually_hidden_from_conversation") is True:
        kept["hidden"] = True
    if metadata.get("attachments"):
        kept["files"] = metadata["attachments"]
    return kept


def _said(content: Mapping[str, Any], message: Mapping[str, Any]) -> Said:
    """Return what a content of any type says: its parts, else the texts that it has."""
    given = content.get("parts")
    if isinstance(given, list):
        return blocks.said([_shown(part) for part in given if part not in ("", None)])
    found = [content[key] for key in WORDS if isinstance(content.get(key), str) and content[key].strip()]
    return Said("\n".join(found) if found else text.readable(dict(content)) if _is_odd(content) else "")


def _is_odd(content: Mapping[str, Any]) -> bool:
    """True for a content of a type that is not known here and has more than empty texts."""
    known = ("content_type", "language", *WORDS)
    return any(value not in ("", None, [], {}) for key, value in content.items() if key not in known)


def _shown(part: Any) -> Any:
    """Return a part as a block: a pointer to an image or sound is named by its kind and where it points."""
    if not isinstance(part, dict):
        return part
    kind, pointer = text.name(part.get("content_type"), "block"), part.get("asset_pointer")
    if isinstance(part.get("text"), str):
        return part["text"]
    return part | {"type": kind} | ({"url": pointer} if isinstance(pointer, str) else {})


IMPORTERS = (ChatGPT(),)
