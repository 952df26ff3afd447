"""What a reviewer does, in a real browser."""

import re

from playwright.sync_api import Browser, expect

from chronicle.models import Log
from tests.builders import log_of, said
from tests.e2e.conftest import Visit

HOSTILE = '<img src=x onerror=alert(1)><div hx-get="/" hx-trigger="load"></div><script>alert(2)</script>\u202e'


def test_from_a_rollup_down_to_the_bytes_of_an_event(visit: Visit, log: Log):
    page = visit.page
    visit.sign_in()
    visit.check("Logs")
    page.get_by_role("link", name="A farewell dinner").click()
    visit.check("A farewell dinner")

    page.locator("#n-L2-1-63 > details > summary").click()
    page.locator("#n-L1-1-21 > details > summary").click()
    page.locator("#n-8-14 > details > summary").click()
    expect(page.locator("#in-8-14")).to_contain_text("Redrawn.")
    expect(page.locator("#in-8-14 tbody tr")).to_have_count(6)
    visit.check("A farewell dinner")

    page.locator("#in-8-14").get_by_role("link", name="Section page").click()
    visit.check("Section 8-14")
    page.locator("#e11").get_by_role("link", name="11", exact=True).click()
    visit.check("Event 11")
    page.get_by_role("link", name="Raw, as stored").click()
    expect(page.locator("#payload")).to_contain_text(log.events.get(seq=11).digest)
    expect(page).to_have_url(re.compile(r"\?tab=raw$"))
    visit.check("Event 11")
    page.go_back()
    expect(page.locator("#payload")).not_to_contain_text("content_digest")
    visit.check("Event 11")


def test_the_same_without_a_script(visit_without_script: Visit, log: Log):
    visit, page = visit_without_script, visit_without_script.page
    visit.sign_in()
    page.get_by_role("link", name="A farewell dinner").click()
    visit.check("A farewell dinner")

    for ref in ("L2:1-63", "L1:1-21", "8-14"):
        entry = page.locator(f"#n-{ref.replace(':', '-')} > details")
        entry.locator("> summary").click()
        entry.get_by_role("link", name=f"Open {ref},").click()
    expect(page.locator("#in-8-14 tbody tr")).to_have_count(6)
    page.get_by_label("Jump to seq").fill("30")
    page.get_by_role("button", name="Go").click()
    expect(page.locator("#e30")).to_have_attribute("aria-current", "true")
    expect(page.locator("#e30")).to_be_in_viewport()

    page.locator("#in-29-35").get_by_role("link", name="Section page").click()
    visit.check("Section 29-35")
    page.locator("#e32").get_by_role("link", name="32", exact=True).click()
    page.get_by_role("link", name="Raw, as stored").click()
    expect(page.locator("#payload")).to_contain_text(log.events.get(seq=32).digest)
    visit.check("Event 32")
    page.get_by_role("button", name="sign out").click()
    visit.check("Sign in")


def test_a_link_to_an_event_or_a_range_opens_what_is_folded_over_it(visit: Visit, log: Log):
    page = visit.page
    visit.sign_in()
    page.goto(f"{visit.base}/logs/{log.public_id}/#e30")
    expect(page.locator("#e30")).to_be_in_viewport()
    page.goto(f"{visit.base}/logs/{log.public_id}/#e40-e50")
    expect(page.locator("#e40")).to_be_in_viewport()
    expect(page.locator("tr[aria-current=true]")).to_have_count(11)  # 40 is bookkeeping, shown because it is looked for
    visit.check("A farewell dinner")


def test_a_jump_lands_on_the_event_and_so_does_a_link_that_only_looks_for_its_seq(visit: Visit, log: Log):
    page = visit.page
    visit.sign_in()
    here = f"{visit.base}/logs/{log.public_id}/"
    page.goto(here)
    page.get_by_label("Jump to seq").fill("74")
    page.get_by_label("Jump to seq").press("Enter")
    expect(page).to_have_url(f"{here}?seq=74#e74")
    expect(page.locator("#e74")).to_be_in_viewport()
    expect(page.locator("#e74")).to_be_focused()
    page.goto(f"{here}?seq=99-101")
    expect(page.locator("#e99")).to_be_in_viewport()
    expect(page.locator("#e99")).to_be_focused()
    visit.check("A farewell dinner")


def test_a_filter_changes_the_list_in_place_and_the_address_with_it(visit: Visit, log: Log):
    page = visit.page
    visit.sign_in()
    page.goto(f"{visit.base}/logs/{log.public_id}/events/")
    page.get_by_label("Kind", exact=True).select_option("thought")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("#list tbody tr")).to_have_count(16)
    expect(page).to_have_url(re.compile("kind=thought"))
    visit.check("Events")
    page.get_by_label("Seq from").fill("nonsense")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_role("alert")).to_contain_text("Enter a whole number")
    assert visit.complaints == ["Failed to load resource: the server responded with a status of 400 (Bad Request)"]


def test_a_chip_brings_the_whole_of_a_long_text(visit: Visit, log: Log):
    page = visit.page
    visit.sign_in()
    page.goto(f"{visit.base}/logs/{log.public_id}/events/")
    page.get_by_role("link", name="the whole of event 4,").click()
    expect(page.locator("#c4")).to_contain_text('"name":"Dapur 39"')
    expect(page).to_have_url(re.compile("/events/$"))
    visit.check("Events")


def test_keys_walk_the_rows_and_can_be_turned_off(visit: Visit, log: Log):
    page = visit.page
    visit.sign_in()
    page.get_by_role("link", name="A farewell dinner").click()
    visit.check("A farewell dinner")
    page.keyboard.press("j")
    page.keyboard.press("o")
    expect(page.locator("#n-L1-1-21")).to_be_visible()
    page.keyboard.press("j")
    expect(page.locator("#n-L1-1-21 > details > summary")).to_be_focused()
    page.keyboard.press("u")
    expect(page.locator("#n-L2-1-63 > details > summary")).to_be_focused()
    page.keyboard.press("g")
    expect(page.get_by_label("Jump to seq")).to_be_focused()
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("?")
    page.get_by_label("keys are on").uncheck()
    visit.check("A farewell dinner")
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("g")
    expect(page.get_by_label("Jump to seq")).not_to_be_focused()


def test_hostile_text_does_nothing_on_any_page(visit: Visit, log: Log):
    page = visit.page
    hostile = log_of(
        [said(HOSTILE), said("", kind="tool_request", actor=HOSTILE, payload={HOSTILE: HOSTILE})],
        title=HOSTILE,
        public_id="hostile",
    )
    visit.sign_in()
    for path in ("", "?open=tail", "events/", "events/1/", "events/2/", "events/2/?tab=raw"):
        page.goto(f"{visit.base}/logs/{hostile.public_id}/{path}")
        page.wait_for_load_state("networkidle")
        assert page.locator("main img, main script, [hx-trigger=load]").count() == 0
        assert not visit.complaints


def test_the_pages_fit_a_narrow_screen_and_both_colour_schemes(visit: Visit, log: Log):
    page = visit.page
    visit.sign_in()
    here = f"{visit.base}/logs/{log.public_id}/"
    page.set_viewport_size({"width": 320, "height": 700})
    page.emulate_media(color_scheme="dark")
    for address, heading in (
        (visit.base, "Logs"),
        (f"{here}?seq=30", "A farewell dinner"),
        (f"{here}events/", "Events"),
        (f"{here}events/4/?tab=raw", "Event 4"),
        (f"{here}sections/L1:1-21/", "Rollup L1:1-21"),
    ):
        page.goto(address)
        visit.check(heading)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, address


def test_times_are_utc_until_the_reader_chooses_and_then_carry_their_day(browser: Browser, live_server, log: Log):
    context = browser.new_context(timezone_id="Asia/Jakarta")
    visit = Visit(context.new_page(), live_server.url)
    page = visit.page
    visit.sign_in()
    page.goto(f"{visit.base}/logs/{log.public_id}/events/")
    second = page.locator("#e2 time")
    utc = second.text_content()
    assert utc and re.fullmatch(r"\d\d:\d\d:\d\d", utc)
    page.get_by_role("button", name="UTC").click()
    expect(page.get_by_role("columnheader", name="Asia/Jakarta")).to_be_visible()
    expect(second).to_have_text(re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"))
    assert int((second.text_content() or "")[11:13]) == (int(utc[:2]) + 7) % 24
    visit.check("Events")
    context.close()


def test_the_focus_stays_when_what_had_it_is_replaced(visit: Visit, log: Log):
    page = visit.page
    visit.sign_in()
    page.goto(f"{visit.base}/logs/{log.public_id}/events/")
    page.get_by_role("link", name="the whole of event 4,").press("Enter")
    expect(page.locator("#c4")).to_be_focused()
    page.get_by_role("button", name="Filter").press("Enter")
    expect(page.locator("#live")).to_contain_text("of 115 events shown")
