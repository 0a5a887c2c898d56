"""The privacy of a sample's count, summed over every count: what the bound is compared with."""

import math

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


def subsampled_deltas(size: int, drawn: int, rate: float, epsilons: Reals) -> tuple[Reals, Reals]:
    """δ₊ and δ₋ of the count in a sample of `drawn` of `size` records, shape as epsilons.

    Σ_j max(0, P₊(j) − e^ε·P₋(j)) with the laws of Breutigam and Reischuk, section 4.1. Relative to the binomial law of
    j they are 1 − λ + λj/(mπ) and 1 − λ + λ(m − j)/(m(1 − π)), which differ by λ(j/m − π)/(π(1 − π)); from that small
    difference P₊ − P₋ − (e^ε − 1)·P₋ keeps its digits.
    """
    counts = np.arange(drawn + 1.0)
    odds = math.log(rate) - math.log1p(-rate)
    logs = np.append(0.0, np.cumsum(np.log((drawn + 1 - counts[1:]) / counts[1:]) + odds))
    chances = np.exp(logs - logs.max())
    chances /= chances.sum()
    fraction, shares = drawn / size, counts / drawn
    plus = 1 - fraction + fraction * shares / rate
    minus = 1 - fraction + fraction * (1 - shares) / (1 - rate)
    ahead = fraction * (shares - rate) / (rate * (1 - rate))
    rise = np.expm1(epsilons)[..., None]
    return (np.maximum(ahead - rise * minus, 0) @ chances, np.maximum(-ahead - rise * plus, 0) @ chances)
