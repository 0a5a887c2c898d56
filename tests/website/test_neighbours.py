"""The picture of two neighbouring data sets, and the numbers that the page has beside it."""

import math
import re

import polars as pl
import pytest

import noisycount as nc
from noisycount.charts.picture_svg import picture_svg
from noisycount.data import survey_path
from tests.helpers.transcripts import PROJECT
from tests.website.neighbours import ANSWERS, COUNT, EPSILON, PICTURE, likelihoods, neighbours_picture

PAGE = PROJECT / "docs/start/differential-privacy.md"
TEXT = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""

pytestmark = pytest.mark.skipif(not TEXT, reason="the tests run outside the project's folder")


def test_the_picture_is_new() -> None:
    """`python -m tests.website.neighbours` would write the same picture again."""
    assert PICTURE.read_text(encoding="utf-8") == picture_svg(neighbours_picture())


def test_the_true_count_is_that_of_the_survey() -> None:
    """README and the page state the exact count of persons in poor health."""
    survey = pl.read_parquet(survey_path(), columns=["person", "health"])
    assert survey.filter(pl.col("health") == "poor")["person"].n_unique() == COUNT
    assert f"The true count is {COUNT}." in (PROJECT / "README.md").read_text(encoding="utf-8")
    assert f"{COUNT} of them rated" in TEXT


def test_the_answers_of_the_page_are_those_of_the_picture() -> None:
    """The page lists the ten answers that the picture shows as dots."""
    assert f"| **{COUNT}** | {', '.join(map(str, ANSWERS))} |" in TEXT


def test_the_probabilities_of_the_page_are_those_of_the_noise() -> None:
    """The answer 93 has the stated probability with and without one person."""
    for count in (COUNT, COUNT - 1):
        assert re.search(rf"Ada \| {count} \| {100 * dict(likelihoods(count))[93]:.2f} % \|", TEXT)


def test_the_table_of_epsilon_is_that_of_the_product() -> None:
    """The page states the ratio, the belief and the error at five values of ε."""
    rows = {
        cells[1]: cells[2:-1] for line in TEXT.splitlines() if len(cells := [c.strip() for c in line.split("|")]) == 8
    }
    epsilons = rows["ε"]
    assert EPSILON in epsilons
    assert rows["largest ratio $e^ε$"] == [f"{math.exp(float(epsilon)):.2f}" for epsilon in epsilons]
    beliefs = [math.ceil(100 * nc.belief_bounds(float(epsilon))[1]) for epsilon in epsilons]
    assert rows["a 50:50 guess becomes at most"] == [f"{belief}:{100 - belief}" for belief in beliefs]
    errors = [nc.accuracy(nc.DiscreteLaplace.for_epsilon(epsilon), 0.05) - 1 for epsilon in epsilons]
    assert rows["error at 95 % confidence"] == [f"±{error}" for error in errors]
