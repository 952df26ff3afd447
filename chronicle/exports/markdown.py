"""A chronicle as plain Markdown: the sections in force with the events they cite, then the events word for word.

Guarantees: no text of a log is read as Markdown or HTML: names and prose are escaped, contents stand in fences
longer than any they hold; characters that show nothing are marks.
"""

import re
from collections.abc import Iterator

from chronicle.exports.taken import Taken
from chronicle.models import Event, Section
from chronicle.seal import moment
from chronicle.unseen import with_marks

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!<>|~&=:@$^\"'])")
_RUN = re.compile(r"`+")


def write(taken: Taken) -> Iterator[str]:
    """Yield the document in pieces."""
    log = taken.log
    yield f"# {escaped(log.title or log.public_id)}\n\n"
    yield f"Log {code(log.public_id)}, owner {code(log.owner)}, events {taken.from_seq} to {taken.to_seq} of "
    yield f"{log.last_seq}, head {code(log.head)}.\n\n## Chronicle\n\n"
    empty = True
    for section in taken.sections():
        empty = False
        yield from _section(section)
    yield "No section covers these events.\n\n" if empty else ""
    yield "## Events\n\n"
    for event in taken.events():
        yield from _event(event)


def _section(section: Section) -> Iterator[str]:
    anchor = section.anchor
    yield f"### {code(f'{anchor.ref}#{section.generation}')} {escaped(section.title)}\n\n"
    yield f"{escaped(section.origin)}, generated, over events {anchor.from_seq} to {anchor.to_seq}\n\n"
    yield "".join(f"> {escaped(line)}\n" for line in section.prose.splitlines()) + "\n"


def _event(event: Event) -> Iterator[str]:
    heard = f" · only for {code(event.audience)}" if event.audience else ""
    at = moment(event.claimed_at or event.at)
    yield f"### {event.seq} · {event.kind.replace('_', ' ')} · {event.actor_kind} {code(event.actor)} · {at}{heard}\n\n"
    if event.content:
        yield fenced(event.content) + "\n\n"


def escaped(text: str) -> str:
    """Return a text on one line in which nothing is Markdown."""
    return _SPECIAL.sub(r"\\\1", with_marks(" ".join(text.split("\n"))))


def code(text: str) -> str:
    """Return a name as a code span, whatever backticks it holds."""
    shown = with_marks(text).replace("\n", "␊")
    ticks = "`" * (max((len(run) for run in _RUN.findall(shown)), default=0) + 1)
    space = " " if "`" in shown else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def fenced(text: str) -> str:
    """Return a text in a fence longer than any run of backticks in it."""
    shown = with_marks(text)
    ticks = "`" * max(3, max((len(run) for run in _RUN.findall(shown)), default=0) + 1)
    return f"{ticks}text\n{shown}\n{ticks}"
