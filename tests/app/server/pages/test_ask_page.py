import re
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

import pytest
from playwright.sync_api import Browser

from noisycount.app.server.limits.flights import Flights
from noisycount.app.server.refusals import InFlightError
from tests.browser import NARROW, WIDE, Window, window
from tests.serving import Service

WAYS = [(NARROW, False), (WIDE, True), (NARROW, True), (WIDE, False)]


class Watched(Flights):
    """Requests that are worked on, and whether one came twice."""

    def __init__(self) -> None:
        super().__init__()
        self.refused = Event()

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """The time in which a request is worked on."""
        try:
            with super().of(name):
                yield
        except InFlightError:
            self.refused.set()
            raise


def spends(service: Service) -> int:
    """Give how many debits the ledger has."""
    return len(service.office.ledger.entries())


def condition(opened: Window, column: str, value: str) -> None:
    """Add a row of the builder, whose first operator stays."""
    opened.page.get_by_label(re.compile("^(Where|And)$")).select_option(column)
    opened.page.get_by_role("button", name="Add a condition").click()
    opened.page.get_by_label(f"Value of {column}").fill(value)


def preview(opened: Window) -> None:
    """Have a question previewed."""
    opened.page.get_by_role("button", name="Preview: free").click()
    opened.page.get_by_role("heading", name="Preview").wait_for()


def answer(opened: Window) -> str:
    """Pay for what was previewed, and give the answer."""
    opened.page.get_by_role("button", name="Ask and spend").click()
    opened.page.get_by_role("heading", name="Answer").wait_for()
    return opened.page.locator(".answer").inner_text()


@pytest.mark.few(0)
@pytest.mark.parametrize(("width", "scripts"), WAYS)
def test_person_asks_from_a_browser(
    chromium: Browser, service: Service, width: int, *, scripts: bool
) -> None:
    """From the login to an answer, that stays when it is loaded again and is charged once."""
    before = spends(service)
    with window(chromium, service.url, width, scripts=scripts) as opened:
        opened.log_in(service.keys["ana"])
        opened.go("/ask")
        opened.page.get_by_role("link", name="Ask survey").click()
        condition(opened, "age", f"{width + scripts}")
        condition(opened, "health", "poor")
        preview(opened)
        said = opened.page.get_by_label("Preview").inner_text()
        assert "±20 of the true count with 95\N{NO-BREAK SPACE}% confidence" in said
        assert "a 50:50 guess about one person becomes at most 54:46" in said
        assert re.search(r"pays for \d+ such questions", said)
        assert opened.page.locator(".dot").count() == 50
        assert spends(service) == before
        told = answer(opened)
        assert "±20" in told
        opened.page.reload()
        assert opened.page.locator(".answer").inner_text() == told
        if scripts:
            assert opened.overflow() <= 0
    assert spends(service) == before + 1


@pytest.mark.thorough
def test_double_click_spends_once(chromium: Browser, service: Service) -> None:
    """Nor does it matter whether the page has scripts."""
    before = spends(service)
    with window(chromium, service.url, scripts=False) as opened:
        opened.log_in(service.keys["ana"])
        opened.go("/ask/survey")
        condition(opened, "year", "4")
        preview(opened)
        opened.page.get_by_role("button", name="Ask and spend").dblclick()
        opened.page.get_by_role("heading", name="Answer").wait_for()
        opened.go("/ask/survey")
        condition(opened, "year", "4")
        preview(opened)
        opened.page.get_by_role("button", name="Show the answer again: free").click()
        opened.page.get_by_role("heading", name="Answer").wait_for()
        assert "nothing: it was asked before" in opened.page.get_by_role("main").inner_text()
    assert spends(service) == before + 1


def test_keyboard_is_enough(chromium: Browser, service: Service) -> None:
    """Without a mouse: rows come and go, the preview opens by Enter, and an answer is paid for."""
    before = spends(service)
    with window(chromium, service.url) as opened:
        opened.log_in(service.keys["ana"])
        opened.go("/ask/survey")
        keys = opened.page.keyboard
        keys.press("Tab")
        assert opened.focused() == "Skip to the content"
        keys.press("Enter")
        for name in ("Add a condition", "Remove the condition on year"):
            opened.tab_to(f"^{name}")
            keys.press("Enter")
        assert opened.focused().startswith("Where")
        opened.tab_to("^Add a condition")
        keys.press("Enter")
        assert opened.focused().startswith("Condition")
        opened.tab_to("^Value of year")
        keys.type("2")
        keys.press("Enter")
        opened.page.get_by_role("heading", name="Preview").wait_for()
        assert opened.violations() == []
        opened.tab_to("^Ask and spend")
        keys.press("Space")
        opened.page.get_by_role("heading", name="Answer").wait_for()
    assert spends(service) == before + 1


@pytest.mark.thorough
def test_second_form_waits_for_the_first(chromium: Browser, service: Service) -> None:
    """Who clicks again while the first click is worked on sees the answer, not a refusal."""
    with window(chromium, service.url, scripts=False) as opened:
        opened.log_in(service.keys["ana"])
        opened.go("/ask/survey")
        condition(opened, "year", "5")
        preview(opened)
        key = opened.page.locator("input[name=key]").input_value()
        service.office.flights = watched = Watched()
        with watched.of(f"ana:{key}"):
            opened.page.get_by_role("button", name="Ask and spend").click(no_wait_after=True)
            assert watched.refused.wait(30)
        opened.page.get_by_role("heading", name="Answer").wait_for()


@pytest.mark.thorough
def test_rows_can_go_without_scripts(chromium: Browser, service: Service) -> None:
    """Each button for a row works as a form does, and what was typed stays."""
    with window(chromium, service.url, scripts=False) as opened:
        opened.log_in(service.keys["ana"])
        opened.go("/ask/survey")
        condition(opened, "age", "65")
        condition(opened, "health", "poor")
        opened.page.get_by_role("button", name="Remove the condition on age").click()
        assert opened.page.get_by_label("Value of age").count() == 0
        assert opened.page.get_by_label("Value of health").input_value() == "poor"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("value", "told"),
    [("old", "age is compared with 'old'"), ("", "age needs a value")],
)
def test_refusal_leads_to_its_field(
    chromium: Browser, service: Service, value: str, told: str
) -> None:
    """What cannot be read is said above the form, and marked in it."""
    with window(chromium, service.url) as opened:
        opened.log_in(service.keys["ana"])
        opened.go("/ask/survey")
        condition(opened, "age", value)
        opened.page.get_by_role("button", name="Preview: free").click()
        assert told in opened.page.get_by_role("alert").inner_text()
        assert opened.page.get_by_label("Value of age").get_attribute("aria-invalid") == "true"
        assert opened.violations() == []


@pytest.mark.thorough
def test_table_has_bars_and_refined_values(chromium: Browser, service: Service) -> None:
    """A table is rehearsed, paid for, and shown with the estimate of the same row beside it."""
    with window(chromium, service.url) as opened:
        opened.log_in(service.keys["ana"])
        opened.go("/ask/survey")
        opened.page.get_by_label("By", exact=True).select_option("health")
        opened.page.get_by_role("button", name="Add a column").click()
        opened.page.get_by_label("Keys of health").fill("good, excellent, fair, poor")
        opened.page.get_by_text("More about groups").click()
        opened.page.get_by_label("Measure the total too").check()
        opened.page.get_by_label("A person counts in at most").fill("1")
        opened.page.get_by_role("button", name="Rehearse").click()
        assert "made-up persons" in opened.page.get_by_label("Rehearsal").inner_text()
        opened.page.get_by_role("button", name="Ask and spend").click()
        opened.page.get_by_role("heading", name="Table").wait_for()
        rows = opened.page.locator("table.bars tbody tr").all_inner_texts()
        labels = ["good", "excellent", "fair", "poor", "all 4 listed"]
        assert [row.split("\t")[0].strip() for row in rows] == labels
        assert opened.page.locator("table.bars svg").count() == 4
        for row in rows:
            raw, refined = (float(number) for number in numbers(row))
            assert abs(raw - refined) < 60
        assert opened.violations() == []


def numbers(row: str) -> tuple[str, str]:
    """Give the raw and the refined count of a row."""
    raw, refined = re.findall(r"(−?[\d,]+(?:\.\d)?) [±(]", row)[:2]
    return raw.replace(",", "").replace("−", "-"), refined.replace(",", "")


@pytest.mark.thorough
def test_calls_hold_no_key(chromium: Browser, service: Service) -> None:
    """What is to be copied asks the same, and holds no secret."""
    with window(chromium, service.url) as opened:
        opened.log_in(service.keys["ana"])
        opened.go("/ask/survey")
        condition(opened, "age", "66")
        preview(opened)
        command, python, curl = opened.page.locator("pre").all_inner_texts()
        assert '--where "age >= 66"' in command or "--where 'age >= 66'" in command
        assert "epsilon='0.15'" in python
        assert f"{service.url}/v1/datasets/survey/releases" in curl
        assert service.keys["ana"] not in opened.page.content()


@pytest.mark.thorough
def test_purpose_is_wanted_where_the_owner_says_so(chromium: Browser, service: Service) -> None:
    """The confirmation has a field that must be filled in, and the answer tells it again."""
    with window(chromium, service.url, scripts=False) as opened:
        opened.log_in(service.keys["olga"])
        opened.go("/ask/payroll")
        condition(opened, "pay", "15")
        preview(opened)
        field = opened.page.get_by_label("What is the answer for?")
        assert field.get_attribute("required") is not None
        field.fill("annual report")
        answer(opened)
        assert "annual report" in opened.page.get_by_role("main").inner_text()


@pytest.mark.thorough
def test_other_data_sets_are_not_there(chromium: Browser, service: Service) -> None:
    """A page of a data set that is not granted is the very page of one that does not exist."""
    with window(chromium, service.url) as opened:
        opened.log_in(service.keys["ana"])
        pages = []
        for name in ("payroll", "nowhere"):
            opened.go(f"/ask/{name}")
            text = opened.page.content()
            pages.append(re.sub(r'name="csrf" value="[^"]+"', "", text))
        assert pages[0] == pages[1]
        assert "there is no such data set" in pages[0]
