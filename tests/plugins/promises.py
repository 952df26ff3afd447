"""`--promises`: the table of docs/promises.md with the tests that carry each line and how they ended.

Guarantees: a test whose marker names an unknown promise fails; a promise marked `test` counts as proven only
when a test that carries it passed and none failed, on each database it ran on; one that is not makes the exit
code 1. Skipped and expected failures prove nothing. The last line of the output is the tally.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

DOCUMENT = Path(__file__).parents[2] / "docs" / "promises.md"
ROW = re.compile(r"^\| *([A-Z]+\d+) *\|(.*)\|([^|]*)\|\s*$")
MARKS = ("test", "not by test", "replaced", "later")


class Promise(NamedTuple):
    """One line of the document; `mark` is one of MARKS, `why` the words after its colon."""

    id: str
    words: str
    mark: str
    why: str


class Standing(NamedTuple):
    """A promise with the outcome ("passed", "failed", "skipped") of each (test, database) that carries it."""

    promise: Promise
    outcomes: Mapping[tuple[str, str], str]

    @property
    def proven(self) -> bool:
        ended = set(self.outcomes.values())
        return "passed" in ended and "failed" not in ended


def read_promises(text: str) -> dict[str, Promise]:
    """The promises of a document, in its order; ValueError names a line that cannot be read."""
    promises: dict[str, Promise] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not re.match(r"\| *[A-Z]+\d", line):
            continue
        found = ROW.match(line)
        mark, _, why = (found[3] if found else "").partition(":")
        mark, why = mark.strip(), why.strip()
        if not found or mark not in MARKS or (mark != "test") != bool(why) or not found[2].strip():
            raise ValueError(f"line {number} is no promise: | id | words | {' | '.join(MARKS)} (with a reason) |")
        if found[1] in promises:
            raise ValueError(f"line {number} has {found[1]} a second time")
        promises[found[1]] = Promise(found[1], found[2].strip(), mark, why)
    return promises


def standings(
    promises: Mapping[str, Promise], carried: Mapping[str, set[str]], outcomes: Mapping[tuple[str, str], str]
) -> list[Standing]:
    """Join the promises with what ran: `carried` maps a test to its ids, `outcomes` (test, database) to its end."""
    per: dict[str, dict[tuple[str, str], str]] = defaultdict(dict)
    for place, outcome in outcomes.items():
        for identifier in carried.get(place[0], ()):
            per[identifier][place] = outcome
    return [Standing(promise, per[promise.id]) for promise in promises.values()]


def missing(rows: Iterable[Standing]) -> list[Standing]:
    """The promises that are due and not proven, and those a test carries and breaks."""
    return [row for row in rows if (row.promise.mark == "test" or "failed" in row.outcomes.values()) and not row.proven]


def describe(row: Standing) -> list[str]:
    """The lines of the table for one promise."""
    promise, ended = row.promise, set(row.outcomes.values())
    if promise.mark == "test":
        word = "proven" if row.proven else "NOT PROVEN: " + ("a test fails" if "failed" in ended else "no test passed")
    else:
        word = f"{promise.mark}: {promise.why}" + (f" ({len(row.outcomes)} runs carry it)" if ended else "")
    tests: dict[str, list[str]] = defaultdict(list)
    for (test, database), outcome in sorted(row.outcomes.items()):
        tests[test].append(f"{outcome} on {database}")
    return [f"{promise.id:<5} {word}", *(f"        {test}: {', '.join(ends)}" for test, ends in tests.items())]


def tally(rows: list[Standing]) -> str:
    """The last line: how many are due, proven, not by test, replaced, later."""
    marks = {mark: [row for row in rows if row.promise.mark == mark] for mark in MARKS}
    proven = [row for row in marks["test"] if row.proven]
    tests = {test for row in proven for test, _ in row.outcomes}
    lost = missing(rows)
    return (
        f"promises: {len(marks['test'])} due, {len(proven)} proven by {len(tests)} tests, "
        f"{len(marks['not by test'])} not by test, {len(marks['replaced'])} replaced by others, "
        f"{len(marks['later'])} later" + (f", {len(lost)} NOT PROVEN" if lost else "")
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("anagrapheus-site").addoption("--promises", action="store_true", help="print what is proven")


def pytest_configure(config: pytest.Config) -> None:
    try:
        promises = read_promises(DOCUMENT.read_text())
    except ValueError as error:
        raise pytest.UsageError(f"{DOCUMENT.name}: {error}") from error
    config.pluginmanager.register(Table(config, promises), "table-of-promises")


class Table:
    """Collects on the controller what the workers report, and prints the table after everything else."""

    def __init__(self, config: pytest.Config, promises: Mapping[str, Promise]) -> None:
        self.config = config
        self.promises = promises
        self.carried: dict[str, set[str]] = {}
        self.outcomes: dict[tuple[str, str], str] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            ids = {str(given) for marker in item.iter_markers("promise") for given in marker.args}
            item.user_properties.append(("promises", " ".join(sorted(ids))))

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        ids = {str(given) for marker in item.iter_markers("promise") for given in marker.args}
        if unknown := sorted(ids - self.promises.keys()):
            pytest.fail(f"docs/promises.md has no {', '.join(unknown)}", pytrace=False)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        given = dict(report.user_properties)
        place = (report.nodeid, str(given.get("database", "?")))
        self.carried[report.nodeid] = set(str(given.get("promises", "")).split())
        if report.failed:
            self.outcomes[place] = "failed"
        elif report.skipped or hasattr(report, "wasxfail"):
            self.outcomes.setdefault(place, "skipped")
        elif report.when == "call":
            self.outcomes.setdefault(place, "passed")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        yield
        if not self.config.option.promises or hasattr(self.config, "workerinput"):
            return
        rows = standings(self.promises, self.carried, self.outcomes)
        if missing(rows) and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        write = self.config.get_terminal_writer()
        for line in (line for row in rows for line in describe(row)):
            write.line(line)
        write.line("not proven: " + (" ".join(row.promise.id for row in missing(rows)) or "none"))
        write.line(tally(rows))
