"""Every address × everyone: the rows come from the URLconf, and an address without a row fails.

A log that is not yours answers as one that does not exist: same status, same headers, same bytes, on
every page, whatever stands in the rest of the address.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver, reverse

from chronicle.models import Job, JobState
from tests.web.digest import database_digest
from tests.web.world import DIGEST, World, people, world

pytestmark = pytest.mark.django_db

SIGNED_IN = ("stranger", "reviewer", "group reviewer", "admin")
GRANTED = ("reviewer", "group reviewer", "admin")
EVERYONE = ("anonymous", *SIGNED_IN)


@dataclass(frozen=True)
class Row:
    """What an address takes and who may read it. `args` gives the kwargs of one that exists."""

    kind: str  # open: all · signed: who is signed in · log: who may see the log · own (act): maker, admin · act · token
    args: Callable[[World], dict[str, Any]] = lambda _: {}
    unknown: tuple[dict[str, Any], ...] = ()  # kwargs, put over `args`, of what is not there


def of_log(**more: Any) -> Callable[[World], dict[str, Any]]:
    return lambda known: {"log_id": known.log.public_id, **more}


ROWS = {
    "healthz": Row("open"),
    "healthz-worker": Row("open"),
    "login": Row("open"),
    "otlp-traces": Row("token"),
    "logout": Row("leave"),
    "logs": Row("signed"),
    "search": Row("signed"),
    "jobs": Row("signed"),
    "ingest": Row("signed"),
    "ingest-job": Row("own", lambda known: {"job_id": known.upload.pk}, ({"job_id": 999_999},)),
    "upload-accept": Row("own act", lambda known: {"job_id": known.preview.pk}, ({"job_id": 999_999},)),
    "upload-discard": Row("own act", lambda known: {"job_id": known.preview.pk}, ({"job_id": 999_999},)),
    "job-retry": Row("act", lambda known: {"job_id": known.parked.pk}, ({"job_id": 999_999},)),
    "unit-retry": Row("act", lambda known: {"failure_id": known.failure.pk}, ({"failure_id": 999_999},)),
    "chronicle": Row("log", of_log()),
    "events": Row("log", of_log()),
    "pins": Row("log", of_log()),
    "export": Row("log", of_log()),
    "event": Row("log", of_log(seq=1), ({"seq": 999_999},)),
    "attachment": Row("log", of_log(seq=1, digest=DIGEST), ({"seq": 2}, {"digest": "cd" * 32}, {"seq": 999_999})),
    "at": Row("log", of_log(seq=1), ({"seq": 999_999},)),
    "receipts": Row("log", of_log()),
    "receipt": Row("log", of_log(number=1), ({"number": 2}, {"number": 999_999})),
    "section": Row("log", of_log(section_id="1-3"), ({"section_id": "2-3"}, {"section_id": "L1:1-3"})),
    "generation": Row(
        "log", of_log(section_id="1-3", number=1), ({"section_id": "2-3"}, {"number": 2}, {"section_id": "L7:1-3"})
    ),
    "compare": Row("log", of_log(section_id="1-3"), ({"section_id": "2-3"}, {"section_id": "L1:1-3"})),
    "reconsolidate": Row("log", of_log(section_id="1-3"), ({"section_id": "2-3"}, {"section_id": "L1:1-3"})),
    "reconsolidation": Row(
        "log",
        lambda known: {"log_id": known.log.public_id, "section_id": "1-3", "job_id": known.redraw.pk},
        ({"job_id": 999_999}, {"section_id": "4-5"}),
    ),
    "rebuild": Row("log", of_log()),
    "rebuilding": Row(
        "log", lambda known: {"log_id": known.log.public_id, "job_id": known.rebuild.pk}, ({"job_id": 999_999},)
    ),
}


@pytest.fixture
def known() -> World:
    return world(units=2)


@pytest.fixture
def who(known: World) -> dict[str, Client]:
    return people()


def names(patterns: list[URLPattern | URLResolver] | None = None, inside: str = "") -> Iterator[str]:
    """Yield the name of every address of the site; one without a name is yielded as its pattern."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(pattern, URLResolver):
            yield from names(
                pattern.url_patterns, f"{inside}{pattern.namespace or ''}{':' if pattern.namespace else ''}"
            )
        else:
            yield f"{inside}{pattern.name or pattern.pattern}"


OWN = sorted({name for name in names() if not name.startswith(("admin:", "api"))})  # the API has a matrix of its own
ADMIN = sorted({name for name in names() if name.startswith("admin:")})


def rows(*kinds: str) -> list[str]:
    return [name for name in OWN if name in ROWS and ROWS[name].kind in kinds]


def test_every_address_of_the_site_has_a_row_and_every_row_an_address() -> None:
    assert set(OWN) == set(ROWS)


def essence(answer: HttpResponse) -> tuple[int, dict[str, str], str, bytes]:
    """Status, headers, cookies and body: what a stranger could tell two answers apart by."""
    return answer.status_code, dict(answer.headers), answer.cookies.output(), answer.content


def sign_in(address: str) -> str:
    return f"/login/?next={quote(address)}"


@pytest.mark.parametrize("name", rows("open"))
def test_what_is_open_answers_everyone(known: World, who: dict[str, Client], name: str) -> None:
    for person in EVERYONE:
        assert who[person].get(reverse(name)).status_code in {200, 503 if "healthz" in name else 200}


@pytest.mark.parametrize("name", rows("token"))
def test_what_takes_tokens_asks_for_one_whoever_is_signed_in(known: World, who: dict[str, Client], name: str) -> None:
    before = database_digest()
    for person in EVERYONE:
        assert who[person].get(reverse(name)).status_code == 405
        answer = who[person].post(reverse(name), "{}", "application/json")
        assert (answer.status_code, answer.json()["code"]) == (401, 16)
        assert "Set-Cookie" not in answer.headers
        assert "Vary" not in answer.headers
    assert database_digest() == before


@pytest.mark.parametrize("name", rows("signed", "log", "own", "act", "own act"))
def test_anonymous_is_sent_to_sign_in_whatever_the_address_leads_to(
    known: World, who: dict[str, Client], name: str
) -> None:
    row = ROWS[name]
    for kwargs in (row.args(known), *(row.args(known) | unknown for unknown in row.unknown)):
        address = reverse(name, kwargs=kwargs)
        for answer in (who["anonymous"].get(address), who["anonymous"].post(address)):
            assert (answer.status_code, answer["Location"]) == (302, sign_in(address))


@pytest.mark.parametrize("name", rows("signed"))
def test_a_page_of_everyones_own_answers_who_is_signed_in(known: World, who: dict[str, Client], name: str) -> None:
    for person in SIGNED_IN:
        answer = who[person].get(reverse(name))
        assert answer.status_code == 200
        assert (known.log.public_id in answer.content.decode()) == (person in GRANTED and name in {"logs", "jobs"})


@pytest.mark.promise("C20", "C21", "K5")
@pytest.mark.parametrize("name", rows("log"))
def test_a_page_of_a_log_is_for_who_was_granted_its_owner(known: World, who: dict[str, Client], name: str) -> None:
    address = reverse(name, kwargs=ROWS[name].args(known))
    for person in GRANTED:
        assert who[person].get(address).status_code == 200
    foreign = who["stranger"].get(address)
    absent = who["stranger"].get(reverse(name, kwargs=ROWS[name].args(known) | {"log_id": "no-such-log"}))
    assert foreign.status_code == 404
    assert essence(foreign) == essence(absent)


@pytest.mark.promise("C21", "K5")
@pytest.mark.parametrize("name", rows("log"))
def test_what_is_not_there_answers_alike_in_ones_own_log_in_a_foreign_one_and_in_none(
    known: World, who: dict[str, Client], name: str
) -> None:
    row = ROWS[name]
    nothing = essence(who["stranger"].get(reverse("chronicle", args=["no-such-log"])))
    for unknown in row.unknown:
        address = reverse(name, kwargs=row.args(known) | unknown)
        for person in SIGNED_IN:
            assert essence(who[person].get(address)) == nothing
    fragment = {"HX-Request": "true", "HX-Target": "list"}
    foreign = who["stranger"].get(reverse(name, kwargs=row.args(known)), headers=fragment)
    assert essence(foreign) == nothing


@pytest.mark.parametrize("name", rows("log", "signed", "own"))
def test_a_page_takes_no_post_that_changes_anything(known: World, who: dict[str, Client], name: str) -> None:
    before = database_digest()
    for person in SIGNED_IN:
        who[person].post(reverse(name, kwargs=ROWS[name].args(known)))
    assert database_digest() == before


def test_an_uploads_report_is_for_who_made_it_and_for_admins(known: World, who: dict[str, Client]) -> None:
    address = reverse("ingest-job", kwargs=ROWS["ingest-job"].args(known))
    assert [who[person].get(address).status_code for person in SIGNED_IN] == [404, 200, 404, 200]
    absent = who["stranger"].get(reverse("ingest-job", args=[999_999]))
    assert essence(who["stranger"].get(address)) == essence(absent)


@pytest.mark.parametrize("name", rows("act"))
def test_an_action_is_a_post_of_who_may_see_what_it_acts_on(
    known: World, who: dict[str, Client], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chronicle.tasks.kick", lambda job: None)
    row = ROWS[name]
    address = reverse(name, kwargs=row.args(known))
    absent = who["stranger"].post(reverse(name, kwargs=row.args(known) | row.unknown[0]))
    before = database_digest()
    assert essence(who["stranger"].post(address)) == essence(absent)
    assert absent.status_code == 404
    assert [who[person].get(address).status_code for person in SIGNED_IN] == [405] * 4
    assert database_digest() == before
    for person in GRANTED:
        Job.objects.filter(pk=known.parked.pk).update(state=JobState.PARKED)
        assert who[person].post(address).status_code == 302


@pytest.mark.promise("K5")
@pytest.mark.parametrize("name", rows("own act"))
def test_an_action_on_an_upload_is_a_post_of_who_made_it_or_of_an_admin(
    known: World, who: dict[str, Client], name: str
) -> None:
    row = ROWS[name]
    address = reverse(name, kwargs=row.args(known))
    absent = who["stranger"].post(reverse(name, kwargs=row.args(known) | row.unknown[0]))
    before = database_digest()
    assert absent.status_code == 404
    for person in ("stranger", "group reviewer"):
        assert essence(who[person].post(address)) == essence(absent)
    assert [who[person].get(address).status_code for person in SIGNED_IN] == [405] * 4
    assert database_digest() == before
    for person in ("reviewer", "admin"):  # its files are not there: it can be thrown away, not ingested
        assert who[person].post(address).status_code == (302 if name == "upload-discard" else 409)


def test_signing_out_is_a_post(known: World, who: dict[str, Client]) -> None:
    for person in EVERYONE:
        assert who[person].get("/logout/").status_code == (302 if person == "anonymous" else 405)
        left = who[person].post("/logout/")["Location"]
        assert left == (sign_in("/logout/") if person == "anonymous" else "/login/")
        assert who[person].get("/")["Location"] == sign_in("/")


OF_A_ROW = "admin:<path:object_id>/"  # nameless in the admin: leads to the row's own address
APP_INDEX = "admin:(?P<url>.*)$"  # the admin's own end: any other address below it


def admin_addresses(name: str, known: World) -> list[str]:
    """Return addresses for a name of the admin, with an id where it takes one."""
    if name in (OF_A_ROW, APP_INDEX):
        return ["/admin/chronicle/log/1/", "/admin/chronicle/grant/1/", "/admin/no/such/page/"]
    if name == "admin:view_on_site":
        return [reverse(name, args=[1, known.log.pk])]
    if name == "admin:app_list":
        return [reverse(name, kwargs={"app_label": label}) for label in ("chronicle", "auth")]
    for args in ([], [str(known.log.pk)]):
        try:
            return [reverse(name, args=args)]
        except NoReverseMatch:
            continue
    return []


def test_the_admin_is_for_staff_alone(known: World, who: dict[str, Client]) -> None:
    reached = {name: admin_addresses(name, known) for name in ADMIN}
    assert {name for name, addresses in reached.items() if not addresses} == set()
    for name in set(ADMIN) - {"admin:login", "admin:logout"}:
        for address in reached[name]:
            for person in ("anonymous", "stranger", "reviewer", "group reviewer"):
                answer = who[person].get(address)
                assert answer.status_code == 302, address
                assert answer["Location"].partition("?")[0] in {"/admin/login/", "/login/"}, address
            assert who["admin"].get(address).status_code in {200, 302, 403, 404}, address
    assert who["stranger"].get("/admin/login/").status_code == 200
    assert who["admin"].get("/admin/logout/").status_code == 405
