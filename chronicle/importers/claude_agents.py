"""Who a sub-agent is, when its transcript is a file of its own: its parent's transcript lies beside and says so.

Guarantees: `<session>/subagents/agent-<id>.jsonl` is looked up in `<session>.jsonl`, read-only, by the
lines that name sub-agents alone; where there is no such file nothing is known, and nothing is refused.
"""

from collections.abc import Iterator
from typing import Any

from chronicle.errors import BrokenFile
from chronicle.importers import claude_blocks, lines, text
from chronicle.importers.protocol import Opened

FOLDER = "subagents"
Agents = dict[str, tuple[str, str]]  # agent id → its name, the id of the call that began it


def of_parent(opened: Opened) -> Agents:
    """Return the sub-agents that the parent's transcript names."""
    folder = opened.path.parent
    if folder.name != FOLDER or not folder.parent.name:
        return {}
    try:
        parent = lines.open_file(folder.parent.with_name(folder.parent.name + ".jsonl"))
    except BrokenFile:
        return {}
    names: dict[str, str] = {}
    found: Agents = {}
    for record in _naming(parent):
        message = record.get("message")
        for block in claude_blocks.blocks(message.get("content") if isinstance(message, dict) else None):
            if isinstance(block, dict):
                _learn(block, record.get("toolUseResult"), names, found)
    return found


def _naming(parent: Opened) -> Iterator[dict[str, Any]]:
    for raw in lines.raw_lines(parent):
        if b'"subagent_type"' in raw.data or b'"agentId"' in raw.data:
            yield from (document.value for document in lines.line_documents(raw) if isinstance(document.value, dict))


def _learn(block: dict[str, Any], result: Any, names: dict[str, str], found: Agents) -> None:
    given, call = block.get("input"), text.name(block.get("id"), "")
    if call and isinstance(given, dict):
        names[call] = text.name(given.get("subagent_type"), "")
    asked = text.name(block.get("tool_use_id"), "")
    agent = result.get("agentId") if isinstance(result, dict) else None
    if asked and isinstance(agent, str):
        found[agent] = named(agent, names.get(asked, ""), asked)


def named(agent: str, name: str, call: str) -> tuple[str, str]:
    """Return how a sub-agent is called: by the kind its call asked for, else by its id."""
    return name or text.name(f"agent-{agent}", "sub-agent"), call
