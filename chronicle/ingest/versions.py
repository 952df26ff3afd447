"""One id, several contents: what a source says under an id that the log holds with other words.

Guarantees: the first keeps the key; each other version has a key of its own behind it (`<key>~2`, `<key>~3+`),
where `+` says that it extends one that was there: its text goes on where that one ends, or its payload gained
something. A version is known by what it says, so the same one again is no new one. No source's id looks like one.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from chronicle import canonical
from chronicle.envelope import Kind, PendingEvent

SHOWN = 50  # versions of one id that are looked up at once, and that another may extend
MOST = 1000  # versions of one id that a log keeps
KEY = 290  # ten characters less than a key may have: a version's number stands behind it

# What an importer may learn elsewhere: a message's usage is stated by the last of its records, and the
# call that began a sub-agent by its parent's transcript.
MAY_DIFFER = {"usage", "agent"}

_SUFFIX = re.compile(r"~([1-9][0-9]{0,5})(\+?)$")


class Words(NamedTuple):
    """What a source says in an event. An escaped content and a plain one of the same letters are two texts."""

    content: str
    text_form: str
    payload: str
    audience: str


class Held(NamedTuple):
    """What stands under a key: in the log, or with seq 0 in the batch that is being written."""

    seq: int
    event_id: UUID
    kind: str
    words: Words


@dataclass(slots=True)
class Versions:
    """All that is known under one id, the first first."""

    all: list[Held]
    _met: dict[Words, Held] = field(default_factory=dict)
    _read: int = 0

    def saying(self, words: Words, kind: str) -> Held | None:
        """Return the version that says these words; else one that says these and more (of which this is an earlier)."""
        for held in self.all[self._read :]:
            self._met.setdefault(lasting(held.words), held)
        self._read = len(self.all)
        found = self._met.get(lasting(words))
        return found or next((held for held in self.all[-SHOWN:] if extends(words, held.words, kind)), None)

    def extended_by(self, words: Words, kind: str) -> Held | None:
        """Return the latest version that these words extend."""
        return next((held for held in reversed(self.all[-SHOWN:]) if extends(held.words, words, kind)), None)


class Key(NamedTuple):
    """A key taken apart: the key of the first version, which version it is, and whether it extends an earlier one."""

    first: str
    number: int = 1
    grown: bool = False


def keys(format: str, session: str, *, own: bool) -> Callable[[str], str]:
    """What makes a key of a native id: `<format>:<id>`; elsewhere than in its own log, the session before it."""
    prefix = f"{format}:{'' if own else f'{session}/'}"

    def key_of(native_id: str) -> str:
        key = prefix + no_version(native_id)
        return key if len(key) <= KEY else f"{key[: KEY - 65]}#{canonical.sha256(key.encode())}"

    return key_of


def key_of(first: str, number: int, *, grown: bool) -> str:
    """Return the key of a version after the first."""
    return f"{first}~{number}{'+' if grown else ''}"


def parsed(key: str) -> Key:
    """Take a key apart."""
    found = _SUFFIX.search(key)
    if found is None or found[1] == "1":
        return Key(key)
    return Key(key[: found.start()], int(found[1]), bool(found[2]))


def no_version(native_id: str) -> str:
    """Return a source's id in a form that is the key of no version."""
    return f"{native_id}~1" if _SUFFIX.search(native_id) else native_id


def keys_of(first: str, start: int = 2, stop: int = SHOWN + 1) -> list[str]:
    """Return the keys that versions `start` to `stop` - 1 may stand under."""
    return [key_of(first, number, grown=grown) for number in range(start, stop) for grown in (False, True)]


def words_of(event: PendingEvent) -> Words:
    """Return what an event says, as it would be stored."""
    payload = "" if event.payload is None else canonical.dump(event.payload)
    audience = canonical.dump(list(event.audience)) if event.audience else ""
    return Words(event.content, event.text_form, payload, audience)


def lasting(words: Words) -> Words:
    """Return what of these words must be the same: what is learnt elsewhere may improve, and so may kind and actor."""
    if not any(f'"{name}"' in words.payload for name in MAY_DIFFER):
        return words
    return words._replace(payload=canonical.dump(_lasting(words.payload)))


def extends(earlier: Words, later: Words, kind: str) -> bool:
    """True when `later` says all that `earlier` says, and more.

    The content of a tool request shows its payload, so there the payload decides.
    """
    if (earlier.text_form, earlier.audience) != (later.text_form, later.audience):
        return False
    if kind != Kind.TOOL_REQUEST and not later.content.startswith(earlier.content):
        return False
    return _gained(_lasting(earlier.payload), _lasting(later.payload))


def _lasting(payload: str) -> dict[str, Any]:
    given = canonical.parse(payload) if payload else {}
    return {key: value for key, value in given.items() if key not in MAY_DIFFER}


def _gained(earlier: Any, later: Any) -> bool:
    """True for the same value or one that has more: more keys, a longer list, a text that goes on."""
    match earlier, later:
        case dict(), dict():
            return all(key in later and _gained(value, later[key]) for key, value in earlier.items())
        case list(), list():
            return len(earlier) <= len(later) and all(map(_gained, earlier, later))
        case str(), str():
            return later.startswith(earlier)
        case None, _:
            return True
        case _:
            return type(earlier) is type(later) and bool(earlier == later)
