"""How good is an estimate of the count on average, and is it better than the answer?"""

from noisycount.analysis.evaluation.averages import Estimated, averages
from noisycount.model.mechanism import Mechanism
from noisycount.model.populations.population import Population

__all__ = ["improvement_probability", "mean_absolute_error", "tie_probability"]


def mean_absolute_error(
    population: Population,
    mechanism: Mechanism,
    by: Estimated,
    assumed: Population | None = None,
) -> float:
    """The mean absolute error of an estimate of the count, over counts and answers.

    E|K − estimate(Y)|. Of the answer itself under Laplace noise it is the scale, 1/ε. The posterior
    median has the smallest error of all estimates.

    Args:
        population: The law of the count.
        mechanism: The law of the answer given the count. Noise that is added; for "mean", "median"
            and "mode" with a log-concave density. `Subsample` alone or with discrete noise on top,
            summed answer by answer: its answer is taken times size/sample size. `Exact` if nothing
            else is assumed.
        by: "answer", "rounded" (to the nearest integer in 0..size), or the posterior "mean",
            "median" or "mode".
        assumed: The population that the estimator believes in; None: the true one.

    Returns:
        The error in records.

    Raises:
        ValueError: If `by` is none of the five, the assumed population has another size or is so
            far off that its probabilities underflow, the mechanism is refused as said, or more than
            four million counts matter.

    Source: Naldi and D'Acquisto (2014), eq. (12) and (14), there by simulation.
    Numerical error: 1e-9 relative, or 1e-15 records if that is more.

    Example:
        >>> import noisycount as nc
        >>> of = [nc.mean_absolute_error(nc.Binomial(100, 0.3), nc.Laplace(1), by)
        ...       for by in ("answer", "rounded", "mean", "median")]
        >>> [round(error, 4) for error in of]
        [1.0, 0.9595, 0.9805, 0.9333]
    """
    return float(averages(population, mechanism, by, assumed).error)


def improvement_probability(
    population: Population,
    mechanism: Mechanism,
    by: Estimated,
    assumed: Population | None = None,
) -> float:
    """The probability that an estimate is nearer to the count than the answer is.

    P[|K − estimate(Y)| < |K − Y|]; of an equal distance `tie_probability` tells.

    Args:
        population: The law of the count.
        mechanism: The law of the answer given the count, as for `mean_absolute_error`.
        by: "answer", "rounded", "mean", "median" or "mode".
        assumed: The population that the estimator believes in; None: the true one.

    Raises:
        ValueError: As for `mean_absolute_error`.

    Source: Naldi and D'Acquisto (2014), eq. (13), there by simulation.
    Numerical error: 1e-9 absolute.

    Example:
        >>> import noisycount as nc
        >>> round(nc.improvement_probability(nc.Binomial(100, 0.3), nc.Laplace(1), "median"), 4)
        0.6446
    """
    return float(averages(population, mechanism, by, assumed).improvement)


def tie_probability(
    population: Population,
    mechanism: Mechanism,
    by: Estimated,
    assumed: Population | None = None,
) -> float:
    """The probability that an estimate is exactly as near to the count as the answer is.

    P[|K − estimate(Y)| = |K − Y|]: 0 under continuous noise, but for the answer itself.

    Args:
        population: The law of the count.
        mechanism: The law of the answer given the count, as for `mean_absolute_error`.
        by: "answer", "rounded", "mean", "median" or "mode".
        assumed: The population that the estimator believes in; None: the true one.

    Raises:
        ValueError: As for `mean_absolute_error`.

    Source: Naldi and D'Acquisto (2014), eq. (13), which compares for continuous noise only.
    Numerical error: 1e-9 absolute. A posterior mean counts as the answer where the weighted
    distances of the counts on both sides of the answer agree within 1e-11 relative or underflow,
    and as its mirror image at the count where the middle of both is within 1e-13 records, or
    1e-13 relative, of the count. From a sample it is as near where both distances differ by at most
    1e-11 mean absolute deviations of the count plus 8 units in the last place.

    Example:
        >>> import noisycount as nc
        >>> round(nc.tie_probability(nc.Binomial(100, 0.3), nc.DiscreteLaplace(1), "median"), 4)
        0.9697
    """
    return float(averages(population, mechanism, by, assumed).tie)
