import re
from pathlib import Path

import pytest

from noisycount.papers import breutigam_samples
from noisycount.papers import figure as paper
from noisycount.papers.catalogue import chosen

PAGE = Path(__file__).parents[2] / "docs/figures.md"
TEXT = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""

pytestmark = pytest.mark.skipif(not TEXT, reason="the tests run outside the project's folder")


def test_the_page_lists_every_figure() -> None:
    """Every key once, in the table, and no other."""
    table = TEXT[TEXT.index("| figure |") : TEXT.index("The figures of 2014")]
    listed = re.findall(r"`(\w+\.\w+)`", table)
    assert sorted(listed) == sorted(chosen([]))


def test_the_page_has_the_bounds_by_which_words_are_judged() -> None:
    """They are those of the code."""
    extra = breutigam_samples.PRINTED_EXTRA
    for words in (
        f"within {100 * paper.ALIKE:g} %",
        f"within {100 * paper.CLOSE:g} %",
        f"from {100 * paper.NEARLY:g} % on",
        f"by {100 * (paper.CLEARLY - 1):.0f} % at least",
        f"less than {paper.SIMILAR:g} times",
        f"{paper.MUCH:g} times at least",
        f"{100 * extra * 3 / 4:.0f} % to {100 * extra * 5 / 4:.0f} %",
    ):
        assert f"| {words} |" in TEXT
