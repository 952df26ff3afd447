"""A log written out for people and other tools, and had back where the form allows it."""

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from chronicle import exports
from chronicle.envelope import PendingEvent
from chronicle.errors import InvalidFilter
from chronicle.fold import consolidate
from chronicle.log import append
from chronicle.models import Event, Log
from tests.builders import log_of, units_of
from tests.summarisers import Scripted

pytestmark = pytest.mark.django_db

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "```\nbroken out\n```` <b>",
    "=HYPERLINK(\"http://x.invalid\")",
    "+1", "-1", "@SUM(A1)", "\t=1", "\r=1",
    "a\u202eb\u200bc\x1b[31md",
    "# heading\n- item\n[link](javascript:alert(1))",
    "</pre></body></html>",
    "comma, \"quote\"\nnew line\r\nother",
]  # fmt: skip


def said(content: str, **more: object) -> PendingEvent:
    values: dict[str, object] = {"kind": "message", "actor_kind": "human", "actor": "Ida", "content": content}
    return PendingEvent(**(values | more))  # type: ignore[arg-type]


@pytest.fixture
def hostile() -> Log:
    log = log_of([said(content, actor=f"A{content[:30]}".replace("\n", " ").replace("\r", " ").replace("\t", " "))
                  for content in HOSTILE])  # fmt: skip
    Log.objects.filter(pk=log.pk).update(title=HOSTILE[0])
    log.refresh_from_db()
    return log


def text_of(log: Log, form: str, first: int | None = None, last: int | None = None) -> str:
    return "".join(exports.named(form).write(exports.take(log, first, last)))


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_html_is_self_contained_and_every_text_is_escaped(hostile: Log) -> None:
    page = Elements()
    page.feed(text_of(hostile, "html"))

    assert page.tags <= {
        "html", "head", "meta", "style", "title", "body", "h1", "h2", "h3", "p", "article", "section", "pre", "a",
        "span", "details", "summary",
    }  # fmt: skip
    assert page.attributes <= {"lang", "charset", "http-equiv", "content", "name", "id", "class", "href"}
    words = "".join(page.words)
    assert "alert(1)" in words
    assert "a[U+202E]b[U+200B]c␛[31md" in words


def test_html_is_cut_into_pages_and_the_command_writes_them_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = units_of(4)
    form = exports.named("html")
    small = exports.Form(form.name, form.suffix, form.media_type, form.lossy, form.write, page=5)
    taken = exports.take(log)
    files = exports.export(small, taken, tmp_path / "log.html")

    assert [path.name for path in files] == ["log.html", "log-2.html"]
    assert taken.tally.events == taken.tally.events_there == log.last_seq
    found = [f'id="e{seq}"' in path.read_text() for path in files for seq in range(1, log.last_seq + 1)]
    assert found.count(True) == log.last_seq


def test_markdown_holds_no_text_that_is_read_as_markdown(hostile: Log) -> None:
    found = text_of(hostile, "markdown")
    outside, fence = [], ""
    for line in found.split("\n"):
        ticks = line.split("text")[0] if line.startswith("```") else ""
        if not fence and ticks:
            fence = ticks
        elif fence and line == fence:
            fence = ""
        elif not fence:
            outside.append(line)

    assert not fence
    outside = [
        re.sub(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", "", line) for line in outside
    ]  # in a code span nothing is read
    assert not any(re.search(r"(?<!\\)(<|\]\()|^- ", line) for line in outside)
    assert "# \\<script\\>alert\\(1\\)\\</script\\>" in outside[0]
    assert "\x1b" not in found


def test_markdown_and_html_show_the_sections_in_force_with_what_they_cite() -> None:
    log = units_of(3)
    consolidate(log, summariser=Scripted())
    for form in ("markdown", "html"):
        found = text_of(log, form)

        assert "1-2#1" in found
        assert "over events" in found


def test_csv_is_parsed_back_to_what_the_log_holds_and_runs_nothing(hostile: Log) -> None:
    found = list(csv.DictReader(io.StringIO(text_of(hostile, "csv"), newline="")))
    events = list(Event.objects.filter(log=hostile).order_by("seq"))

    assert len(found) == len(events)
    for row, event in zip(found, events, strict=True):
        altered = row["altered"].split()
        for name in ("kind", "actor", "content", "type", "payload", "digest"):
            assert not row[name].startswith(("=", "+", "-", "@", "\t", "\r"))
            assert (row[name][1:] if name in altered else row[name]) == str(getattr(event, name))
    assert sum("content" in row["altered"] for row in found) == 6


def test_otlp_is_one_span_an_event_with_ids_that_stay(hostile: Log) -> None:
    lines = text_of(hostile, "otlp").splitlines()
    spans = [span for line in lines for span in json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]]

    assert len({span["spanId"] for span in spans}) == len(spans) == hostile.last_seq
    assert {len(span["traceId"]) for span in spans} == {32}
    assert text_of(hostile, "otlp").splitlines() == lines


def test_otlp_joins_a_tools_answer_by_the_calls_id() -> None:
    asked = said("search roses", kind="tool_request", actor_kind="agent", actor="bot", correlation="c1",
                 payload={"tool": "search", "arguments": {"q": "roses"}, "usage": {"input_tokens": 3}})  # fmt: skip
    log = log_of([asked])
    append(log, [said("12", kind="tool_response", actor_kind="system", actor="search", correlation="c1")])
    first, second = json.loads(text_of(log, "otlp"))["resourceSpans"][0]["scopeSpans"][0]["spans"]
    attributes = [{a["key"]: next(iter(a["value"].values())) for a in span["attributes"]} for span in (first, second)]
    part = json.loads(attributes[0]["gen_ai.output.messages"])[0]["parts"][0]

    assert part == {"type": "tool_call", "id": "c1", "name": "search", "arguments": {"q": "roses"}}
    assert attributes[0]["gen_ai.usage.input_tokens"] == "3"
    assert attributes[1]["gen_ai.tool.call.id"] == "c1"
    assert attributes[1]["gen_ai.tool.call.result"] == "12"


@pytest.mark.parametrize("form", [form.name for form in exports.FORMS])
def test_a_range_is_counted_against_what_is_there(form: str) -> None:
    log = units_of(3)
    taken = exports.take(log, 2, 4)
    "".join(exports.named(form).write(taken))

    assert (taken.tally.events, taken.tally.events_there) == (3, log.last_seq)


@pytest.mark.parametrize("form", [form.name for form in exports.FORMS])
def test_an_empty_log_is_written_too(form: str) -> None:
    assert text_of(log_of([]), form)


@pytest.mark.parametrize(("first", "last"), [(0, 1), (1, 99), (5, 2), (99, None), (-1, None)])
def test_a_range_outside_the_log_is_refused_with_the_range_there_is(first: int, last: int | None) -> None:
    log = units_of(3)
    with pytest.raises(InvalidFilter, match=r"1 to 6|turn them round"):
        exports.take(log, first, last)


@pytest.mark.parametrize("form", [form.name for form in exports.FORMS])
def test_the_same_log_gives_the_same_bytes(form: str) -> None:
    log = units_of(3)

    assert text_of(log, form) == text_of(log, form)


def test_the_number_of_queries_does_not_grow_with_the_range(django_assert_max_num_queries) -> None:
    log = units_of(30)
    with django_assert_max_num_queries(16):
        text_of(log, "html")
