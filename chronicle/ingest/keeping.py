"""How much of a long report a job's row keeps: some reports, some lines of each, and the counts of all.

Guarantees: the counts are those of all files, and each report says how many refusals, notes and sessions it had.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from chronicle.ingest.report import FileReport, totals
from chronicle.ingest.tally import Tally

FILES = 500
LINES_IN_ALL = 20_000  # refused lines and notes, over all files of a job
SESSIONS_IN_ALL = 5_000
SUMS = ("events", "new", "held", "repeats", "grown", "conflicts", "refused", "compactions", "summaries")


def reports(found: Sequence[FileReport]) -> dict[str, Any]:
    """Return what a job says of the files that it ingested: those with refusals first where not all are kept."""
    whole = [report.as_json() for report in _chosen(found)]
    each = _share(LINES_IN_ALL, whole)
    kept = [
        report
        | {"refused": report["refused"][:each], "notes": report["notes"][:each], "notes_all": len(report["notes"])}
        for report in whole
    ]
    counted = totals([report.as_json() for report in found])
    added = sum(log.added for report in found for log in report.logs)
    return {"files": kept, "of": len(found), "added": added, "totals": counted._asdict()}


def previews(found: Sequence[Tally]) -> dict[str, Any]:
    """Return what a job says of the files that it looked at."""
    by_report = {id(look.report): look for look in found}
    whole = [by_report[id(report)].as_json() for report in _chosen([look.report for look in found])]
    each = _share(SESSIONS_IN_ALL, whole)
    kept = [preview | {"sessions": preview["sessions"][:each]} for preview in whole]
    return {"files": kept, "of": len(found), "totals": _sums(found)}


def _sums(found: Sequence[Tally]) -> dict[str, int]:
    read = sum(bool(look.sessions) for look in found)
    passed_by = sum(bool(look.report.skipped) for look in found)
    sessions = len({(look.report.format, session) for look in found for session in look.sessions})
    counts = {name: sum(look.total(name) for look in found) for name in SUMS}
    return {
        "read": read,
        "passed_by": passed_by,
        "sessions": sessions,
        "refusals": sum(look.report.refusals for look in found),
        "notes": sum(len(look.report.notes) for look in found),
        **counts,
    }


def _chosen(found: Sequence[FileReport]) -> Sequence[FileReport]:
    if len(found) <= FILES:
        return found
    return sorted(found, key=lambda report: (not report.refusals, not report.skipped))[:FILES]


def _share(in_all: int, files: Sequence[Mapping[str, Any]]) -> int:
    return in_all // max(len(files), 1)
