import doctest
import math
import re
from pathlib import Path

import pytest

import noisycount as nc
from noisycount.analysis.accuracy import accuracy, chan_bound

PAGE = Path(__file__).parents[2] / "docs" / "accuracy-of-sums.md"
TEXT = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""

pytestmark = pytest.mark.skipif(not TEXT, reason="the tests run outside the project's folder")


def rows(columns: int) -> list[list[str]]:
    """The rows of the table with so many columns, without its head."""
    lines = [line.strip("| ").split(" | ") for line in TEXT.splitlines() if line.startswith("| ")]
    return [cells for cells in lines if len(cells) == columns and cells[0].isdigit()]


def test_the_table_of_sums_is_computed() -> None:
    """Printed bound, how often it fails, exact value, bound with constants: each digit told."""
    found = rows(6)
    assert len(found) == 30
    for number, chance, printed, fails, exact, constants in found:
        count, beta = int(number), float(chance)
        noise, scales = nc.NoiseSum([nc.Laplace(1)] * count), [1.0] * count
        bound = math.hypot(*scales) * math.log(1 / beta)
        failing = nc.failure_probability(noise, bound)
        assert printed == f"{bound:.4g}"
        assert fails.strip("*") == f"{failing:.3g}"
        assert fails.startswith("**") is (failing > beta * (1 + 1e-12))
        assert exact == f"{accuracy(noise, beta):.4g}"
        assert constants == f"{chan_bound(scales, beta):.4g}"


def test_what_is_said_of_the_table_holds() -> None:
    """The ratios and the side of the errors in the list below it."""
    ratios = [float(row[5]) / float(row[4]) for row in rows(6)]
    assert (round(min(ratios), 1), round(max(ratios), 1)) == (1.3, 5.7)
    thousand = next(row for row in rows(6) if row[:2] == ["1000", "1e-09"])
    assert round(float(thousand[2]) / float(thousand[4]), 1) == 2.4
    assert all(float(row[3].strip("*")) / 2 <= float(row[1]) for row in rows(6))
    two = nc.NoiseSum([nc.Laplace(1)] * 2)
    assert round(nc.failure_probability(two, math.sqrt(2) * math.log(1 / 0.3)), 3) == 0.337


@pytest.mark.parametrize(("count", "crossing"), [(2, 0.0918934), (6, 0.0939216), (20, 0.093478), (1000, 0.0928966)])
def test_the_printed_bound_crosses_where_the_page_says(count: int, crossing: float) -> None:
    """It holds just below and fails just above; the limit of many noises is a normal law."""
    noise = nc.NoiseSum([nc.Laplace(1)] * count)
    for beta, holds in ((crossing - 1e-6, True), (crossing + 1e-6, False)):
        assert (nc.failure_probability(noise, math.sqrt(count) * math.log(1 / beta)) <= beta) is holds
    limit = 0.0929
    assert math.erfc(math.log(1 / limit) / 2) == pytest.approx(limit, abs=1e-4)


def test_the_table_of_several_answers_is_computed() -> None:
    """The union bound and the exact value at two betas."""
    found = rows(5)
    assert len(found) == 4
    for number, *told in found:
        answers, noise = int(number), nc.Laplace(10)
        values = [
            value for beta in (0.05, 0.5) for value in (accuracy(noise, beta / answers), accuracy(noise, beta, answers))
        ]
        assert told == [f"{value:.4g}" for value in values]


def test_the_examples_are_real() -> None:
    """The Python blocks are sessions that give what they show."""
    blocks = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    session = doctest.DocTestParser().get_doctest("".join(blocks), {}, PAGE.name, None, 0)
    assert len(session.examples) == 8
    assert doctest.DocTestRunner().run(session).failed == 0
