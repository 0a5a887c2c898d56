"""Learned priors without a total under noise so wide that counts cannot be added up one by one."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from noisycount import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, Mechanism, Tree, below, table_posterior
from noisycount.analysis.tables import independent_cells, wide_laws
from noisycount.analysis.tables.answers import read_answers
from noisycount.analysis.tables.independent_cells import IndependentCells
from noisycount.analysis.tables.learning import learn_cell_law
from noisycount.analysis.tables.tree_solution import TreeSolution
from noisycount.model.laws.gamma import Reals
from noisycount.model.tables.cells import CellLaw

NEVER = 1 << 62
TABLES: list[tuple[Mechanism, Sequence[object]]] = [
    (Laplace(3000), [below(2.0), 20.7, 1011.5, 6600.0, 29100.0]),
    (DiscreteLaplace(3000), [below(2.0), 20, 1011, 6600, math.nan]),
    (Gaussian(6000), [1.5, below(7000), 5000, 41111.5]),
    (DiscreteGaussian(6000), [1, 7000, 5000, 41111]),
]


def solution(answers: Sequence[object], mechanism: Mechanism) -> IndependentCells:
    """A flat table of cells whose law is learned."""
    tree = Tree.flat(len(answers))
    told = read_answers(answers, mechanism, tree, None)
    return IndependentCells(tree.cells, learn_cell_law(told), told)


@pytest.mark.thorough
@pytest.mark.parametrize(("mechanism", "answers"), TABLES, ids=lambda case: repr(case)[:20])
def test_wide_cells_are_those_of_all_counts(
    mechanism: Mechanism, answers: Sequence[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Estimates and probabilities by blocks are the sums over all counts."""
    monkeypatch.setattr(independent_cells, "_MOST", NEVER)
    plain = solution(answers, mechanism)
    laws = [plain.law(1, cell) for cell in range(len(answers))]
    monkeypatch.setattr(independent_cells, "_MOST", 1 << 12)
    wide = solution(answers, mechanism)
    for one, other in zip(plain.estimates, wide.estimates, strict=True):
        assert other == pytest.approx(one, rel=1e-9, abs=1e-9)
    for cell, law in enumerate(laws):
        other_law = wide.law(1, cell)
        for count in (0, 1, 20, 1000, 30_000):
            assert other_law.probability(0, count) == pytest.approx(law.probability(0, count), abs=1e-11)
    drawn = wide.draws(20_000, np.random.default_rng(1))
    error = (drawn.mean(axis=0) - plain.estimates.mean) / plain.estimates.std
    assert np.abs(error * math.sqrt(20_000)).max() < 5


@pytest.mark.parametrize("answers", [[below(2.0), 20.7, 1500.0, 700.0], [-500.0, 100.0]])
def test_wide_sums_are_those_of_all_counts(answers: Sequence[object], monkeypatch: pytest.MonkeyPatch) -> None:
    """On every h-th count a sum has the probabilities that it has on all, the atom at 0 as well."""
    told = solution(answers, Laplace(1000))
    exact = told.law(0, 0)
    monkeypatch.setattr(wide_laws, "_NARROW", 1)
    found = told.law(0, 0)
    for count in (0, 1, 10, 100, 1000, 3000, 7000):
        assert found.probability(0, count) == pytest.approx(exact.probability(0, count), abs=1e-6)
    assert found.mean == pytest.approx(exact.mean, abs=1e-6 * exact.deviation)
    assert found.deviation == pytest.approx(exact.deviation, rel=1e-6)


@pytest.mark.thorough
def test_sums_by_transforms_are_those_by_characteristic_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to add cells up give one law."""
    told = solution([2.5, 20.7, 60.0], Laplace(40))
    monkeypatch.setattr(independent_cells, "_WIDEST", 1e9)
    slow = told.law(0, 0)
    monkeypatch.setattr(independent_cells, "_WIDEST", 1.0)
    quick = told.law(0, 0)
    for count in range(0, 300, 20):
        assert quick.probability(0, count) == pytest.approx(slow.probability(0, count), abs=1e-12)


@pytest.mark.thorough
def test_packs_are_near_to_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree in packs of 2 records is within a few hundredths of a scale of the exact posterior."""
    answers, tree = [80, 28, 120, 20], Tree.binary(4)
    exact = table_posterior(answers, DiscreteLaplace(40), tree)
    monkeypatch.setattr(wide_laws, "_PACKS", 20)
    monkeypatch.setattr(wide_laws, "_FEWEST", 20)
    told = table_posterior(answers, DiscreteLaplace(40), tree)
    assert isinstance(told.solution, TreeSolution)
    assert told.solution.records == 2
    assert told.mean == pytest.approx(exact.mean, abs=1)
    assert told.std == pytest.approx(exact.std, abs=1)
    assert told.evidence == pytest.approx(exact.evidence, abs=0.02)
    assert told.mean.sum() == pytest.approx(told.level(0).mean[0], rel=1e-9)
    assert told.node((-1, 0)).mean == pytest.approx(told.mean[0], abs=2)
    assert (told.draws(20, random_state=1) % 2 == 0).all()


@pytest.mark.thorough
def test_a_wide_law_is_summed_from_few_of_its_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five laws of up to 43 million counts are weighed at 2.6 million of them."""
    weighed, log_pmf_at_reals = [], CellLaw.log_pmf_at_reals

    def counted(law: CellLaw, counts: Reals) -> Reals:
        weighed.append(counts.size)
        return log_pmf_at_reals(law, counts)

    monkeypatch.setattr(CellLaw, "log_pmf_at_reals", counted)
    told = table_posterior([below(2.0), 20.7, 1011.5, 0.5], Laplace(1e6), Tree.flat(4))
    assert told.mean.sum() == pytest.approx(told.level(0).mean[0], rel=1e-3)
    assert 0 < sum(weighed) < 5_000_000


@pytest.mark.thorough
def test_wide_sums_are_convolved_in_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of millions of counts take 5e9 products: in records they were 2e15."""
    products, convolve = [], np.convolve

    def counted(one: Reals, other: Reals, *mode: str) -> Reals:
        products.append(one.size * other.size)
        return convolve(one, other, *mode)

    monkeypatch.setattr(np, "convolve", counted)
    told = table_posterior([180_000, 63_000, 270_000, 45_000], DiscreteLaplace(90_000), Tree.binary(4))
    assert told.mean.sum() == pytest.approx(told.level(0).mean[0], rel=1e-3)
    assert 0 < sum(products) < 10_000_000_000
