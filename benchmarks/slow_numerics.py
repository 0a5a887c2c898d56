"""Calls of the analysis that were slow once: `python -m benchmarks.slow_numerics NAME`.

It prints the processor time in seconds, and the most memory that the process took in bytes.
"""

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

import noisycount as nc
from benchmarks.comparison import is_small, sized
from noisycount.analysis.within import stopping_rule

__all__ = ["CALLS", "SIZE", "tabulated"]

SIZE = sized(10**6, 10**3)
_BINOMIAL, _RARE = nc.Binomial(SIZE, 0.3), nc.Binomial(SIZE, 0.1)
_BETA, _ARCSINE = nc.BetaBinomial(SIZE, 3, 7), nc.BetaBinomial(SIZE, 0.5, 0.5)
_TWO_LAPLACE = nc.NoiseSum([nc.Laplace(10)] * 2)
_TWO_NOISES = nc.NoiseSum([nc.Laplace(10), nc.Gaussian(10)])
_TWO_DISCRETE = nc.NoiseSum([nc.DiscreteLaplace(10)] * 2)


def tabulated(size: int) -> nc.Tabulated:
    """A population with a table of probabilities of 0 … size records."""
    table = np.random.default_rng(1).random(size + 1)
    return nc.Tabulated(table / table.sum())


def _strata() -> nc.Strata:
    """Two strata of equal size."""
    return nc.Strata([SIZE // 2] * 2, [0.1, 0.3])


def _sample(share: float, noise: nc.Mechanism) -> nc.Subsample:
    """A sample of a share of the records."""
    return nc.Subsample(max(1, round(share * SIZE)), noise)


def _refined_in_table() -> object:
    """Refine 4,000 answers with a tabulated prior."""
    answers = np.random.default_rng(2).integers(0, SIZE, sized(4000, 10))
    return nc.refine(answers, tabulated(SIZE), nc.DiscreteGaussian(10))


def _values_of_curve(noise: nc.Mechanism, population: nc.Population) -> object:
    """Compute δ at 200 values of ε, up to five standard deviations of the count."""
    return nc.privacy_curve(noise, population).delta(np.linspace(0, 5 / population.law().variance ** 0.5, 200))


CALLS: Mapping[str, Callable[[], object]] = {
    "error of the mean, binomial, Gaussian": lambda: nc.mean_absolute_error(_BINOMIAL, nc.Gaussian(100), "mean"),
    "error of the mean, beta-binomial, Laplace": lambda: nc.mean_absolute_error(_BETA, nc.Laplace(10), "mean"),
    "error of the mean, binomial, wide Gaussian": lambda: nc.mean_absolute_error(_BINOMIAL, nc.Gaussian(1000), "mean"),
    "error of the mean, beta-binomial, Gaussian": lambda: nc.mean_absolute_error(_BETA, nc.Gaussian(10), "mean"),
    "error of the mean, binomial, two Laplace": lambda: nc.mean_absolute_error(_BINOMIAL, _TWO_LAPLACE, "mean"),
    "error of the mean, beta-binomial, two Laplace": lambda: nc.mean_absolute_error(_BETA, _TWO_LAPLACE, "mean"),
    "error of the mean, binomial, two noises": lambda: nc.mean_absolute_error(_BINOMIAL, _TWO_NOISES, "mean"),
    "error of the mean, beta-binomial, two noises": lambda: nc.mean_absolute_error(_BETA, _TWO_NOISES, "mean"),
    "error of the mean, binomial, two discrete": lambda: nc.mean_absolute_error(_BINOMIAL, _TWO_DISCRETE, "mean"),
    "error of the median, beta-binomial": lambda: nc.mean_absolute_error(_ARCSINE, nc.DiscreteLaplace(10), "median"),
    "error of the mean, table of 1e5": lambda: nc.mean_absolute_error(tabulated(SIZE // 10), nc.Gaussian(10), "mean"),
    "δ of half of the records, strata": lambda: nc.privacy_curve(_sample(0.5, nc.Laplace(3)), _strata()).delta(0.01),
    "δ of 85 % of the records, strata": lambda: nc.privacy_curve(
        _sample(0.847067, nc.DiscreteGaussian(0.01)), _strata()
    ).delta(0.01),
    "δ of 11 % of the records, strata": lambda: nc.privacy_curve(_sample(0.112715, nc.Laplace(1e-9)), _strata()).delta(
        0.01
    ),
    "δ of 1,000 records, strata": lambda: nc.privacy_curve(_sample(0.001, nc.Laplace(3)), _strata()).delta(0.01),
    "δ of 1,000 records, table of 1e6": lambda: nc.privacy_curve(_sample(0.001, nc.Laplace(3)), tabulated(SIZE)).delta(
        0.01
    ),
    "δ of half of the records, table of 1e6": lambda: nc.privacy_curve(
        _sample(0.5, nc.Laplace(3)), tabulated(SIZE)
    ).delta(0.01),
    "200 δ, beta-binomial, Gaussian": lambda: _values_of_curve(nc.Gaussian(10), _BETA),
    "200 δ, beta-binomial, two noises": lambda: _values_of_curve(_TWO_NOISES, _BETA),
    "200 δ, binomial, two noises": lambda: _values_of_curve(_TWO_NOISES, _RARE),
    "200 δ, strata, Laplace": lambda: _values_of_curve(nc.Laplace(10), _strata()),
    "ε of a sum of two noises, strata": lambda: nc.privacy_curve(nc.NoiseSum([nc.Laplace(3)] * 2), _strata()).epsilon(
        1e-6
    ),
    "ε of a sum of three noises, strata": lambda: nc.privacy_curve(nc.NoiseSum([nc.Laplace(3)] * 3), _strata()).epsilon(
        1e-6
    ),
    "δ of two answers": lambda: nc.privacy_curve([nc.Laplace(3), nc.Gaussian(4)], _RARE).delta(0.001),
    "risk of three nested answers": lambda: nc.list_risk(
        [nc.DiscreteLaplace(1)] * 3, nc.Atoms.nested(SIZE, [0.1, 0.2, 0.3]), [{0}, {0, 1}, {0, 1, 2}]
    ).delta(0.02),
    "chance that the median is nearer": lambda: nc.improvement_probability(_BINOMIAL, nc.Gaussian(10), "median"),
    "4,000 answers, table of 1e6": _refined_in_table,
    "posterior of a sample of 400, table of 1e6": lambda: (
        nc.posterior(130, tabulated(SIZE), nc.Subsample(400, nc.Laplace(3))).mean
    ),
    "rates of equal errors": lambda: nc.break_even_rates(_BINOMIAL, nc.Laplace(10)),
    "rule of within .001 at 1 − 1e-12": lambda: stopping_rule("0.1" if is_small() else "0.001", "0.999999999999", 1),
}
"""By name."""

if __name__ == "__main__":
    start = time.process_time()
    CALLS[sys.argv[1]]()
    used = time.process_time() - start
    (line,) = [each for each in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in each]
    print(used, int(line.split()[1]) * 1024)  # noqa: T201 - for the process that started it
