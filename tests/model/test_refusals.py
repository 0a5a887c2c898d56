import pytest

import noisycount as nc
from noisycount.model.concentrated import delta_of_rho, epsilon_of_rho, rho_within
from noisycount.model.half_width import error_within
from noisycount.model.tables.threshold import threshold
from tests.helpers.refusals import assert_refused, refusals

LAPLACE, DISCRETE = nc.Laplace(3.0), nc.DiscreteLaplace(3)
NAMES = {
    "NINE": nc.Binomial(9, 0.5),
    "GROUPS": nc.Strata([4, 5], [0.1, 0.2]),
    "SUM": nc.NoiseSum([nc.DiscreteLaplace(1), nc.DiscreteGaussian(1)]),
    "POSITIVE": [0, -1, 0.0, float("nan"), float("inf"), -float("inf"), True, "1"],
    "COUNT": [-1, 1.5, float("nan"), True],
    "MIXED": [
        [DISCRETE, nc.Laplace(1.0), nc.Laplace(2.0)],
        [DISCRETE, nc.Gaussian(10.0)],
        [LAPLACE, nc.DiscreteLaplace(3.1767)],
    ],
    "NOT_ADDED": [2.0, "laplace", nc.Laplace, nc.Subsample(5), nc.Subsample(5, LAPLACE)],
    "error_within": error_within,
    "epsilon_of_rho": epsilon_of_rho,
    "delta_of_rho": delta_of_rho,
    "rho_within": rho_within,
    "threshold": threshold,
}
REFUSED = refusals(
    """
scale must be positive and finite, got
    nc.Laplace(it) for it in POSITIVE
    nc.DiscreteLaplace(it) for it in POSITIVE
    nc.Gaussian(it) for it in POSITIVE
    nc.DiscreteGaussian(it) for it in POSITIVE
scale must be between 2**-52 and 2**52 records
    nc.Gaussian(it) for it in [2.0**60, 2.0**-60, 1e+308, 5e-324]
    nc.DiscreteGaussian(it) for it in [2.0**60, 2.0**-60, 1e+308, 5e-324]
    nc.NoiseSum([nc.Laplace(1e-300), nc.Laplace(1.0)])
scale must be
    nc.DiscreteLaplace(it) for it in [2.0**60, Fraction(1, 2**60), 10**400]
epsilon must be positive and finite, got
    nc.Laplace.for_epsilon(it) for it in [0, -1, 0.0, nan, inf, -inf, True, 'one']
    nc.DiscreteLaplace.for_epsilon(it) for it in [0, -1, 0.0, nan, inf, -inf, True, 'one']
answer must be a finite number, got
    nc.Gaussian(2).likelihood(it, 10) for it in [nan, inf, '7', True]
    nc.DiscreteGaussian(2).likelihood(it, 10) for it in [nan, inf, '7', True]
answer must lie within 2**600 records of 0, got 1e
    nc.Gaussian(2).likelihood(1e+300, 10)
    nc.DiscreteGaussian(2).likelihood(1e+300, 10)
answer must be an integer under discrete noise, got 1.5$
    nc.DiscreteLaplace(2).likelihood(1.5, 10)
    nc.DiscreteGaussian(2).likelihood(1.5, 10)
answer must
    SUM.likelihood(it, 10) for it in [0.5, nan, 1e+300]
    SUM.tail(it, 10, upper=True) for it in [0.5, nan, 1e+300]
answer must be a whole number from 0 to 10 without noise, got
    nc.Exact().likelihood(it, 10) for it in [1.5, -1, 11, nan, inf, True, '7', None, 10**400]
answer must be
    nc.posterior(it, NINE, nc.Subsample(4)) for it in [-1, 5, 1.5, nan, inf, True, '3']
    nc.posterior(it, NINE, nc.Subsample(4, nc.DiscreteLaplace(2))) for it in [1.5, nan, inf]
count must be a whole number
    nc.Laplace(2).release(it) for it in COUNT
    nc.DiscreteLaplace(2).release(it) for it in COUNT
    nc.Gaussian(2).release(it) for it in COUNT
    nc.DiscreteGaussian(2).release(it) for it in COUNT
    nc.Exact().release(it) for it in COUNT
count must be …, got
    nc.Known(10, it) for it in [-1, 10, 1.5, nan]
noises must …
    nc.NoiseSum(it) for it in [[], [nc.Exact()], [nc.Laplace(1.0), 3.0], 'ab']
noises must be all discrete or all continuous, got
    nc.NoiseSum(it) for it in MIXED
sample_size must be a whole number from 1 to 2**53, got
    nc.Subsample(it) for it in [0, -1, 2.5, nan, True, '3']
size must be given and at least …, got None: release(count, size)
    nc.Subsample(4).release(6)
size must be given and at least …, got
    nc.Subsample(4).release(6, it) for it in [3, 5]
size must be given, … got None: logpmf(answer, counts, size)
    nc.Subsample(3).logpmf(1, [1, 2])
sample_size must be at most the 2 records
    nc.Subsample(3).logpmf(1, [1, 2], 2)
sample_size must be at most the 9 records there are, got 10$
    nc.posterior(3, NINE, nc.Subsample(10, it)) for it in [None, nc.Laplace(2)]
    nc.posterior(3, GROUPS, nc.Subsample(10, it)) for it in [None, nc.Laplace(2)]
noise must be noise that is added … or None, got
    nc.Subsample(4, it) for it in NOT_ADDED
known must be at most the 20 records there are, got 21$
    nc.Binomial(20, 0.3).given(21, 0)
    nc.BetaBinomial(20, 1, 2).given(21, 0)
known must be a whole number from 0 to 2**53, got -1$
    nc.Binomial(20, 0.3).given(-1, 0)
    nc.BetaBinomial(20, 1, 2).given(-1, 0)
    nc.Strata([4, 5], [0.25, 0.75]).given([-1, 0], [0, 0])
known must be a whole number from 0 to 2**53, got 2.5$
    nc.Binomial(20, 0.3).given(2.5, 0)
    nc.BetaBinomial(20, 1, 2).given(2.5, 0)
positives must be at most known = 3, got 4$
    nc.Binomial(20, 0.3).given(3, 4)
    nc.BetaBinomial(20, 1, 2).given(3, 4)
positives must be a whole number from 0 to 2**53, got -1$
    nc.Binomial(20, 0.3).given(3, -1)
    nc.BetaBinomial(20, 1, 2).given(3, -1)
positives must be a whole number from 0 to 2**53, got nan$
    nc.Binomial(20, 0.3).given(3, nan)
    nc.BetaBinomial(20, 1, 2).given(3, nan)
known and positives must be one number a group (2), got shapes
    nc.Strata([4, 5], [0.25, 0.75]).given([1], [1])
known must be at most the 4 records there are, got 5$
    nc.Strata([4, 5], [0.25, 0.75]).given([5, 0], [0, 0])
positives must be at most known = 2, got 3$
    nc.Strata([4, 5], [0.25, 0.75]).given([2, 0], [3, 0])
positives cannot be 1 of 2: the table gives that
    nc.Tabulated([0.5, 0.0, 0.5]).given(2, 1)
size must be a whole number from 0 to 2**53, got
    nc.Binomial(it, 0.5) for it in [-1, 1.5, nan, inf, 2**53 + 1, True, '10']
    nc.BetaBinomial(it, 1, 1) for it in [-1, 1.5, nan, inf, 2**53 + 1, True, '10']
size must be a whole number from 1 to 2**53, got
    nc.Known(it) for it in [-1, 1.5, nan, inf, 2**53 + 1, True, '10']
alpha must be positive and finite, got
    nc.BetaBinomial(10, it, 1) for it in [0, -1.0, nan, inf, True, '1']
beta must be positive and finite, got
    nc.BetaBinomial(10, 1, it) for it in [0, -1.0, nan, inf, True, '1']
rate must be a probability
    nc.BetaBinomial.from_rate(10, 1.2, 0.1)
rate must be a probability between 0 and 1, got
    nc.Binomial(10, it) for it in [-0.1, 1.1, nan, True, '0.5']
rate must be … got '1.7%': write 0.017$
    nc.Binomial(5912, '1.7%')
population must give the count a law, …: use Binomial
    nc.posterior(5, nc.Known(10, 4), nc.Laplace(2))
known must be 0 if the population is Known
    nc.Known(10, 4).given(1, 1)
deviation must be positive and finite, got 0.0$
    nc.BetaBinomial.from_rate(10, 0.3, 0.0)
deviation must be above 0 and below …= 0.458258, got 0.46$
    nc.BetaBinomial.from_rate(10, 0.3, 0.46)
deviation must be above 0 and below …= 0, got 0.1$
    nc.BetaBinomial.from_rate(10, 0.0, 0.1)
deviation must be above 0 and below …, got 1e-300$
    nc.BetaBinomial.from_rate(10, 0.3, 1e-300)
sizes must be whole numbers from 0, got 1.5$
    nc.Strata([1.5], [0.5])
sizes must be whole numbers from 0, got -1.0$
    nc.Strata([3, -1], [0.5, 0.5])
sizes must be whole numbers from 0, got nan$
    nc.Strata([nan], [0.5])
sizes must add up to at most 2**53, got
    nc.Strata([2**53, 2], [0.5, 0.5])
sizes must add up to at most 2**53, got inf$
    nc.Strata([inf], [0.5])
rates must be probabilities between 0 and 1, got 1.2$
    nc.Strata([3], [1.2])
rates must be probabilities between 0 and 1, got -1e-09$
    nc.Strata([3], [-1e-09])
rates must be probabilities between 0 and 1, got nan$
    nc.Strata([3], [nan])
sizes and rates must be two lists with one number per group…(2,) and (1,)$
    nc.Strata([3, 4], [0.5])
sizes and rates must be two lists with one number per group, got shapes
    nc.Strata([], [])
sizes and rates must be two lists with one number per group…(1, 1)$
    nc.Strata([[3]], [[0.5]])
sizes and rates must be two lists with one number per group…() and ()$
    nc.Strata(3, 0.5)
sizes and rates must be two lists with one number per group$
    nc.Strata(['many'], [0.5])
probabilities must not be negative and add up to 1, … sum of 1.1$
    nc.Tabulated([0.5, 0.6])
probabilities must … got a smallest of -0.5 and a sum of 1.0$
    nc.Tabulated([1.5, -0.5])
probabilities must not be negative and add up to 1, got …nan
    nc.Tabulated([nan, 1])
probabilities must not be negative and add up to 1, got …inf$
    nc.Tabulated([inf, 1])
probabilities must not be negative and add up to 1, … sum of 0.0$
    nc.Tabulated([0.0, 0.0])
probabilities must be one row of 1 to 10**8 numbers, got shape (0,)$
    nc.Tabulated([])
probabilities must be one row of …, got shape (1, 1)$
    nc.Tabulated([[1.0]])
probabilities must be one row of …, got shape ()$
    nc.Tabulated(1.0)
probabilities must be numbers, one for each count: give a list$
    nc.Tabulated(['likely'])
    nc.Tabulated([[1.0], [0.5, 0.5]])
rates of atoms must add up to 1, got 0.9 from 2: add
    nc.Atoms(10, [0.5, 0.4])
rates must be a probability
    nc.Atoms(10, [1.5, -0.5])
rates must be one row of numbers, got shape
    nc.Atoms(10, [[0.5, 0.5]])
rates must be numbers
    nc.Atoms(10, ['a'])
size must be a whole number
    nc.Atoms(-1, [1.0])
question must hold … from 0 to 1, got 2
    nc.Atoms(10, [0.5, 0.5], [{2}])
question must hold …, got True
    nc.Atoms(10, [0.5, 0.5], [{True}])
question must be a set of numbers
    nc.Atoms(10, [0.5, 0.5], [0])
rates of disjoint predicates … at most 1
    nc.Atoms.disjoint(10, [0.6, 0.6])
rates of nested predicates must not fall
    nc.Atoms.nested(10, [0.6, 0.5])
rates must be those of at most 16 predicates
    nc.Atoms.independent(10, [0.5] * 17)
rates must have the rate of at least one predicate
    nc.Atoms.independent(10, [])
error must be positive and finite, got 0
    nc.readable_epsilon_within(0, 0.95)
confidence must lie strictly between 0 and 1, got 1
    nc.readable_epsilon_within(3, 1)
queries must be a whole number from 1 to 2
    error_within(nc.DiscreteLaplace(3), 0.95, 0)
rho must
    epsilon_of_rho(it, 0.1) for it in [0, -1, inf, nan, True, '1']
    delta_of_rho(it, 1) for it in [0, -1, inf, nan, True, '1']
epsilon must
    delta_of_rho(1, it) for it in [0, -1, inf, nan, True, '1']
    rho_within(it, 0.1) for it in [0, -1, inf, nan, True, '1']
delta must
    rho_within(1, it) for it in [0, -1, inf, nan, True, '1']
    epsilon_of_rho(1, it) for it in [0, -1, inf, nan, True, '1']
concentrations must be …, got
    nc.Splits(it) for it in [0, -1, inf, nan, [], [1, 0], [[1.0]], 'much', None]
rates must be …, got
    nc.Splits.multinomial(it) for it in [0, [0, 1], [-1, 2]]
delta must be at least 1e-300 and below 1, got
    threshold(nc.DiscreteLaplace(1), it, 1) for it in [Fraction(0), 1.0]
groups must be a whole number from 1 to 2**53, got 0
    threshold(nc.DiscreteLaplace(1), 0.1, 0)
noise must be on the integers, got Laplace(scale=1.0)
    threshold(nc.Laplace(1.0), 0.1, 1)
product must be one of 'pl94', got 'dhc'$
    nc.releases.census_2020('dhc', 'State', 'total')
level must be one of 'US', …'Block', got 'Village'$
    nc.releases.census_2020('pl94', 'Village', 'total')
query must be one of 'total', …'detailed', got 'sex'$
    nc.releases.census_2020('pl94', 'State', 'sex')
day must be 2015-07-01 or later, got 2015-06-30: no file covers
    nc.releases.wikimedia('2015-06-30')
day must be a date such as 2024-06-01 or … got 'yesterday'
    nc.releases.wikimedia('yesterday')
tier must be one of 'lower', 'medium', 'higher', got 'no'$
    nc.releases.wikimedia('2024-06-01', 'no')
tier must be 'lower' before 2024-02-15
    nc.releases.wikimedia('2023-12-01', 'medium')
    nc.releases.wikimedia('historical', 'higher')
day must be 'historical' if the smallest count
    nc.releases.wikimedia('2023-03-01', 'lower', 'US')
""",
    **NAMES,
)


@pytest.mark.parametrize(("call", "it", "said"), REFUSED)
def test_what_cannot_be_is_refused_by_name_in_one_line(call: str, it: object, said: str) -> None:
    """The refusal names the argument, its value and what it must be; nothing is rounded away."""
    assert_refused(call, it, said, **NAMES)
