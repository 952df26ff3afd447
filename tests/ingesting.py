"""Ingesting in tests: files of our own making, and what of them is in the database afterwards."""

import json
from pathlib import Path
from typing import Any

from chronicle import sections
from chronicle.envelope import StoredEvent
from chronicle.ingest import FileReport, ingest_file
from chronicle.log import read
from chronicle.models import Log


def ingested(path: Path | str, owner: str = "demo", **given: Any) -> FileReport:
    return ingest_file(path, owner=owner, **given)


def only_log(report: FileReport) -> Log:
    (log,) = report.logs
    return Log.objects.get(public_id=log.log)


def events_of(report: FileReport) -> list[StoredEvent]:
    return list(read(only_log(report)))


def written(tmp_path: Path, records: list[dict[str, Any]], name: str = "session.jsonl") -> Path:
    path = tmp_path / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def talk(number: int, *, session: str = "s", words: str = "") -> dict[str, Any]:
    content = words or f"Message {number}."
    return {"type": "user", "sessionId": session, "uuid": f"u{number}", "message": {"content": content}}


def compaction(number: int, words: str, session: str = "s") -> list[dict[str, Any]]:
    boundary = {"type": "system", "subtype": "compact_boundary", "sessionId": session, "uuid": f"b{number}"}
    return [boundary, talk(number, session=session, words=words) | {"uuid": f"c{number}", "isCompactSummary": True}]


def chronicle_of(log: Log) -> list[tuple[str, str, int | None]]:
    edition = sections.current_edition(log)
    return [(section.ref, section.prose, section.replaces_from) for section in sections.current_sections(edition)]
