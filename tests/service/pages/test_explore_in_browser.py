from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from noisycount.tasks.explore.sliders import Sliders
from noisycount.tasks.explore.views import view
from tests.helpers.browser import NARROW, WIDE, Window, chromium, window
from tests.helpers.running_service import Service

__all__ = ["chromium"]

DRAWN = "All charts are drawn."


@pytest.fixture
def opened(chromium: Browser, service: Service) -> Iterator[Window]:
    """Give a window of an analyst, with scripts."""
    with window(chromium, service.url, WIDE) as made:
        made.log_in(service.keys["ana"])
        yield made


@pytest.mark.thorough
def test_charts_follow_a_slider(opened: Window) -> None:
    """Keys move a slider; its box, the charts and the address follow without a new page."""
    opened.go("/explore")
    opened.page.evaluate("document.body.dataset.kept = 'yes'")
    opened.tab_to("Scale of the noise")  # its box; the slider stands before it
    opened.page.keyboard.press("Shift+Tab")
    opened.page.keyboard.press("ArrowRight")
    opened.page.get_by_text(DRAWN).wait_for()
    placed = Sliders.from_query({"scale": "15"})
    expect(opened.page.locator("#scale")).to_have_value("15")
    for name in ("posterior", "error", "delta", "utility"):
        expect(opened.page.locator(f"#chart-{name} .meaning")).to_have_text(view(name, placed).sentence)
    assert opened.page.url == f"{opened.url}/explore?{placed.query}"
    assert opened.page.evaluate("document.body.dataset.kept") == "yes"
    opened.page.reload()
    assert opened.page.url == f"{opened.url}/explore?{placed.query}"


@pytest.mark.thorough
def test_typed_value_moves_its_slider(opened: Window) -> None:
    """A box takes any value of the range; what is beyond is refused where it was typed."""
    opened.go("/explore")
    opened.page.locator("#size").fill("5912")
    opened.page.get_by_text(DRAWN).wait_for()
    slider = opened.page.locator("#size-slider")
    assert slider.get_attribute("aria-valuetext") == "5912 records"
    opened.page.locator("#size").fill("0")
    told = opened.page.get_by_role("alert")
    expect(told).to_contain_text("size must be a whole number from 2 to 1,000,000, got 0")
    box = opened.page.locator(".field", has=opened.page.locator("#size"))
    expect(box.get_by_role("alert")).to_be_visible()
    expect(opened.page.locator("#size")).to_have_attribute("aria-invalid", "true")
    assert opened.violations() == []
    opened.page.locator("#size").fill("20")
    expect(told).to_be_hidden()
    opened.page.get_by_text(DRAWN).wait_for()


@pytest.mark.thorough
def test_numbers_stay_open(opened: Window) -> None:
    """A table that was opened stays open while the sliders move, and fits into its window."""
    opened.go("/explore")
    for each in opened.page.get_by_text("The numbers").all():
        each.click()
    opened.page.locator("#noise").select_option("gaussian")
    opened.page.get_by_text(DRAWN).wait_for()
    assert opened.page.locator("details[open]").count() == 4
    assert opened.violations() == []
    assert opened.overflow() <= 0


@pytest.mark.thorough
def test_form_needs_no_script(chromium: Browser, service: Service) -> None:
    """Without scripts a slider and a button do the same, by an address of their own."""
    with window(chromium, service.url, NARROW, scripts=False) as made:
        made.log_in(service.keys["ana"])
        made.go("/explore")
        made.page.locator("#known-slider").focus()
        made.page.keyboard.press("ArrowRight")
        made.page.keyboard.press("Enter")
        made.page.wait_for_url("**/explore?size=1000&**known=0.6**")
        expect(made.page.locator("#known")).to_have_value("0.6")
        expect(made.page.locator("#chart-delta svg")).to_contain_text("knows 600 records")
        assert made.overflow() <= 0
