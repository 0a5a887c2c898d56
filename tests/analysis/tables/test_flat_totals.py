"""Cells without a stated prior whose total is known, or has a law, against all tables."""

from itertools import product

import numpy as np
import pytest

from noisycount import (
    Binomial,
    DiscreteLaplace,
    Gaussian,
    Mechanism,
    Population,
    Tree,
    table_posterior,
)
from noisycount.analysis.tables.answered import answered
from noisycount.analysis.tables.cell_solution import learned_cell_law


@pytest.mark.parametrize("total", [9, Binomial(14, 0.5)], ids=repr)
@pytest.mark.parametrize("noise", [DiscreteLaplace(2), Gaussian(1)], ids=repr)
def test_total_has_its_law_and_cells_are_given_it(
    noise: Mechanism, total: int | Population
) -> None:
    """The prior of a table is that of its total times that of its cells given their sum."""
    told = [1, 5, 3]
    largest = total if isinstance(total, int) else 14
    tables = np.array([one for one in product(range(largest + 1), repeat=3) if sum(one) <= largest])
    logs = learned_cell_law(answered(told, noise, Tree.flat(3), total)).log_pmf(tables).sum(axis=1)
    sums = tables.sum(axis=1)
    logs -= np.log(np.bincount(sums, np.exp(logs)))[sums]
    if isinstance(total, int):
        logs = np.where(sums == total, logs, -np.inf)
    else:
        logs += total.law().log_pmf(sums)
    for answer, counts in zip(told, tables.T, strict=True):
        logs += noise.logpmf(answer, counts)  # type: ignore[arg-type]
    evidence = np.logaddexp.reduce(logs)
    found = table_posterior(told, noise, total=total)
    assert found.evidence == pytest.approx(evidence, abs=1e-11)
    assert np.allclose(found.mean, np.exp(logs - evidence) @ tables, rtol=0, atol=1e-11)
