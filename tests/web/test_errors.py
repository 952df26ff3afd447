"""What a page says when it cannot be shown."""

from unittest import mock

from django.test import Client

from chronicle.models import Log

HX = {"HX-Request": "true", "HX-Target": "list"}


def test_a_request_that_cannot_be_read_says_why_and_guesses_nothing(page: Client, small: Log):
    response = page.get(f"/logs/{small.public_id}/?open=first")

    assert response.status_code == 400
    assert "first" in response.content.decode()
    assert "one looks like 12-31, L1:1-320" in response.content.decode()


def test_an_error_page_takes_the_place_of_the_whole_never_of_a_fragment(page: Client, small: Log):
    for path, status in ((f"/logs/{small.public_id}/?open=first", 400), ("/logs/unknown/events/", 404)):
        response = page.get(path, headers=HX)
        assert response.status_code == status
        assert (response["HX-Retarget"], response["HX-Reselect"]) == ("#main", "#main")


def test_a_fault_of_ours_is_a_page_without_details(page: Client, small: Log):
    page.raise_request_exception = False
    with mock.patch("chronicle.web.logs.visible_logs", side_effect=RuntimeError("secret")):
        response = page.get("/")

    assert response.status_code == 500
    assert "Something failed here" in response.content.decode()
    assert "secret" not in response.content.decode()
    assert "unsafe" not in response["Content-Security-Policy"]


def test_a_form_without_its_token_is_refused_with_the_way_out(page: Client, small: Log):
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = page.cookies
    response = strict.post("/logout/")

    assert response.status_code == 403
    assert "reload the page and send it again" in response.content.decode()
    assert page.get("/").status_code == 200


def test_an_error_page_names_neither_the_reader_nor_the_address(page: Client, small: Log):
    html = page.get("/logs/unknown/").content.decode()

    assert "r.wijaya" not in html
    assert "unknown" not in html
    assert "csrf" not in html.lower()
