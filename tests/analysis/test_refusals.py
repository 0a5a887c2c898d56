import numpy as np
import pytest

import noisycount as nc
from noisycount.model.mechanism import Mechanism
from tests.helpers.refusals import assert_refused, refusals


class Silent(Mechanism):
    """A mechanism that is none of the known ones."""

    likelihood = tail = logpmf = release = None  # type: ignore[assignment]


NAMES = {
    "np": np,
    "Silent": Silent,
    "WHOLE": [nc.DiscreteLaplace(2), nc.DiscreteGaussian(2), nc.Exact(), nc.Subsample(4)],
    "NO_NUMBERS": [
        *(["three"], ["3"], "3", [True], True, [1.0, True], np.array([True]), [1.0, None], [1 + 2j]),
        *(np.array([1 + 2j]), [10**400], [np.zeros((2, 3)), np.zeros((2, 2))], [[1.0], [1.0, 2.0]], {"answer": 3}),
        object(),
    ],
    "NINE": nc.Binomial(9, 0.5),
    "TEN": nc.Binomial(10, 0.3),
    "TWO": nc.Atoms(9, [0.5, 0.5]),
    "NOISE": nc.Laplace(2),
    "PAIR": [nc.Subsample(5)] * 2,
    "ANY": [0, -1, float("nan"), float("inf"), True, "1", None],
}
REFUSED = refusals(
    """
beta must lie strictly between 0 and 1, got
    nc.accuracy(NOISE, it) for it in [0, 1, -0.1, 1.5, nan, True]
    nc.accuracy(nc.DiscreteLaplace(2), it) for it in [0, 1, -0.1, 1.5, nan, True]
    nc.chan_bound([1.0], it) for it in [0.0, 1]
    nc.epsilon_for_accuracy(20, it) for it in [0, 1.0]
queries must be a whole number from 1 to 2**53, got
    nc.failure_probability(NOISE, 1, it) for it in [0, -1, 1.5]
    nc.epsilon_for_accuracy(20, 0.05, it) for it in [0, 1.5]
alpha must
    nc.failure_probability(NOISE, it) for it in [-1, nan, inf]
alpha must be positive and finite, got
    nc.epsilon_for_accuracy(it, 0.05) for it in [0, -3, nan]
parts must be a whole number from 1 to 2**53, got 0
    nc.epsilon_for_accuracy(20, 0.05, 1, nc.Laplace, 0)
noise must be Laplace or DiscreteLaplace, got <class
    nc.epsilon_for_accuracy(20, 0.05, 1, nc.Gaussian)
scales must hold at least one scale, got []
    nc.chan_bound([], 0.05)
each of scales must be positive and finite, got
    nc.chan_bound([it], 0.05) for it in [0.0, -1.0, nan]
count must be a whole number from 0 to 2**53, got
    nc.out_of_range_probability(it, 10, NOISE) for it in [-1, 0.5]
count must be at most the size 10, got 11
    nc.out_of_range_probability(11, 10, NOISE)
size must be a whole number from 1 to 2**53, got
    nc.out_of_range_probability(0, it, NOISE) for it in [0, nan]
    nc.scale_for_utility_loss(nc.Laplace, 1.0, size=it) for it in [0, -1, 1.5]
    nc.amplified_delta(0, 1, 0.5, 0.1)
noise must be noise that is added to the count, such as Laplace…, got
    nc.out_of_range_bounds(10, nc.Exact())
    nc.accuracy(it, 0.05) for it in [nc.Exact(), nc.Subsample(10), None, 3.0]
    nc.failure_probability(it, 1) for it in [nc.Exact(), nc.Subsample(10), None, 3.0]
noise must be DiscreteLaplace, got Laplace
    nc.unbiased(np.square, NOISE)
answers must be integers under discrete noise, got 0.5
    nc.unbiased(np.square, nc.DiscreteLaplace(2))([1, 0.5])
answer must be
    nc.posterior(it, TEN, nc.DiscreteLaplace(2)) for it in [1.5, nan, inf, '12', True]
answer must be … got [3.0]$
    nc.posterior(np.array([[3.0]]), TEN, NOISE)
level must lie strictly between 0 and 1, got
    nc.posterior(5, TEN, NOISE).interval(it) for it in [0, 1, -0.5, 95, nan]
population must be a Population, got 5:
    nc.posterior(3, 5, NOISE)
    nc.refine([it], 5, NOISE) for it in [3.0, nan]
mechanism must be a Mechanism, got 3:
    nc.posterior([3], TEN, [3])
    nc.posterior(3, TEN, 3)
    nc.refine([it], TEN, 3) for it in [3.0, nan]
mechanism must be a Mechanism, got <class
    nc.posterior(3, TEN, nc.Laplace)
number must be a whole number from 1 to 2**53, got
    nc.table_posterior([5, 9, 2], nc.DiscreteLaplace(2), total=15).draws(it) for it in [0, -1, 1.5, True, '3']
mechanism must be Exact, Subsample, NoiseSum or noise
    nc.utility_loss(Silent(), TEN)
answers must be finite, or nan where missing, got inf$
    nc.refine(it, TEN, NOISE) for it in [inf, [3.0, -inf], [[inf, nan]]]
    nc.refine([3.0, inf], TEN, NOISE, it) for it in ['median', 'mode']
answer must be …, got 1.5$
    nc.refine([3.0, nan, *[2.0] * 99, 1.5, 4.0], TEN, it) for it in WHOLE
    nc.refine([3.0, nan, *[2.0] * 99, 1.5, 4.0], TEN, it, 'median') for it in WHOLE
    nc.refine([3.0, nan, *[2.0] * 99, 1.5, 4.0], TEN, it, 'mode') for it in WHOLE
answer must be …, got 11
    nc.refine([3, 11], TEN, it) for it in [nc.Exact(), nc.Subsample(10)]
answer must be …, got -1
    nc.refine([-1, 3], TEN, it) for it in [nc.Exact(), nc.Subsample(10)]
by must be "mean", "median" or "mode", got
    nc.refine([1.0], TEN, NOISE, it) for it in ['Mean', 'average', '', None, 0.5]
answers must be numbers in one array, with nan for
    nc.refine(it, TEN, NOISE) for it in NO_NUMBERS
budget must be positive and finite, got 0
    nc.affordable_answers(0, 20, 0.05)
answers must be a whole number from 1 to 2
    nc.epsilon_of_group(0.1, 0)
epsilon must be positive and finite, got
    nc.epsilon_of_group(-0.1, 2)
    nc.count_for_relative_error(0.2, 0.95, it) for it in ANY
    nc.belief_bounds(it) for it in [0, -1, nan, inf]
count must be positive and finite, got
    nc.relative_error(it, 0.95, 0.1) for it in ANY
within must be positive and finite, got
    nc.relative_confidence(100, it, 0.1) for it in ANY
confidence must lie strictly between 0 and 1, got
    nc.iso_epsilon_curves(100, [0.1], [0.5, it]) for it in [0, 1, -0.5, 95, nan]
count must …, got
    nc.readable_epsilon(it, 0.2, 0.95) for it in [0, -5, nan]
within must …, got
    nc.readable_epsilon(100, it, 0.95) for it in [0, -0.2]
confidence must …, got
    nc.readable_epsilon(100, 0.2, it) for it in [0, 1, 95]
loss must be positive and finite, got
    nc.scale_for_utility_loss(nc.Laplace, it) for it in [0, -1.0, inf, nan, True]
noise must be Laplace, Gaussian, DiscreteLaplace or
    nc.scale_for_utility_loss(it, 1.0) for it in [nc.Exact, nc.NoiseSum, NOISE, "x", [nc.Laplace]]
sample_size must be at most the 10 records
    nc.utility_loss(nc.Subsample(11), TEN)
    nc.amplified_delta(10, 11, 0.5, 0.1)
the size of the population must be a whole number from 1
    nc.utility_loss(nc.Exact(), nc.Binomial(0, 0.3))
population must be a Population, got 10
    nc.utility_loss(nc.Exact(), 10)
sample_size must be a whole number from 1
    nc.amplified_delta(10, 0, 0.5, 0.1)
rate must lie strictly between 0 and 1, got
    nc.amplified_delta(10, 5, it, 0.1) for it in [0.0, 1]
epsilon must be from 0 to 700, got
    nc.amplified_delta(10, 5, 0.5, it) for it in [-0.1, 701, [0.1, nan]]
mechanism must be one of noisycount's mechanisms, …Subsample
    nc.privacy_curve([NOISE, nc.Subsample(4)], TEN)
mechanism must be one of noisycount's mechanisms
    nc.list_risk([nc.Subsample(3)], TWO, [{0}])
privacy curves cannot be added: … share what hides
    nc.privacy_curve(NOISE, TEN) + nc.privacy_curve(NOISE, TEN)
population must leave the property uncertain
    nc.privacy_curve(nc.Exact(), nc.Tabulated(it)) for it in [[1.0, 0.0], [0.0, 0.0, 1.0]]
population must have expected shares of at least 1e-250 of positive and of negative records
    nc.privacy_curve(nc.Exact(), nc.Tabulated([1.0, 1e-260]))
    nc.privacy_curve(nc.Exact(), nc.BetaBinomial(2, *it)) for it in [(5e-324, 1.0), (1.0, 1e-255)]
epsilon must be …, got
    nc.privacy_curve(NOISE, TEN).delta(it) for it in [-1e-9, -1.0, nan, inf, -inf]
    nc.privacy_curve(NOISE, TEN).delta([0.1, it]) for it in [-1e-9, -1.0, nan, inf, -inf]
    nc.privacy_curve(NOISE, TEN).directions(it) for it in [-1e-9, -1.0, nan, inf, -inf]
    nc.privacy_curve(NOISE, TEN).directions([0.1, it]) for it in [-1e-9, -1.0, nan, inf, -inf]
    nc.privacy_curve(NOISE, TEN).bracket(it) for it in [-1e-9, -1.0, nan, inf, -inf]
    nc.privacy_curve(NOISE, TEN).bracket([0.1, it]) for it in [-1e-9, -1.0, nan, inf, -inf]
delta must be from 0 to 1, got
    nc.privacy_curve(nc.Gaussian(3)).epsilon(it) for it in [-1e-9, nan, 1.5]
    nc.privacy_curve(nc.Gaussian(3)).epsilon_bracket(1.5)
delta must be one that …Gaussian noise … got 0$
    nc.smallest_scale(it, 1.0, 0) for it in [nc.Gaussian, nc.DiscreteGaussian]
population must be Atoms, got Binomial…: make it with noisycount.Atoms$
    nc.list_risk([nc.Exact()], NINE)
least must be positive
    nc.list_risk([nc.Exact()], TWO, [{0}], least=0)
questions must be as many as the 1 mechanisms
    nc.list_risk([nc.Exact()], TWO, [{0}] * 2)
question must hold numbers of atoms from 0 to 1, got 2
    nc.list_risk([nc.Exact()], TWO, [{2}])
mechanisms must draw at most the 9
    nc.parts_curve(PAIR, NINE)
questions must leave it open
    nc.parts_curve(PAIR, nc.Binomial(10, 0.0))
questions must be as many
    nc.parts_curve(PAIR, nc.Atoms.disjoint(10, [0.5]))
    nc.samples_curve(PAIR, nc.Atoms.disjoint(9, [0.5]))
population must be Atoms or
    nc.parts_curve(PAIR, nc.BetaBinomial(10, 1, 1))
mechanisms must be Subsample
    nc.parts_curve([nc.Exact()], NINE)
    nc.samples_curve([nc.Exact()], NINE)
questions must part the records into at most 32 atoms, got 64
    nc.parts_curve([nc.Subsample(1)] * 6, nc.Atoms.independent(10, [0.5] * 6))
population must be a Binomial or Atoms, got
    nc.samples_curve(PAIR, nc.Known(10))
sample_size must be at most the
    nc.samples_curve(PAIR, nc.Binomial(4, 0.5))
questions must be left
    nc.samples_curve(PAIR, NINE, [{0}] * 2)
mechanisms must have at most 256 different sets, got 512
    nc.samples_curve(map(nc.Subsample, range(1, 10)), nc.Atoms.independent(9, [0.5] * 9)).delta(0.1)
""",
    **NAMES,
)


@pytest.mark.parametrize(("call", "it", "said"), REFUSED)
def test_what_cannot_be_is_refused_by_name_in_one_line(call: str, it: object, said: str) -> None:
    """The refusal names the argument, its value and what it must be."""
    assert_refused(call, it, said, **NAMES)
