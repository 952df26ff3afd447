"""A log written out for people and other tools: Markdown, self-contained HTML, CSV, OTLP JSON.

Guarantees: a range of seqs as it stood when it was looked at, read in short pages; the same log gives the same bytes;
every character that shows nothing is a mark (CSV and OTLP keep the text as recorded), all of it escaped for its
form; how many of how many events and sections were written is told. Each form says what it leaves out: only the
carry (`chronicle.carry`) holds everything. Refuses: a range outside the log (InvalidFilter).
"""

from chronicle.exports.forms import FORMS, Form, export, named, pages
from chronicle.exports.taken import Taken, Tally, take

__all__ = ["FORMS", "Form", "Taken", "Tally", "export", "named", "pages", "take"]
