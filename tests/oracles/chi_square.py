"""Draws against a law, by Pearson's χ²."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from mpmath import mpf

__all__ = ["assert_drawn", "chi_square_p_value"]

_COMMON = 1000
_FEW = 20


def chi_square_p_value(draws: np.ndarray, scale: float, below: Callable[[int], mpf], parts: int = 10) -> float:
    """The p-value of draws against a law, in cells of a tenth, or another part, of its scale.

    Cells in which fewer than 1000 draws are expected are one cell, of at least as many: rare cells would raise false
    alarms, as their numbers are far from normal.
    """
    from scipy import stats

    width = max(1, int(scale / parts))
    reach = max(6, int(6 * scale / width)) * width
    edges = np.arange(-reach, reach + 1, width)
    observed = np.bincount(np.searchsorted(edges, draws, side="right"), minlength=edges.size + 1)
    levels = [mpf(0), *(below(int(edge)) for edge in edges), mpf(1)]
    expected = np.array([float(b - a) for a, b in pairwise(levels)]) * draws.size
    common = expected >= _COMMON
    if expected[~common].sum() < _COMMON:
        common[np.argmin(np.where(common, expected, np.inf))] = False
    table = np.append(observed[common], observed[~common].sum())
    theory = np.append(expected[common], expected[~common].sum())
    assert table.size > 1, "too few draws for cells of this width"
    return float(stats.chisquare(table, theory * (draws.size / theory.sum())).pvalue)


def assert_drawn(observed: np.ndarray, expected: np.ndarray, false_alarm: float = 1e-6) -> None:
    """Compare observed with expected frequencies; rare values count as a single value."""
    from scipy import stats

    assert not observed[expected == 0].any()
    common = expected >= _FEW
    observed, expected = (np.append(each[common], each[~common].sum()) for each in (observed, expected))
    if expected[-1] < _FEW:
        observed, expected = observed[:-1], expected[:-1]
    expected = expected * (observed.sum() / expected.sum())
    assert expected.size == 1 or stats.chisquare(observed, expected).pvalue > false_alarm
