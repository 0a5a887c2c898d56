import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from noisycount.tasks.report.forms import report_text
from noisycount.tasks.report.report import report_of
from tests.helpers.browser import HEIGHT, NARROW, chromium
from tests.helpers.report_ledgers import HOSTILE, configured, filled

__all__ = ["chromium"]

A4 = (595, 842)  # points


@pytest.fixture
def printed(chromium: Browser, tmp_path: Path) -> Iterator[Page]:
    """A page of Chromium with the report of a long ledger, opened as a file."""
    configuration = configured(tmp_path)
    filled(configuration, 61)
    file = tmp_path / "report.html"
    file.write_text(report_text(report_of(configuration), configuration, "html"), "utf-8")
    context = chromium.new_context()
    page = context.new_page()
    asked = list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: asked.append(str(error)))
    page.goto(file.as_uri())
    yield page
    assert asked == [file.as_uri()]
    context.close()


@pytest.mark.thorough
def test_the_report_prints_on_pages_of_a4(printed: Page) -> None:
    """On several, none of which is blank, whatever a question holds."""
    pdf = printed.pdf(prefer_css_page_size=True)
    boxes = re.findall(rb"/MediaBox\s*\[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert {(round(float(wide)), round(float(high))) for wide, high in boxes} == {A4}
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 10  # 61 releases, and an annex


@pytest.mark.thorough
def test_no_word_of_a_header_is_broken(printed: Page) -> None:
    """Nor a day: a column is as wide as its longest usual word."""
    printed.emulate_media(media="print")
    printed.set_viewport_size({"width": 688, "height": 973})
    heights = """words => words.map(([select, word]) => {
        const cell = [...document.querySelectorAll(select)].find(e => e.textContent.includes(word));
        const node = cell.firstChild, range = document.createRange(), at = node.textContent.indexOf(word);
        range.setStart(node, at);
        range.setEnd(node, at + word.length);
        return range.getClientRects().length;
    })"""
    words = [["th", word] for word in ("when", "who", "asked", "question", "answer", "noise", "price")]
    assert printed.evaluate(heights, [*words, [".releases td", "discrete"], [".releases td", "Laplace"]]) == [1] * 9


@pytest.mark.thorough
@pytest.mark.skipif(
    shutil.which("pdftotext") is None, reason="no pdftotext here: on Debian apt-get install poppler-utils"
)
def test_a_table_of_the_annex_is_on_the_page_of_its_heading(printed: Page, tmp_path: Path) -> None:
    """Wherever a page ends: a heading is not broken either, and its last row is on the same page."""
    file = tmp_path / "report.pdf"
    for height in range(0, 700, 140):
        printed.add_style_tag(content=f"section:has(.annex) {{ margin-top: {height}px; }}")
        printed.pdf(path=file, prefer_css_page_size=True)
        words = ["pdftotext", "-layout", str(file), "-"]
        text = subprocess.run(words, check=True, capture_output=True, text=True).stdout  # noqa: S603
        pages = text.split("\f")
        headings = [len(re.findall(r"^\S+: persons by town", page, re.MULTILINE)) for page in pages]
        assert sum(headings) == 16
        assert headings == [page.count("all of Bern") for page in pages]


@pytest.mark.thorough
def test_the_first_page_has_the_signature(printed: Page) -> None:
    """With the summary and the guide, whatever the data sets were asked."""
    printed.emulate_media(media="print")
    printed.set_viewport_size({"width": 688, "height": 973})
    first = printed.locator(".first")
    box = first.bounding_box()
    assert box is not None
    assert box["height"] + box["y"] < 1000  # A4 within its margins, in pixels
    assert "Signature" in first.inner_text()


@pytest.mark.thorough
def test_nothing_is_cut_off_in_print(printed: Page) -> None:
    """No line is wider than the paper within its margins, and no word is hidden."""
    printed.emulate_media(media="print")
    printed.set_viewport_size({"width": 688, "height": 973})  # A4 without margins, in pixels
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert printed.evaluate(wide) == 0
    cells = "[...document.querySelectorAll('td')].filter(e => e.scrollWidth > e.clientWidth + 1)"
    assert printed.evaluate(f"{cells}.length") == 0
    assert HOSTILE in printed.inner_text("main")


@pytest.mark.thorough
def test_the_report_is_read_on_a_phone(printed: Page) -> None:
    """Each release below the one before, with the names of its cells beside them, and no column of single letters."""
    printed.set_viewport_size({"width": NARROW, "height": HEIGHT})
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert printed.evaluate(wide) == 0
    widths = "[...document.querySelectorAll('.stack td')].map(e => e.clientWidth)"
    assert min(printed.evaluate(widths)) > NARROW * 0.8


@pytest.mark.thorough
def test_the_report_is_light_wherever_it_is_read(printed: Page) -> None:
    """Black on white, for paper, in a dark room too."""
    printed.emulate_media(color_scheme="dark")
    colour = "getComputedStyle(document.body).backgroundColor"
    assert printed.evaluate(colour) == "rgb(255, 255, 255)"
