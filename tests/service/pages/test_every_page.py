from collections.abc import Iterable, Iterator

import httpx
import pytest
from playwright.sync_api import Browser
from starlette.routing import Route

from noisycount.service.app import lazy_routers
from noisycount.service.pages.layout import router as layout
from tests.helpers.browser import HEIGHT, NARROW, WIDE, window
from tests.helpers.running_service import Service

GIVEN = {
    "/ask/{name}": ["/ask/survey"],
    "/releases/{name}/file": [],
    "/releases/{name}": [],  # an answer is looked at where one is asked for
    "/static/{name}": [],  # files
    "/ledger/export": [],
    "/report/file": [],
    "/explore/fragment": [],  # pieces of a page that is there
    "/explore/data": [],
}
"""The pages of a route: some are of something, and others are none."""


def paths() -> list[str]:
    """Give the address of every page that is to be read."""
    known = sorted({path for family in (layout, *lazy_routers()) for path in routes(family.routes)})
    return [*(path for route in known for path in GIVEN.get(route, [route])), "/nowhere"]


def routes(listed: Iterable[object]) -> Iterator[str]:
    """Give the paths of pages that can be loaded: no document tells of them."""
    for route in listed:
        assert isinstance(route, Route)
        if "GET" in (route.methods or ()) and not route.include_in_schema:
            yield route.path


def test_pages_are_found() -> None:
    """No page hides from the tests below: a new one with a parameter must be given here."""
    assert {"/ask", "/ask/survey", "/login"} <= set(paths())
    assert not [path for path in paths() if "{" in path]


@pytest.mark.thorough
@pytest.mark.parametrize(("width", "dark"), [(NARROW, True), (WIDE, False)])
def test_every_page_is_accessible(chromium: Browser, service: Service, width: int, *, dark: bool) -> None:
    """No page breaks a rule of axe-core, is wider than the window, or loads from elsewhere."""
    with window(chromium, service.url, width, dark=dark) as opened:
        opened.go("/login")
        assert opened.violations() == []
        opened.log_in(service.keys["olga"])
        broken = {}
        for path in paths():
            opened.go(path)
            found = [*opened.violations(), *(["too wide"] if opened.overflow() > 0 else [])]
            broken |= {path: found} if found else {}
        assert broken == {}


@pytest.mark.thorough
def test_an_officer_comes_to_the_ledger_and_the_report(chromium: Browser, service: Service) -> None:
    """The login leads to the ledger, whose check and report are there; no page leads to a question."""
    with window(chromium, service.url, NARROW) as opened:
        opened.log_in(service.keys["otto"])
        assert opened.page.get_by_role("heading", name="Ledger").count() == 1
        opened.page.get_by_text("Is the ledger as it was written?").click()
        opened.page.get_by_role("link", name="Check every row now").click()
        opened.page.get_by_text("not compared with a saved head").or_(
            opened.page.get_by_text("nothing was verified")
        ).wait_for()
        assert opened.page.locator('a[href^="/ask"]').count() == 0
        opened.page.get_by_role("link", name="Report", exact=True).click()
        assert opened.page.get_by_role("heading", name="Report on private counts").count() == 1
        assert opened.page.locator('a[href^="/ask"]').count() == 0
        assert opened.violations() == []


@pytest.mark.thorough
def test_every_page_is_there_without_scripts(chromium: Browser, service: Service) -> None:
    """Each has a heading, and the way to all others."""
    with window(chromium, service.url, NARROW, scripts=False) as opened:
        opened.log_in(service.keys["olga"])
        for path in paths()[:-1]:
            opened.go(path)
            assert opened.page.locator("h1").count() == 1, path
            ways = opened.page.get_by_role("navigation", name="Pages").get_by_role("link")
            assert ways.all_inner_texts() == ["Ask", "Explore", "Ledger", "Report"], path


# A control that stands alone, which a finger must hit; links within a sentence, a list or a table need no such height.
SMALL = """() => [...document.querySelectorAll("a, button, input, select, summary, textarea")]
  .filter(e => e.offsetParent && !e.closest("p, dd, li, caption, th, td, label"))
  .filter(e => e.getBoundingClientRect().width > 1 && e.getBoundingClientRect().height < 24)
  .map(e => e.textContent || e.name)"""
# The words of cells that a line break cuts in two.
CUT = r"""select => [...document.querySelectorAll(select)].flatMap(cell => {
  const node = cell.firstChild, range = document.createRange();
  return [...node.textContent.matchAll(/\S+/g)].filter(word => {
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    return range.getClientRects().length > 1;
  }).map(word => word[0]);
})"""
HEALTH = ["excellent", "good", "fair", "poor"]
BY_TWO = {"by": ["health", "female"], "keys": {"health": HEALTH, "female": [True, False]}, "groups_per_unit": 1}


@pytest.mark.thorough
def test_a_finger_hits_every_control_and_no_day_or_key_is_cut(chromium: Browser, service: Service) -> None:
    """Each control is 24 pixels high; a day in a table, and the keys of two columns on a phone, are on one line."""
    headers = {"Authorization": f"Bearer {service.keys['ana']}", "Idempotency-Key": "wide"}
    asked = {**BY_TWO, "epsilon": "0.1"}
    reply = httpx.post(f"{service.url}/v1/datasets/survey/releases", json=asked, headers=headers, timeout=60)
    assert reply.status_code == 201
    with window(chromium, service.url, NARROW) as opened:
        opened.log_in(service.keys["olga"])
        for width in (NARROW, WIDE):
            opened.page.set_viewport_size({"width": width, "height": HEIGHT})
            for path in [*paths()[:-1], "/releases/ana:wide"]:
                opened.go(path)
                assert opened.page.evaluate(SMALL) == [], path
                assert opened.page.evaluate(CUT, ".bars tbody th, .bars td:not(:last-child)") == [], path
                assert opened.page.evaluate(CUT, '.stack td[data-label^="when"]') == [], path
                assert opened.overflow() <= 0
            assert opened.page.evaluate(CUT, ".bars tbody th") == []
            assert opened.page.locator(".bars tbody th").first.inner_text() == "excellent"


@pytest.mark.thorough
def test_all_sliders_fit_a_window_of_a_notebook(chromium: Browser, service: Service) -> None:
    """Beside the charts, none is reached only by scrolling within the form."""
    with window(chromium, service.url, WIDE) as opened:
        opened.log_in(service.keys["olga"])
        opened.page.set_viewport_size({"width": WIDE, "height": 800})
        opened.go("/explore")
        hidden = "(form => form.scrollHeight - form.clientHeight)(document.querySelector('.explore > form'))"
        assert opened.page.evaluate(hidden) == 0
