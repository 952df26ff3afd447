"""What stands in plain words of a chat: calls that a model wrote as text, and whole dialogues in one text. Pure.

Guarantees: a call is taken out only where it can be read, with its place in the text; a dialogue is taken
apart only where its turns are unmistakable (ChatML's tokens, or labels of a person and an agent that begin
the text and its lines). Refuses nothing: what is none of these stays a text.
"""

import itertools
import re
from typing import Any, NamedTuple

from chronicle.errors import InvalidPayload
from chronicle.importers import lines


class TextCall(NamedTuple):
    """A call in a text, and where it stands."""

    start: int
    end: int
    tool: str
    arguments: Any


class TextResult(NamedTuple):
    """A result in the words of a person; `tool` is empty where the text does not name it."""

    tool: str


# Each of these stops where the next of its kind begins: no text makes them read on and on.
_CALL = re.compile(r"<function=([\w.:-]{1,200})>(.*?)(?:</function>|(?=<function=)|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([\w.:-]{1,200})>(.*?)(?:</parameter>|(?=<parameter=)|\Z)", re.DOTALL)
_TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|(?=<tool_call>)|\Z)", re.DOTALL)
_RESULT = re.compile(
    r"\s*+(?:EXECUTION RESULT of \[([\w.:-]{1,200})\]|<tool_response>|<function_results?>|OBSERVATION:\s*+\n)"
)
_TURN = re.compile(r"<\|im_start\|>(\w{1,30})[ \t]*+\n(.*?)(?:<\|im_end\|>|(?=<\|im_start\|>)|\Z)", re.DOTALL)
_LABELS = {
    "human": "user", "user": "user", "customer": "user", "assistant": "assistant", "ai": "assistant",
    "bot": "assistant", "gpt": "assistant", "agent": "assistant", "system": "system", "tool": "tool",
}  # fmt: skip
_LABEL = rf"[ \t]*+(?:\[|\*\*)?({'|'.join(_LABELS)})(?:\]|\*\*)?[ \t]*+:(?:\*\*)?[ \t]*+"
_SPACED = re.compile(rf"(?:\A\s*+|(?<!\n)\n[ \t]*+\n++){_LABEL}", re.IGNORECASE)
_EACH = re.compile(rf"(?:\A\s*+|\n){_LABEL}", re.IGNORECASE)


def calls(words: str) -> list[TextCall]:
    """Return the calls in an agent's words, in order."""
    if "<function=" in words:
        return [TextCall(found.start(), found.end(), found[1], _given(found[2])) for found in _CALL.finditer(words)]
    if "<tool_call>" in words:
        return [call for found in _TAGGED.finditer(words) if (call := _tagged(found)) is not None]
    return []


def _given(body: str) -> Any:
    found = {parameter[1]: parameter[2].strip("\n") for parameter in _PARAMETER.finditer(body)}
    return found or body.strip()


def _tagged(found: re.Match[str]) -> TextCall | None:
    try:
        value, _ = lines.parse(found[1].strip())
    except InvalidPayload:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return None
    return TextCall(found.start(), found.end(), value["name"], value.get("arguments", {}))


def result(words: str) -> TextResult | None:
    """Return that a user's words are a tool's result, where they say so themselves."""
    found = _RESULT.match(words)
    return TextResult(found[1] or "") if found else None


def dialogue(words: str) -> list[dict[str, Any]] | None:
    """Return the messages of a dialogue in one text; None where its turns are not unmistakable."""
    if "<|im_start|>" in words:
        return [{"role": found[1].lower(), "content": found[2]} for found in _TURN.finditer(words)] or None
    return _labelled(words, _SPACED) or _alternating(_labelled(words, _EACH))


def _labelled(words: str, label: re.Pattern[str]) -> list[dict[str, Any]] | None:
    """Return the turns that labels begin; None unless the first begins the text, and a person and an agent speak."""
    found = list(label.finditer(words))
    if not found or found[0].start():
        return None
    ends = [*(later.start() for later in found[1:]), len(words)]
    turns = [
        {"role": _LABELS[one[1].lower()], "content": words[one.end() : end]}
        for one, end in zip(found, ends, strict=True)
    ]
    return turns if {"user", "assistant"} <= {turn["role"] for turn in turns} else None


def _alternating(turns: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
    roles = [turn["role"] for turn in turns or () if turn["role"] != "system"]
    return turns if all(one != other for one, other in itertools.pairwise(roles)) else None
