"""The pictures of the pages in `docs/`: `python -m tests.screenshots docs`."""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from noisycount.data import survey_path
from tests.browser import ARGUMENTS, CHROMIUM, NARROW, Window, window
from tests.serving import ANALYST, OWNER, configured, served

_WIDTH = 1120


def asked(opened: Window) -> None:
    """Fill in a question, and have it previewed."""
    page = opened.page
    opened.go("/ask/survey")
    for column, value in (("age", "50"), ("health", "poor")):
        page.locator("#chosen").select_option(column)
        page.get_by_role("button", name="Add a condition").click()
        page.get_by_label(f"Value of {column}").fill(value)
    page.get_by_role("button", name="Preview: free").click()
    page.get_by_role("heading", name="Preview").wait_for()


def tabled(opened: Window) -> None:
    """Pay for a table."""
    page = opened.page
    opened.go("/ask/survey")
    page.get_by_text("For each of several groups").click()
    page.get_by_label("By", exact=True).select_option("age")
    page.get_by_role("button", name="Add a column").click()
    page.get_by_label("Edges of age").fill("0, 10, 20, 30, 40, 50, 60")
    page.get_by_text("More about groups").click()
    page.get_by_label("A person counts in at most").fill("1")
    page.get_by_label("Within ±").fill("60")
    page.get_by_role("button", name="Preview: free").click()
    page.get_by_role("button", name="Ask and spend").click()
    page.get_by_role("heading", name="Table").wait_for()


def shoot(opened: Window, file: Path, height: int) -> None:
    """Write what a window shows from the top, so many pixels of it."""
    width = opened.page.viewport_size["width"] if opened.page.viewport_size else _WIDTH
    opened.page.evaluate("scrollTo(0, 0)")
    opened.page.set_viewport_size({"width": width, "height": height})
    opened.page.screenshot(path=file)


def written(browser: Browser, folder: Path) -> None:
    """Write the pictures into a folder."""
    with tempfile.TemporaryDirectory() as place:
        configuration = configured(
            Path(place),
            f"""
            [ledger]
            url = "sqlite:///ledger.db"

            [datasets.survey]
            source = "{survey_path()}"
            unit = "person"
            size = 5912
            columns = ["year", "site", "age", "female", "income", "health"]
            budget = "2"
            """,
        )
        with served(configuration, OWNER, ANALYST) as service:
            with window(browser, service.url, _WIDTH) as opened:
                opened.log_in(service.keys["ana"])
                asked(opened)
                shoot(opened, folder / "service-ask.png", 1000)
            with window(browser, service.url, _WIDTH) as opened:
                opened.log_in(service.keys["ana"])
                tabled(opened)
                shoot(opened, folder / "service-table.png", 900)
                opened.go("/explore")
                shoot(opened, folder / "service-explore.png", 1560)
            with window(browser, service.url, NARROW, dark=True) as opened:
                opened.log_in(service.keys["ana"])
                asked(opened)
                opened.page.get_by_role("button", name="Ask and spend").click()
                opened.page.get_by_role("heading", name="Answer").wait_for()
                shoot(opened, folder / "service-answer-narrow.png", 844)
            with window(browser, service.url, _WIDTH) as opened:
                opened.log_in(service.keys["olga"])
                opened.go("/ledger")
                shoot(opened, folder / "service-ledger.png", 780)


if __name__ == "__main__":
    with sync_playwright() as playwright:
        written(playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS)), Path(sys.argv[1]))
