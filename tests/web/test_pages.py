"""What holds for every page: fragments, headers, escaping, ids, and a number of queries that does not grow."""

import re
from collections import Counter

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from chronicle.models import Log
from tests.builders import log_of, said
from tests.web.conftest import log_with

# Each page of a log, and the fragments that it answers with: (address, target).
PAGES = {
    "logs": ("/", "list"),
    "logs, filtered": ("/?text=dinner", "list"),
    "chronicle, a rollup": ("/logs/{log}/?open=L2:1-63", "in-L2-1-63"),
    "chronicle, a section": ("/logs/{log}/?open=8-14", "in-8-14"),
    "chronicle, the tail": ("/logs/{log}/?open=tail", "in-tail"),
    "events": ("/logs/{log}/events/", "list"),
    "events, filtered": ("/logs/{log}/events/?kind=message&text=answer", "list"),
    "search": ("/search/?q=answer&log={log}", "found"),
    "pins": ("/logs/{log}/pins/", "list"),
    "event": ("/logs/{log}/events/4/", "payload"),
    "event, its text": ("/logs/{log}/events/4/", "c4"),
    "event, raw": ("/logs/{log}/events/4/?tab=raw", "payload"),
    "section": ("/logs/{log}/sections/8-14/", "beside"),
    "rollup": ("/logs/{log}/sections/L1:1-21/", "beside"),
    "generation": ("/logs/{log}/sections/8-14/1/", "beside"),
}
HOSTILE = "<img src=x onerror=alert(1)>{{ 7|add:7 }}\u202e\x1b[31m</script><div hx-get=/ hx-trigger=load>"


def body(client: Client, address: str, **headers: str) -> str:
    response = client.get(address, headers=headers)
    assert response.status_code == 200, address
    return response.content.decode()


def pages_of(log: Log) -> list[tuple[str, str]]:
    return [(address.format(log=log.public_id), target) for address, target in PAGES.values()]


def squeezed(html: str) -> str:
    return re.sub(r"\s+", " ", html).strip()


def test_a_fragment_is_contained_in_its_page(page: Client, log: Log):
    for address, target in pages_of(log):
        whole = body(page, address)
        fragment = body(page, address, HX_Request="true", HX_Target=target)

        assert "<html" not in fragment, address
        assert re.match(rf'<\w+[^>]*\bid="{re.escape(target)}"', squeezed(fragment)), address
        assert squeezed(fragment) in squeezed(whole), address


def test_a_page_is_kept_by_no_cache_allows_no_inline_script_and_repeats_no_id(page: Client, log: Log):
    for address, _ in pages_of(log):
        response = page.get(address)
        ids = Counter(re.findall(r'\sid="([^"]*)"', response.content.decode()))

        assert response["Cache-Control"] == "no-store", address
        assert {"HX-Request", "HX-Target"} <= {name.strip() for name in response["Vary"].split(",")}, address
        assert "unsafe" not in response["Content-Security-Policy"]
        assert not [name for name, count in ids.items() if count > 1], address


def test_a_history_restore_and_an_unknown_target_get_the_page(page: Client, log: Log):
    for address, target in pages_of(log):
        assert "<html" in body(page, address, HX_Request="true", HX_Target=target, HX_History_Restore_Request="true")
        assert "<html" in body(page, address, HX_Request="true", HX_Target="base.html")


def test_hostile_text_is_shown_as_text_in_every_field(page: Client, reviewer: User):
    owner = "".join(filter(str.isprintable, f"o{HOSTILE}"))  # a log's owner is printable
    reviewer.grants.create(owner=owner)
    log = log_of(
        [
            said(f"content {HOSTILE}", actor=f"actor {HOSTILE}", type=f"type {HOSTILE}", namespace=f"ns {HOSTILE}"),
            said(HOSTILE, kind="tool_request", payload={HOSTILE: HOSTILE}, correlation=HOSTILE, audience=(HOSTILE,)),
        ],
        owner=owner,
        public_id=f"id {HOSTILE}",
        title=f"title {HOSTILE}",
        source="<s>",
        source_session=HOSTILE,
    )
    start = page.get("/").content.decode()
    here = re.search(r'href="(/logs/[^"]*)"', start)
    assert here is not None
    assert page.get(here[1]).context["log"].pk == log.pk
    for path in ("?open=tail", "events/", "events/1/", "events/2/", "events/2/?tab=raw"):
        html = body(page, here[1] + path)
        assert "&lt;img src=x onerror=" in html
        assert "<img src=x" not in html
        assert "\x1b" not in html and "\u202e" not in html
        assert not re.search(r'<div hx-get="?/[ "]', html)
        assert "{{ 7|add:7 }}" in html


def queries(client: Client, address: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as caught:
        body(client, address)
    return len(caught)


def test_a_page_of_a_long_log_takes_as_many_queries_as_that_of_a_short_one(page: Client):
    short, long = log_with(2), log_with(30, rest=30)
    same = ["", "?open=tail", "?open={last}", "events/", "events/4/", "events/4/?tab=raw", "sections/{last}/"]

    for path in same:
        few = queries(page, f"/logs/{short.public_id}/{path.format(last='8-14')}")
        many = queries(page, f"/logs/{long.public_id}/{path.format(last='204-210')}")
        assert few == many, path


def test_the_page_of_logs_takes_as_many_queries_for_one_log_as_for_thirty(page: Client):
    log_with(2)
    one = queries(page, "/")
    for _ in range(29):
        log_of(1)

    assert queries(page, "/") == one


def test_anonymous_visitors_are_sent_to_sign_in(client: Client, small: Log):
    response = client.get(f"/logs/{small.public_id}/")

    assert response.status_code == 302
    assert response["Location"].startswith("/login/")


def test_an_unknown_log_and_one_that_is_not_yours_are_the_same_bytes(page: Client, db: None):
    log = log_with(2, owner="someone else")
    for path in ("", "events/", "pins/", "events/1/", "sections/1-7/", "events/1/?as=payload"):
        foreign = page.get(f"/logs/{log.public_id}/{path}")
        unknown = page.get(f"/logs/unknown/{path}")
        assert foreign.status_code == unknown.status_code == 404
        assert foreign.content == unknown.content


def test_what_is_not_there_is_not_found(page: Client, small: Log):
    numbers = ["events/0/", "events/999999999999999999999/", "events/99999/"]
    names = ["sections/12/", "sections/0-5/", "sections/5-99/", "sections/1-7/9/", "sections/L9:1-7/", "nothing/"]

    for path in [*numbers, *names, f"events/4/attachments/{'0' * 64}/"]:
        assert page.get(f"/logs/{small.public_id}/{path}").status_code == 404, path


def test_a_log_of_whatever_id_has_an_address(page: Client):
    for public_id in ("a/b", "..", ".", "~2F", "50%", "a b", "?q#h", "é漢"):
        log_of(1, public_id=public_id)
        link = re.search(r'<a href="(/logs/[^"]*)"', body(page, "/"))

        assert link is not None
        assert page.get(link[1]).context["log"].public_id == public_id


def test_nothing_is_written_by_looking(page: Client, log: Log):
    with CaptureQueriesContext(connection) as caught:
        for address, _ in pages_of(log):
            body(page, address)

    assert all(query["sql"].lstrip().upper().startswith("SELECT") for query in caught.captured_queries)
