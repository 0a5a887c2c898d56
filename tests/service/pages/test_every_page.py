from collections.abc import Iterable, Iterator

import pytest
from playwright.sync_api import Browser
from starlette.routing import Route

from noisycount.service.app import lazy_routers
from noisycount.service.pages.layout import router as layout
from tests.helpers.browser import NARROW, WIDE, window
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
        opened.page.get_by_text("not compared with a head").or_(
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
