"""Messages of OpenAI's chat completions, however they were kept: a list, objects, logs of requests, data sets.

Guarantees: a list is one session, read message by message; a log of requests that repeats what was before gives
each message once (see chat_sessions); JSON lines and arrays of conversations give a session each. A list with
blocks that Anthropic's API alone writes is not this format but `cline`; one whose elements have a `type` of
their own neither. A message has no id and no time: it is known by what it says. Refused: a line or element
that is no conversation.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from chronicle.importers import chat_messages, chat_records, chat_sessions, lines, openai_items, parts, text
from chronicle.importers.chat_records import Record
from chronicle.importers.chat_sessions import PLAIN, Sessions, Stream
from chronicle.importers.making import Place
from chronicle.importers.parts import Part
from chronicle.importers.protocol import Ignored, Item, Opened, Refused, Survey

ARRAYS = ("messages",)
LOOKED_AT = 200
NO_CONVERSATION = "neither a message nor a conversation"


class OpenAIChat:
    """The importer."""

    name: ClassVar[str] = "openai-chat"

    def sniff(self, opened: Opened) -> bool:
        """True where the head holds messages with roles and no mark of another format."""
        if _is_lines(opened):
            found = list(lines.first_documents(opened))
            if any(map(openai_items.is_specific, found)):
                return False
            return any(map(_is_chat, found)) or _is_chat(parts.head(opened))
        return _is_chat(parts.head(opened))

    def survey(self, opened: Opened) -> Survey:
        """Count the records; none of them is a summary."""
        if _is_lines(opened):
            return Survey(sum(1 for _ in lines.raw_lines(opened)))
        count = answers = 0
        for part in parts.parts(opened, *ARRAYS):
            count = part.record
            answers += part.is_header and _has_answer_behind(part.value)
        return Survey(count + answers)

    def read(self, opened: Opened) -> Iterator[Item]:
        """Yield the items of a file."""
        yield from _lines(opened) if _is_lines(opened) else _documents(opened)


def _is_chat(head: Any) -> bool:
    """True for a message, a conversation, or a list of either."""
    if isinstance(head, dict):
        return (_is_bare(head) and chat_records.message_of(head) is not None) or chat_records.record_of(
            head
        ) is not None
    given = [element for element in head if isinstance(element, dict | list)] if isinstance(head, list) else []
    if not given:
        return False
    if chat_records.message_of(given[0]) is not None:
        return all(map(_is_bare, given[:LOOKED_AT]))
    return chat_records.record_of(given[0]) is not None


def _is_bare(message: Any) -> bool:
    """True for what may stand in a list of this format."""
    return isinstance(message, dict) and "type" not in message and not chat_messages.is_anthropic(message) and not (
        {"extra", "message_type", "is_demo", "parts"} & message.keys()
    )  # fmt: skip


def _is_lines(opened: Opened) -> bool:
    """True where the first line is a whole object, so that each line stands for itself."""
    first = next((raw for raw in lines.raw_lines(opened) if raw.data.strip(b" \t\r\x00")), None)
    if first is None or first.length > lines.LINE_CAP or not first.data.lstrip().startswith(b"{"):
        return False
    return isinstance(next(lines.line_documents(first)).value, dict)


def _has_answer_behind(header: Any) -> bool:
    """True for an object whose messages stand in an array that is split, with an answer beside it."""
    record = chat_records.record_of(header)
    return (record is None or not record.messages) and chat_records.around(header).answer is not None


def _lines(opened: Opened) -> Iterator[Item]:
    """Read a file of lines: a conversation each, or a message each of one conversation."""
    sessions = Sessions()
    stream = Stream(sessions)
    for document in lines.documents(opened, lenient=True):
        if document.value is None or document.invalid is not None:
            for item in lines.said_of(document):
                yield from stream.put(item)
        if document.value is None:
            continue
        at = Place(document.line, document.place)
        if (record := chat_records.record_of(document.value)) is not None:
            yield from stream.end()
            yield from chat_sessions.conversation(sessions, record, at, PLAIN)
        elif (message := chat_records.message_of(document.value)) is not None:
            yield from stream.add(message, at)
        else:
            yield from stream.put(Refused(document.line, NO_CONVERSATION))
    yield from stream.end()
    yield from text.timeless(sessions.timeless)


@dataclass(slots=True)
class Documents:
    """Whole documents being read: the list that is open, and how many records answers have added."""

    sessions: Sessions
    stream: Stream
    around: Record | None = None
    prefix: str = ""
    document: int = 0
    added: int = 0
    last: int = 0

    def take(self, part: Part) -> Iterator[Item]:
        """Yield what one part gives."""
        if part.document != self.document:
            yield from self.close()
            self.stream, self.document = Stream(self.sessions), part.document
        part = part._replace(record=part.record + self.added)
        self.last = part.record
        if part.reason:
            yield from self.stream.refuse(part)
        elif part.is_header:
            yield from self._header(part)
        else:
            yield from self._element(part)

    def _header(self, part: Part) -> Iterator[Item]:
        """An object's other members: a conversation by themselves, or what stands around the messages."""
        at = Place(part.record, part.place)
        if (record := chat_records.record_of(part.value)) is not None and record.messages:
            yield from chat_sessions.conversation(self.sessions, record, at, PLAIN)
            return
        self.around, self.prefix = chat_records.around(part.value), part.place[:-1]
        self.stream.around = self.around
        if self.around.system is None:
            yield Ignored("header", part.record)
        else:
            yield from self.stream.add({"role": "system", "content": self.around.system}, at)

    def _element(self, part: Part) -> Iterator[Item]:
        at = Place(part.record, part.place)
        message = chat_records.message_of(part.value)
        if message is not None or part.path:
            yield from self.stream.add(part.value if message is None else message, at)
        elif (record := chat_records.record_of(part.value)) is not None:
            yield from chat_sessions.conversation(self.sessions, record, at, PLAIN)
        else:
            yield from self.stream.put(Refused(part.record, f"{part.place}: {NO_CONVERSATION}"))

    def close(self) -> Iterator[Item]:
        """End a document: the answer that it holds is a record of its own, behind the messages."""
        if self.around is not None and self.around.answer is not None:
            self.added, self.last = self.added + 1, self.last + 1
            at = Place(self.last, f"{self.prefix}{self.around.answer_at}", self.around.answered)
            yield from self.stream.add(self.around.answer, at, is_answer=True)
        yield from self.stream.end()
        self.around = None


def _documents(opened: Opened) -> Iterator[Item]:
    """Read whole documents: arrays of messages or of conversations, or objects with messages."""
    sessions = Sessions()
    reading = Documents(sessions, Stream(sessions))
    for part in parts.parts(opened, *ARRAYS):
        yield from reading.take(part)
    yield from reading.close()
    yield from text.timeless(sessions.timeless)


IMPORTERS = (OpenAIChat(),)
