"""A number with a bound of its error."""

from dataclasses import dataclass

__all__ = ["NOTHING", "Certified"]


@dataclass(frozen=True, slots=True)
class Certified:
    """A number, and a bound of its error.

    Attributes:
        value: The number.
        error: How far the exact number may lie from it, not negative.
    """

    value: float
    error: float

    @property
    def lower(self) -> float:
        """The least that it can be, not negative."""
        return max(0.0, self.value - self.error)

    @property
    def upper(self) -> float:
        """The most that it can be."""
        return self.value + self.error


NOTHING = Certified(0.0, 0.0)
"""Exactly 0."""
