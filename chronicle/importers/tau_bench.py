"""Results of tau-bench and tau2-bench: an array of runs, each a dialogue between a tool agent and a simulated user.

Guarantees: a session is a task and a trial, with the opening of its dialogue beside it, for every model's file has
a task 0 and a trial 0; the user is a model that plays one, so nothing here is human; a run ends with an
event of the type `result`, whose payload holds the reward and what it was given for. Refused: an element
without a dialogue.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from chronicle.envelope import ActorKind
from chronicle.importers import chat_messages, chat_sessions, parts, text
from chronicle.importers.chat_messages import Chat, Made
from chronicle.importers.chat_sessions import Known
from chronicle.importers.making import Maker, Place
from chronicle.importers.parts import Part
from chronicle.importers.protocol import Item, Noted, Opened, Refused, Survey

ARRAYS = ("simulations",)
RESULT = "result"
VOICES = Made(human=(ActorKind.AGENT, "simulated user"))


class TauBench:
    """The importer."""

    name: ClassVar[str] = "tau-bench"

    def sniff(self, opened: Opened) -> bool:
        """True for runs with a task's id and a dialogue."""
        head = parts.head(opened)
        runs = head.get("simulations") if isinstance(head, dict) else head
        first = next((run for run in runs if isinstance(run, dict)), {}) if isinstance(runs, list) else {}
        named = "traj" if runs is head else "messages"
        return "task_id" in first and isinstance(first.get(named), list) and _are_messages(first[named])

    def survey(self, opened: Opened) -> Survey:
        """Count the runs."""
        return parts.survey(opened, *ARRAYS)

    def read(self, opened: Opened) -> Iterator[Item]:
        """Yield the items of a file."""
        timeless: set[int] = set()
        for part in parts.parts(opened, *ARRAYS):
            if part.reason or part.is_header:
                yield from parts.said_of(part)
            else:
                yield from _run(part, timeless)
        yield from text.timeless(timeless)


def _are_messages(given: list[Any]) -> bool:
    return all(isinstance(one, dict) and isinstance(one.get("role"), str) for one in given[:20])


def _run(part: Part, timeless: set[int]) -> Iterator[Item]:
    run = part.value
    messages = run.get("traj", run.get("messages")) if isinstance(run, dict) else None
    if not isinstance(messages, list):
        yield Refused(part.record, f"{part.place}: no run with a dialogue")
        return
    known = Known(Chat(Maker(_session(run, messages), timeless=timeless)))
    yield from chat_sessions.greet(known)
    for index, (key, message) in enumerate(zip(chat_sessions.keys_of(messages), messages, strict=True)):
        if isinstance(message, dict):
            at = Place(part.record, part.place, chat_messages.time_of(message))
            yield from chat_sessions.told(known, key, at, message, _made(message), f"{index}.")
        else:
            yield Noted(part.record, f"{part.place}: message {index} is no object; it is left out")
    yield _result(known, part, run, len(messages))


def _session(run: Mapping[str, Any], messages: list[Any]) -> str:
    opening = chat_sessions.opening_of(messages).id[:12]
    return text.name(f"{run.get('task_id')}-{run.get('trial', 0)}@{opening}", "run")


def _made(message: Mapping[str, Any]) -> Made:
    return VOICES._replace(usage=message["usage"]) if isinstance(message.get("usage"), dict) else VOICES


def _result(known: Known, part: Part, run: Mapping[str, Any], block: int) -> Item:
    """The reward, which the run was given when it was over."""
    kept = {key: value for key, value in run.items() if key not in ("traj", "messages")}
    info = run.get("reward_info")
    reward = run.get("reward", info.get("reward") if isinstance(info, dict) else None)
    at, words = Place(part.record, part.place), f"reward {text.readable(reward)}"
    return known.chat.maker.message(
        RESULT, at, ActorKind.SYSTEM, "tau-bench", words, type=RESULT, payload=kept, block=f"{block}.0"
    )


IMPORTERS = (TauBench(),)
