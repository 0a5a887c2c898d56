"""The tables and numbers of the page `docs/mathematics/accuracy.md` about answers and sums of noises."""

import math
from pathlib import Path

import pytest

import noisycount as nc
from noisycount.analysis.accuracy import accuracy, chan_bound

PAGE = Path(__file__).parents[2] / "docs/mathematics/accuracy.md"
TEXT = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""

pytestmark = pytest.mark.skipif(not TEXT, reason="the tests run outside the project's folder")


def rows(columns: int) -> list[list[str]]:
    """Return the rows of numbers of the tables with the given number of columns."""
    lines = [line.strip("| ").split(" | ") for line in TEXT.splitlines() if line.startswith("| ")]
    return [cells for cells in lines if len(cells) == columns and cells[0].isdigit()]


def test_the_table_of_sums_is_computed() -> None:
    """Printed bound, its failure probability, exact value, bound with constants: every digit."""
    table = rows(6)
    assert len(table) == 4
    for number, chance, printed, fails, exact, constants in table:
        count, beta = int(number), float(chance)
        noise, scales = nc.NoiseSum([nc.Laplace(1)] * count), [1.0] * count
        bound = math.hypot(*scales) * math.log(1 / beta)
        failing = nc.failure_probability(noise, bound)
        assert printed == f"{bound:.4g}"
        assert fails.strip("*") == f"{failing:.3g}"
        assert fails.startswith("**") is (failing > beta * (1 + 1e-12))
        assert exact == f"{accuracy(noise, beta):.4g}"
        assert constants == f"{chan_bound(scales, beta):.4g}"


def test_the_text_below_the_table_holds() -> None:
    """The ratios, and errors of one sign."""
    ratios = [float(row[5]) / float(row[4]) for row in rows(6)]
    assert f"the bound with constants is {min(ratios):.1f} to {max(ratios):.1f} times" in " ".join(TEXT.split())
    assert f"up to {max(float(row[2]) / float(row[4]) for row in rows(6)):.1f} times the exact" in " ".join(
        TEXT.split()
    )
    assert all(float(row[3].strip("*")) / 2 <= float(row[1]) for row in rows(6))


@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-9])
def test_the_printed_bound_is_exact_for_one_noise(beta: float) -> None:
    """It fails with probability β."""
    assert nc.failure_probability(nc.Laplace(1), math.log(1 / beta)) == pytest.approx(beta)


@pytest.mark.parametrize(("count", "crossing"), [(2, 0.0918934), (6, 0.0939216), (20, 0.093478), (1000, 0.0928966)])
def test_the_printed_bound_crosses_where_the_page_says(count: int, crossing: float) -> None:
    """It holds just below and fails just above; the limit of many noises is a normal distribution."""
    noise = nc.NoiseSum([nc.Laplace(1)] * count)
    for beta, holds in ((crossing - 1e-6, True), (crossing + 1e-6, False)):
        assert (nc.failure_probability(noise, math.sqrt(count) * math.log(1 / beta)) <= beta) is holds
    limit = 0.0929
    assert math.erfc(math.log(1 / limit) / 2) == pytest.approx(limit, abs=1e-4)


def test_the_error_of_several_answers_is_computed() -> None:
    """The union bound and the exact value for ten answers."""
    union, exact = accuracy(nc.Laplace(10), 0.05 / 10), accuracy(nc.Laplace(10), 0.05, 10)
    assert f"its error is {union:.2f} in place of {exact:.2f}." in " ".join(TEXT.split())
