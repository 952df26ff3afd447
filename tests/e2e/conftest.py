"""A real browser on a live server: complaints of the browser are failures.

Playwright's synchronous API runs an event loop in this thread, in which Django refuses its database unless told
otherwise: the permission is given while the browser is open and taken back after it, so no other test has it.
"""

import os
import shutil
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, sync_playwright
from pytest_django.live_server_helper import LiveServer

from chronicle.models import Grant, Log
from tests.web.conftest import OWNER, log_with, redraw

PASSWORD = "seven-plates-of-rendang"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
AXE = Axe()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium from $CHROMIUM or the path. A machine without one is told so; where CI is set that is a failure."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not chromium:
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say("NOT RUN IN A BROWSER: install Debian's chromium, or set CHROMIUM to the path of one.")
    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
            yield browser
            browser.close()
    finally:
        os.environ.pop("DJANGO_ALLOW_ASYNC_UNSAFE")
        if before is not None:
            os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = before


@pytest.fixture
def log(transactional_db: None) -> Log:
    """112 events and a tail, rollups at two levels, one of them stale; a reviewer who may see it."""
    log = log_with(16)
    redraw(log, "8-14")
    user = User.objects.create_user("r.wijaya", password=PASSWORD)
    Grant.objects.create(user=user, owner=OWNER)
    return log


class Visit:
    """One reader at one browser page. `complaints` are what the browser found wrong, kept from the first page on."""

    def __init__(self, page: Page, base: str, *, scripts: bool = True) -> None:
        self.page = page
        self.base = base
        self.scripts = scripts
        self.complaints: list[str] = []
        page.on("console", lambda message: message.type == "error" and self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        page.on("request", self._outside)

    def _outside(self, request: object) -> None:
        url = getattr(request, "url", "")
        if not url.startswith((self.base, "data:")):
            self.complaints.append(f"a request to {url}")

    def sign_in(self) -> None:
        self.page.goto(self.base)
        self.page.get_by_label("Name").fill("r.wijaya")
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Sign in").click()

    def check(self, heading: str) -> None:
        """The page of this heading is shown, the browser is content, and axe finds no fault."""
        self.page.get_by_role("heading", level=1, name=heading).wait_for()
        found = AXE.run(self.page).response["violations"] if self.scripts else []
        assert not [(fault["id"], [node["html"][:200] for node in fault["nodes"][:3]]) for fault in found]
        assert not self.complaints


@pytest.fixture
def visit(browser: Browser, live_server: LiveServer) -> Iterator[Visit]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield Visit(context.new_page(), live_server.url)
    context.close()


@pytest.fixture
def visit_without_script(browser: Browser, live_server: LiveServer) -> Iterator[Visit]:
    context = browser.new_context(java_script_enabled=False)
    yield Visit(context.new_page(), live_server.url, scripts=False)
    context.close()
