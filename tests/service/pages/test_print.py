import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.helpers.browser import window
from tests.helpers.running_service import Service
from tests.service.pages.test_answer_in_browser import asked

pytestmark = pytest.mark.thorough

EDGES = range(0, 50_000, 100)
ROWS = {"by": f"income:{','.join(map(str, EDGES))}", "epsilon": "1", "groups_per_unit": 1}
ROW = r"^ *([\d.]+) (?:to under [\d.]+|or more) +[−\d,]+ ±[\d,]+"  # as it is printed


@pytest.mark.parametrize("dark", [False, True])
def test_every_row_of_a_table_is_printed(chromium: Browser, service: Service, tmp_path: Path, *, dark: bool) -> None:
    """Every row of 500 is printed under a header on each sheet; the screen begins with 30."""
    place = asked(service, ROWS)
    with window(chromium, service.url, scripts=False, dark=dark) as opened:
        opened.log_in(service.keys["ana"])
        opened.go(place)
        rows = opened.page.locator(".bars tbody tr")
        assert (rows.count(), rows.locator("visible=true").count()) == (500, 30)
        printed = opened.printed(tmp_path)
        sheets = [re.findall(ROW, sheet, re.MULTILINE) for sheet in printed.split("\f")]
        assert [int(float(low)) for sheet in sheets for low in sheet] == [*EDGES]
        headed = [bool(re.search(r"^ *income +Persons", sheet, re.MULTILINE)) for sheet in printed.split("\f")]
        assert headed == [bool(sheet) for sheet in sheets]
        assert "Show all" not in printed
        assert "discrete Laplace: scale 2" in printed  # the details, which are folded on the screen
        opened.page.get_by_label("Show all 500 rows").check()
        assert rows.locator("visible=true").count() == 500


def test_the_ledger_is_printed_as_a_table(chromium: Browser, service: Service, tmp_path: Path) -> None:
    """The printed ledger has a header, a row for each entry with whole words, and the budgets."""
    question = "age >= 60 and female and site in (1, 2, 3) and year >= 2 and income between 1000 and 20000"
    asked(service, {"where": question, "epsilon": "0.15", "purpose": "a report on elderly women"})
    with window(chromium, service.url, scripts=False) as opened:
        opened.log_in(service.keys["olga"])
        opened.go("/ledger")
        printed = opened.printed(tmp_path)
    assert re.search(r"question +answer +noise +price", printed)
    words = {*re.findall("[a-z]+", question), "elderly", "discrete", "Laplace", "survey"}
    assert words - set(re.findall(r"\w+", printed)) == set()
    assert re.search(r"survey +ε = 20 +ε = ", printed)
