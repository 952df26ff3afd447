"""Which session a conversation belongs to, and which of its messages are new: for lists without any id.

Guarantees: a session is known by the id that the source states, else by its opening: the messages up to the
first answer that is unmistakable (a call with an id, or enough words), so that a longer list is the same
session whatever its file is called. A message is known by what it says and how often that stood before it in
its list: what a later request repeats is read once, what it adds is new. Two conversations of one file that
part after the same opening are two sessions. Memory: the last SESSIONS sessions are known, by digests.
"""

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from chronicle import canonical
from chronicle.importers import chat_messages, text
from chronicle.importers.chat_messages import Chat, Made
from chronicle.importers.chat_records import Record
from chronicle.importers.making import Maker, Place
from chronicle.importers.parts import Part
from chronicle.importers.protocol import Ignored, Item, Noted, Read, Refused, Session

SESSIONS = 1000
UNMISTAKABLE = 200  # characters that an opening holds, where no call has an id
ENOUGH = 40  # messages after which an opening ends anyway
BIG = 2_000_000  # characters after which it ends too: this much is held until the session is known
CALL_ID = 8
WHOLE_ID = 16  # characters from which on an id stands for itself, whatever file it is in
CUT = "context.cut"
_TAGS = re.compile(r"</?(?:task|feedback|user_message)>")  # what Cline puts around a person's words
NOTHING, PLAIN = Record(()), Made()


class Key(NamedTuple):
    """A message in its list: the digest of what it says, and which of its equals it is."""

    digest: str
    nth: int

    @property
    def native(self) -> str:
        return f"#{self.digest}.{self.nth}"


@dataclass(slots=True)
class Known:
    """A session of this file: its messages so far, by key, in order; and what its last request held."""

    chat: Chat
    path: dict[Key, None] = field(default_factory=dict)
    asked: set[Key] = field(default_factory=set)
    begun: bool = False
    titled: bool = False

    @property
    def session(self) -> str:
        return self.chat.maker.session


@dataclass(slots=True)
class Opening:
    """The beginning of a conversation, as far as it is needed to know it again."""

    digests: list[str] = field(default_factory=list)
    characters: int = 0
    size: int = 0
    asked: bool = False
    closed: bool = False

    def add(self, message: Any) -> None:
        """Take one more message, unless the opening is complete."""
        if self.closed:
            return
        self.digests.append(chat_messages.digest(message))
        role = str(message.get("role", "")).lower() if isinstance(message, dict) else ""
        length = len(str(message.get("content") or "")) if isinstance(message, dict) else 0
        self.size += length
        if role not in chat_messages.SYSTEM:
            self.characters += length
            self.asked = self.asked or role in chat_messages.HUMAN
        answered = role in chat_messages.AGENT and self.asked
        unmistakable = answered and (self.characters >= UNMISTAKABLE or _has_call_id(message))
        self.closed = unmistakable or len(self.digests) >= ENOUGH or self.size > BIG

    @property
    def id(self) -> str:
        return canonical.sha256("\n".join(self.digests).encode())[:32]


def _has_call_id(message: Mapping[str, Any]) -> bool:
    calls = message.get("tool_calls")
    return isinstance(calls, list) and any(
        isinstance(call, dict) and isinstance(call.get("id"), str) and len(call["id"]) >= CALL_ID for call in calls
    )


def _is_unmistakable(message: Mapping[str, Any]) -> bool:
    return _has_call_id(message) or len(str(message.get("content") or "")) >= UNMISTAKABLE


def opening_of(messages: Sequence[Any]) -> Opening:
    """Return the opening of a list of messages."""
    opening = Opening()
    for message in messages:
        if opening.closed:
            break
        opening.add(message)
    return opening


def keys_of(messages: Sequence[Any]) -> list[Key]:
    """Return the keys of a list of messages."""
    counts: dict[str, int] = {}
    return [_key(message, counts) for message in messages]


def _key(message: Any, counts: dict[str, int]) -> Key:
    digest = chat_messages.digest(message)
    counts[digest] = counts.get(digest, 0) + 1
    return Key(digest, counts[digest])


@dataclass(slots=True)
class Sessions:
    """The sessions of one file, the last used last. `ends` finds the one that a list goes on with."""

    known: OrderedDict[str, Known] = field(default_factory=OrderedDict)
    ends: OrderedDict[str, str] = field(default_factory=OrderedDict)
    given: OrderedDict[str, str] = field(default_factory=OrderedDict)  # a short id of the source → the session
    answers: OrderedDict[str, str] = field(default_factory=OrderedDict)  # an answer's digest → the session
    timeless: set[int] = field(default_factory=set)

    def named(self, session: str) -> Known:
        """Return a session by its id."""
        if session not in self.known:
            self.known[session] = Known(Chat(Maker(session, timeless=self.timeless)))
        self.known.move_to_end(session)
        _keep(self.known)
        return self.known[session]

    def of(self, record: Record, messages: Sequence[Any], keys: Sequence[Key]) -> Known:
        """Return the session of a record, which is a new one where it goes on with none."""
        if record.session:
            return self.named(self.id_of(record.session, messages))
        if (found := self._going_on(keys) or self._holding_on(record, keys)) is not None:
            return self.named(found)
        known = self.named(opening_of(messages).id)
        while not record.is_call and (parted := _parting(known.path, keys)) is not None:
            known = self.named(f"{known.session}.{parted.digest[:16]}")
        return known

    def id_of(self, given: str, messages: Sequence[Any]) -> str:
        """Return the id that a source states, with that of the opening where it is short: `7` is many sessions."""
        if len(given) >= WHOLE_ID:
            return given
        if given not in self.given:
            self.given[given] = f"{given}@{opening_of(messages).id[:16]}"
            _keep(self.given)
        return self.given[given]

    def _going_on(self, keys: Sequence[Key]) -> str | None:
        chain, found = "", None
        for key in keys:
            chain = _chained(chain, key)
            found = self.ends.get(chain, found)
        return found

    def _holding_on(self, record: Record, keys: Sequence[Key]) -> str | None:
        """Return the session whose answer a request still holds, where what was before that was cut."""
        held = (self.answers.get(key.digest) for key in reversed(keys[: len(record.messages)]))
        return next((session for session in held if session is not None), None) if record.is_call else None

    def ended(self, known: Known, record: Record, keys: Sequence[Key]) -> None:
        """Remember where a list of a session ended, and its answer where that is unmistakable."""
        if record.answer is not None and _is_unmistakable(record.answer):
            self.answers[keys[-1].digest] = known.session
            _keep(self.answers)
        chain = ""
        for key in keys:
            chain = _chained(chain, key)
        self.ends[chain] = known.session
        _keep(self.ends)


def _keep(some: OrderedDict[str, Any]) -> None:
    while len(some) > SESSIONS:
        some.popitem(last=False)


def _chained(chain: str, key: Key) -> str:
    return canonical.sha256(f"{chain}{key.native}".encode())[:32]


def _parting(path: Mapping[Key, None], keys: Sequence[Key]) -> Key | None:
    """Return the first message that stands where the session has another; None where one list goes on as the other."""
    return next((given for there, given in zip(path, keys, strict=False) if there != given), None)


def greet(known: Known, title: str = "") -> Iterator[Session]:
    """Yield a session where it begins."""
    if not known.begun:
        known.begun, known.titled = True, bool(title)
        yield Session(known.session, title)


def told(known: Known, key: Key, at: Place, message: Any, made: Made, within: str = "") -> Iterator[Item]:
    """Yield the events of one message, and the session's title with the first words of a person."""
    known.path[key] = None
    for read in chat_messages.events(known.chat, key.native, at, message, made, within):
        said = read.event
        if not known.titled and said.kind == "message" and (said.actor_kind == "human" or said.actor == made.human[1]):
            known.titled = True
            yield Session(known.session, text.first_line(_TAGS.sub("", said.content)))
        yield read


@dataclass(slots=True)
class Stream:
    """A list that is read message by message: held back until its opening says which session it is."""

    sessions: Sessions
    around: Record = NOTHING
    made: Made = PLAIN
    opening: Opening = field(default_factory=Opening)
    held: list[tuple[Any, Place, bool] | Item] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    known: Known | None = None

    def add(self, message: Any, at: Place, *, is_answer: bool = False) -> Iterator[Item]:
        """Take a message; yield what can be told by now."""
        self.opening.add(message)
        self.held.append((message, at, is_answer))
        if self.opening.closed:
            yield from self.end()

    def put(self, item: Item) -> Iterator[Item]:
        """Take what the report says of a record that is no message."""
        self.held.append(item)
        if self.opening.closed:
            yield from self.end()

    def refuse(self, part: Part) -> Iterator[Item]:
        """Take an element that was not read."""
        refused = Refused(part.record, f"{part.place}: {part.reason}", marked=False)
        yield from self.put(refused)

    def end(self) -> Iterator[Item]:
        """Yield what was held back."""
        if self.known is None and any(isinstance(one, tuple) for one in self.held):
            self.known = self._begin()
            yield from greet(self.known, self.around.title)
        for one in self.held:
            if isinstance(one, tuple) and self.known is not None:
                yield from self._message(self.known, *one)
            elif not isinstance(one, tuple):
                yield one
        self.held = []

    def _begin(self) -> Known:
        given, session = self.around.session, self.opening.id
        if given:
            session = given if len(given) >= WHOLE_ID else f"{given}@{session[:16]}"
        return self.sessions.named(session)

    def _message(self, known: Known, message: Any, at: Place, is_answer: bool) -> Iterator[Item]:
        if not isinstance(message, dict):
            yield Refused(at.record, f"{at.place}: not a message")
            return
        key = _key(message, self.counts)
        if key in known.path:
            yield Ignored("message that was there already", at.record)
            return
        around = self.around
        made = self.made._replace(
            model=around.model if is_answer or not around.is_call else "", usage=around.usage if is_answer else None
        )
        place = at._replace(time=chat_messages.time_of(message) or at.time)
        found = list(told(known, key, place, message, made))
        yield from found
        if not found:
            yield Ignored("message without content", at.record)


def conversation(sessions: Sessions, record: Record, at: Place, made: Made) -> Iterator[Item]:
    """Yield what one record adds to its session; `at` is where the record stands."""
    messages = [*record.messages, *([record.answer] if record.answer is not None else [])]
    keys = keys_of(messages)
    known = sessions.of(record, messages, keys)
    yield from greet(known, record.title)
    found = [*_cut(known, record, keys, at), *_new(known, record, messages, keys, at, made)]
    sessions.ended(known, record, keys)
    known.asked = set(keys[: len(record.messages)])
    yield from found
    if not any(isinstance(item, Read) for item in found):
        yield Ignored("request that adds nothing" if record.is_call else "conversation that adds nothing", at.record)
    if record.others:
        yield Noted(at.record, f"{record.others} other answers were offered; they are left out")


def _new(
    known: Known, record: Record, messages: Sequence[Any], keys: Sequence[Key], at: Place, made: Made
) -> Iterator[Item]:
    for index, (key, message) in enumerate(zip(keys, messages, strict=True)):
        if not isinstance(message, dict):
            yield Noted(at.record, f"{at.place}: message {index} is no object; it is left out")
        elif key not in known.path:
            answered = record.answered if index == len(record.messages) else None
            place = at._replace(time=chat_messages.time_of(message) or answered)
            yield from told(known, key, place, message, _made(record, made, index), f"{index}.")


def _made(record: Record, made: Made, index: int) -> Made:
    """The model that a record names made its answer; of a whole conversation, all that its agent said."""
    is_answer = index == len(record.messages)
    is_last = is_answer or (record.answer is None and index == len(record.messages) - 1)
    by_it = is_answer or not record.is_call
    return made._replace(model=record.model if by_it else "", usage=record.usage if by_it and is_last else None)


def _cut(known: Known, record: Record, keys: Sequence[Key], at: Place) -> Iterator[Item]:
    """Mark where a request no longer holds what the one before it held."""
    asked = set(keys[: len(record.messages)])
    lost = len(known.asked - asked) if record.is_call and asked else 0
    if not lost or (asked <= known.asked and record.answer is None):
        return
    words = f"{lost} message{'s' if lost > 1 else ''} of the request before are not in this one"
    native = f"#cut.{canonical.sha256(' '.join(key.native for key in keys).encode())[:32]}"
    yield known.chat.maker.marker(native, at._replace(time=None), "context", f"messages: {lost} fewer", type=CUT)
    yield Noted(at.record, words)
