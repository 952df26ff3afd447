"""What must be known of a whole Claude Code transcript before its first record is read: one quick pass over its bytes.

Guarantees: nothing is parsed and nothing raised for what is no JSON; memory grows with the messages, not their size.
"""

import re
from typing import NamedTuple

from chronicle.importers import lines
from chronicle.importers.protocol import Opened, Survey

_MESSAGE_ID = re.compile(rb'"id"\s*:\s*"([^"\\]{1,200})"')
_COMPACT_SUMMARY = re.compile(rb'"isCompactSummary"\s*:\s*true')


class FirstPass(NamedTuple):
    """What must be known of a whole file before its first record: `last_line` is where a message's usage stands."""

    survey: Survey
    last_line: dict[str, int]


def first_pass(opened: Opened) -> FirstPass:
    """Survey a file, and find the last line that carries usage for each message: one message spans several records.

    A line that repeats an earlier one byte for byte does not count: its events are the earlier ones.
    """
    last: dict[str, int] = {}
    met: set[int] = set()
    number = summary = 0
    for number, data, _, _ in lines.raw_lines(opened):
        if b'"usage"' in data and (line := hash(data)) not in met:
            met.add(line)
            for found in _MESSAGE_ID.findall(data):
                last[found.decode("utf-8", "replace")] = number
        if b'"isCompactSummary"' in data and _COMPACT_SUMMARY.search(data):
            summary = number
    return FirstPass(Survey(number, summary), last)
