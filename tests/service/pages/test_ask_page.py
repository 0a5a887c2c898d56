import re
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

import pytest
from playwright.sync_api import Browser

from noisycount.service.errors import InFlightError
from noisycount.service.state import InFlight
from tests.helpers.browser import HEIGHT, NARROW, WIDE, Window, window
from tests.helpers.running_service import Service

WAYS = [(NARROW, False), (WIDE, True), (NARROW, True), (WIDE, False)]


class Watched(InFlight):
    """Requests that are worked on, and whether one came twice."""

    def __init__(self) -> None:
        super().__init__()
        self.refused = Event()

    @contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """The time in which a request is worked on."""
        try:
            with super().hold(name):
                yield
        except InFlightError:
            self.refused.set()
            raise


def spends(service: Service) -> int:
    """Give how many debits the ledger has."""
    return len(service.state.ledger.entries())


@pytest.fixture
def asking(request: pytest.FixtureRequest, chromium: Browser, service: Service) -> Iterator[Window]:
    """Give an analyst's window at the form of the survey, with scripts unless a test says not."""
    with window(chromium, service.url, scripts=getattr(request, "param", True)) as opened:
        opened.log_in(service.keys["ana"])
        opened.go("/ask/survey")
        yield opened


without_scripts = pytest.mark.parametrize("asking", [False], indirect=True, ids=["no scripts"])


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


@pytest.mark.thorough
@pytest.mark.parametrize(("width", "scripts"), WAYS)
def test_person_asks_from_a_browser(chromium: Browser, service: Service, width: int, *, scripts: bool) -> None:
    """From the login to an answer, that stays when it is loaded again and is charged once."""
    before = spends(service)
    with window(chromium, service.url, width, scripts=scripts) as opened:
        opened.log_in(service.keys["ana"])
        opened.go("/ask")
        condition(opened, "age", f"{width + scripts}")
        condition(opened, "health", "poor")
        preview(opened)
        said = opened.page.get_by_label("Preview").inner_text()
        assert "within ±20\N{NO-BREAK SPACE}% of the true count with 95\N{NO-BREAK SPACE}% confidence" in said
        assert "a 50:50 guess about one person becomes at most 63:37" in said
        assert re.search(r"At most ε = 0.5 would be charged: .* pays for at least \d+ answers like this one", said)
        curl = opened.page.locator("pre").last.text_content() or ""
        assert f"{service.url}/v1/datasets/survey/releases" in curl
        assert service.keys["ana"] not in opened.page.content()
        assert spends(service) == before
        told = answer(opened)
        below = -int(told.split()[0].replace("−", "-"))
        assert f"±{max(9, below)} persons" in told  # the range of an answer below −9 reaches 0
        assert "at which the price was capped" in opened.page.get_by_role("main").inner_text()
        opened.page.reload()
        assert opened.page.locator(".answer").inner_text() == told
        if scripts:
            assert opened.overflow() <= 0
    assert spends(service) == before + 1


@pytest.mark.thorough
@without_scripts
def test_double_click_spends_once(asking: Window, service: Service) -> None:
    """Nor does it matter whether the page has scripts."""
    before = spends(service)
    condition(asking, "year", "4")
    preview(asking)
    asking.page.get_by_role("button", name="Ask and spend").dblclick()
    asking.page.get_by_role("heading", name="Answer").wait_for()
    asking.go("/ask/survey")
    condition(asking, "year", "4")
    preview(asking)
    asking.page.get_by_role("button", name="Show the answer again: free").click()
    asking.page.get_by_role("heading", name="Answer").wait_for()
    assert "Free: it was asked before" in asking.page.get_by_role("main").inner_text()
    assert spends(service) == before + 1


@pytest.mark.thorough
def test_keyboard_is_enough(asking: Window, service: Service) -> None:
    """Without a mouse: rows come and go, the preview opens by Enter, and an answer is paid for."""
    before = spends(service)
    keys = asking.page.keyboard
    keys.press("Tab")
    assert asking.focused() == "Skip to the content"
    keys.press("Enter")
    for name in ("Add a condition", "Remove the condition on year"):
        asking.tab_to(f"^{name}")
        keys.press("Enter")
    assert asking.focused().startswith("Where")
    asking.tab_to("^Add a condition")
    keys.press("Enter")
    assert asking.focused().startswith("Condition")
    asking.tab_to("^Value of year")
    keys.type("2")
    keys.press("Enter")
    asking.page.get_by_role("heading", name="Preview").wait_for()
    assert asking.violations() == []
    asking.tab_to("^Ask and spend")
    keys.press("Space")
    asking.page.get_by_role("heading", name="Answer").wait_for()
    assert spends(service) == before + 1


@pytest.mark.thorough
@without_scripts
def test_second_form_waits_for_the_first(asking: Window, service: Service) -> None:
    """A second click while the first is processed shows the answer, not a refusal."""
    condition(asking, "year", "5")
    preview(asking)
    key = asking.page.locator("input[name=key]").input_value()
    service.state.in_flight = watched = Watched()
    with watched.hold(f"ana:{key}"):
        asking.page.get_by_role("button", name="Ask and spend").click(no_wait_after=True)
        assert watched.refused.wait(30)
    asking.page.get_by_role("heading", name="Answer").wait_for()


def by_health(opened: Window) -> None:
    """Ask for a table of one group of a column."""
    opened.page.get_by_label("By", exact=True).select_option("health")
    opened.page.get_by_role("button", name="Add a column").click()
    opened.page.get_by_label("Keys of health").fill("poor")


def try_typed(opened: Window, field: str, typed: str) -> None:
    """Type into a field, wherever it is folded away, and ask for the preview."""
    for summary in opened.page.locator("summary").filter(has_text="More").all():
        summary.click()
    opened.page.locator(f"#{field}").fill(typed)
    opened.page.get_by_role("button", name="Preview: free").click()


LINES = r"""() => [...document.querySelectorAll(".fields, .row")].flatMap((row) => {
  const seen = (all) => [...all].filter((each) => each.checkVisibility()).map((each) => each.getBoundingClientRect());
  const labels = seen(row.querySelectorAll("label, .label")), boxes = seen(row.querySelectorAll("input, select"));
  return [labels.map((each) => each.bottom), boxes.map((each) => each.top), boxes.map((each) => each.bottom)];
}).filter((line) => Math.max(...line) - Math.min(...line) > 1)"""
"""The heights of labels and boxes that stand side by side and out of line."""


@pytest.mark.thorough
@pytest.mark.parametrize("scripts", [True, False])
def test_what_is_side_by_side_is_in_line(chromium: Browser, service: Service, *, scripts: bool) -> None:
    """Labels and boxes of a row stand at one height, whatever is wrong with one of them."""
    refused = {"value-0": "old", "to-0": "old", "within": "near", "at_most": "x", "confidence": "2", "delta": "1e-6"}
    with window(chromium, service.url, scripts=scripts) as opened:
        opened.log_in(service.keys["ana"])
        for field, typed in refused.items():
            opened.go("/ask/survey")
            condition(opened, "age", "65")
            opened.page.get_by_label("Condition on age").select_option(label="is from … to …")
            opened.page.locator("#to-0").fill("70")
            opened.page.locator("summary").filter(has_text="Break down by group").click()
            by_health(opened)
            try_typed(opened, field, typed)
            opened.page.locator(f"#{field}-wrong").wait_for()
            assert opened.page.evaluate(LINES) == [], field


@pytest.mark.thorough
@without_scripts
def test_rows_can_go_without_scripts(asking: Window) -> None:
    """Each button for a row works as a form does, and what was typed stays."""
    condition(asking, "age", "65")
    condition(asking, "health", "poor")
    asking.page.get_by_role("button", name="Remove the condition on age").click()
    assert asking.page.get_by_label("Value of age").count() == 0
    assert asking.page.get_by_label("Value of health").input_value() == "poor"


def is_seen(opened: Window, selector: str) -> bool:
    """Return True if all of an element is in the window."""
    box = opened.page.locator(selector).bounding_box()
    assert box is not None
    return box["y"] >= 0 and box["y"] + box["height"] <= HEIGHT


REFUSED = [
    ("value-0", "old", "age is compared with 'old'"),
    ("value-0", "", "age needs a value"),
    ("within", "near", "'near'"),
    ("confidence", "200%", "confidence must lie"),
    ("guess", "-1", "guess must be"),
    ("keys-0", "", "keys of health are missing"),
    ("groups_per_unit", "x", "groups per person must be"),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("width", "scripts"), WAYS[:2])
def test_what_is_refused_is_told_beside_its_field(
    chromium: Browser, service: Service, width: int, *, scripts: bool
) -> None:
    """The focus is on the field, and both it and the message above it lie in the window."""
    with window(chromium, service.url, width, scripts=scripts) as opened:
        opened.log_in(service.keys["ana"])
        for field, typed, told in REFUSED:
            opened.go("/ask/survey")
            condition(opened, "age", "65")
            opened.page.locator("summary").filter(has_text="Break down by group").click()
            if field in {"keys-0", "groups_per_unit"}:
                by_health(opened)
            try_typed(opened, field, typed)
            opened.page.get_by_text(told).wait_for()
            opened.page.locator(f"#{field}:focus").wait_for()
            place = opened.page.locator(f"#{field}")
            assert place.get_attribute("aria-invalid") == "true"
            message = (place.get_attribute("aria-describedby") or "").split()[0]
            assert told in opened.page.locator(f"#{message}").inner_text()
            assert is_seen(opened, f"#{field}")
            assert is_seen(opened, f"#{message}")
            assert opened.page.title().startswith("Error: ")
            assert not scripts or opened.violations() == []


@pytest.mark.thorough
@pytest.mark.parametrize(("width", "scripts"), WAYS[:2])
def test_preview_and_new_rows_are_seen(chromium: Browser, service: Service, width: int, *, scripts: bool) -> None:
    """The focus follows what was asked for."""
    with window(chromium, service.url, width, scripts=scripts) as opened:
        opened.log_in(service.keys["ana"])
        opened.go("/ask/survey")
        condition(opened, "age", "65")
        opened.page.get_by_role("button", name="Add a condition").click()
        opened.page.locator("#operator-1").wait_for()
        opened.page.locator("#operator-1:focus").wait_for()
        assert is_seen(opened, "#operator-1")
        opened.page.locator("#value-1").fill("3")
        preview(opened)
        opened.page.locator("#preview:focus").wait_for()
        assert is_seen(opened, "#preview")
        assert is_seen(opened, ".promise")


@pytest.mark.thorough
def test_table_has_bars_and_refined_values(asking: Window) -> None:
    """A table is rehearsed, paid for, and shown with the estimate of the same row beside it."""
    asking.page.get_by_text("Break down by group").click()
    asking.page.get_by_label("By", exact=True).select_option("health")
    asking.page.get_by_role("button", name="Add a column").click()
    asking.page.get_by_label("Keys of health").fill("good, excellent, fair, poor")
    asking.page.get_by_text("More about groups").click()
    asking.page.get_by_label("Measure the total too").check()
    asking.page.get_by_label("Largest number of groups").fill("1")
    asking.page.get_by_label("Within ±").fill("20")
    asking.page.get_by_role("button", name="Rehearse").click()
    assert "made-up persons" in asking.page.get_by_label("Rehearsal").inner_text()
    asking.page.get_by_role("button", name="Ask and spend").click()
    asking.page.get_by_role("heading", name="Table").wait_for()
    rows = asking.page.locator("table.bars tbody tr").all_inner_texts()
    labels = ["good", "excellent", "fair", "poor", "all 4 listed"]
    assert [row.split("\t")[0].strip() for row in rows] == labels
    assert asking.page.locator("table.bars svg").count() == 4
    for row in rows:
        raw, refined = (float(number) for number in numbers(row))
        assert abs(raw - refined) < 60
    assert asking.violations() == []


def numbers(row: str) -> tuple[str, str]:
    """Give the raw and the refined count of a row."""
    raw, refined = re.findall(r"(−?\d[\d,]*)(?: ±|, from)", row)
    return raw.replace(",", "").replace("−", "-"), refined.replace(",", "")


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
