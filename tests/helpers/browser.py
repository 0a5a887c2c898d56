"""A real browser for the tests: Debian's Chromium, which must reach no host but this one."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

REQUIRED = "NOISYCOUNT_REQUIRES_CHROMIUM"
"""Where this is set in the environment, a missing browser fails the tests instead of skipping."""

CHROMIUM = Path("/usr/bin/chromium")
NARROW, WIDE = 390, 1280
HEIGHT = 900
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Give a browser; the tests of a module share it, each in windows of its own.

    It runs a loop in the thread of the tests, beside which no other test could run one.
    """
    if not CHROMIUM.exists():
        absent = f"{CHROMIUM} is not there, so no test of a page can run"
        if os.environ.get(REQUIRED):
            pytest.fail(f"{absent}, though {REQUIRED} is set")
        pytest.skip(f"{absent}: on Debian apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()


@dataclass
class Window:
    """A window of a browser, and what went wrong in it."""

    page: Page  # what Playwright drives
    url: str  # where the service is
    strayed: list[str] = field(default_factory=list)  # requests to any other host
    # what the console says: errors of the script, and what the policy forbade
    complaints: list[str] = field(default_factory=list)

    def go(self, path: str) -> None:
        """Load a page of the service."""
        self.page.goto(f"{self.url}{path}")

    def log_in(self, key: str) -> None:
        """Log in with a key, as a person does."""
        self.go("/login")
        self.page.get_by_label("Your key").fill(key)
        self.page.get_by_role("button", name="Log in").click()
        self.page.get_by_role("button", name="Log out").wait_for()

    def tab_to(self, name: str | re.Pattern[str], most: int = 150) -> None:
        """Press Tab until what has the focus has that name: a label, or a text."""
        for _ in range(most):
            self.page.keyboard.press("Tab")
            if re.search(name, self.focused()):
                return
        pytest.fail(f"no Tab leads to {name!r}")

    def focused(self) -> str:
        """Give the name of what has the focus."""
        return str(self.page.evaluate("(e => (e.labels?.[0] ?? e).textContent)(document.activeElement)")).strip()

    def violations(self) -> list[str]:
        """Give what axe-core finds wrong with the page, whatever it is called."""
        asked = {
            "preload": False,  # no requests of its own, for styles that the page has loaded
            "resultTypes": ["violations"],  # and nothing told of what is right
        }
        found = Axe().run(self.page, options=asked).response["violations"]
        return [_told(each) for each in found]

    def overflow(self) -> int:
        """Give by how many pixels the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def printed(self, folder: Path) -> str:
        """Give the text of the page as it is printed on A4, laid out as there."""
        pdftotext = shutil.which("pdftotext")
        if pdftotext is None:
            absent = "pdftotext is not there, so no test of a printed page can run"
            if os.environ.get(REQUIRED):
                pytest.fail(f"{absent}, though {REQUIRED} is set")
            pytest.skip(f"{absent}: on Debian apt-get install poppler-utils")
        file = folder / "printed.pdf"
        self.page.pdf(path=file, format="A4")
        done = subprocess.run([pdftotext, "-layout", file, "-"], check=True, capture_output=True, text=True)  # noqa: S603
        return done.stdout

    def require_clean(self) -> None:
        """Check that nothing went elsewhere, was forbidden, or failed."""
        assert self.strayed == []
        assert self.complaints == []


@contextmanager
def window(
    browser: Browser, url: str, width: int = WIDE, *, scripts: bool = True, dark: bool = False
) -> Iterator[Window]:
    """Give a new window of a browser, which is checked and closed in the end.

    Without scripts of the page the tests' own still run: axe-core needs them.
    """
    context = browser.new_context(
        viewport={"width": width, "height": HEIGHT},
        java_script_enabled=scripts,
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    context.set_default_timeout(20_000)
    opened = Window(context.new_page(), url)

    def requested(request: Request) -> None:
        if urlsplit(request.url).netloc != urlsplit(url).netloc:
            opened.strayed.append(request.url)

    def said(message: ConsoleMessage) -> None:
        is_status = "Failed to load resource" in message.text  # of a page that is refused
        if message.type in {"error", "warning"} and not is_status:
            opened.complaints.append(message.text)

    context.on("request", requested)
    opened.page.on("console", said)
    opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    try:
        yield opened
        opened.require_clean()
    finally:
        context.close()


def _told(violation: dict[str, Any]) -> str:
    """Give the rule that was broken, and where first."""
    places = [" ".join(map(str, node["target"])) for node in violation["nodes"]]
    return f"{violation['id']}: {violation['help']} ({places[0]}, {len(places)} in all)"
