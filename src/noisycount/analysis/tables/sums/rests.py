"""What the others of a sum leave to each summand."""

from typing import NamedTuple

from noisycount.model.laws.expansion import Reals

__all__ = ["Rests"]


class Rests(NamedTuple):
    """For each summand, Σ_k outside(k)·P[the other summands add up to k − j] at its counts j.

    Attributes:
        values: Shape (nodes, sets, summands, width).
        rounding: A bound of their absolute error, shape (nodes, sets).
    """

    values: Reals
    rounding: Reals
