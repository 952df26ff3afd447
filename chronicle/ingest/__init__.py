"""Files into logs: what an importer reads is appended, once, with the sections that the source holds.

Guarantees: nothing is overwritten and nothing added twice; each batch (some 2,000 events of a session,
with their attachments, pins and summaries) is one transaction under its log's lock, so a crash leaves a
valid beginning of the file and the same ingest again completes it; a known digest is no shortcut, every
event is compared. Events before a summary are written with it, as far as memory allows.
Refuses: a file of no known format, or broken as a whole, with nothing written; single lines, by number.
"""

from chronicle.ingest.files import Found, found
from chronicle.ingest.preview import preview_file
from chronicle.ingest.report import FileReport, LogReport, Totals, totals
from chronicle.ingest.run import ingest_file
from chronicle.ingest.servers import is_dsn
from chronicle.ingest.tally import Tally

__all__ = [
    "FileReport",
    "Found",
    "LogReport",
    "Tally",
    "Totals",
    "found",
    "ingest_file",
    "is_dsn",
    "preview_file",
    "totals",
]
