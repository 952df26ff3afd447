"""The formats as the law tests see them: one entry each, and every law runs over it.

A format needs an entry here, samples under `tests/data/` (which the registry's importers find by themselves)
and nothing else. `record` is one record that gives events, with %ID% and %WORDS% where its id and its words stand,
`keys` which of its keys the fuzzing changes, `whole` what stands around the records in a file: RECORDS is
where they stand, one a line or with commas between them.
"""

import json
import sqlite3
import zipfile
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

type Write = Callable[[Path, Iterable[bytes]], None]


class Format(NamedTuple):
    """One importer, by its name."""

    name: str
    record: dict[str, Any] | str
    keys: tuple[str, ...] = ()
    whole: str = "RECORDS\n"
    between: str = "\n"
    write: Write | None = None  # for what is no text: writes a file of these records
    spoil: str = ""  # SQL that makes one row of a database unreadable
    bad: bytes = b"17"  # a record that none can read; a blank line where any line is good
    repeats: bool = True  # False: in this format the same record under another id is not more of the same session

    def file(self, path: Path, records: Iterable[bytes]) -> None:
        """Write a file of these records."""
        if self.write is not None:
            self.write(path, records)
            return
        before, _, after = self.whole.partition("RECORDS")
        with path.open("wb") as out:
            out.write(before.encode())
            for number, record in enumerate(records):
                out.write((self.between if number else "").encode() + record)
            out.write(after.encode())

    def made(self, number: int, words: str, **changed: Any) -> bytes:
        """Return the format's record with an id and words of its own."""
        whole = self.record if isinstance(self.record, str) else json.dumps(self.record | changed)
        return whole.replace("%ID%", f"{number:012d}").replace("%WORDS%", words).encode()


def rows(*statements: str) -> Write:
    """A database made by `statements`, the last of which inserts a record (`?`) as text."""

    def write(path: Path, records: Iterable[bytes]) -> None:
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as database:
            for statement in statements[:-1]:
                database.execute(statement)
            database.executemany(statements[-1], ((record.decode(),) for record in records))
            database.commit()

    return write


def archived(member: str, whole: str, beside: dict[str, str]) -> Write:
    """An archive in which the records stand in one member, with others beside it."""

    def write(path: Path, records: Iterable[bytes]) -> None:
        before, _, after = whole.partition("RECORDS")
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in beside.items():
                archive.writestr(name, text)
            with archive.open(member, "w") as out:
                out.write(before.encode())
                for number, record in enumerate(records):
                    out.write((b"," if number else b"") + record)
                out.write(after.encode())

    return write


SPANS_SAY = '[{"role":"assistant","parts":[{"type":"text","content":"%WORDS%"}]}]'

FORMATS = (
    Format(
        "claude-code",
        {"type": "user", "sessionId": "s", "uuid": "u%ID%", "message": {"content": "%WORDS%"}},
        ("message", "type", "data", "toolUseResult"),
    ),
    Format(
        "codex",
        {
            "timestamp": "2026-05-04T08:00:00Z",
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "%WORDS% %ID%"}],
            },
        },
        ("payload", "type", "timestamp"),
    ),
    Format(
        "codex-exec",
        {"type": "item.completed", "item": {"id": "item_%ID%", "type": "agent_message", "text": "%WORDS%"}},
        ("item", "type", "msg"),
        whole='{"type":"thread.started","thread_id":"t"}\nRECORDS\n',
    ),
    Format(
        "gemini-cli",
        {"id": "m%ID%", "timestamp": "2026-05-04T08:00:00Z", "type": "user", "content": "%WORDS%"},
        ("type", "content", "thoughts", "toolCalls", "tokens", "$set", "$rewindTo"),
        whole='{"sessionId":"s","projectHash":"p","messages":[RECORDS]}\n',
        between=",",
    ),
    Format(
        "pi",
        {
            "type": "message",
            "id": "e%ID%",
            "parentId": None,
            "timestamp": "2026-05-04T08:00:00Z",
            "message": {"role": "user", "content": "%WORDS%"},
        },
        ("message", "type", "parentId", "customType", "content", "summary"),
        whole='{"type":"session","version":3,"id":"s","timestamp":"2026-05-04T08:00:00Z","cwd":"/"}\nRECORDS\n',
    ),
    Format(
        "aider",
        "#### %WORDS% %ID%  \n\nIt is done.\n",
        whole="# aider chat started at 2026-05-04 08:00:00\n\nRECORDS\n",
        bad=b"",
    ),
    Format(
        "events",
        {"id": "e%ID%", "kind": "message", "actor_kind": "human", "actor": "A", "content": "%WORDS%"},
        ("content", "payload", "at"),
        whole='{"anagrapheus.events":1,"session":"s"}\nRECORDS\n',
    ),
    Format(
        "anagrapheus",
        {
            "seq": 1,
            "payload": {"speaker": "A", "text": "%WORDS%"},
            "envelope": {
                "event_id": "00000000-0000-7000-8000-%ID%",
                "namespace": "garden",
                "type": "Said",
                "schema_version": 1,
                "causation_id": None,
                "correlation_id": None,
                "created_at": "2026-05-04T08:00:00Z",
            },
        },
        ("seq", "payload", "envelope"),
        whole='{"anagrapheus.recording":1}\nRECORDS\n',
        spoil="UPDATE events SET payload = '{' WHERE seq = 3",
    ),
    Format(
        "swe-agent",
        {"role": "user", "content": "%WORDS%", "agent": "a%ID%", "message_type": "observation"},
        ("role", "content", "thought", "action", "tool_calls", "tool_call_ids", "tool_call_id", "extra", "agent"),
        whole='{"environment":"garden","trajectory":[],"history":[RECORDS],"info":{}}',
        between=",",
    ),
    Format(
        "openhands",
        {
            "id": "e%ID%",
            "timestamp": "2026-05-04T08:00:00",
            "source": "user",
            "action": "message",
            "args": {"content": "%WORDS%"},
        },
        (
            "id",
            "timestamp",
            "source",
            "action",
            "args",
            "observation",
            "content",
            "extras",
            "cause",
            "tool_call_metadata",
            "kind",
            "llm_message",
            "thought",
            "tool_call",
            "observation",
        ),
        whole="[RECORDS]",
        between=",",
    ),
    Format(
        "inspect",
        {"id": "m%ID%", "role": "user", "content": "%WORDS%", "source": "input"},
        ("id", "role", "content", "tool_calls", "tool_call_id", "error", "function"),
        write=archived(
            "samples/1_epoch_1.json",
            '{"id":"1","epoch":1,"messages":[RECORDS],"events":[]}',
            {"header.json": '{"version":2,"eval":{"task":"t","eval_id":"e"}}'},
        ),
    ),
    Format(
        "otlp",
        {
            "resourceSpans": [
                {
                    "scopeSpans": [
                        {
                            "spans": [
                                {
                                    "traceId": "5b8efff798038103d269b633813fc60c",
                                    "spanId": "0000%ID%",
                                    "name": "chat",
                                    "startTimeUnixNano": "1777885200000000123",
                                    "attributes": [
                                        {"key": "gen_ai.output.messages", "value": {"stringValue": SPANS_SAY}},
                                        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
                                    ],
                                }
                            ]
                        }
                    ]
                }
            ]
        },
        ("resourceSpans",),
    ),
    Format(
        "langsmith",
        {
            "id": "run-%ID%",
            "trace_id": "trace-1",
            "run_type": "llm",
            "name": "chat",
            "start_time": "2026-05-04 09:00:00.000000",
            "outputs": {"generations": [{"message": {"role": "assistant", "content": "%WORDS%"}}]},
        },
        ("outputs", "inputs", "extra", "start_time", "run_type"),
        whole='{"runs":[RECORDS]}\n',
        between=",",
    ),
    Format(
        "jaeger",
        {
            "traceID": "5b8efff798038103d269b633813fc60c",
            "spans": [
                {
                    "spanID": "0000%ID%",
                    "operationName": "chat",
                    "startTime": 1777885200000000,
                    "tags": [
                        {"key": "gen_ai.output.messages", "type": "string", "value": SPANS_SAY},
                        {"key": "gen_ai.operation.name", "type": "string", "value": "chat"},
                    ],
                }
            ],
        },
        ("spans", "traceID"),
        whole='{"data":[RECORDS]}\n',
        between=",",
    ),
    Format(
        "otel-console",
        {
            "name": "chat",
            "context": {"trace_id": "0x5b8efff798038103d269b633813fc60c", "span_id": "0x0000%ID%"},
            "start_time": "2026-05-04T09:00:00.000000Z",
            "attributes": {"gen_ai.operation.name": "chat", "gen_ai.output.messages": SPANS_SAY},
        },
        ("context", "attributes", "events", "name", "start_time"),
    ),
    Format(
        "openai-chat",
        {"role": "user", "name": "n%ID%", "content": "%WORDS%"},
        ("role", "content", "tool_calls", "tool_call_id", "function_call", "name", "messages", "response"),
        whole="[RECORDS]",
        between=",",
    ),
    Format(
        "langgraph",
        {"type": "human", "id": "m%ID%", "content": "%WORDS%"},
        ("content", "id", "tool_calls", "additional_kwargs", "name", "data"),
        whole="[RECORDS]",
        between=",",
        spoil="UPDATE writes SET value = x'c1' WHERE rowid = 1",
    ),
    Format(
        "opencode",
        {
            "info": {"id": "msg_%ID%", "sessionID": "ses_1", "role": "user", "time": {"created": 1777881600000}},
            "parts": [{"id": "prt_%ID%", "messageID": "msg_%ID%", "type": "text", "text": "%WORDS%"}],
        },
        ("info", "parts"),
        whole='{"info":{"id":"ses_1","time":{"created":1777881600000}},"messages":[RECORDS]}',
        between=",",
        spoil="UPDATE part SET data = '{' WHERE id = 'prt_02a'",
    ),
    Format(
        "spacebot",
        {"id": "m%ID%", "role": "user", "content": "%WORDS%", "metadata": "{}"},
        ("content", "role", "metadata", "id"),
        write=rows(
            "CREATE TABLE channels (id TEXT)",
            "CREATE TABLE conversation_messages (id TEXT, channel_id TEXT, role TEXT, sender_name TEXT, content TEXT,"
            " metadata TEXT, seq INTEGER)",
            "CREATE INDEX at ON conversation_messages (channel_id, seq)",
            "INSERT INTO conversation_messages SELECT json_extract(r, '$.id'), 'c', json_extract(r, '$.role'), NULL,"
            " json_extract(r, '$.content'), json_extract(r, '$.metadata'), NULL FROM (SELECT ? AS r)",
        ),
        spoil="UPDATE conversation_messages SET content = x'00' WHERE content = 'Soup.'",
    ),
    Format(
        "openai-agents",
        {"id": "m%ID%", "type": "message", "role": "user", "content": [{"type": "input_text", "text": "%WORDS%"}]},
        ("content", "role", "type", "id"),
        write=rows(
            "CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id TEXT DEFAULT 's', message_data TEXT)",
            "INSERT INTO agent_messages (message_data) VALUES (?)",
        ),
        spoil="UPDATE agent_messages SET message_data = '{' WHERE id = 3",
    ),
    Format(
        "tau-bench",
        {"task_id": "%ID%", "trial": 0, "reward": 1.0, "info": {}, "traj": [{"role": "user", "content": "%WORDS%"}]},
        ("task_id", "trial", "reward", "info", "traj"),
        whole="[RECORDS]",
        between=",",
        repeats=False,
    ),
    Format(
        "chatgpt",
        {
            "id": "c%ID%",
            "title": "Beds",
            "current_node": "n",
            "mapping": {
                "n": {
                    "id": "n",
                    "parent": None,
                    "children": [],
                    "message": {
                        "id": "m%ID%",
                        "author": {"role": "user"},
                        "content": {"content_type": "text", "parts": ["%WORDS%"]},
                    },
                }
            },
        },
        ("id", "title", "current_node", "mapping"),
        whole="[RECORDS]",
        between=",",
        repeats=False,
    ),
    Format(
        "claude-ai",
        {
            "uuid": "c%ID%",
            "name": "Beds",
            "chat_messages": [{"uuid": "m%ID%", "sender": "human", "content": [{"type": "text", "text": "%WORDS%"}]}],
        },
        ("uuid", "name", "chat_messages", "model", "current_leaf_message_uuid"),
        whole="[RECORDS]",
        between=",",
        repeats=False,
    ),
    Format(
        "letta",
        {
            "id": "agent-%ID%",
            "name": "Diary",
            "in_context_message_ids": [],
            "messages": [{"id": "message-0", "role": "user", "created_at": "%ID%", "content": "%WORDS%"}],
        },
        ("id", "name", "in_context_message_ids", "messages", "agent_type"),
        whole='{"agents":[RECORDS],"tools":[]}',
        between=",",
        repeats=False,
    ),
    Format(
        "cline",
        {"ts": 1777881000000, "type": "say", "say": "user_feedback", "text": "%WORDS%"},
        ("ts", "type", "say", "ask", "text", "images", "partial", "role", "content"),
        whole="[RECORDS]",
        between=",",
    ),
)

NAMED = {format.name: format for format in FORMATS}
