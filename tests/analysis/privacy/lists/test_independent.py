"""Lists of independent questions, whose log ratios add up."""

from collections.abc import Sequence
from fractions import Fraction

import pytest

import noisycount as nc
from noisycount.analysis.privacy.lists.independent import IndependentList, is_of_independent
from noisycount.analysis.privacy.lists.listed import Listed
from noisycount.analysis.privacy.lists.reduced import ReducedList, reduced_list
from tests.layers import case_name
from tests.oracles.several import of_atoms

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
RATES = [0.3, 0.2, 0.6]
DISCRETE: dict[str, list[nc.Mechanism]] = {
    "discrete Laplace": [nc.DiscreteLaplace(QUARTER)] * 3,
    "discrete Gaussian": [nc.DiscreteGaussian(HALF)] * 3,
    "none": [nc.Exact()] * 3,
    "mixed": [nc.DiscreteLaplace(QUARTER), nc.Exact(), nc.DiscreteGaussian(HALF)],
}


def listed(size: int, rates: Sequence[float], noises: Sequence[nc.Mechanism]) -> ReducedList:
    """Independent questions."""
    atoms = nc.Atoms.independent(size, rates)
    return reduced_list(atoms, atoms.questions, noises)


@pytest.mark.few(2)
@pytest.mark.parametrize("noises", DISCRETE, ids=case_name)
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("epsilon", [0.0, 1.5])
def test_independent_answers_are_those_of_all_databases(
    size: int, noises: str, epsilon: float
) -> None:
    """Both directions, in brackets of 1e-6."""
    told = listed(size, RATES, DISCRETE[noises])
    assert is_of_independent(told)
    true = of_atoms(nc.Atoms.independent(size, RATES), DISCRETE[noises], epsilon)
    for (found,), exact in zip(IndependentList(told).directions([epsilon]), true, strict=True):
        assert found.lower <= exact + 1e-15
        assert exact <= found.upper + 1e-15
        assert found.upper - found.lower < 1e-6


@pytest.mark.few(0)
@pytest.mark.parametrize(
    "noise", [nc.Gaussian(1.5), nc.Laplace(1.5), nc.DiscreteGaussian(1.5)], ids=case_name
)
def test_sums_of_log_ratios_and_a_transform_agree(noise: nc.Mechanism) -> None:
    """Of three answers about 30 records; the sums are closer for noise with a density."""
    told = listed(30, RATES, [noise] * 3)
    sums, whole = (way.directions([0.0, 0.3]) for way in (IndependentList(told), Listed(told)))
    for ours, theirs in zip(sums, whole, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            assert one.lower <= other.upper
            assert other.lower <= one.upper
            assert one.upper - one.lower < 3e-4 * one.upper


@pytest.mark.few(0)
@pytest.mark.parametrize(
    "noise", [nc.DiscreteGaussian(5), nc.Gaussian(5), nc.Laplace(5)], ids=case_name
)
def test_three_questions_about_many_records_have_close_brackets(noise: nc.Mechanism) -> None:
    """Three of 10,000 records."""
    atoms = nc.Atoms.independent(10_000, [0.1, 0.2, 0.3])
    lower, upper = nc.privacy_curve(noise, atoms).bracket(0.02)
    assert 0.0102 < lower < upper < lower * (1 + 2e-5) < 0.0105


def test_five_questions_about_many_records_have_close_brackets() -> None:
    """Where draws say .0421 to .0447."""
    five = nc.Atoms.independent(1000, [0.1, 0.2, 0.3, 0.4, 0.5])
    lower, upper = nc.privacy_curve(nc.DiscreteGaussian(5), five).bracket(0.05)
    assert 0.0421 < lower < upper < 0.0447
    assert upper < lower * (1 + 1e-6)


def test_questions_that_depend_a_little_on_each_other_are_no_product() -> None:
    """A rate that is moved by 1e-6 is enough."""
    atoms = nc.Atoms.independent(100, RATES)
    moved = [*atoms.rates[:-2], atoms.rates[-2] + 1e-6, atoms.rates[-1] - 1e-6]
    noises = [nc.DiscreteGaussian(1)] * 3
    assert is_of_independent(reduced_list(atoms, atoms.questions, noises))
    other = nc.Atoms(100, moved, atoms.questions)
    assert not is_of_independent(reduced_list(other, other.questions, noises))
