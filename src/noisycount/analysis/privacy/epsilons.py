"""ε as arguments: a number or an array of them, and what is told of each in the same shape."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from noisycount.model.laws.expansion import Reals

__all__ = ["checked_epsilons", "shaped"]


def checked_epsilons(epsilon: ArrayLike) -> list[float]:
    """ε as a list of numbers.

    Args:
        epsilon: A number or an array of any shape.

    Raises:
        ValueError: If an ε is negative, infinite or no number.

    Example:
        >>> checked_epsilons(0), checked_epsilons([[0.1], [0.2]])
        ([0.0], [0.1, 0.2])
    """
    try:
        numbers = np.asarray(epsilon, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"epsilon must be numbers, got {epsilon!r}") from None
    if not ((numbers >= 0) & (numbers < np.inf)).all():
        raise ValueError(f"epsilon must be at least 0 and finite, got {epsilon!r}")
    flat: list[float] = numbers.ravel().tolist()
    return flat


def shaped(values: Sequence[float], like: ArrayLike) -> float | Reals:
    """The values in the shape of an argument; a float for a number."""
    shape = np.shape(like)
    return np.array(values).reshape(shape) if shape else values[0]
