"""The page of papers has the claims and pictures of the figures; `tests.papers.claim_tables` renews the rows."""

import re

import pytest

from noisycount.charts.picture_svg import picture_svg
from noisycount.charts.plot_picture import plot_picture
from noisycount.papers import breutigam
from noisycount.papers import figure as bounds
from noisycount.papers.catalogue import PAPERS
from tests.papers.claim_tables import PAGE, SECTIONS, others, row, rows, table
from tests.papers.test_papers import CASES, KEYS, figure

TEXT = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
ROWS = rows(TEXT)
PAPERS_WITH_MORE = [paper.key for paper in PAPERS if paper.claims()]
DRAWN = {picture.stem: picture for picture in PAGE.with_suffix("").glob("*.svg")}

pytestmark = pytest.mark.skipif(not ROWS, reason="the tests run outside the project's folder")


def words(picture: str) -> list[str]:
    """Return the texts of a picture."""
    return [re.sub("<[^>]*>", "", text) for text in re.findall(r"<text[^>]*>(.*?)</text>", picture)]


def test_every_figure_belongs_to_a_section() -> None:
    """So its claims are counted there; the page has the sections."""
    names = [name for section in SECTIONS.values() for name in section]
    assert {key for key in KEYS if key not in names and key.partition(".")[0] not in names} == set()
    assert {paper for paper in PAPERS_WITH_MORE if paper not in names} == set()
    assert [section for section in SECTIONS if f"\n## {section}\n" not in TEXT] == []


@pytest.mark.parametrize("key", CASES)
def test_the_verdicts_of_the_page_are_those_that_are_computed(key: str) -> None:
    """Each claim that does not hold everywhere has a row, with our result and the verdict."""
    assert [line for each, line in ROWS if each == key] == [row(key, claim) for claim in others(key)]


@pytest.mark.parametrize("key", PAPERS_WITH_MORE)
def test_the_page_has_the_claims_of_a_paper_outside_its_figures(key: str) -> None:
    """They are those of `nc.claims`."""
    assert [line for each, line in ROWS if each == key] == [row(key, claim) for claim in others(key)]


@pytest.mark.thorough
@pytest.mark.parametrize("section", SECTIONS)
def test_the_page_states_how_many_claims_hold(section: str) -> None:
    """The number stands above the table of the others."""
    assert table(section) in TEXT


@pytest.mark.thorough
@pytest.mark.parametrize(
    "key", [pytest.param(key, marks=mark.marks) for key, mark in zip(KEYS, CASES, strict=True) if key in DRAWN]
)
def test_a_picture_of_a_page_is_that_of_its_figure(key: str) -> None:
    """It has the same words; `noisycount figures` draws it again."""
    stored = DRAWN[key].read_text(encoding="utf-8")
    assert words(stored) == words(picture_svg(plot_picture(figure(key))))


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
