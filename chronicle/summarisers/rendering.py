"""A span, or the sections that a rollup reads, as the text that a model is given.

Guarantees: one block an event, oldest first, a tool's answer right under its request; every line that was
recorded begins with "| ", so nothing recorded can pose as a line of ours; of what tools were given and answered
past CUT characters the beginning and the end stand, and how much was left out. No id, seq or time: two fresh
databases with the same dialogue give the same text, and a time may be only this log's own.
A change in this module re-keys every draw: count SCHEME up with it.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from chronicle.envelope import ActorKind, Kind
from chronicle.summarisers.calls import ARGUMENT_KEYS, NAME_KEYS, object_of, states_error
from chronicle.summarisers.protocol import Child, Said, Span

SCHEME: Final = 1
CUT: Final = 4000
HEAD: Final = 3000
NAME: Final = 120
BAR: Final = "| "

WHO: Final = {ActorKind.HUMAN: "a person", ActorKind.AGENT: "an agent", ActorKind.SYSTEM: "the system"}


def blocks_of(span: Span) -> list[str]:
    """Return what was said, one text a message, thought or call, in order."""
    answers: dict[int, list[Said]] = {}
    for said in span.said:
        if said.answers is not None:
            answers.setdefault(said.answers, []).append(said)
    return [
        _block(said, answers.get(place, []))
        for place, said in enumerate(span.said)
        if said.kind != Kind.TOOL_RESPONSE or said.answers is None
    ]


def child_blocks(children: Sequence[Child]) -> list[str]:
    """Return sections as a rollup reads them, one text each, in order."""
    return [f"Section, titled {_name(child.title)}:\n{barred(child.prose)}" for child in children]


def story_block(story: Sequence[Child], room: int) -> str:
    """Return the story so far as context, the newest of it in `room` characters; "" without one."""
    told: list[str] = []
    for child in reversed(story):
        block = f"Earlier, titled {_name(child.title)}:\n{barred(child.prose)}"
        if (room := room - len(block)) < 0:
            break
        told.insert(0, block)
    return "\n\n".join(told)


def barred(text: str) -> str:
    """Return text with "| " before each of its lines, whatever ends a line in it."""
    return "\n".join(f"{BAR}{line}" for line in text.splitlines()) or BAR.rstrip()


def _block(said: Said, answers: Sequence[Said]) -> str:
    who = f"{_name(said.actor)}, {WHO.get(ActorKind(said.actor_kind), 'someone')},"
    if said.kind == Kind.TOOL_REQUEST:
        return f"{who} called a tool:\n{barred(_cut(_asked(said)))}\n{_answers(answers)}"
    if said.kind == Kind.TOOL_RESPONSE:
        return f"A tool answered a call made earlier:\n{barred(_cut(_given(said)))}"
    verb = "thought" if said.kind == Kind.THOUGHT else "said"
    return f"{who} {verb}:\n{barred(said.content if said.content.strip() else said.payload)}"


def _answers(answers: Sequence[Said]) -> str:
    return "\n".join(_answer(one) for one in answers) or "No answer to it was recorded here."


def _answer(answer: Said) -> str:
    failed = ", with an error" if states_error(answer) else ""
    return f"The tool answered{failed}:\n{barred(_cut(_given(answer)))}"


def _asked(said: Said) -> str:
    """The tool and what it was given: the content where it says that, else the payload."""
    payload = object_of(said.payload)
    tool = next((name for key in NAME_KEYS if isinstance(name := payload.get(key), str)), "")
    if said.content.strip() and said.content.strip() != tool:
        return said.content
    given = any(payload.get(key) for key in ARGUMENT_KEYS)
    return said.payload if given or not tool else tool


def _given(said: Said) -> str:
    return said.content if said.content.strip() else said.payload


def _cut(text: str) -> str:
    """Past CUT characters: the first HEAD, how many were left out, the last ones."""
    if len(text) <= CUT:
        return text
    tail = CUT - HEAD
    return f"{text[:HEAD]}\n[{len(text) - CUT:,} characters left out]\n{text[-tail:]}"


def _name(name: str) -> str:
    """A name on one line, in quotes, its own quotes made single: it was recorded, too."""
    line = " ".join(name.split()).replace('"', "'")
    return f'"{line if len(line) <= NAME else line[: NAME - 1] + "…"}"'


def joined(blocks: Iterable[str]) -> str:
    """Return blocks as one text."""
    return "\n\n".join(blocks)
