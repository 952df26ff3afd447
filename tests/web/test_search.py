"""The search page: what it finds, for whom, how it is shown, and what odd queries are answered with."""

import re
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from chronicle import rebuild, sections
from chronicle.envelope import PendingEvent
from chronicle.models import Log
from chronicle.sections import NewSection
from tests.builders import log_of, marker, said
from tests.web.conftest import log_with, redraw
from tests.web.conftest import words as said_by

pytestmark = pytest.mark.django_db

HOSTILE = "<img src=x onerror=alert(1)>zeppelin\u202e\x1b[31m</script>"


def context(client: Client, query: str, **given: str) -> Any:
    answer = client.get("/search/", {"q": query, **given})
    assert answer.status_code == 200
    return answer.context


def seqs(client: Client, query: str, **given: str) -> list[int]:
    return [hit.seq for hit in context(client, query, **given)["events"].hits]


def refs(client: Client, query: str, **given: str) -> list[str]:
    return [hit.section.ref for hit in context(client, query, **given)["sections"].hits]


def words(client: Client, query: str, **given: str) -> str:
    return said_by(client.get("/search/", {"q": query, **given}).content.decode())


def called(payload: Any, **given: Any) -> PendingEvent:
    return said("", kind="tool_request", actor_kind="agent", actor="search", payload=payload, **given)


def written(log: Log, title: str, prose: str, *, last: int = 2) -> None:
    new = NewSection(title=title, prose=prose, from_seq=1, to_seq=last, kind="unit", event_count=1)
    sections.append_new(sections.current_edition(log), new)


@pytest.mark.promise("A81")
def test_events_and_sections_are_found_by_their_words_and_lead_to_their_pages(page: Client) -> None:
    log = log_of([said("The hornbeam hedge."), marker(), said("Nothing of it.")], title="Garden")
    written(log, "A hedge", "Dina wants hornbeam, two metres apart.")
    assert seqs(page, "hornbeam") == [1]
    assert refs(page, "HORNBEAM") == ["1-2"]
    html = page.get("/search/?q=hornb").content.decode()
    assert f'href="/logs/{log.public_id}/events/1/"' in html
    assert f'href="/logs/{log.public_id}/sections/1-2/1/"' in html
    assert html.count("<mark>hornb</mark>") == 2 and "Garden" in html and "generated #1" in html
    for address in re.findall(r'href="(/logs/[^"]+)"', html):
        assert page.get(address).status_code == 200


def test_superseded_generations_and_older_editions_are_found_and_marked(page: Client, small: Log) -> None:
    redraw(small, "1-7")
    found = {hit.section.ref: hit.later for hit in context(page, "dinner")["sections"].hits}
    assert found == {"1-7": 2, "8-14": None}
    assert "superseded by #2" in words(page, "dinner")
    rebuild.rebuild(small, discard_generated=True, by="test")
    assert "edition 1, not in force" in words(page, "redrawn")
    for address in re.findall(r'href="(/logs/[^"]+)"', page.get("/search/?q=redrawn").content.decode()):
        assert page.get(address).status_code == 200


@pytest.mark.promise("K7", "K26")
def test_what_is_not_ones_own_is_neither_found_nor_counted(page: Client, client: Client) -> None:
    mine = log_of([said("One zeppelin."), marker()])
    foreign = log_of([said(f"zeppelin {number}") for number in range(30)], owner="somebody else", title="zeppelin")
    written(foreign, "zeppelin", "zeppelin zeppelin")
    for exact in ({}, {"exact": "on"}, {"first": "1"}, {"exact": "on", "log": foreign.public_id}):
        found = context(page, "zeppelin", **exact)
        assert (found["events"].shown.of, found["sections"].shown.of) == (1, 0)
    assert mine.public_id in page.get("/search/?q=zeppelin").content.decode()
    known, unknown = (words(page, "zeppelin", log=name) for name in (foreign.public_id, "no-such-log"))
    assert known.replace(foreign.public_id, "") == unknown.replace("no-such-log", "")
    place = f"{foreign.public_id}~1"
    answers = [page.get("/search/", {"q": "zeppelin", "events_after": at}) for at in (place, "no-such-log~1")]
    assert [answer.status_code for answer in answers] == [400, 400]
    client.force_login(User.objects.create_user("charlie"))
    assert context(client, "zeppelin")["events"].shown.of == 0


FILTERS: list[tuple[dict[str, str], list[int]]] = [
    ({"kind": "thought"}, [2]),
    ({"actor": "search"}, [3]),
    ({"first": "2", "last": "3"}, [2, 3]),
    ({"log": "Garden"}, [1, 2, 3]),
    ({"log": "no such"}, []),
    ({"until": "2020-01-01"}, []),
    ({"since": "2020-01-01"}, [1, 2, 3]),
]


@pytest.mark.promise("K7")
@pytest.mark.parametrize(("given", "expected"), FILTERS)
@pytest.mark.parametrize("exact", ["", "on"])
def test_filters_run_before_the_count_and_say_what_they_hide(
    page: Client, given: dict[str, str], expected: list[int], exact: str
) -> None:
    thought = said("A zeppelin, then.", kind="thought", actor_kind="agent", actor="concierge")
    log_of([said("A zeppelin?"), thought, called({"what": "zeppelin"})], title="Garden")
    assert sorted(seqs(page, "zeppelin", exact=exact, **given)) == expected
    hidden = 3 - len(expected)
    assert f"{len(expected)} of 3 events found shown: {hidden} hidden" in words(page, "zeppelin", exact=exact, **given)


def test_sections_are_narrowed_by_log_seq_and_time_and_hidden_by_filters_of_events(page: Client, small: Log) -> None:
    assert sorted(refs(page, "dinner", first="8")) == ["8-14"]
    assert sorted(refs(page, "dinner", last="8")) == ["1-7", "8-14"]
    assert refs(page, "dinner", log=small.public_id[:8], until="2020-01-01") == []
    assert "neither a kind of event nor an actor" in words(page, "dinner", kind="message")


@pytest.mark.promise("K7")
@pytest.mark.parametrize("exact", ["", "on"])
def test_pages_reach_every_hit_once(page: Client, exact: str) -> None:
    for number in range(3):
        log_of([said("zeppelin " * (1 + place % 4) + "x" * (place % 5)) for place in range(25)], title=f"log {number}")
    query, met = {"q": "zeppelin", "exact": exact}, []
    address = f"?q={query['q']}&exact={exact}"
    while address:
        part = page.get(f"/search/{address}").context["events"]
        met += [(hit.log_id, hit.seq) for hit in part.hits]
        assert part.shown.of == 75
        address = part.later
    assert len(met) == len(set(met)) == 75


def test_sections_are_paged_apart_from_events(page: Client) -> None:
    log_with(25, title="Long")
    first = page.get("/search/?q=dinner").context["sections"]
    second = page.get(f"/search/{first.later}").context
    assert len(first.hits) == 10 and first.shown.of > 20
    assert not {hit.place for hit in first.hits} & {hit.place for hit in second["sections"].hits}
    assert second["sections"].first and not second["events"].first


@pytest.mark.promise("K7")
@pytest.mark.parametrize("given", [{}, {"exact": "on"}, {"kind": "message"}])
def test_queries_are_as_many_for_one_hit_as_for_thirty(page: Client, given: dict[str, str]) -> None:
    counts = []
    for many in (1, 29):
        for _ in range(many):
            written(log_of([said("A zeppelin."), marker()]), "zeppelin", "zeppelin")
        with CaptureQueriesContext(
            connection,
        ) as caught:
            page.get("/search/", {"q": "zeppelin", **given})
        counts.append(len(caught))
    assert counts[0] == counts[1] <= 10


EVERYWHERE = "\u202ezeppelin\u200b 🌲é晚餐"


def test_hostile_text_is_found_in_every_field_and_shown_as_it_is_recorded(page: Client) -> None:
    payload = {"key\u0000zeppelin": HOSTILE, "nested": [{"x": "line\nzeppelin \\u0000 \\ \u0000end"}]}
    log = log_of([said(HOSTILE, actor=HOSTILE), called(payload, type="x.zeppelin"), said(EVERYWHERE)], title=HOSTILE)
    written(log, "zeppelin\u202e", HOSTILE + " <b>bold</b>")
    assert sorted(seqs(page, "zeppelin")) == sorted(seqs(page, "zeppelin", exact="on")) == [1, 2, 3]
    html = page.get("/search/?q=zeppelin").content.decode()
    for forbidden in ("<img", "\u202e", "\x1b", "<b>bold"):
        assert forbidden not in html
    assert "&lt;img src=x onerror=alert(1)&gt;<mark>zeppelin</mark>" in html and "[U+202E]" in html and "␛" in html


@pytest.mark.parametrize(
    ("query", "exact"),
    [
        *(
            (one, "")
            for one in ("emoji", "🌲", "晚餐", "晚", "cafe", "CAFÉ", "ligne", "after", "Ελλάδα", "q.tool", "é", "key")
        ),
        *(
            (one, "on")
            for one in ("🌲", "晚餐", "Café", "café", "fter\x00", "\x00", "\u202e", "\\", '"', "ΕΛΛΆΔΑ", "_%", "%")
        ),
    ],
)
@pytest.mark.parametrize("where", ["content", "payload"])
def test_nul_bidi_emoji_and_every_script_are_found_in_content_and_payload(
    page: Client, query: str, exact: str, where: str
) -> None:
    text = 'emoji 🌲 é 晚餐 Café "\\ ligne\nligne2 \u202eΕλλάδα _% key q.tool after'
    both = {"content": [said(text)], "payload": [called({"key": f"{text}\x00 x", "p": "q.tool"})]}
    log_of([said("nothing"), *both[where]])
    wanted = [] if "\x00" in query and where == "content" else [2]
    assert seqs(page, query, exact=exact) == wanted


@pytest.mark.parametrize("size", [150_000, 3_000_000])
def test_a_payload_of_any_size_and_depth_is_recorded_and_found(page: Client, size: int) -> None:
    deep: Any = "zeppelin"
    for _ in range(60):
        deep = [deep]
    many = " ".join(f"{number:x}é" for number in range(size // 8))
    log_of([said(f"zeppelin {many[:size]}"), called({"a": deep, "b": "🌲" * (size // 12), "c": many})])
    assert sorted(seqs(page, "zeppelin")) == sorted(seqs(page, "zeppelin", exact="on")) == [1, 2]


def test_exact_text_is_found_inside_of_words_and_with_its_signs(page: Client) -> None:
    log_of([said("Costs 100% _sure_, unzeppelined."), said("Zeppelin sure")])
    assert seqs(page, "zeppelin") == [2]
    assert seqs(page, "ZEPPELIN", exact="on") == [2, 1]
    assert seqs(page, "0% _s", exact="on") == [1]
    assert seqs(page, " sure", exact="on") == [2]


def test_where_nothing_holds_every_word_it_is_said(page: Client) -> None:
    log_of([said("A zeppelin."), said("A hedge.")])
    assert "None holds every word" in words(page, "zeppelin hedge")
    assert sorted(seqs(page, "zeppelin hedge")) == [1, 2]
    assert "None holds every word" not in words(page, "a zeppelin")


ODD = ("", " ", "\t\n", "\x00", "...", '"', "*", "NEAR(", "NEAR(a b, 2)", "a AND", "title:x", "-x", "(",
       "\\", "%", "_", "'", ";--",
       "x", "🌲", "晚", "\u202e", "\u0301", "\u200d", "é" * 2000, "w " * 1000, "🌲" * 600, "a OR b NOT c", "^x",
       "$$", "\ufffd",
       "{{ 7|add:7 }}", "<script>", "&amp;", "a" * 2000)  # fmt: skip


@pytest.mark.parametrize("query", ODD, ids=range(len(ODD)))
def test_no_query_is_an_error_and_each_has_an_answer(page: Client, small: Log, query: str) -> None:
    for given in ({}, {"exact": "on"}):
        text = words(page, query, **given)
        assert re.search(r"of \d+ (section|event)s? found shown|Type words|0 of 0 found", text), text


def test_what_is_too_long_or_cannot_be_read_is_refused_with_the_reason(page: Client, small: Log) -> None:
    refused = {
        "q=" + "x" * 10_000: "at most 2000 characters; this one has 10000",
        "q=a&first=0": "first:",
        "q=a&first=9&last=3": "first lies after last",
        "q=a&since=yesterday": "A time looks like",
        "q=a&since=0001-01-01T00:00%2B14:00": "A time looks like",
        "q=a&kind=gossip": "kind:",
        "q=a&actor=%00": "actor:",
        "q=a&log=%00": "log:",
        "q=a&events_after=1": "this place is none",
        "q=a&events_after=a~" + "9" * 40: "this place is none",
        "q=a&sections_after=x": "this place is none",
        "q=a&sections_after=a~1~1-2": "this place is none",
        "q=a&sections_after=a~%C2%B2~1-2": "this place is none",
    }
    for query, reason in refused.items():
        answer = page.get(f"/search/?{query}")
        assert (answer.status_code, reason in said_by(answer.content.decode())) == (400, True), query
    for raw in ("%ED%A0%80", "%FF%FE", "%00"):
        assert page.get(f"/search/?q={raw}").status_code == 200


def test_it_works_without_javascript_and_answers_htmx_with_the_fragment(page: Client, small: Log) -> None:
    whole = page.get("/search/?q=dinner").content.decode()
    part = page.get("/search/?q=dinner", headers={"HX-Request": "true", "HX-Target": "found"}).content.decode()
    squeezed = [re.sub(r"\s+", " ", html).strip() for html in (part, whole)]
    assert squeezed[0].startswith('<div id="found">') and squeezed[0] in squeezed[1]
    assert 'action="/search/"' in whole and 'hx-get="/search/"' in whole
    assert '<a href="/search/" aria-current="page">Search</a>' in whole
    assert '<a href="/search/">Search</a>' in page.get("/").content.decode()


def test_a_page_keeps_the_query_and_the_filters(page: Client) -> None:
    log_of([said('zeppelin & "more"') for _ in range(25)])
    query = 'zeppelin & "more"'
    later = page.get("/search/", {"q": query, "first": "2", "exact": "on"}).context["events"].later
    assert quote('"more"') in later and "first=2" in later and "exact=on" in later
    assert len(page.get(f"/search/{later}").context["events"].hits) == 4


@pytest.mark.parametrize("given", [{"q": "oak tree", "exact": "on"}, {"q": "晚"}])
def test_a_text_as_written_is_looked_for_a_stretch_at_a_time_and_the_page_says_so(
    page: Client, monkeypatch: pytest.MonkeyPatch, given: dict[str, str]
) -> None:
    monkeypatch.setattr("chronicle.matching.LOOKED_THROUGH", 4)
    log_of([said("An oak tree, 晚."), *(said(f"Nothing {number}.") for number in range(5)), said("Oak tree, 晚.")])
    first = page.get("/search/", given)
    assert [hit.seq for hit in first.context["events"].hits] == [7]
    assert "4 events were looked through; older ones were not yet" in said_by(first.content.decode())
    second = page.get(f"/search/{first.context['events'].later}")
    assert [hit.seq for hit in second.context["events"].hits] == [1]
    assert not second.context["events"].later
    assert "looked through" not in said_by(second.content.decode())
    narrowed = said_by(page.get("/search/", {**given, "last": "3"}).content.decode())
    assert "what the filter hides was not counted" in narrowed
