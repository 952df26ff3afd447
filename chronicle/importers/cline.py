"""Cline and Roo: `api_conversation_history.json` and `ui_messages.json`, and bare lists of Anthropic's messages.

Guarantees: a list of messages in which stand blocks that Anthropic's API alone writes is this format, whoever wrote
it; calls and results are joined by id, those that Cline writes as tags into the text by their tool and position;
what Cline adds to a person's words (environment, resumption) is system. A summary that Roo put in place of
messages is a section. Rows of the user interface: see cline_ui. Refused: an element that is no message.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from chronicle.envelope import ActorKind
from chronicle.importers import blocks, chat_messages, cline_ui, parts, text
from chronicle.importers.chat_sessions import Sessions, Stream
from chronicle.importers.making import SUMMARY, Place
from chronicle.importers.parts import Part
from chronicle.importers.protocol import Item, Opened, ReadSection, Refused, Survey

TOOLS = (
    "execute_command", "read_file", "write_to_file", "replace_in_file", "apply_diff", "insert_content",
    "search_and_replace", "search_files", "list_files", "list_code_definition_names", "browser_action",
    "use_mcp_tool", "access_mcp_resource", "ask_followup_question", "attempt_completion", "new_task", "switch_mode",
    "plan_mode_respond", "load_mcp_documentation", "condense", "update_todo_list", "fetch_instructions",
    "codebase_search",
)  # fmt: skip
THINKING = "thinking"
_CALL = re.compile(rf"<({'|'.join(TOOLS)}|{THINKING})>")
_PARAMETER = re.compile(r"<(\w{1,100})>")
UNCLOSED = 50  # tags without an end that a text may hold before no more are looked for
_RESULT = re.compile(rf"\[({'|'.join(TOOLS)})\b[^\n]*?\] Result:[ \t]*\n?")
_SUMMARY = re.compile(rb'"isSummary"\s*:\s*true|"condense|summarizeTask|"contextCondense"')
LOOKED_AT = 200


class Cline:
    """The importer."""

    name: ClassVar[str] = "cline"

    def sniff(self, opened: Opened) -> bool:
        """True for rows of the user interface, and for bare messages with a mark of Anthropic's blocks."""
        head = parts.head(opened)
        given = [one for one in head if isinstance(one, dict)][:LOOKED_AT] if isinstance(head, list) else []
        if not given:
            return False
        return cline_ui.is_row(given[0]) or (all(map(_is_bare, given)) and any(map(chat_messages.is_anthropic, given)))

    def survey(self, opened: Opened) -> Survey:
        """Count the elements, and find the last that may hold a summary."""
        return parts.survey(opened, summary=_SUMMARY)

    def read(self, opened: Opened) -> Iterator[Item]:
        """Yield the items of a file."""
        head = parts.head(opened)
        first = next((one for one in head if isinstance(one, dict)), None) if isinstance(head, list) else None
        yield from cline_ui.read(opened) if cline_ui.is_row(first) else _history(opened)


def _is_bare(value: Any) -> bool:
    return value.get("role") in ("user", "assistant", "system") and "content" in value and "type" not in value


@dataclass(slots=True)
class History:
    """A list of messages being read, and how many summaries it had so far."""

    stream: Stream
    summaries: int = 0


def _history(opened: Opened) -> Iterator[Item]:
    sessions = Sessions()
    history = History(Stream(sessions))
    for part in parts.parts(opened):
        yield from _element(history, part)
    yield from history.stream.end()
    yield from text.timeless(sessions.timeless)


def _element(history: History, part: Part) -> Iterator[Item]:
    stream, value = history.stream, part.value
    at = Place(part.record, part.place)
    if part.reason:
        yield from stream.refuse(part)
    elif part.is_header or not isinstance(value, dict) or not isinstance(value.get("role"), str):
        yield from stream.put(Refused(part.record, f"{part.place}: not a message"))
    elif value.get("isSummary") is True:
        yield from stream.end()
        yield from _summary(history, value, at)
    else:
        yield from stream.add(_untagged(value), at)


def _summary(history: History, message: Mapping[str, Any], at: Place) -> Iterator[Item]:
    """A summary that stands in the place of the messages before it: an event and a section."""
    known, said = history.stream.known, blocks.said(message.get("content"))
    if known is None or not known.chat.maker.last or not said.words.strip():
        yield from history.stream.add({**message, "role": "system"}, at)
        return
    maker, native = known.chat.maker, f"#{chat_messages.digest(message)}"
    placed, title = at._replace(time=chat_messages.time_of(message)), text.first_line(said.words)
    marker = maker.marker(f"{native}.compaction", placed, "system", title, block=1)
    read = maker.message(f"{native}.summary", placed, ActorKind.SYSTEM, "system", said, type=SUMMARY)
    yield from (marker, read)
    history.summaries += 1
    prose = read.event.content
    yield ReadSection(
        known.session, marker.native_id, prose, at.record, title=text.first_line(prose), rolling=history.summaries > 1
    )


def _untagged(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message with the calls and results that Cline writes as text taken out as blocks."""
    given = list(blocks.listed(message.get("content")))
    if message["role"] == "assistant":
        found = [inner for block in given for inner in _calls(block)]
    else:
        found = _with_results(given)
    return message | {"content": found} if found != given else message


def _tagged(words: str, tag: re.Pattern[str]) -> Iterator[tuple[int, int, str, str]]:
    """Yield what stands between a tag and its end: from where to where, the tag's name, and the words."""
    at, unclosed = 0, set[str]()
    while len(unclosed) < UNCLOSED and (opened := tag.search(words, at)) is not None:
        close = f"</{opened[1]}>"
        end = -1 if opened[1] in unclosed else words.find(close, opened.end())
        if end < 0:
            unclosed.add(opened[1])
            at = opened.end()
            continue
        at = end + len(close)
        yield opened.start(), at, opened[1], words[opened.end() : end]


def _calls(block: Any) -> Iterator[Any]:
    words, end = blocks.words_of(block) or "", 0
    for start, stop, tool, body in _tagged(words, _CALL):
        if words[end:start].strip():
            yield {"type": "text", "text": words[end:start]}
        if tool == THINKING:
            yield {"type": THINKING, THINKING: body.strip()}
            end = stop
            continue
        given = {name: inner.strip("\n") for _, _, name, inner in _tagged(body, _PARAMETER)}
        yield {"type": "tool_use", "name": tool, "input": given or body.strip()}
        end = stop
    if not end:
        yield block
    elif words[end:].strip():
        yield {"type": "text", "text": words[end:]}


def _with_results(given: Any) -> list[Any]:
    """A text that says it is a result takes the blocks behind it with it, but for what Cline adds."""
    found: list[Any] = []
    for block in given:
        words = blocks.words_of(block)
        result = _RESULT.match(words) if words is not None else None
        if result is not None and words is not None:
            rest = words[result.end() :]
            found.append({"type": "tool_result", "name": result[1], "content": [rest] if rest.strip() else []})
        elif found and isinstance(found[-1], dict) and found[-1].get("name") in TOOLS and not _is_added(words):
            found[-1]["content"].append(block)
        else:
            found.append(block)
    return found


def _is_added(words: str | None) -> bool:
    return words is not None and words.lstrip().startswith((*chat_messages.WRAPPERS, "<feedback>", "<task>"))


IMPORTERS = (Cline(),)
