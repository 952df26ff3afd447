"""Trajectories of SWE-agent (`.traj`) and mini-swe-agent: the history of one run, in one JSON document.

Guarantees: the history is read, the steps of `trajectory` that repeat it are ignored by kind (where there
is no history they are read); the task is a human's, what else comes as "user" is an observation; an
observation is joined to its action by call id, else by position; demonstrations are no part of the run.
A run has no id: its session is the digest of its beginning, up to the agent's first words. No times but
those of mini-swe-agent. Refuses: an element that is no message, by its place.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from chronicle.envelope import ActorKind
from chronicle.importers import blocks, parts, text
from chronicle.importers.making import Maker, Place, arguments
from chronicle.importers.parts import Part
from chronicle.importers.protocol import Ignored, Item, Noted, Opened, Read, Refused, Session, Survey

AGENT, MINI, HUMAN, SHELL = "swe-agent", "mini-swe-agent", "user", "bash"
ARRAYS = ("history", "trajectory", "messages")
_FENCED = re.compile(r"```(?:bash|mswea_bash_command|sh)?[ \t]*\n(.*?)\n?```", re.DOTALL)


@dataclass(slots=True)
class Run:
    """What is known of the run before its messages are read again."""

    array: str
    begins: Any = field(default_factory=hashlib.sha256)  # over the records before the agent's first words
    begun: bool = False
    last_said: int = 0  # the record of the agent's last words
    stats: dict[str, Any] = field(default_factory=dict)
    agent: str = AGENT
    by: ActorKind = ActorKind.AGENT
    task: str = ""

    @property
    def session(self) -> str:
        digest: str = self.begins.hexdigest()
        return digest[:32]


class SweAgent:
    """The importer."""

    name: ClassVar[str] = "swe-agent"

    def sniff(self, opened: Opened) -> bool:
        """True for an object with a history of roles beside a trajectory, or one of mini-swe-agent."""
        head = parts.head(opened)
        if not isinstance(head, dict):
            return False
        if isinstance(head.get("trajectory"), list) and ("environment" in head or "history" in head or "info" in head):
            return all(
                isinstance(step, dict) and {"action", "observation"} & step.keys() for step in head["trajectory"][:1]
            )
        if isinstance(head.get("history"), list) and ("environment" in head or "replay_config" in head):
            return True
        return _is_mini(head) and isinstance(head.get("messages"), list)

    def survey(self, opened: Opened) -> Survey:
        """Count the parts."""
        return parts.survey(opened, *ARRAYS)

    def read(self, opened: Opened) -> Iterator[Item]:
        """Yield the items of a run."""
        run = _known(opened)
        maker = Maker(run.session)
        if run.begun:
            yield Session(run.session, run.task)
        for part in parts.parts(opened, *ARRAYS):
            if part.reason or part.is_header:
                yield from parts.said_of(part)
                yield from _ended(part)
            elif part.path != run.array:
                yield Ignored(f"{part.path or 'element'}, which repeats the history", part.record)
            else:
                yield from _record(maker, run, part)
        yield from text.timeless(maker.timeless)


def _is_mini(head: dict[str, Any]) -> bool:
    named = head.get("trajectory_format")
    return isinstance(named, str) and named.startswith(MINI)


def _known(opened: Opened) -> Run:
    """Read a file once for what its messages need: which array holds them, how the run begins, who speaks last."""
    counts = dict.fromkeys(ARRAYS, 0)
    header: dict[str, Any] = {}
    runs = {array: Run(array) for array in ARRAYS}
    for part in parts.parts(opened, *ARRAYS):
        if part.is_header and not header:
            header = part.value
        elif part.path in counts and isinstance(part.value, dict):
            counts[part.path] += 1
            _meet(runs[part.path], part)
    run = runs[next((array for array in ("history", "messages", "trajectory") if counts[array]), "history")]
    _learn(run, header)
    return run


def _meet(run: Run, part: Part) -> None:
    value = part.value
    said = value.get("role") == "assistant" or run.array == "trajectory"
    if not run.last_said and not _is_demo(value):
        run.begins.update(b"\n" + part.data if run.begun else part.data)
        run.begun = True
    if said and not _is_demo(value):
        run.last_said = part.record
    if not run.task and value.get("role") == "user" and not _is_demo(value):
        run.task = text.storable(text.first_line(blocks.said(value.get("content")).words))[0]


def _learn(run: Run, header: dict[str, Any]) -> None:
    info = header.get("info")
    stats = info.get("model_stats") if isinstance(info, dict) else None
    run.stats = stats if isinstance(stats, dict) else {}
    run.agent = MINI if _is_mini(header) else AGENT
    if re.search(r'"name": *"human', str(header.get("replay_config"))):
        run.by = ActorKind.HUMAN


def _ended(part: Part) -> Iterator[Item]:
    info = part.value.get("info") if part.is_header else None
    if isinstance(info, dict) and isinstance(ended := info.get("exit_status"), str) and ended:
        yield Noted(part.record, f"the run ended as {text.storable(ended)[0][:100]!r}")


def _is_demo(value: dict[str, Any]) -> bool:
    return value.get("is_demo") is True or value.get("message_type") == "demonstration"


def _record(maker: Maker, run: Run, part: Part) -> Iterator[Item]:
    value = part.value
    if not isinstance(value, dict):
        yield Refused(part.record, f"{part.place}: not a message")
        return
    if _is_demo(value):
        yield Ignored("demonstration", part.record)
        return
    native, at = maker.counted(part.data), Place(part.record, part.place, _time(value))
    made = list(
        _step(maker, run, value, native, at) if run.array == "trajectory" else _message(maker, run, value, native, at)
    )
    yield from made
    if not made:
        yield Ignored("message without content", part.record)


def _time(value: dict[str, Any]) -> Any:
    extra = value.get("extra")
    return value.get("timestamp", extra.get("timestamp") if isinstance(extra, dict) else None)


def _message(maker: Maker, run: Run, value: dict[str, Any], native: str, at: Place) -> Iterator[Read]:
    role = value.get("role")
    if role == "assistant":
        yield from _said(maker, run, value, native, at)
        return
    said = blocks.said(value.get("content"))
    if not said.words.strip():
        return
    call = _call_of(value) or (maker.waiting() if _observed(maker, value) else "")
    if role == "tool" or call:
        yield maker.response(f"{native}:0", at, said, call)
    elif role == "user" and not maker.agent_spoke:
        yield maker.message(f"{native}:0", at, ActorKind.HUMAN, HUMAN, said)
    else:
        yield maker.message(
            f"{native}:0",
            at,
            ActorKind.SYSTEM,
            run.agent,
            said,
            type=text.name(role, "")[:100] if role == "exit" else "",
        )


def _call_of(value: dict[str, Any]) -> str:
    ids = value.get("tool_call_ids")
    given = ids[0] if isinstance(ids, list) and ids else value.get("tool_call_id")
    return text.name(given, "")


def _observed(maker: Maker, value: dict[str, Any]) -> bool:
    """True for what an action brought back, which old files and mini-swe-agent give as a user's words."""
    return value.get("role") in ("user", "tool") and bool(maker.waiting())


def _said(maker: Maker, run: Run, value: dict[str, Any], native: str, at: Place) -> Iterator[Read]:
    agent = text.name(value.get("agent"), run.agent)
    actor = run.agent if agent == "main" else agent
    more = _beside(run, value, at)
    thought, requests = value.get("thought"), list(_requests(run, value))
    words = blocks.said(value.get("content"))
    if isinstance(reasoned := value.get("reasoning_content"), str) and reasoned.strip():
        yield maker.thought(f"{native}:reasoning", at, actor, reasoned)
    if isinstance(thought, str) and thought.strip():
        yield maker.thought(f"{native}:0", at, actor, thought, by=run.by, payload=None if requests else more)
    elif words.words.strip() and words.words.strip() != str(value.get("action")).strip():
        yield maker.message(f"{native}:0", at, run.by, actor, words, payload=None if requests else more)
    for number, (tool, given, call) in enumerate(requests, 1):
        last = more if number == len(requests) else None
        yield maker.request(f"{native}:{number}", at, actor, tool, given, call, by=run.by, payload=last, block=number)


def _beside(run: Run, value: dict[str, Any], at: Place) -> dict[str, Any]:
    """What a message's payload says beside its words: the run's usage stands on the agent's last message."""
    extra = value.get("extra")
    response = extra.get("response") if isinstance(extra, dict) else None
    made: dict[str, Any] = {}
    if isinstance(response, dict):
        made |= {key: response[key] for key in ("model", "usage") if response.get(key)}
    if at.record == run.last_said and run.stats and "usage" not in made:
        made["usage"] = run.stats
    return made


def _requests(run: Run, value: dict[str, Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield tool, arguments and call id of what an assistant's message asks for."""
    calls = value.get("tool_calls")
    if isinstance(calls, list) and calls:
        for call in calls:
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict):
                yield function.get("name"), arguments(function.get("arguments")), call.get("id")
            else:
                yield None, call, None
        return
    if isinstance(action := value.get("action"), str) and action.strip():
        yield SHELL, action, None
        return
    for command in _commands(run, value):
        yield SHELL, command, None


def _commands(run: Run, value: dict[str, Any]) -> Iterator[str]:
    """Yield the commands of a message of mini-swe-agent: those it lists, else the fenced ones in its words."""
    if run.agent != MINI:
        return
    extra = value.get("extra")
    listed = extra.get("actions") if isinstance(extra, dict) else None
    if isinstance(listed, list) and listed:
        for action in listed:
            found = action.get("command") if isinstance(action, dict) else action
            if isinstance(found, str):
                yield found
        return
    found = _FENCED.search(blocks.said(value.get("content")).words)
    if found:
        yield found[1]


def _step(maker: Maker, run: Run, value: dict[str, Any], native: str, at: Place) -> Iterator[Read]:
    """A step of a trajectory that has no history beside it: thought, action, observation."""
    more = {"usage": run.stats} if at.record == run.last_said and run.stats else {}
    if isinstance(thought := value.get("thought"), str) and thought.strip():
        yield maker.thought(f"{native}:0", at, run.agent, thought, payload=more)
    call = ""
    if isinstance(action := value.get("action"), str) and action.strip():
        call = f"{native}:1"
        yield maker.request(call, at, run.agent, SHELL, action, by=run.by, payload=more, block=1)
    if isinstance(seen := value.get("observation"), str) and seen.strip():
        yield maker.response(f"{native}:2", at, seen, call, block=2)


IMPORTERS = (SweAgent(),)
