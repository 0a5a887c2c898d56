"""The metrics of Naldi and D'Acquisto (2014) by their definitions, on a fine grid of answers."""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

Reals = NDArray[np.float64]


def metrics(size: int, rate: float, epsilon: float, by: str, assumed: Reals | None = None) -> tuple[float, float]:
    """The average error, eq. (12), and the probability of a smaller error, eq. (13).

    The law of count and answer is summed over all counts and the middles of narrow cells of answers, a hundred to a
    unit; `assumed` is what the estimate takes for the law of the count.
    """
    counts = np.arange(size + 1)
    reach = 23 / epsilon  # e^−23 of the noise lies beyond
    first, last = np.floor(-reach), np.ceil(size + reach)
    answers = np.arange(first, last, 0.01) + 0.005
    law = binom.pmf(counts, size, rate)
    believed = law if assumed is None else assumed
    likely = np.maximum(law, believed) > 1e-20
    counts, law, believed = counts[likely], law[likely], believed[likely]
    error = improved = 0.0
    for part in np.array_split(answers, max(1, answers.size // 5000)):
        far = np.abs(part[:, None] - counts)
        kernel = np.exp(-epsilon * far)
        weights = 0.01 * epsilon / 2 * kernel * law
        away = np.abs(estimates(part, kernel * believed, counts, by, size)[:, None] - counts)
        error += float((weights * away).sum())
        improved += float((weights * (away < far)).sum())
    return error, improved


def estimates(answers: Reals, weights: Reals, counts: NDArray[np.int64], by: str, size: int) -> Reals:
    """What is estimated from each answer, eq. (11) for the mean."""
    if by == "answer":
        return answers
    if by == "rounded":
        return np.clip(np.floor(answers + 0.5), 0, size)
    if by == "mean":
        return np.asarray(weights @ counts / weights.sum(axis=1))
    totals = np.cumsum(weights, axis=1)
    return counts[0] + np.asarray((totals < totals[:, -1:] / 2).sum(axis=1), dtype=float)
