"""The site in a browser, read from its folder as somebody offline does: every page, and the search.

As a command: `python -m tests.website.tour docs/_build/html`.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.helpers.browser import ARGUMENTS, CHROMIUM, HEIGHT, NARROW, REQUIRED, WIDE, Window, window
from tests.website.links import pages_of

SOUGHT = {  # what people look for, and a page that must be among the first three
    "hockey-stick divergence": "glossary",
    "privacy_curve": "reference/",
    "Idempotency-Key": "http",
    "anonymous": "glossary",
    "GDPR": "glossary",
    "DPIA": "glossary",
    "retention": "glossary",
    "negative count": "glossary",
    "k-anonymity": "glossary",
    "pseudonym": "glossary",
    "consent": "glossary",
    "re-identification": "how-to/report",
    "rotate key": "how-to/keys",
    "epsilon": "how-to/epsilon",
    "exit status": "exit",
    "budget": "how-to/epsilon",
    "key": "how-to/keys",
    "report": "how-to/report",
}


def faults(browser: Browser, site: Path) -> Iterator[str]:
    """Yield the problems that a visitor of a site meets, a line each."""
    with window(browser, site.resolve().as_uri()) as opened:
        for page in pages_of(site):
            if _is_redirect(site / page):
                continue
            opened.go(f"/{page}")
            for width in (NARROW, WIDE):
                opened.page.set_viewport_size({"width": width, "height": HEIGHT})
                if opened.overflow():
                    yield f"{page}: {opened.overflow()} pixels wider than a window of {width}"
            found = [*opened.complaints, *_violations(opened, page)]
            yield from (f"{page}: {each}" for each in found)
            opened.complaints.clear()
    with window(browser, site.resolve().as_uri()) as opened:
        for text, page in SOUGHT.items():
            opened.go(f"/search.html?q={text.replace(' ', '+')}")
            opened.page.locator("#search-results p.search-summary").wait_for()
            links = opened.page.locator("#search-results ul.search a")
            led = [str(each.get_attribute("href")) for each in links.all()]
            if not any(page in link for link in led[:3]):
                yield f"the search for {text!r} leads to {led[:3]} first, and to no page of {page!r}"


def _is_redirect(page: Path) -> bool:
    """Return True if a page only leads to its new address, which the browser opens at once."""
    return 'http-equiv="refresh"' in page.read_text(encoding="utf-8")


def _violations(opened: Window, page: str) -> list[str]:
    """Return axe-core's findings on a page, except the empty corner of a pandas table."""
    is_notebook = page.startswith("notebooks/")
    found = opened.violations()
    return [each for each in found if not (is_notebook and each.startswith("empty-table-header"))]


def main() -> None:
    """Tell what is wrong with the site in the folder that is named, and fail if anything is."""
    if not CHROMIUM.exists() and not os.environ.get(REQUIRED):
        print(f"{CHROMIUM} is not there: the site was not looked at in a browser")  # noqa: T201 - a command
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        found = list(faults(browser, Path(sys.argv[1])))
        browser.close()
    for fault in found:
        print(fault)  # noqa: T201
    print(f"in a browser: {len(found)} faults")  # noqa: T201
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
