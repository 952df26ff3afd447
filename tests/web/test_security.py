"""What holds on every page: a strict policy, nothing written by reading, nothing recorded becomes markup."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import Group, User
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from chronicle import jobs, sections
from chronicle.envelope import PendingEvent
from chronicle.errors import SummaryFailed
from chronicle.failures import keep
from chronicle.fold import consolidate
from chronicle.models import Grant, Job, JobState, Log
from chronicle.sections import NewSection
from tests.builders import log_of, marker, said
from tests.web.crawl import Markup, crawl, fragments
from tests.web.digest import database_digest
from tests.web.world import World, people, world

pytestmark = pytest.mark.django_db

HOUSE = Path(__file__).parent.parent.parent
POLICY = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "object-src 'none'",
}
# Each becomes an element or an attribute of its own wherever it is not escaped.
CORPUS = [
    "<script>alert('xss')</script>",
    "\"><img src=x onerror=alert('xss')>",
    "' onmouseover='alert(1)' x='",
    '"><svg/onload=alert(1)>',
    "</title><iframe srcdoc='xss'></iframe>",
    "--><form action=//evil.example><input name=xss>",
    "<div hx-get='/xss' hx-trigger='load'>",
    "{{ 7|add:1 }}{% debug %}",
    "javascript:alert('xss')",
    "]]></style><base href=//evil.example>",
]
XSS = " ".join(CORPUS)
# Escape, carriage return, right-to-left override, zero width space, joiner, line separator, soft hyphen, tag.
UNSEEN = "a\x1b[31mb\rc\u202ed\u200be\u200df\u2028g\u00adh\U000e0041i\x7fj"
HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\U000e0000-\U000e0fff]"
)
FOREIGN = {
    "iframe",
    "frame",
    "object",
    "embed",
    "base",
    "style",
    "template",
    "noscript",
    "applet",
    "video",
    "audio",
    "math",
}


@pytest.fixture
def known() -> World:
    return world()


@pytest.fixture
def who(known: World) -> dict[str, Client]:
    return people()


def pages(client: Client, *starts: str) -> list[tuple[str, HttpResponse]]:
    """Every page and every fragment that is reached, HTML alone."""
    found: dict[str, HttpResponse] = {}
    for address, answer in crawl(client, *(starts or ("/",))):
        assert answer.status_code < 500, address
        if answer.get("Content-Type", "").startswith("text/html"):
            found[address] = answer
            if answer.status_code == 200:
                found |= fragments(client, answer, address, met=found)
    return list(found.items())


@pytest.mark.parametrize(("person", "at_least"), [("admin", 100), ("reviewer", 15)])
def test_reading_every_page_writes_nothing_and_each_keeps_the_strict_policy(
    known: World, who: dict[str, Client], person: str, at_least: int
) -> None:
    before = database_digest()
    read = pages(who[person], "/", "/nowhere/", "/?before=x")
    assert database_digest() == before
    assert len(read) > at_least
    assert {address for address, answer in read if answer.status_code not in {200, 302, 400, 403, 404, 405}} == set()
    assert [problem for address, answer in read for problem in problems(address, answer)] == []
    assert [address for address, answer in read if not kept(address, answer)] == []


def test_the_page_to_sign_in_keeps_the_strict_policy(known: World, who: dict[str, Client]) -> None:
    read = pages(who["anonymous"], "/login/", "/login/?next=/jobs/", "/admin/login/")
    assert [problem for address, answer in read for problem in problems(address, answer)] == []
    assert all(kept(address, answer) for address, answer in read)


def kept(address: str, answer: HttpResponse) -> bool:
    """True when the headers of an answer are as strict as they must be."""
    strict = set(answer["Content-Security-Policy"].split("; ")) == POLICY and answer["X-Frame-Options"] == "DENY"
    cached = answer.status_code != 200 or "no-store" in answer.get("Cache-Control", "")
    return strict and answer["X-Content-Type-Options"] == "nosniff" and (cached or address.startswith("/login/"))


def problems(address: str, answer: HttpResponse) -> list[str]:
    """What the markup of a page holds that it should not: one line each."""
    found, page = [], answer.content.decode()
    markup = Markup.of(page)
    found += [f"{address}: inline {text[:60]!r}" for text in markup.inline]
    for tag, attributes in markup.tags:
        if tag in FOREIGN:
            found.append(f"{address}: <{tag}>")
        for name, value in attributes.items():
            if name.startswith(("on", "hx-on")) or name in {"style", "srcdoc", "xss"}:
                found.append(f"{address}: <{tag} {name}={value[:60]!r}>")
            if name in {"href", "src", "action", "formaction", "hx-get", "hx-post"} and not harmless(value):
                found.append(f"{address}: <{tag} {name}={value[:60]!r}>")
        if tag == "script" and not attributes.get("src", "").startswith(("/static/", "/admin/jsi18n/")):
            found.append(f"{address}: <script {attributes}>")
    found += [f"{address}: U+{ord(hidden):04X} unmarked" for hidden in set(HIDDEN.findall(page))]
    return found


def harmless(link: str) -> bool:
    """An address of this site, or one of the web that a link may lead to."""
    split = urlsplit(link)
    own = not split.scheme and not split.netloc and "/xss" not in split.path.partition("/logs/")[0]
    return own or (split.scheme in {"http", "https"} and split.netloc == "docs.djangoproject.com")


@pytest.fixture
def hostile() -> Log:
    """A log, sections, jobs and people with the corpus in every field that takes words."""
    words, name = f"{XSS} {UNSEEN}", f"{CORPUS[1]}{CORPUS[3]}{UNSEEN}"
    payload = {name: words, "nested": [{words: CORPUS}], "attachment": words}
    call = {"correlation": name, "type": name, "payload": payload, "namespace": name}
    events = [one for _ in range(12) for one in hostile_unit(words, name, call)]
    owner, source = f"owner {CORPUS[0]}", CORPUS[0]
    log = log_of(events, owner=owner, title=words[:300], public_id=name, source=source, source_session=words[:300])
    consolidate(log)
    edition = sections.current_edition(log)
    old = sections.current_sections(edition).filter(anchor__level=0)[0]
    sections.supersede(edition, old, hostile_section(old.anchor.from_seq, old.anchor.to_seq, words, name))
    keep(edition, 0, 1, 5, SummaryFailed(words))
    for kind, target in (("consolidate", log.public_id), ("ingest", words[:300])):
        made = jobs.enqueue(kind, target, key=kind, args={"owner": owner, "files": [{"path": name, "name": words}]})
        report = {
            "path": words,
            "format": name,
            "logs": [],
            "refused": [{"line": 0, "reason": words}, {"line": 3, "reason": words}],
        }
        progress = {"done": 1, "of": None, "what": words[:200]}
        Job.objects.filter(pk=made.pk).update(
            state=JobState.PARKED,
            last_error=words,
            progress=progress,
            result={"files": [report | {"ignored": {words: 2}, "notes": [{"line": 1, "words": words}]}]},
            made_by=name[:200],
        )
    Grant.objects.create(group=Group.objects.create(name=CORPUS[0]), owner=owner)
    return log


def hostile_unit(words: str, name: str, call: dict[str, Any]) -> list[PendingEvent]:
    return [
        said(words, actor=name),
        said(words, actor=name, actor_kind="agent", kind="thought", audience=(name,)),
        said("", actor=name, actor_kind="agent", kind="tool_request", **call),
        said(words, actor=name, actor_kind="system", kind="tool_response", **call),
        marker(words, actor=name),
    ]


def hostile_section(from_seq: int, to_seq: int, words: str, name: str) -> NewSection:
    return NewSection(
        from_seq=from_seq,
        to_seq=to_seq,
        kind="unit",
        event_count=4,
        title=XSS[:40] + UNSEEN[:30],
        prose=words,
        summariser=name[:60],
        model=name,
        made_by=name,
        unit_seq=to_seq,
    )


def test_nothing_that_was_recorded_becomes_markup_on_any_page(hostile: Log) -> None:
    root = Client()
    root.force_login(User.objects.create_superuser("root<script>alert('xss')</script>"))
    read = pages(root)
    assert sum(address.startswith("/logs/") for address, _ in read) > 20
    found = [problem for address, answer in read for problem in problems(address, answer)]
    assert found == []


def test_what_was_recorded_is_shown_whole_and_what_cannot_be_seen_as_a_mark(hostile: Log) -> None:
    root = Client()
    root.force_login(User.objects.create_superuser("root"))
    page = root.get(reverse("event", args=[hostile.public_id, 1])).content.decode()
    for payload in CORPUS[:4]:
        escaped = payload.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        assert escaped.replace('"', "&quot;").replace("'", "&#x27;") in page
    assert "[U+202E]" in page
    assert "␛" in page


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example/",
        "///evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "http:evil.example",
        "\thttps://evil.example",
    ],
)
def test_sign_in_leads_nowhere_else(target: str) -> None:
    User.objects.create_user("rita", password="a good long one")
    answer = Client().post("/login/", {"username": "rita", "password": "a good long one", "next": target})
    assert (answer.status_code, answer["Location"]) == (302, "/")


def test_sign_in_leads_back_to_the_page_that_was_asked_for() -> None:
    User.objects.create_user("rita", password="a good long one")
    answer = Client().post("/login/", {"username": "rita", "password": "a good long one", "next": "/jobs/?state=done"})
    assert (answer.status_code, answer["Location"]) == (302, "/jobs/?state=done")


def test_a_wrong_password_is_said_without_saying_which_part_was_wrong() -> None:
    User.objects.create_user("rita", password="a good long one")
    known = Client().post("/login/", {"username": "rita", "password": "no"}).content.decode()
    unknown = Client().post("/login/", {"username": "nobody", "password": "no"}).content.decode()
    assert strip_names(known) == strip_names(unknown)
    assert 'role="alert"' in known


def strip_names(page: str) -> str:
    return re.sub(r'value="[^"]*"|"X-CSRFToken": "[^"]*"', "", page)


def test_the_session_cookie_is_for_the_site_alone() -> None:
    User.objects.create_user("rita", password="a good long one")
    answer = Client().post("/login/", {"username": "rita", "password": "a good long one"})
    cookie = answer.cookies["sessionid"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


def test_no_template_marks_data_as_safe_or_holds_inline_code() -> None:
    """The only exceptions would stand here; there are none."""
    forbidden = re.compile(
        r"\|\s*safe\b|autoescape off|safeseq|<style|\sstyle=|\son[a-z]+=|<script(?![^>]*src=)|javascript:"
    )
    found = [
        f"{path.relative_to(HOUSE)}: {match[0]}"
        for path in (HOUSE / "templates").rglob("*.html")
        for match in forbidden.finditer(path.read_text())
    ]
    assert found == []


def test_no_code_marks_a_text_as_safe() -> None:
    forbidden = re.compile(r"\bmark_safe\b|\bSafeString\(|is_safe=True")
    found = [str(path) for path in (HOUSE / "chronicle").rglob("*.py") if forbidden.search(path.read_text())]
    assert found == []
