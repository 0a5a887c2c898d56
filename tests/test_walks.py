"""Four people at what noisycount is for them, in a real browser; `docs/pictures` has pictures of their ways.

Beside each picture lies what it shows in words, without its numbers. A walk fails where its page says something else:
`make screenshots` takes the pictures anew, and writes their words.
"""

import base64
import difflib
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from noisycount.tasks.explore.sliders import Sliders
from noisycount.tasks.explore.views import view
from tests.helpers.browser import HEIGHT, NARROW, Window, chromium, window
from tests.helpers.running_service import ANALYST, OWNER, SURVEY, Service, configured, served, started, typed
from tests.helpers.transcripts import pages
from tests.notebooks import executed

__all__ = ["chromium"]

PICTURES = Path(__file__).parents[1] / "docs/pictures"
WORDS = r"""() => {
  const pictures = [...document.querySelectorAll("svg")];
  for (const each of pictures) each.style.display = "none";
  const words = document.body.innerText.replace(/[^\S\n]+/g, " ").replace(/\n+/g, "\n");
  for (const each of pictures) each.style.display = "";
  return words.replace(/^Help: .*\n/m, "") + "\n";
}"""
"""What a page says, without the numbers of its charts and without the reference to help, which needs a built site."""
NUMBER = r"(?:\d+:)?[0-9a-f]{64}|[−+]?\d[\d.,:/−-]*"  # or the head of a ledger
TAKES = bool(os.environ.get("NOISYCOUNT_SCREENSHOTS"))

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not PICTURES.is_dir(), reason="the tests run outside the project's folder"),
]


def look(opened: Window, name: str, height: int) -> None:
    """Require that a page fits its window, breaks no rule of axe-core, and is what its picture in the docs shows."""
    assert opened.violations() == []
    assert opened.overflow() <= 0
    words = re.sub(NUMBER, "#", opened.page.evaluate(WORDS))
    picture = PICTURES / f"{name}.webp"
    told = picture.with_suffix(".txt")
    if TAKES:
        told.write_text(words, encoding="utf-8")
        take(opened, picture, height)
    assert picture.is_file()
    changed = difflib.unified_diff(told.read_text(encoding="utf-8").splitlines(), words.splitlines(), n=0, lineterm="")
    assert [*changed][2:] == [], f"{picture} is of an older page: make screenshots"


def take(opened: Window, file: Path, height: int) -> None:
    """Write what a window shows from the top, so many pixels of it."""
    before = opened.page.viewport_size
    assert before is not None
    opened.page.set_viewport_size({"width": before["width"], "height": height})
    opened.page.evaluate("scrollTo(0, 0)")
    asked = opened.page.context.new_cdp_session(opened.page)
    told = asked.send("Page.captureScreenshot", {"format": "webp", "quality": 70})
    file.write_bytes(base64.b64decode(told["data"]))
    opened.page.set_viewport_size(before)


def condition(opened: Window, column: str, value: str) -> None:
    """Add a row to a question."""
    opened.page.get_by_label(re.compile("^(Where|And)$")).select_option(column)
    opened.page.get_by_role("button", name="Add a condition").click()
    opened.page.get_by_label(f"Value of {column}").fill(value)


def visits() -> str:
    """A file as a spreadsheet saves it: a title, semicolons, decimal commas, ja and nein, days first, missing cells."""
    drawn = random.Random(28)  # noqa: S311 - made-up records
    lines = ["Visits 2025;;;;;", "patient;age;cost;smoker;town;admitted"]
    for _ in range(9000):
        patient = drawn.randrange(6000)
        age = "unbekannt" if drawn.random() < 0.01 else str(18 + patient % 75)
        cost = (
            "k.A."
            if drawn.random() < 0.02
            else f"{drawn.randrange(3)}.{drawn.randrange(100, 1000)},{drawn.randrange(100):02}"
        )
        month = min(drawn.randrange(1, 13), drawn.randrange(1, 13))
        town = ("Köln", "Bonn", "Düsseldorf", "Köln")[patient % 4]
        smoker = "ja" if patient % 5 == 0 else "nein"
        lines.append(f"{patient};{age};{cost};{smoker};{town};{drawn.randrange(1, 29):02}.{month:02}.2025")
    return "\n".join([*lines, ""])


def test_an_owner_adds_a_messy_file_and_a_colleague(chromium: Browser, tmp_path: Path) -> None:
    """From an empty folder to a colleague's table: `check` says what to write, and the page knows what was mistyped."""
    (tmp_path / "visits.csv").write_text(visits(), encoding="cp1252")
    (tmp_path / "visits.csv").chmod(0o600)
    found = typed(tmp_path, "init", "visits.csv", "--unit", "patient")
    assert "Look at cells that do not fit (age)" in found
    assert "noisycount check visits" in found
    found = typed(tmp_path, "check", "visits", status=4)
    (meant,) = re.findall(r"^# (age = .*)", found, flags=re.MULTILINE)
    assert meant == 'age = { kind = "integer", missing = ["unbekannt"] }'
    configuration = tmp_path / "noisycount.toml"
    mended = re.sub("^age = .*", meant, configuration.read_text(encoding="utf-8"), flags=re.MULTILINE)
    configuration.write_text(mended, encoding="utf-8")
    found = typed(tmp_path, "check", "visits")
    assert "questions are answered" in found.lower()
    proposed = found[found.index("[datasets.visits.values]") :]
    assert 'town = ["Bonn", "Düsseldorf", "Köln"]' in proposed
    everybody_knows = f'{mended}\n{proposed}admitted = "2025-01-01 to 2025-12-31"\n'
    configuration.write_text(everybody_knows, encoding="utf-8")
    (key,) = re.findall(r"nc_\w+", typed(tmp_path, "analysts", "add", "ben", "--data-set", "visits"))
    with started(tmp_path) as url, window(chromium, url) as opened:
        opened.log_in(key)
        opened.page.get_by_role("heading", name="Ask visits").wait_for()
        condition(opened, "town", "koln")
        opened.page.get_by_role("button", name="Preview: free").click()
        opened.page.get_by_text("did you mean 'Köln'?").wait_for()
        look(opened, "mistyped", 640)
        opened.page.get_by_label("Value of town").fill("Köln")
        opened.page.get_by_text("Break down by group").click()
        opened.page.get_by_label("By", exact=True).select_option("admitted")
        opened.page.get_by_role("button", name="Add a column").click()
        opened.page.get_by_text("More about groups").click()
        opened.page.get_by_label("Largest number of groups").fill("1")
        opened.page.get_by_label("Set ε directly").check()
        opened.page.get_by_label("ε", exact=True).fill("0.05")
        opened.page.get_by_role("button", name="Preview: free").click()
        opened.page.get_by_role("button", name="Ask and spend").click()
        opened.page.get_by_role("heading", name="Table").wait_for()
        look(opened, "table", 1000)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """Give a service over the survey."""
    with served(configured(tmp_path, SURVEY + 'budget = "2"'), OWNER, ANALYST) as running:
        yield running


NOTEBOOK = [
    """
import noisycount as nc
import pandas as pd
from fractions import Fraction

told = pd.read_csv("answer.csv", dtype={"scale": str}).iloc[0]
told
""",
    """
answer, noise = int(told.answer), nc.DiscreteLaplace(Fraction(told.scale))
plain = nc.posterior(answer, nc.BetaBinomial(5912, 1, 1), noise)
plain
""",
    """
assumed = nc.BetaBinomial.from_rate(5912, 0.06, 0.002)
better = nc.posterior(answer, assumed, noise)
better
""",
    "nc.chart(better)",
    """
by_answer, by_median = (nc.mean_absolute_error(assumed, noise, by) for by in ("answer", "median"))
refined, low, high = told[-3:]  # the file has the shortest interval, `interval` one with equal tails
holds = plain.probability(int(low), int(high)) >= 0.95 and high - low <= plain.interval()[1] - plain.interval()[0]
bool(plain.median == refined and holds), by_median < by_answer
""",
]


def test_an_analyst_asks_tops_up_downloads_and_refines(chromium: Browser, service: Service, tmp_path: Path) -> None:
    """A nearer answer costs the difference; from its file a notebook gets what the page says, and more with a rate."""
    with window(chromium, service.url) as opened:
        opened.log_in(service.keys["ana"])
        condition(opened, "age", "50")
        condition(opened, "health", "good")
        opened.page.get_by_label("Set ε directly").check()
        opened.page.get_by_label("ε", exact=True).fill("0.05")
        opened.page.get_by_role("button", name="Preview: free").click()
        opened.page.get_by_role("heading", name="Preview").wait_for()
        look(opened, "preview", 900)
        opened.page.get_by_role("button", name="Ask and spend").click()
        opened.page.get_by_text("ε = 0.05 charged", exact=True).wait_for()
        opened.page.get_by_label("More accurate than ±60? Within ±").fill("20")
        opened.page.get_by_role("button", name="Show the extra price").click()
        opened.page.get_by_role("heading", name="Preview").wait_for()
        look(opened, "closer", 1100)
        opened.page.get_by_role("button", name="Ask and spend").click()
        opened.page.get_by_text("ε = 0.1 charged", exact=True).wait_for()
        look(opened, "answer", 760)
        with opened.page.expect_download() as saved:
            opened.page.get_by_role("link", name="CSV").click()
        saved.value.save_as(tmp_path / "answer.csv")
    cells = [{"cell_type": "code", "source": cell} for cell in NOTEBOOK]
    *_, chart, compared = executed({"cells": cells}, tmp_path)
    assert chart is not None
    assert "What both say together" in chart["image/svg+xml"]
    assert compared == {"text/plain": "(True, True)"}


def bought(service: Service) -> None:
    """Ask what an officer reads of."""
    for number, question in enumerate(
        (
            {"where": "health = 'poor'", "epsilon": "0.15", "purpose": "annual report"},
            {"where": "age >= 60 and female", "within": "20%", "at_most": "0.5", "purpose": "care plan"},
            {"by": "site", "keys": {"site": [1, 2, 3, 4, 5, 6]}, "epsilon": "0.1", "groups_per_unit": 1},
        )
    ):
        headers = {"Authorization": f"Bearer {service.keys['ana']}", "Idempotency-Key": f"bought-{number}"}
        reply = httpx.post(f"{service.url}/v1/datasets/survey/releases", json=question, headers=headers)
        assert reply.status_code == 201, reply.text


def test_an_officer_reads_ledger_and_report_on_a_phone(chromium: Browser, service: Service, tmp_path: Path) -> None:
    """An officer sees entries, purposes and prices, verifies every row, and saves a page to print."""
    bought(service)
    with window(chromium, service.url, NARROW, dark=True) as opened:
        opened.log_in(service.keys["olga"])
        opened.page.get_by_role("link", name="Ledger").click()
        look(opened, "ledger", 844)
        opened.page.get_by_text("Is the ledger as it was written?").click()
        opened.page.get_by_role("link", name="Check every row now").click()
        opened.page.get_by_text("consistent in themselves").wait_for()
        opened.page.get_by_role("link", name="Report", exact=True).click()
        look(opened, "report", 844)
        with opened.page.expect_download() as saved:
            opened.page.get_by_role("link", name="Page to print").click()
        saved.value.save_as(tmp_path / "report.html")
    with window(chromium, tmp_path.as_uri(), NARROW) as opened:
        opened.go("/report.html")
        assert opened.violations() == []
        assert opened.overflow() <= 0
        assert "care plan" in opened.page.locator("body").inner_text()


def test_a_researcher_opens_a_figure_with_other_parameters(chromium: Browser, service: Service, tmp_path: Path) -> None:
    """A paper's figure with the verdicts on its claims; then its setting, moved, with the numbers of the library."""
    assert "claims" in typed(tmp_path, "figures", "--only", "breutigam.1", "--out", "figures")
    with window(chromium, (tmp_path / "figures").as_uri()) as opened:
        opened.go("/index.html")
        look(opened, "figure", 900)
        opened.page.set_viewport_size({"width": NARROW, "height": HEIGHT})
        assert opened.overflow() <= 0
    with window(chromium, service.url) as opened:
        opened.log_in(service.keys["ana"])
        opened.go("/explore?size=1000&rate=0.5&noise=gaussian&scale=3&sample=1&known=0&deviations=1")
        opened.page.get_by_label("Chance that a person or row is counted", exact=True).fill("0.01")
        opened.page.get_by_text("All charts are drawn.").wait_for()
        placed = Sliders.from_query({"size": "1000", "rate": "0.01", "noise": "gaussian", "scale": "3", "known": "0"})
        for name in ("posterior", "error", "delta", "utility"):
            expect(opened.page.locator(f"#chart-{name} .meaning")).to_have_text(view(name, placed).sentence)
        look(opened, "explore", 1000)


def test_every_picture_is_taken_and_shown() -> None:
    """None stays behind that no walk takes or no page shows."""
    taken = set(re.findall(r'look\(opened, "(\w+)"', Path(__file__).read_text(encoding="utf-8")))
    shown = {
        found for page in pages() for found in re.findall(r"pictures/(\w+)\.webp\)", page.read_text(encoding="utf-8"))
    }
    assert {picture.stem for picture in PICTURES.iterdir()} == taken == shown
