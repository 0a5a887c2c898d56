"""The pages of papers say what the figures say; rows and pictures are renewed by hand."""

import re

import pytest

from noisycount.charts.picture_svg import picture_svg
from noisycount.charts.plot_picture import plot_picture
from noisycount.papers import breutigam
from noisycount.papers import figure as bounds
from noisycount.papers.catalogue import PAPERS, select_keys
from tests.papers.claim_tables import FOLDER, PAGES, claims_of, row, rows
from tests.papers.test_papers import CASES, KEYS, figure

TEXT = (FOLDER.parent / "figures.md").read_text(encoding="utf-8") if FOLDER.is_dir() else ""
ROWS = [each for page in PAGES for each in rows(page.read_text(encoding="utf-8"))]
PAPERS_WITH_MORE = [paper.key for paper in PAPERS if paper.claims()]
_OURS = {each.stem.removeprefix("several-answers-"): each for each in FOLDER.parent.glob("several-answers-*.svg")}
DRAWN = {each.stem: each for each in FOLDER.glob("*.svg")} | {f"ours.{name}": each for name, each in _OURS.items()}

pytestmark = pytest.mark.skipif(not ROWS, reason="the tests run outside the project's folder")


def words(picture: str) -> list[str]:
    """Return the texts of a picture."""
    return [re.sub("<[^>]*>", "", text) for text in re.findall(r"<text[^>]*>(.*?)</text>", picture)]


def test_every_figure_has_its_claims_on_one_page() -> None:
    """Rows of a figure stand together, in the order of figures on each page."""
    expected = sorted([*KEYS, *PAPERS_WITH_MORE])
    assert sorted({key for key, _ in ROWS}) == expected
    together = [key for place, (key, _) in enumerate(ROWS) if ROWS[place - 1][0] != key]
    assert sorted(together) == expected


@pytest.mark.parametrize("key", CASES)
def test_the_verdicts_of_a_page_are_those_that_are_computed(key: str) -> None:
    """With the claim and with our numbers; `python -m tests.papers.claim_tables` renews them."""
    told = [line for each, line in ROWS if each == key]
    assert told == [row(key, claim) for claim in figure(key).claims]


@pytest.mark.parametrize("key", PAPERS_WITH_MORE)
def test_a_page_has_what_its_paper_says_outside_figures(key: str) -> None:
    """The page of a paper has the claims of `nc.claims`."""
    told = [line for each, line in rows((FOLDER / f"{key}.md").read_text("utf-8")) if each == key]
    assert told == [row(key, claim) for claim in claims_of(key)]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "key", [pytest.param(key, marks=mark.marks) for key, mark in zip(KEYS, CASES, strict=True) if key in DRAWN]
)
def test_a_picture_of_a_page_is_that_of_its_figure(key: str) -> None:
    """It has the same words; `noisycount figures` draws it again."""
    stored = DRAWN[key].read_text(encoding="utf-8")
    assert words(stored) == words(picture_svg(plot_picture(figure(key))))


def test_the_page_lists_every_figure() -> None:
    """Every key once, in the table, and no other."""
    table = TEXT[TEXT.index("| figure |") : TEXT.index("The figures of 2014")]
    listed = re.findall(r"`(\w+\.\w+)`", table)
    assert sorted(listed) == sorted(select_keys([]))


def test_the_page_has_the_bounds_by_which_words_are_judged() -> None:
    """They are those of the code."""
    for words in (
        f"within {100 * bounds.ALIKE:g} %",
        f"within {100 * bounds.CLOSE:g} %",
        f"from {100 * bounds.NEARLY:g} % on",
        f"by {100 * (bounds.CLEARLY - 1):.0f} % at least",
        f"less than {bounds.SIMILAR:g} times",
        f"{bounds.MUCH:g} times at least",
        f"{75 * breutigam.PRINTED_EXTRA:.0f} % to {125 * breutigam.PRINTED_EXTRA:.0f} %",
    ):
        assert f"| {words} |" in TEXT
