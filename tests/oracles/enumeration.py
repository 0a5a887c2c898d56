"""Exact probabilities of a sampler's outcomes: every path of its random choices is followed."""

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

from mpmath import mp, mpf

from noisycount.model.sampling.scalar import RandomIntegers

mp.dps = 50

__all__ = ["Script", "ScriptOfIntegers", "Undecided", "Uniform", "bracket", "enumerated", "scripted_exponential"]


class Undecided(Exception):  # noqa: N818  (a signal of the enumeration, not an error)
    """The script ends at a choice between values of these probabilities."""

    def __init__(self, chances: list[Any]) -> None:
        self.chances = chances


class Script(RandomIntegers):
    """Random integers, and Bernoulli variables, from a given sequence of choices."""

    def __init__(self, choices: tuple[int, ...]) -> None:
        super().__init__()
        self.choices = iter(choices)

    def choose(self, chances: list[Any]) -> int:
        """The next choice between values of these probabilities, none of which is certain."""
        value = next(self.choices, None)
        if value is None:
            raise Undecided(chances)
        return value

    def bits(self, width: int) -> int:
        """A uniform choice of that many bits."""
        return self.uniform(2**width)

    def uniform(self, bound: int) -> int:
        """A choice between so many values of one probability."""
        return 0 if bound == 1 else self.choose(_uniform(bound))

    def is_first(self, chance: Fraction) -> bool:
        """A choice of two values, the first of which has this probability."""
        return chance == 1 if chance in {0, 1} else self.choose([chance, 1 - chance]) == 0


class ScriptOfIntegers(Script):
    """A script whose choices are whole integers below a bound, not bits."""

    def below(self, bound: int) -> int:
        """A uniform choice below the bound."""
        return self.uniform(bound)


class Uniform:
    """A uniform integer below a bound that is only ever compared: one choice of two."""

    def __init__(self, script: Script, bound: int) -> None:
        self.script, self.bound = script, bound

    def __lt__(self, limit: int) -> bool:
        return self.script.is_first(Fraction(limit, self.bound))


class ScriptOfComparisons(Script):
    """A script whose choices are whether a uniform integer is less than a limit."""

    def below(self, bound: int) -> Uniform:
        """A uniform integer below the bound."""
        return Uniform(self, bound)


def enumerated(
    draw: Callable[[Script], object], script: type[Script], smallest: float
) -> tuple[dict[object, Fraction], Fraction]:
    """The exact probability of each outcome over all paths of the random choices.

    Paths of a probability below `smallest` are left undecided; their mass is the second result.
    """
    masses: dict[object, Fraction] = defaultdict(Fraction)
    open_paths: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    while open_paths:
        path, chance = open_paths.pop()
        try:
            masses[draw(script(path))] += chance
        except Undecided as choice:
            if chance >= smallest:
                steps = enumerate(choice.chances)
                open_paths += [((*path, value), chance * step) for value, step in steps]
    return masses, 1 - sum(masses.values(), Fraction(0))


def bracket(mass: Fraction, undecided: Fraction) -> tuple[mpf, mpf]:
    """Return the bounds of a probability, given the decided and the undecided mass."""
    high = mass + undecided
    return mpf(mass.numerator) / mass.denominator, mpf(high.numerator) / high.denominator


@cache
def _uniform(bound: int) -> list[Fraction]:
    """The probabilities of so many values of which each is as likely as another."""
    return [Fraction(1, bound)] * bound


@cache
def rational_exponential(numerator: int, denominator: int) -> Fraction:
    """e^−(numerator/denominator) in 20 digits."""
    return Fraction(mp.nstr(mp.exp(-mpf(numerator) / denominator), 20))


def scripted_exponential(numerator: int, denominator: int, integers: Script) -> bool:
    """In place of `bernoulli_exp`: one choice of probability e^(−numerator/denominator)."""
    return integers.is_first(rational_exponential(numerator, denominator))
