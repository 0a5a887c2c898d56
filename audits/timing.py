"""Attack on the time of replies: guess which of two data sets was asked."""

import random
from collections.abc import Callable

import numpy as np

__all__ = ["guessed_right", "interleaved_times"]

CLASSES = 20


def interleaved_times(
    first: Callable[[int], float], second: Callable[[int], float], pairs: int
) -> tuple[np.ndarray, np.ndarray]:
    """Ask both, pair after pair, each pair in a random order; give their times in s.

    Args:
        first: Gives the time of one reply, for the number of the pair.
        second: The same of the other data set.
        pairs: How many pairs.
    """
    times = np.empty((pairs, 2))
    for number in range(pairs):
        for which in random.sample((0, 1), 2):
            times[number, which] = (first, second)[which](number)
    return times[:, 0], times[:, 1]


def guessed_right(first: np.ndarray, second: np.ndarray) -> float:
    """Give how often a guess is right that learnt from half of the times, on the other half.

    The guess is by likelihood in classes of about as many times each, so that no shape of the
    difference is missed.
    """
    learnt = len(first) // 2
    both = np.concatenate([first[:learnt], second[:learnt]])
    edges = np.unique(np.quantile(both, np.linspace(0, 1, CLASSES + 1)[1:-1]))
    one, other = (
        np.bincount(np.searchsorted(edges, times[:learnt]), minlength=edges.size + 1) for times in (first, second)
    )
    says_first = one > other
    right = says_first[np.searchsorted(edges, first[learnt:])].sum()
    right += (~says_first)[np.searchsorted(edges, second[learnt:])].sum()
    return float(right / (len(first) - learnt + len(second) - learnt))
