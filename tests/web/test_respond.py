"""Which requests get a fragment, and what an answer says about itself."""

import pytest
from django.http import HttpRequest
from django.template import Context, Template
from django.test import RequestFactory

from chronicle.web import respond as module

PAGE = "<main>{% partialdef list inline %}<ul id='list'></ul>{% endpartialdef %}</main>"
FRAGMENT = {"HTTP_HX_REQUEST": "true", "HTTP_HX_TARGET": "list"}


@pytest.fixture
def answer(settings, monkeypatch):
    settings.TEMPLATES = [
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {"loaders": [("django.template.loaders.locmem.Loader", {"page.html": PAGE})]},
        }
    ]

    def ask(fragments=("list",), **headers: str) -> str:
        request: HttpRequest = RequestFactory().get("/", **headers)
        response = module.respond(request, "page.html", {}, fragments)
        assert "HX-Request" in response["Vary"] and "HX-Target" in response["Vary"]
        assert response["Cache-Control"] == "no-store"
        return response.content.decode()

    return ask


def test_a_fragment_is_the_named_partial_and_is_contained_in_the_page(answer):
    assert answer(**FRAGMENT) == "<ul id='list'></ul>"
    assert answer(**FRAGMENT) in answer()


@pytest.mark.parametrize("header", ["HTTP_HX_BOOSTED", "HTTP_HX_HISTORY_RESTORE_REQUEST"])
def test_boosted_and_history_requests_get_the_page(answer, header):
    assert answer(**FRAGMENT, **{header: "true"}) == answer()


def test_a_target_that_the_view_did_not_name_gets_the_page(answer):
    assert answer(fragments=(), **FRAGMENT) == answer()
    assert answer(**{**FRAGMENT, "HTTP_HX_TARGET": "other"}) == answer()


def test_an_id_that_depends_on_the_data_is_mapped_to_its_partial(answer):
    assert answer({"in-12-31": "list"}, **{**FRAGMENT, "HTTP_HX_TARGET": "in-12-31"}) == "<ul id='list'></ul>"


def test_recorded_text_is_escaped_by_default():
    assert Template("{{ text }}").render(Context({"text": "<script>"})) == "&lt;script&gt;"
