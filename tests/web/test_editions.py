"""Older editions on the pages: readable as they were, named as what they are, links that stay in them."""

import re

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from chronicle.models import Edition, Log
from chronicle.rebuild import rebuild
from chronicle.summarisers.constant import Constant
from tests.web.conftest import words

pytestmark = pytest.mark.django_db


@pytest.fixture
def rebuilt(log: Log) -> Log:
    """Edition 1 as it was, with 8-14#2; edition 2 with other words."""
    rebuild(log, discard_generated=True, by="Ines", summariser=Constant(title="New", prose="Words of edition two."))
    return log


def at(name: str, log: Log, *args: object) -> str:
    return reverse(name, args=[log.public_id, *args])


@pytest.mark.promise("K22")
def test_a_section_of_an_older_edition_is_read_as_it_was(page: Client, rebuilt: Log) -> None:
    now = words(page.get(at("section", rebuilt, "8-14")).content.decode())
    assert "Words of edition two." in now and "Redrawn." not in now and "edition 1, archived" not in now
    then = page.get(at("section", rebuilt, "8-14") + "?edition=1")
    text = words(then.content.decode())
    assert "Redrawn." in text and "edition 1, archived" in text and "Current is edition 2" in text
    assert "generation 2 of 2" in text
    old = page.get(at("generation", rebuilt, "8-14", 1) + "?edition=1").content.decode()
    assert "First part." in old
    assert page.get(at("generation", rebuilt, "8-14", 2)).status_code == 404


@pytest.mark.promise("K22")
def test_the_chronicle_of_an_older_edition_opens_to_its_own_words(page: Client, rebuilt: Log) -> None:
    html = page.get(at("chronicle", rebuilt) + "?edition=1&open=8-14").content.decode()
    assert "Redrawn." in html and "Words of edition two." not in html
    assert "edition 1, archived" in words(html) and "1, archived" in words(html)
    fragment = page.get(
        at("chronicle", rebuilt) + "?edition=1&open=8-14", headers={"HX-Request": "true", "HX-Target": "in-8-14"}
    ).content.decode()
    assert "Redrawn." in fragment and fragment.strip() in html


@pytest.mark.parametrize("name", ["chronicle", "section", "generation", "compare"])
def test_links_of_an_older_edition_stay_in_it(page: Client, rebuilt: Log, name: str) -> None:
    args = {"chronicle": [], "generation": ["8-14", 2]}.get(name, ["8-14"])
    html = page.get(at(name, rebuilt, *args) + "?edition=1").content.decode()
    main = html[html.index("<main") : html.index("</main>")]
    banner = re.search(r'<p class="of" role="status">.*?</p>', main, re.S)
    assert banner
    links = re.findall(r'(?:href|hx-get)="([^"]+)"', main.replace(banner[0], ""))
    inside = [link for link in links if re.match(rf"/logs/{rebuilt.public_id}/(sections/|\?|$)", link)]
    assert inside and all("edition=1" in link for link in inside), [one for one in inside if "edition=1" not in one]
    for link in set(inside):
        assert page.get(link.replace("&amp;", "&").partition("#")[0]).status_code == 200


@pytest.mark.parametrize("name", ["chronicle", "section"])
def test_links_of_the_edition_in_force_name_none(page: Client, rebuilt: Log, name: str) -> None:
    args = [] if name == "chronicle" else ["8-14"]
    assert "edition=" not in page.get(at(name, rebuilt, *args)).content.decode()
    assert "edition 2" not in page.get(at(name, rebuilt, *args) + "?edition=2").content.decode()


def test_a_jump_stays_in_the_edition(page: Client, rebuilt: Log) -> None:
    here = at("chronicle", rebuilt)
    assert '<input type="hidden" name="edition" value="1">' in page.get(here + "?edition=1").content.decode()
    assert page.get(here, {"edition": 1, "jump": "9"})["Location"] == f"{here}?edition=1&seq=9#e9"
    assert page.get(here, {"jump": "9"})["Location"] == f"{here}?seq=9#e9"


def test_nothing_can_be_redrawn_in_an_older_edition(client: Client, rebuilt: Log) -> None:
    client.force_login(User.objects.create_superuser("root"))
    for name, args in (("section", ["8-14"]), ("section", ["L1:1-21"]), ("compare", ["8-14"]), ("chronicle", [])):
        old = client.get(at(name, rebuilt, *args) + "?edition=1").content.decode()
        assert "/reconsolidate/" not in old
    assert "/reconsolidate/" in client.get(at("section", rebuilt, "8-14")).content.decode()


@pytest.mark.parametrize("name", ["chronicle", "section", "compare"])
def test_an_edition_that_is_not_there_is_404_and_one_that_is_none_400(page: Client, rebuilt: Log, name: str) -> None:
    Edition.objects.create(log=rebuilt, number=3, state="building", made_at=rebuilt.started_at)
    here = at(name, rebuilt, *([] if name == "chronicle" else ["8-14"]))
    for number, status in (("1", 200), ("2", 200), ("3", 404), ("9", 404), ("x", 400), ("0", 400), ("9" * 30, 400)):
        assert page.get(f"{here}?edition={number}").status_code == status, number


def test_an_older_edition_costs_one_query_more(page: Client, rebuilt: Log) -> None:
    def queries(address: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            page.get(address)
        return len(captured)

    here = at("section", rebuilt, "1-7")
    assert queries(here + "?edition=1") <= queries(here) + 1
