"""Choices that look random and are the same on every machine."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

__all__ = ["Draws"]

Choice = TypeVar("Choice")


class Draws:
    """A sequence of choices.

    Args:
        seed: What all of them follow from.

    Example:
        >>> Draws("a").below(1000) == Draws("a").below(1000)
        True
    """

    __slots__ = ("_random",)

    def __init__(self, seed: str) -> None:
        self._random = Random(seed)  # noqa: S311 - nothing here is a secret

    def below(self, number: int) -> int:
        """A whole number from 0 to below another.

        Python promises `random` alone to give the same sequence in all its versions.
        """
        return int(self._random.random() * number)

    def is_one_in(self, number: int) -> bool:
        """True once in so many times."""
        return self.below(number) == 0

    def one_of(self, choices: Sequence[Choice]) -> Choice:
        """One of some."""
        return choices[self.below(len(choices))]

    def some_of(self, choices: Sequence[Choice], number: int) -> list[Choice]:
        """So many of some, in an order of their own, each once."""
        left = list(choices)
        return [left.pop(self.below(len(left))) for _ in range(min(number, len(left)))]
