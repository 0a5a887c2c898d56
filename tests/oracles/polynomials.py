"""Probabilities of a sampler's outcomes as polynomials in e^(−1/unit): nothing is rounded."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Self

from tests.oracles.enumeration import Script, Undecided

__all__ = ["Abandoned", "ExactScript", "Polynomial", "first_tries"]


@dataclass(frozen=True)
class Polynomial:
    """A polynomial with rational coefficients: pairs of an exponent and what is not 0."""

    terms: frozenset[tuple[int, Fraction]]

    @classmethod
    def from_terms(cls, terms: Iterable[tuple[int, Fraction]]) -> Self:
        """Add up terms of any exponents."""
        total: dict[int, Fraction] = defaultdict(Fraction)
        for exponent, factor in terms:
            total[exponent] += factor
        return cls(frozenset((exponent, factor) for exponent, factor in total.items() if factor))

    @classmethod
    def power(cls, exponent: int, factor: Fraction = Fraction(1)) -> Self:
        """Return a polynomial with a single term."""
        return cls.from_terms([(exponent, factor)])

    def __add__(self, other: Self) -> Self:
        return self.from_terms([*self.terms, *other.terms])

    def __sub__(self, other: Self) -> Self:
        return self.from_terms([*self.terms, *((exponent, -factor) for exponent, factor in other.terms)])

    def __mul__(self, other: Self) -> Self:
        pairs = product(self.terms, other.terms)
        return self.from_terms((a + b, factor * other_factor) for (a, factor), (b, other_factor) in pairs)


ONE = Polynomial.power(0)


class Abandoned(Exception):  # noqa: N818 - a signal, not an error
    """The path is not followed: it leads to a second try, or too far."""


class ExactScript(Script):
    """A script whose choices have polynomials as probabilities."""

    def __init__(self, choices: tuple[int, ...], unit: int) -> None:
        super().__init__(choices)
        self.unit = unit
        self.tried = False

    def choose(self, chances: list[Polynomial]) -> int:
        """The next choice between values of these probabilities, of which one may be certain."""
        return chances.index(ONE) if ONE in chances else super().choose(chances)

    def uniform(self, bound: int) -> int:
        """A choice between so many values of one probability."""
        return self.choose(_uniform(bound))

    def below(self, bound: int) -> int:
        """A uniform choice below the bound, once: each try of a sampler begins with one."""
        if self.tried:
            raise Abandoned
        self.tried = True
        return self.uniform(bound)

    def exponential(self, numerator: int, denominator: int) -> bool:
        """Return True with probability e^(−numerator/denominator)."""
        return self.choose(_exponential(numerator * self.unit, denominator)) == 0


@cache
def _uniform(bound: int) -> list[Polynomial]:
    """The probabilities of so many values of which each is as likely as another."""
    return [Polynomial.power(0, Fraction(1, bound))] * bound


@cache
def _exponential(numerator: int, denominator: int) -> list[Polynomial]:
    """The probabilities of yes and no, where yes is a whole power of the variable."""
    exponent, rest = divmod(numerator, denominator)
    assert rest == 0
    chance = Polynomial.power(exponent)
    return [chance, ONE - chance]


def first_tries(draw: Callable[[ExactScript], object], unit: int, longest: int) -> dict[object, Polynomial]:
    """The exact probability of each outcome of the first try, over all paths of few choices."""
    masses: dict[object, Polynomial] = defaultdict(lambda: Polynomial.from_terms([]))
    open_paths: list[tuple[tuple[int, ...], Polynomial]] = [((), ONE)]
    while open_paths:
        path, chance = open_paths.pop()
        try:
            outcome = draw(ExactScript(path, unit))
            masses[outcome] += chance
        except Undecided as choice:
            if len(path) < longest:
                steps = enumerate(choice.chances)
                open_paths += [((*path, value), chance * step) for value, step in steps]
        except Abandoned:
            continue
    return dict(masses)
