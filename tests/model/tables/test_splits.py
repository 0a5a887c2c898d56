import numpy as np
import pytest

from noisycount import Splits, Tree
from noisycount.model.tables.splits import level_splits

TREE = Tree([[0, 0, 0], [0, 0, 1], [0, 1, 2]])  # type: ignore[arg-type]


def test_concentrations_of_nodes_are_sums_of_cells() -> None:
    """A Dirichlet law of cells gives one of their sums, whose concentrations add up."""
    found = Splits([0.5, 1.0, 2.0]).concentrations_of(TREE)
    assert [level.tolist() for level in found] == [[1.5, 2.0], [0.5, 1.0, 2.0]]


def test_rates_are_shares_of_the_parent() -> None:
    """Rates add up to 1 among children."""
    found = Splits.multinomial([1, 3, 12]).concentrations_of(TREE)
    assert [level.tolist() for level in found] == [[0.25, 0.75], [0.25, 0.75, 1.0]]


def test_levels_may_have_laws_of_their_own() -> None:
    """Each level below the root has its own Splits, with a number or an array for the children."""
    (first, are_rates), (second, are_other_rates) = level_splits([Splits.multinomial([1, 2]), Splits(3)], TREE)
    assert np.allclose(first, [1 / 3, 2 / 3])
    assert second.tolist() == [3, 3, 3]
    assert (are_rates, are_other_rates) == (True, False)
    assert [are_rates for _, are_rates in level_splits(Splits.multinomial(1), TREE)] == [True] * 2


def test_sizes_that_do_not_fit_are_refused() -> None:
    """As many weights as cells, or as nodes of the level; as many laws as levels."""
    with pytest.raises(ValueError, match="a number or 3, the cells of the tree, got 2"):
        Splits([1, 2]).concentrations_of(TREE)
    with pytest.raises(ValueError, match="a number or 2, the nodes of level 1, got 3"):
        level_splits([Splits([1, 2, 3]), Splits(1)], TREE)
    with pytest.raises(ValueError, match="or 2 Splits, one for each level"):
        level_splits([Splits(1)], TREE)
    with pytest.raises(ValueError, match="prior must be"):
        level_splits(0.5, TREE)  # type: ignore[arg-type]


def test_splits_show_themselves() -> None:
    """The weights under their name."""
    assert repr(Splits(0.5)) == "Splits(concentrations=0.5)"
    assert repr(Splits.multinomial([1, 2])) == "Splits(rates=[1, 2])"
