"""Code that a user would write without noisycount: a sampler of tables, and plain convolutions."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.comparison import sized

__all__ = ["convolved_means", "learned_law_means", "sampled_means"]

Reals = NDArray[np.float64]
Counts = NDArray[np.int64]

SWEEPS = sized(1000, 10)


def sampled_means(answers: Reals, scale: float, total: int, concentration: float) -> Reals:
    """Posterior means of a flat table by 1,000 sweeps of a Metropolis sampler.

    Each sweep pairs all cells at random and moves records within each pair, up to twice the
    scale at once, which keeps the total. The first half is left out.
    """
    generator = np.random.default_rng(1)
    counts = _start(answers, total)
    weights = _log_weights(total, concentration)
    sums = np.zeros(answers.size)
    step = max(1, round(2 * scale))
    for sweep in range(SWEEPS):
        order = generator.permutation(answers.size)
        left, right = order[: order.size // 2], order[order.size // 2 : order.size // 2 * 2]
        moved = generator.integers(-step, step + 1, left.size)
        new = counts[left] + moved, counts[right] - moved
        possible = (new[0] >= 0) & (new[1] >= 0)
        left, right = left[possible], right[possible]
        gain = np.zeros(left.size)
        for cells, after in zip((left, right), new, strict=True):
            after_count, before = after[possible], counts[cells]
            gain += weights[after_count] - weights[before]
            gain += np.abs(answers[cells] - before) / scale
            gain -= np.abs(answers[cells] - after_count) / scale
        taken = np.log(generator.random(left.size)) < gain
        counts[left[taken]], counts[right[taken]] = (each[possible][taken] for each in new)
        if sweep >= SWEEPS // 2:
            sums += counts
    return sums / (SWEEPS - SWEEPS // 2)


def _start(answers: Reals, total: int) -> Counts:
    """A table near the answers that has the total."""
    counts = np.maximum(np.floor(answers), 0).astype(np.int64)
    while (missing := total - int(counts.sum())) != 0:
        cells = np.flatnonzero(counts > 0) if missing < 0 else np.arange(counts.size)
        counts[cells[: abs(missing)]] += int(math.copysign(1, missing))
    return counts


def _log_weights(most: int, concentration: float) -> Reals:
    """Ln Γ(k + a)/(k!·Γ(a)) of k = 0 … most."""
    steps = np.arange(most)
    ratios = np.log((steps + concentration) / (steps + 1))
    return np.concatenate([[0.0], np.cumsum(ratios)])


def convolved_means(answers: Reals, scale: float, total: int, concentration: float) -> Reals:
    """Posterior means of a binary tree of 2^h leaves by two passes of direct convolution.

    Every law reaches from 0 to the total, and every sum is written as the definition has it.
    """
    counts = np.arange(total + 1)
    levels = [np.exp(-np.abs(answers[:, None] - counts) / scale)]
    alphas = [concentration]
    weigh = _weights(total)
    while len(levels[-1]) > 1:
        weighted = levels[-1] * weigh(alphas[-1])
        merged = [np.convolve(a, b)[: total + 1] for a, b in zip(weighted[::2], weighted[1::2], strict=True)]
        alphas.append(2 * alphas[-1])
        levels.append(np.array([each / each.max() for each in merged / weigh(alphas[-1])]))
    outer = np.zeros((1, total + 1))
    outer[0, total] = 1.0
    for height in range(len(levels) - 2, -1, -1):
        weighted = levels[height] * weigh(alphas[height])
        given = outer / weigh(alphas[height + 1])
        outer = np.empty_like(weighted)
        for place in range(len(weighted)):
            found = np.convolve(given[place // 2], weighted[place ^ 1][::-1])[total:]
            outer[place] = found * weigh(alphas[height]) / found.max()
    laws = outer * levels[0]
    means: Reals = laws @ counts / laws.sum(axis=1)
    return means


def _weights(most: int) -> Callable[[float], Reals]:
    """Γ(k + a)/(k!·Γ(a)) of k = 0 … most, by a."""
    return lambda concentration: np.exp(_log_weights(most, concentration))


def learned_law_means(answers: Reals, scale: float, steps: int = 100) -> Reals:
    """Posterior means of independent cells: a law of 1,000 points by EM (Kiefer and Wolfowitz)."""
    told, places, times = np.unique(answers, return_inverse=True, return_counts=True)
    points = np.unique(np.linspace(0, max(told.max(), 1), 1000).round())
    likelihood = np.exp(-np.abs(told[:, None] - points) / scale)
    law = np.full(points.size, 1 / points.size)
    for _ in range(steps):
        joint = likelihood * law
        joint /= joint.sum(axis=1, keepdims=True)
        law = times @ joint / answers.size
    joint = likelihood * law
    means: Reals = (joint @ points / joint.sum(axis=1))[places]
    return means
