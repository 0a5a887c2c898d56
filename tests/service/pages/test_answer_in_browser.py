import json

import httpx
import pytest
from playwright.sync_api import Browser, Locator

from tests.helpers.browser import HEIGHT, NARROW, WIDE, window
from tests.helpers.running_service import Service

QUESTIONS = (
    {"where": "health = 'poor'", "epsilon": "0.15"},
    {"by": "age:0,10,20,30,40,50,60", "epsilon": "1", "groups_per_unit": 1, "margins": ["total"]},
    {"by": "health", "keys": {"health": ["good", "fair", None]}, "epsilon": "0.1", "groups_per_unit": 1},
)


def asked(service: Service, question: dict[str, object]) -> str:
    """Give the address of the page of an answer of ana's."""
    reply = httpx.post(
        f"{service.url}/v1/datasets/survey/releases",
        json=question,
        headers={
            "Authorization": f"Bearer {service.keys['ana']}",
            "Idempotency-Key": f"look-{len(json.dumps(question))}",
        },
    )
    assert reply.status_code == 201, reply.text
    return f"/releases/{reply.json()['key']}"


def is_seen(part: Locator, width: int) -> bool:
    """Return True if a part of the page is whole in its first window."""
    box = part.bounding_box()
    assert box is not None
    return box["x"] >= 0 and box["x"] + box["width"] <= width and box["y"] + box["height"] <= HEIGHT


@pytest.mark.thorough
@pytest.mark.parametrize(("width", "dark"), [(NARROW, True), (WIDE, False)])
def test_the_picture_is_seen_first(chromium: Browser, service: Service, width: int, *, dark: bool) -> None:
    """Without scrolling, in one size alone, with its details shut; nothing is wider than the window."""
    with window(chromium, service.url, width, dark=dark) as opened:
        opened.log_in(service.keys["ana"])
        for question in QUESTIONS:
            opened.go(asked(service, question))
            pictures = opened.page.locator("main svg:visible")
            assert is_seen(pictures.first, width)
            assert opened.page.locator(".picture svg:visible").count() == ("by" not in question)
            assert opened.page.locator("details[open]").count() == 0
            assert opened.overflow() <= 0
            assert opened.violations() == []
            opened.page.get_by_text("Details", exact=True).click()
            assert opened.page.get_by_text("discrete Laplace").first.is_visible()
            with opened.page.expect_download() as saved:
                opened.page.get_by_role("link", name="SVG").click()
            assert saved.value.suggested_filename.endswith(".svg")


@pytest.mark.thorough
def test_the_ledger_fits_a_phone(chromium: Browser, service: Service) -> None:
    """The question leads to its answer; answer, noise and price of the newest entry stand below it, in the window."""
    place = asked(service, QUESTIONS[0])
    with window(chromium, service.url, NARROW) as opened:
        opened.log_in(service.keys["ana"])
        opened.go("/ledger")
        first = opened.page.locator("table.stack tbody tr").first
        for name in ("answer", "noise", "price"):
            assert is_seen(first.locator(f'td[data-label="{name}"]'), NARROW)
        assert opened.overflow() <= 0
        assert opened.violations() == []
        opened.page.get_by_role("link", name="health = 'poor'", exact=True).first.click()
        opened.page.get_by_role("heading", name="Answer").wait_for()
        assert place.rpartition("/")[2].replace(":", "%3A") in opened.page.url
