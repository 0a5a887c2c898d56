"""δ by its definition, ∫ max(0, f₊ − e^ε·f₋) and the same the other way round, on fine grids."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm

Reals = NDArray[np.float64]


def shifted_pair(size: int, rate: float) -> tuple[Reals, Reals]:
    """The laws of the count given that one record is positive, and given that it is negative."""
    others = binom.pmf(np.arange(size), size - 1, rate)
    return np.concatenate([[0.0], others]), np.concatenate([others, [0.0]])


def exchangeable_pair(law: Reals) -> tuple[Reals, Reals]:
    """The same for a law of counts: k·P(k) and (n − k)·P(k), each with a sum of 1."""
    counts = np.arange(law.size)
    positive, negative = counts * law, (law.size - 1 - counts) * law
    return positive / positive.sum(), negative / negative.sum()


def sampled_pair(drawn: int, size: int, rate: float) -> tuple[Reals, Reals]:
    """The laws of a sample's count: with chance m/n the record is in it, else nothing is known."""
    plus, minus = shifted_pair(drawn, rate)
    other, share = binom.pmf(np.arange(drawn + 1), drawn, rate), drawn / size
    return share * plus + (1 - share) * other, share * minus + (1 - share) * other


def discrete_delta(pair: tuple[Reals, Reals], epsilon: float) -> float:
    """δ of an answer that is a count."""
    plus, minus = pair
    up = math.exp(epsilon)
    return float(max(np.maximum(0, plus - up * minus).sum(), np.maximum(0, minus - up * plus).sum()))


def density(kind: str, errors: Reals) -> Reals:
    """The density of "Laplace" or "Gaussian" noise of scale 1."""
    if kind == "Laplace":
        return np.exp(-np.abs(errors)) / 2
    return np.exp(-errors * errors / 2) / math.sqrt(2 * math.pi)


def noisy_delta(pair: tuple[Reals, Reals], kind: str, scale: float, epsilon: float = 0.01, step: float = 0.05) -> float:
    """δ of a count with "Laplace" or "Gaussian" noise, from the densities at cells' middles."""
    plus, minus = pair
    shown = np.flatnonzero(plus + minus > 1e-16)
    reach = 40 * scale if kind == "Laplace" else 10 * scale
    answers = np.arange(shown[0] - reach, shown[-1] + reach, step * min(scale, 1.0)) + 1e-3
    both = np.zeros((2, answers.size))
    for count in shown:
        both += np.outer([plus[count], minus[count]], density(kind, (answers - count) / scale))
    both /= scale
    up, width = math.exp(epsilon), answers[1] - answers[0]
    return float(width * max(np.maximum(0, both[0] - up * both[1]).sum(), np.maximum(0, both[1] - up * both[0]).sum()))


def known_delta(kind: str, scale: float, epsilon: float = 0.01) -> float:
    """δ in the worst case, in closed form: two densities one record apart."""
    if kind == "Laplace":
        return max(0.0, -math.expm1((epsilon - 1 / scale) / 2))
    half, shift = 1 / (2 * scale), epsilon * scale
    return float(norm.cdf(half - shift) - math.exp(epsilon) * norm.cdf(-half - shift))
