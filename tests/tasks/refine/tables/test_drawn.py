import numpy as np
import pytest

from noisycount.tasks.refine import refined as drawn
from noisycount.tasks.refine.refined import ranks, shares


def tables() -> np.ndarray:
    """Some tables, of few different counts, so that ranks are shared."""
    return np.random.default_rng(5).integers(0, 6, (501, 7))


def test_shares_are_those_of_each_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """In whatever blocks they are looked at; a table with no record has shares of 0."""
    whole = np.vstack([tables(), np.zeros((1, 7), np.int64)])
    each = np.array([row / max(row.sum(), 1) for row in whole])
    monkeypatch.setattr(drawn, "_BLOCK", 1200)
    expected = each.mean(axis=0), *np.quantile(each, (0.05, 0.95), axis=0)
    assert shares(whole, 0.9) == pytest.approx(np.array(expected))


def test_a_rank_is_how_many_are_larger() -> None:
    """Plus one; the median and the ends of the interval are ranks of draws."""
    each = np.array([[1 + sum(other > one for other in row) for one in row] for row in tables()])
    assert ranks(tables(), 0.9).tolist() == np.sort(each, axis=0)[[250, 25, 475]].tolist()
