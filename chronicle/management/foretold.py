"""The preview of a file as lines of a terminal.

Guarantees: a line of text each, nothing of a source unescaped; what is cut says N of M.
"""

from collections.abc import Iterator

from chronicle.ingest import Tally
from chronicle.ingest.tally import SessionTally
from chronicle.management.terminal import plain

SHOWN = 20


def foretold(look: Tally) -> Iterator[str]:
    """Yield what a file holds and what an ingest would add."""
    report, records = look.report, look.report.records
    passed_by = f"would be passed by, {plain(report.skipped)}" if report.skipped else "cannot be read"
    yield f"{plain(report.path)}: {report.format or passed_by}"
    if records["read"]:
        yield (
            f"  {records['read']} records: {records['events']} with events, "
            f"{records['ignored']} ignored, {records['refused']} refused"
        )
    sessions = list(look.sessions.values())
    for one in sessions[:SHOWN]:
        yield from _session(one)
    for kind, count in sorted(report.ignored.items()):
        yield f"  ignored {count} × {plain(kind)}"
    for noted in report.notes[:SHOWN]:
        yield f"  line {noted.line}: {plain(noted.words)}"
    for refused in report.refused[:SHOWN]:
        yield f"  refused line {refused.line}: {plain(refused.reason)}"
    cut = {"sessions": len(sessions), "notes": len(report.notes), "refusals": report.refusals}
    yield from (f"  {SHOWN} of {count} {what} shown; --json gives more" for what, count in cut.items() if count > SHOWN)


def _session(one: SessionTally) -> Iterator[str]:
    title = f" “{plain(one.title)}”" if one.title else ""
    yield f"  session {plain(one.session)}{title}: {one.events} events ({_kinds(one)}), {one.compactions} compactions"
    known = f"log {plain(one.log)} has {one.held} of them" if one.log else "a new log"
    also = {"grown": one.grown, "conflicts": one.conflicts, "refused": one.refused, "again in the file": one.repeats}
    told = "".join(f", {count} {what}" for what, count in also.items() if count)
    yield f"    {one.new} new{told}; {one.summaries} summaries for sections; {known}"


def _kinds(one: SessionTally) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in one.kinds.items()) or "none"
