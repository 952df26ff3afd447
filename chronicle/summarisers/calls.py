"""The tool calls of a span: which tools, what was asked of them, and what came of it.

Guarantees: an answer counts as an error only where its payload or content states one; a call without
an answer in the span is said to have none; what was given to a tool is quoted as it stands.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chronicle import canonical
from chronicle.envelope import Kind
from chronicle.errors import InvalidPayload
from chronicle.summarisers.protocol import Said, Span
from chronicle.summarisers.quotes import Quote, closed, first_words, last_words, listed, named, quote_at, times

NAME_KEYS = ("tool", "tool_name", "name")
GIVEN_KEYS = ("command", "cmd", "query", "pattern", "file_path", "path", "url", "description", "prompt", "text")
ARGUMENT_KEYS = ("arguments", "input", "args", "parameters")
FAILED = frozenset({"error", "failed", "failure"})
SHORT_ANSWER = 400

_OBJECT = re.compile(r"\s*(?:[\w.:/-]+\s+)?\{")
_VALUES = {key: re.compile(rf'"{key}"\s*:\s*"') for key in GIVEN_KEYS}
_ANY_VALUE = re.compile(r'"[^"\\]{1,80}"\s*:\s*"')
_PLAIN = re.compile(r'[^"\\]*')
_STATED = re.compile(r"\s*(?:<tool_use_error>|Error:|ERROR:|error:)")


@dataclass(frozen=True, slots=True)
class Call:
    """One request, and the answer to it where the span holds one; a request made before the span is None."""

    tool: str
    request: Said | None
    response: Said | None

    @property
    def failed(self) -> bool:
        return self.response is not None and states_error(self.response)


def calls_of(span: Span) -> list[Call]:
    """Return the calls of a span in order; answers to calls made before it stand where they came."""
    answers = {said.answers: said for said in span.said if said.answers is not None}
    calls = []
    for position, said in enumerate(span.said):
        if said.kind == Kind.TOOL_REQUEST:
            answer = answers.get(position)
            calls.append(Call(_tool_of(said, answer), said, answer))
        elif said.kind == Kind.TOOL_RESPONSE and said.answers is None:
            calls.append(Call(said.actor, None, said))
    return calls


def _tool_of(request: Said, response: Said | None) -> str:
    payload = object_of(request.payload)
    for key in NAME_KEYS:
        if isinstance(name := payload.get(key), str) and name.strip():
            return name
    return response.actor if response is not None else "a tool"


def states_error(response: Said) -> bool:
    """True where the payload says so; where it says neither, where the content begins with an error."""
    payload = object_of(response.payload)
    if payload.get("is_error") is True or payload.get("isError") is True or payload.get("error"):
        return True
    if isinstance(status := payload.get("status"), str) and status.casefold() in FAILED:
        return True
    if payload.get("is_error") is False or payload.get("isError") is False:
        return False
    return _STATED.match(response.content) is not None


def object_of(payload: str) -> dict[str, Any]:
    """Return a payload's object, an empty one where it is none."""
    try:
        value = canonical.parse(payload) if payload else {}
    except InvalidPayload:
        return {}
    return value if isinstance(value, dict) else {}


def given(call: Call, limit: int) -> Quote | None:
    """Return a quote of what a tool was given: its chief value where it is JSON, else its first words."""
    request = call.request
    if request is None:
        return None
    if not request.content.strip() or request.content == call.tool:
        return _given_in_payload(request.payload, limit)
    opening = _OBJECT.match(request.content)
    if opening is None:
        return first_words(request.content, limit)
    return _given_in_json(request.content, opening.end() - 1, limit)


def _given_in_json(content: str, start: int, limit: int) -> Quote | None:
    """Quote a value up to its end or its first escape, so that it stands in the content as it is quoted."""
    found = [_VALUES[key].search(content, start) for key in GIVEN_KEYS]
    chief = next((one for one in found if one is not None), None) or _ANY_VALUE.search(content, start)
    plain = _PLAIN.match(content, chief.end()) if chief is not None else None
    quote = quote_at(plain.group(), 0, limit) if plain is not None else None
    if quote is None or plain is None or content[plain.end() : plain.end() + 1] != "\\":
        return quote
    return Quote(quote.text, quote.more_before, True)


def _given_in_payload(payload: str, limit: int) -> Quote | None:
    value = object_of(payload)
    arguments = next((value[key] for key in ARGUMENT_KEYS if value.get(key)), None)
    if isinstance(arguments, dict):
        for key in GIVEN_KEYS:
            if isinstance(chief := arguments.get(key), str) and (quote := first_words(chief, limit)) is not None:
                return quote
    texts = sorted(_texts(arguments), key=len, reverse=True)
    return next((quote for text in texts if (quote := first_words(text, limit)) is not None), None)


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in _texts(part)]


def tool_counts(calls: Sequence[Call]) -> Counter[str]:
    """Return how often each tool was called in the span, most first, then in order of first use."""
    return Counter(call.tool for call in calls if call.request is not None)


def counted(counts: Counter[str], most: int) -> str:
    """Return `Read 3 times, Edit twice and 4 other tools 9 times`."""
    ranked = counts.most_common()
    shown = [f"{named(tool)} {times(count)}" for tool, count in ranked[:most]]
    rest = ranked[most:]
    if rest:
        word = "tool" if len(rest) == 1 else "tools"
        shown.append(f"{len(rest):,} other {word} {times(sum(count for _, count in rest))}")
    return listed(shown)


def outcome(calls: Sequence[Call], limit: int) -> str:
    """Return sentences on how many calls were answered, with the words of the last error."""
    made = [call for call in calls if call.request is not None]
    late = [call for call in calls if call.request is None]
    failed = [call for call in calls if call.failed]
    said = [*_answered(made), *_late(late)]
    if failed:
        said.append(_failed(failed, limit))
    return " ".join(said)


def _answered(made: Sequence[Call]) -> list[str]:
    if not made:
        return []
    waiting = sum(call.response is None for call in made)
    if len(made) == 1:
        return ["The call had no answer in this span." if waiting else "The call was answered."]
    if len(made) == 2 and not waiting:
        return ["Both calls were answered."]
    if not waiting:
        return [f"All {len(made):,} calls were answered."]
    if waiting == len(made):
        return [f"None of the {len(made):,} calls was answered in this span."]
    return [f"Of {len(made):,} calls, {waiting:,} had no answer in this span."]


def _late(late: Sequence[Call]) -> list[str]:
    if not late:
        return []
    count = "1 answer" if len(late) == 1 else f"{len(late):,} answers"
    return [f"{count} came to what was called before it, from {names_of(late)}."]


def names_of(calls: Sequence[Call]) -> str:
    """Return the names of the tools, at most three, in order of first use."""
    names = list(dict.fromkeys(call.tool for call in calls))
    return listed([*(named(name) for name in names[:3]), *(["others"] if len(names) > 3 else [])])


def _failed(failed: Sequence[Call], limit: int) -> str:
    count = "1 answer was an error" if len(failed) == 1 else f"{len(failed):,} answers were errors"
    last = failed[-1]
    quote = _error_words(last.response, limit) if last.response is not None else None
    if quote is None:
        return f"{count}, from {names_of(failed)}."
    before = "" if len(failed) == 1 else "the last "
    return closed(f"{count}, {before}from {named(last.tool)}: {quote}", quote)


def _error_words(response: Said, limit: int) -> Quote | None:
    if (quote := first_words(response.content, limit)) is not None:
        return quote
    texts = _texts(object_of(response.payload).get("error"))
    return first_words(max(texts, key=len), limit) if texts else None


def last_answer(calls: Sequence[Call], limit: int) -> Quote | None:
    """Return the last words of the last answer, where it is short enough for them to say what it said."""
    answers = [call.response for call in calls if call.response is not None and not call.failed]
    if not answers or len(answers[-1].content) > SHORT_ANSWER:
        return None
    return last_words(answers[-1].content, limit)
