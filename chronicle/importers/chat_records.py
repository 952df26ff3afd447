"""What a JSON value says of a conversation: its messages, the answer, and what belongs to them. Pure; knows no file.

Guarantees: a record is known by messages with roles, wherever the log of a request, a batch, a data set for
fine-tuning or a share of dialogues puts them; an answer stands apart from the messages that were sent.
None for anything else: a value of another format gives no record.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from chronicle.errors import InvalidPayload
from chronicle.importers import chat_messages, chat_texts, lines, text

CONTAINERS = ("request", "body", "kwargs", "input", "inputs", "params", "request_body")
ANSWERS = ("response", "output", "outputs", "completion", "response_body", "result")
LISTS = ("messages", "conversations", "conversation", "dialogue", "dialog", "prompt")
TEXTS = ("messages_display", "text", *LISTS, "transcript", "chat")
SESSIONS = (
    "session_id", "sessionId", "conversation_id", "conversationId", "thread_id", "threadId", "chat_id",
    "litellm_session_id", "litellm_trace_id",
)  # fmt: skip
OWN = ("id", "uuid", "custom_id", "conversation_hash")
# Marks of other formats that also hold a list of messages with roles.
FOREIGN = {
    "trajectory_format", "trajectory", "history", "samples", "agents", "mapping", "chat_messages", "resourceSpans",
    "traj", "parentUuid", "projectHash", "in_context_message_ids", "run_type",
}  # fmt: skip


class Record(NamedTuple):
    """A conversation as one value holds it. `is_call`: the log of one request, which repeats what was before."""

    messages: Sequence[Any]
    answer: Mapping[str, Any] | None = None
    answer_at: str = ""  # the member that holds it
    system: Any = None  # the instructions, where they stand beside the messages
    session: str = ""
    title: str = ""
    model: str = ""
    usage: Any = None
    answered: Any = None  # when
    is_call: bool = False
    others: int = 0  # answers that were offered beside the one


def record_of(value: Any) -> Record | None:
    """Return the conversation that a value holds; None for a value that is none."""
    if isinstance(value, list):
        return Record(value) if _are_messages(value) else None
    if not isinstance(value, dict) or FOREIGN & value.keys():
        return None
    body = _body(value)
    found = _messages(body)
    if found is None and (_answer(value)[1] is None or not any(_has_choices(given) for _, given in _answers(value))):
        return None
    record = _with(value, body)
    return record._replace(messages=_led(found or [], record.system))


def around(header: Any) -> Record:
    """Return what an object says of the messages that it holds in an array which is read by element."""
    return _with(header, header) if isinstance(header, dict) else Record(())


def message_of(value: Any) -> dict[str, Any] | None:
    """Return a value as a message, also in the words of ShareGPT; None where it is none."""
    if chat_messages.is_message(value):
        return dict(value)
    return _unshared(value) if _is_shared(value) else None


def _are_messages(value: Any) -> bool:
    """True for a list whose first object is a message; one with a `type` of its own is another format's."""
    if not isinstance(value, list):
        return False
    given = [element for element in value if isinstance(element, dict)]
    return bool(given) and chat_messages.is_message(given[0]) and not any("type" in one for one in given[:100])


def _body(value: dict[str, Any]) -> dict[str, Any]:
    """Return the object that holds the messages: the value itself, or the request in it."""
    if _messages(value) is not None:
        return value
    for key in CONTAINERS:
        inner = value.get(key)
        if isinstance(inner, str) and inner.lstrip().startswith("{"):
            inner = _parsed(inner)
        if isinstance(inner, dict) and "messages" in inner and _messages(inner) is not None:
            return inner
    return value


def _parsed(given: str) -> Any:
    try:
        return lines.parse(given.strip())[0]
    except InvalidPayload:
        return None


def _messages(body: Mapping[str, Any]) -> list[Any] | None:
    found = next((told for key in LISTS if (told := _listed(body.get(key))) is not None), None)
    if found is None:
        found = next((told for key in TEXTS if (told := _told(body.get(key))) is not None), None)
    return found


def _led(found: list[Any], system: Any) -> list[Any]:
    """Return messages with the instructions before them that stood beside them."""
    begins = bool(found) and isinstance(found[0], dict) and str(found[0].get("role")).lower() == "system"
    return found if begins or system is None else [{"role": "system", "content": system}, *found]


def _told(given: Any) -> list[dict[str, Any]] | None:
    return chat_texts.dialogue(given) if isinstance(given, str) else None


def _listed(given: Any) -> list[Any] | None:
    """Return a list of messages, also one that is written as a text or in the words of ShareGPT."""
    if isinstance(given, str) and given.lstrip().startswith("["):
        given = _parsed(given)
    if _are_messages(given):
        return list(given)
    if isinstance(given, list) and any(map(_is_shared, given)) and not any(map(chat_messages.is_message, given)):
        return [_unshared(one) if _is_shared(one) else one for one in given]
    return None


def _is_shared(given: Any) -> bool:
    return (
        isinstance(given, dict)
        and isinstance(given.get("from"), str)
        and "value" in given
        and given["from"].lower() in chat_messages.ROLES
    )


def _unshared(given: Mapping[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in given.items() if key not in ("from", "value")}
    return {"role": given["from"], "content": given["value"]} | rest


def _answer(value: Mapping[str, Any]) -> tuple[str, dict[str, Any] | None]:
    """Return the message that a request was answered with, and the member that holds it."""
    found = ((key, told) for key, given in _answers(value) if (told := _message_in(given)) is not None)
    return next(found, ("", None))


def _answers(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key in ANSWERS:
        given = value.get(key)
        if isinstance(given, str) and given.lstrip().startswith("{"):
            given = _parsed(given) or given
        inner = given.get("body") if isinstance(given, dict) else None
        yield key, inner if isinstance(inner, dict) else given
    if isinstance(value.get("choices"), list):
        yield "choices", value


def _message_in(given: Any) -> dict[str, Any] | None:
    """Return the message of a response: its first choice, itself, or its text."""
    if isinstance(given, list) and len(given) == 1:
        given = given[0]
    if isinstance(given, str):
        return {"role": "assistant", "content": given} if given.strip() else None
    if not isinstance(given, dict):
        return None
    choices = given.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if isinstance(first, dict):
        if isinstance(first.get("message"), dict):
            return {"role": "assistant", **first["message"]}
        words = first.get("text")
        return {"role": "assistant", "content": words} if isinstance(words, str) else None
    if given.get("role") in chat_messages.AGENT and ("content" in given or "tool_calls" in given):
        own = {"type", "id", "model", "usage", "stop_reason", "stop_sequence", "container"}
        return {key: inner for key, inner in given.items() if key not in own}
    return None


def _has_choices(given: Any) -> bool:
    return isinstance(given, dict) and isinstance(given.get("choices"), list)


def _with(value: dict[str, Any], body: dict[str, Any]) -> Record:
    """Return what stands around the messages: whose they are, the answer, the model, the usage, the times."""
    answer_at, answer = _answer(value)
    is_call = answer is not None or body is not value
    response = next((given for _, given in _answers(value) if isinstance(given, dict)), {})
    system = next((body[key] for key in ("system", "system_prompt") if body.get(key)), None)
    return Record(
        (),
        answer,
        answer_at,
        system if isinstance(system, str | list) else None,
        session=_session(value, body, () if is_call else OWN),
        title=text.storable(text.first_line(given))[0] if isinstance(given := value.get("title"), str) else "",
        model=_model(response, value, body),
        usage=next((place["usage"] for place in (response, value) if place.get("usage")), None),
        answered=response.get("created") or chat_messages.time_of(value),
        is_call=is_call,
        others=len(response["choices"]) - 1 if _has_choices(response) and response["choices"] else 0,
    )


def _model(*places: Mapping[str, Any]) -> str:
    return text.name(next((place["model"] for place in places if isinstance(place.get("model"), str)), ""), "")


def _session(value: Mapping[str, Any], body: Mapping[str, Any], own: tuple[str, ...]) -> str:
    inner = value.get("metadata")
    places = (value, body, *([inner] if isinstance(inner, dict) else []))
    return next((found for place in places for key in (*SESSIONS, *own) if (found := _id(place.get(key)))), "")


def _id(given: Any) -> str:
    return str(given) if isinstance(given, int) and not isinstance(given, bool) else text.name(given, "")
