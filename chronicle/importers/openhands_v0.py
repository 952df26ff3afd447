"""Events of OpenHands version 0: an action with its arguments, or an observation with its content."""

from collections.abc import Iterator
from typing import Any

from chronicle.envelope import ActorKind
from chronicle.importers import blocks, text
from chronicle.importers.making import Maker, Place, Said
from chronicle.importers.openhands_events import CLIENT, Known, condensation, once, speaker
from chronicle.importers.protocol import Item, Read

NOISE = {
    "thought",
    "blocking",
    "hidden",
    "confirmation_state",
    "security_risk",
    "is_input",
    "keep_prompt",
    "wait_for_response",
}
NO_EVENTS = {"change_agent_state", "null", "agent_state_changed", "condensation_request", "pause", "resume"}


def kind_of(value: dict[str, Any]) -> str:
    """Return what an event that gives nothing is counted as."""
    key = "action" if "action" in value else "observation"
    return f"{key}/{text.name(value.get(key), 'unknown')[:100]}"


def items(known: Known, value: dict[str, Any], native: str, at: Place) -> Iterator[Item]:
    """Yield what one event gives."""
    kind = value.get("action", value.get("observation"))
    if not isinstance(kind, str) or kind in NO_EVENTS:
        return
    if "action" in value:
        given = value.get("args")
        yield from _action(known, value, given if isinstance(given, dict) else {}, native, at)
    else:
        yield from _observation(known, value, native, at)


def _action(known: Known, value: dict[str, Any], given: dict[str, Any], native: str, at: Place) -> Iterator[Item]:
    kind, maker = value["action"], known.maker
    by, actor = speaker(value.get("source"))
    if kind == "message":
        yield from _message(known, value, given, native, at)
    elif kind == "system":
        if words := _words(given, "content"):
            yield maker.message(f"{native}:0", at, ActorKind.SYSTEM, CLIENT, words)
    elif kind == "condensation":
        yield from condensation(known, f"{native}:0", at, _forgotten(given), given.get("summary"), _pruned(given))
    elif kind in ("think", "finish"):
        yield from _closing(maker, kind, given, native, at, actor)
    else:
        yield from _request(known, value, given, native, at, by, actor)


def _message(known: Known, value: dict[str, Any], given: dict[str, Any], native: str, at: Place) -> Iterator[Read]:
    words = _words(given, "content") or _words(value, "message")
    links = [link for key in ("image_urls", "file_urls") for link in given.get(key) or [] if isinstance(link, str)]
    if words or links:
        by, actor = speaker(value.get("source"))
        said = _with_links(words, links)
        yield known.maker.message(f"{native}:0", at, by, actor, said, payload=_made_by(known, value))


def _with_links(words: str, links: list[str]) -> Said:
    return blocks.said([words, *({"type": "image_url", "image_url": {"url": link}} for link in links)])


def _words(of: dict[str, Any], key: str) -> str:
    found = of.get(key)
    return found if isinstance(found, str) and found.strip() else ""


def _forgotten(given: dict[str, Any]) -> list[Any]:
    """The ids that a condensation forgot: listed, or from a first to a last."""
    listed = given.get("forgotten_event_ids")
    if isinstance(listed, list) and listed:
        return listed
    first, last = given.get("forgotten_events_start_id"), given.get("forgotten_events_end_id")
    if isinstance(first, int) and isinstance(last, int) and first <= last:
        return [first, last] if last - first > 10**6 else list(range(first, last + 1))
    return []


def _pruned(given: dict[str, Any]) -> dict[str, Any]:
    return {key: found for key, found in given.items() if key != "summary" and found is not None}


def _closing(maker: Maker, kind: str, given: dict[str, Any], native: str, at: Place, actor: str) -> Iterator[Read]:
    """A thought that the agent noted, or its last words."""
    if thought := _words(given, "thought"):
        yield maker.thought(f"{native}:0", at, actor, thought)
    words = _words(given, "final_thought") or _words(given, "message") if kind == "finish" else ""
    if words and words != thought:
        yield maker.message(f"{native}:1", at, ActorKind.AGENT, actor, words, block=1)


def _request(
    known: Known, value: dict[str, Any], given: dict[str, Any], native: str, at: Place, by: ActorKind, actor: str
) -> Iterator[Read]:
    if thought := _words(given, "thought"):
        yield known.maker.thought(f"{native}:0", at, actor, thought)
    about = _metadata(value)
    tool = text.name(about.get("function_name"), "") or value["action"]
    arguments = {key: found for key, found in given.items() if key not in NOISE and found is not None}
    call = text.name(about.get("tool_call_id"), "") or _cause(value.get("id"))
    more = {"action": value["action"]} | _made_by(known, value)
    by = ActorKind.SYSTEM if by is ActorKind.HUMAN else by
    actor = CLIENT if by is ActorKind.SYSTEM else actor
    yield known.maker.request(f"{native}:1", at, actor, tool, arguments, call, by=by, payload=more, block=1)


def _cause(id: Any) -> str:
    return f"event {id}" if isinstance(id, int) else ""


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    found = value.get("tool_call_metadata")
    return found if isinstance(found, dict) else {}


def _made_by(known: Known, value: dict[str, Any]) -> dict[str, Any]:
    response = _metadata(value).get("model_response")
    if not isinstance(response, dict):
        return {}
    made = {"model": response["model"]} if isinstance(response.get("model"), str) else {}
    return made | once(known, response.get("id"), response.get("usage"))


def _observation(known: Known, value: dict[str, Any], native: str, at: Place) -> Iterator[Read]:
    call = text.name(_metadata(value).get("tool_call_id"), "")
    if call not in known.maker.calls:
        call = _cause(value.get("cause"))
    words = value.get("content")
    words = words if isinstance(words, str) else text.readable(words) if words is not None else ""
    if call not in known.maker.calls and value["observation"] in ("error", "think", "recall"):
        if words.strip() and value["observation"] == "error":
            yield known.maker.message(f"{native}:0", at, ActorKind.SYSTEM, CLIENT, words, type="error")
        return
    more = _outcome(value)
    yield known.maker.response(
        f"{native}:0",
        at,
        _with_picture(words, value),
        call,
        tool="" if call in known.maker.calls else value["observation"],
        payload=more,
    )


def _with_picture(words: str, value: dict[str, Any]) -> Said:
    """The content of an observation, and the picture of the screen that a browser took."""
    extras = value.get("extras")
    given = extras.get("screenshot") if isinstance(extras, dict) else None
    if not isinstance(given, str) or not given:
        return Said(words)
    address = given if given.startswith("data:") else f"data:image/png;base64,{given}"
    return blocks.said([words, {"type": "image", "image": address}])


def _outcome(value: dict[str, Any]) -> dict[str, Any]:
    extras = value.get("extras")
    about = extras.get("metadata") if isinstance(extras, dict) else None
    made = (
        {"exit_code": about["exit_code"]} if isinstance(about, dict) and isinstance(about.get("exit_code"), int) else {}
    )
    if isinstance(value.get("success"), bool):
        made["is_error"] = not value["success"]
    return made | ({"is_error": True} if value["observation"] == "error" else {})
