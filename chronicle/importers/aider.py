"""Aider's chat history (`.aider.chat.history.md`): Markdown in which the first characters of a line say who speaks.

Guarantees: `# aider chat started at …` begins a session; a run of `#### ` lines is what the person typed, of
`> ` lines what the tool printed, anything else the answer; inside a code fence, and in a quotation within an
answer, those characters are the answer's own. A run is an event; its id is its number in the session, so that
one cut by the end of a snapshot grows. A session is known by its start and its first line, for many projects
have a file of this name. Only the start has a time, without a zone.
Left to the locator: the prefixes, and blanks around a run.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from io import BytesIO
from typing import Any, BinaryIO, ClassVar, cast

from chronicle import canonical
from chronicle.envelope import ActorKind
from chronicle.importers import lines, text
from chronicle.importers.making import Maker, Place
from chronicle.importers.protocol import Ignored, Item, Noted, Opened, Read, Refused, Session, Survey
from chronicle.importers.usage import Trailing

HUMAN, AGENT, CLIENT = "user", "assistant", "aider"
RUN_CAP = 4 * 1024 * 1024

_START = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*\Z")
_STARTED = re.compile(rb"^# aider chat started at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s*$", re.MULTILINE)
_TYPED = re.compile(rb"^#### .*  \r?$", re.MULTILINE)
_PRINTED = re.compile(rb"^> .*  \r?$", re.MULTILINE)
_EDITED = re.compile(rb"^> (Tokens: [\d.,]+k? sent|Applied edit to |Aider v\d)", re.MULTILINE)
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})([^`]*)\Z")
_MODEL = re.compile(r"^(?:Main model|Models?): ([^\s,]+)", re.MULTILINE)
_TOKENS = re.compile(r"Tokens: ([\d.,]+k?) sent,.*?([\d.,]+k?) received")
_NEVER = re.compile(rb"(?!)")


class By(StrEnum):
    """Who says a run."""

    TYPED = "typed"
    PRINTED = "printed"
    ANSWER = "answer"


@dataclass(slots=True)
class Run:
    """Lines that one says, from the first number to the last; blanks behind them wait to be part of it."""

    by: By
    first: int
    last: int
    said: list[str]
    blanks: int = 0
    size: int = 0


@dataclass(slots=True)
class Reading:
    """One file being read. `padded` where the tool's lines end in two spaces, as they are written."""

    padded: bool
    start: str = ""
    maker: Maker | None = None
    count: int = 0
    model: str = ""
    titled: bool = False
    fence: str = ""
    open: bool = False  # a printed text whose last line has not come
    run: Run | None = None
    met: dict[str, int] = field(default_factory=dict)
    timeless: set[int] = field(default_factory=set)
    flow: Trailing = field(default_factory=lambda: Trailing(before=False))


class Aider:
    """The importer."""

    name: ClassVar[str] = "aider"

    def sniff(self, opened: Opened) -> bool:
        """True where a line of the head starts a chat, or the head is lines as they stand within one."""
        head = _head(opened)
        if head.lstrip(lines.BLANK.encode()).startswith((b"{", b"[", b'"')):
            return False
        if _STARTED.search(head):
            return True
        return bool(_TYPED.search(head) and _PRINTED.search(head) and _EDITED.search(head))

    def survey(self, opened: Opened) -> Survey:
        """Count the lines; a history has no summaries."""
        return lines.survey(opened, _NEVER)

    def read(self, opened: Opened) -> Iterator[Item]:
        """Yield the items of a history. Raises BrokenFile only for what is not a regular file."""
        reading = Reading(padded=_PRINTED.search(_head(opened)) is not None)
        for item in _lines(reading, opened):
            yield from reading.flow.passing(item)
        yield from reading.flow.rest()
        yield from text.timeless(reading.timeless)


def _head(opened: Opened) -> bytes:
    with lines.utf8_of(cast("BinaryIO", BytesIO(opened.head)), len(opened.head)) as stream:
        return stream.read()


def _lines(reading: Reading, opened: Opened) -> Iterator[Item]:
    odd = 0
    for raw in lines.raw_lines(opened):
        if raw.length > lines.LINE_CAP:
            yield from _end(reading)
            yield Refused(raw.number, f"a line of {raw.length:,} bytes is over the limit of {lines.LINE_CAP:,}")
            continue
        words, invalid = lines.decode(raw.data)
        if invalid is not None and not odd:
            odd = raw.number
        yield from _line(reading, raw.number, words)
    yield from _end(reading)
    if odd:
        yield Noted(odd, "not UTF-8; the text is kept in escaped form")


def _line(reading: Reading, number: int, words: str) -> Iterator[Item]:
    if started := _START.match(words):
        yield from _end(reading)
        reading.start, reading.maker = started[1], None
        yield Ignored("start of a chat", number)
        return
    if not words.strip(lines.BLANK):
        yield from _blank(reading, number)
        return
    by = _by(reading, words)
    run = reading.run
    parted = run is not None and (run.by is not by or (run.blanks and not _goes_on(reading, by)) or run.size > RUN_CAP)
    if parted:
        yield from _end(reading)
    if reading.run is None:
        reading.run = Run(by, number, number, [])
    _add(reading, reading.run, number, words)


def _goes_on(reading: Reading, by: By) -> bool:
    """True where a blank does not end a run: an answer, and a printed text whose last line has not come."""
    return by is By.ANSWER or (by is By.PRINTED and reading.open)


def _blank(reading: Reading, number: int) -> Iterator[Item]:
    if reading.run is not None:
        reading.run.blanks += 1
    else:
        yield Ignored("blank line", number)


def _by(reading: Reading, words: str) -> By:
    """Who says a line, by its first characters and by what it stands in."""
    run = reading.run
    ends = words.endswith("  ")
    after_blank = run is None or run.blanks > 0
    if reading.fence and run is not None and run.by is By.ANSWER and not (reading.padded and ends and after_blank):
        return By.ANSWER
    if words.startswith("#### ") or words.rstrip() == "####":
        return By.TYPED
    if reading.open:
        return By.PRINTED
    if not (words.startswith("> ") or words.rstrip() == ">"):
        return By.ANSWER
    quoted = reading.padded and not ends and run is not None and run.by is By.ANSWER
    return By.ANSWER if quoted else By.PRINTED


def _add(reading: Reading, run: Run, number: int, words: str) -> None:
    run.said += [""] * run.blanks
    run.blanks, run.last = 0, number
    if run.by is By.ANSWER:
        reading.fence = _fenced(reading.fence, words)
        run.said.append(words)
    else:
        reading.fence = ""
        reading.open = run.by is By.PRINTED and reading.padded and not words.endswith("  ") and words.rstrip() != ">"
        prefix = "####" if run.by is By.TYPED else ">"
        run.said.append(words.removeprefix(prefix).removeprefix(" ").rstrip() if words.startswith(prefix) else words)
    run.size += len(words)


def _fenced(fence: str, words: str) -> str:
    """Return the fence that is open behind a line: "" for none."""
    found = _FENCE.match(words)
    if found is None:
        return fence
    if not fence:
        return found[1]
    closes = found[1][0] == fence[0] and len(found[1]) >= len(fence) and not found[2].strip()
    return "" if closes else fence


def _end(reading: Reading) -> Iterator[Item]:
    """A run is over: it becomes an event, and the blanks behind it are counted."""
    run, reading.run = reading.run, None
    reading.fence, reading.open = "", False
    if run is None:
        return
    yield from _session(reading, run)
    if reading.maker is not None:
        yield from _said(reading, reading.maker, run)
    for blank in range(1, run.blanks + 1):
        yield Ignored("blank line", run.last + blank)


def _session(reading: Reading, run: Run) -> Iterator[Session]:
    if reading.maker is not None:
        return
    digest = canonical.sha256(run.said[0].encode("utf-8", "surrogatepass"))[:12]
    name = f"{reading.start or 'a slice'} {digest}"
    reading.met[name] = reading.met.get(name, 0) + 1
    if reading.met[name] > 1:
        name = f"{name}.{reading.met[name]}"
    reading.maker, reading.count, reading.model, reading.titled = Maker(name), 0, "", False
    yield Session(name, f"Aider chat started {reading.start}" if reading.start else "")


def _said(reading: Reading, maker: Maker, run: Run) -> Iterator[Item]:
    words = "\n".join(run.said)
    place = f"{run.first}-{run.last}" if run.last > run.first else str(run.first)
    at = Place(run.first, place, reading.start if reading.start and not reading.count else None)
    reading.count += 1
    if run.by is By.TYPED and not reading.titled and (title := text.first_line(words)):
        reading.titled = True
        yield Session(maker.session, text.storable(title)[0])
    if run.by is By.PRINTED:
        _learn(reading, words)
    if words.strip() or run.by is By.PRINTED:
        yield _event(reading, maker, run, at, words)
        reading.timeless |= maker.timeless
    else:
        for number in range(run.first, run.last + 1):
            yield Ignored("nothing typed", number)


def _event(reading: Reading, maker: Maker, run: Run, at: Place, words: str) -> Read:
    native = str(reading.count)
    if run.by is By.PRINTED:
        return maker.response(native, at, words, tool=CLIENT)
    if run.by is By.TYPED:
        return maker.message(native, at, ActorKind.HUMAN, HUMAN, words)
    made: dict[str, Any] | None = {"model": reading.model} if reading.model else None
    return maker.message(native, at, ActorKind.AGENT, AGENT, words, payload=made)


def _learn(reading: Reading, words: str) -> None:
    """The model that the tool names, and the tokens it counted for the answer before."""
    if found := _MODEL.search(words):
        reading.model = text.name(found[1], "")
    for sent, received in _TOKENS.findall(words):
        reading.flow.counted({"input_tokens": _number(sent), "output_tokens": _number(received)})


def _number(shown: str) -> int | float:
    """Return a count as it is shown: `8,985` or `13k`."""
    plain = shown.rstrip("k").replace(",", "").strip(".") or "0"
    try:
        value = float(plain) * (1000 if shown.endswith("k") else 1)
    except ValueError:
        return 0
    return int(value) if value < 2**53 else 0


IMPORTERS = (Aider(),)
