"""The averages of estimates by their definitions, in 50 digits."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from mpmath import mp, mpf

from tests.oracles.posterior import Law

_SAME = mpf(10) ** -25

Density = Callable[[mpf], mpf]
Side = Callable[[int, mpf, mpf], object]

_SIDES: tuple[Side, ...] = (
    lambda count, _, estimate: estimate > count,
    lambda _, answer, estimate: estimate > answer,
    lambda count, answer, estimate: estimate + answer > 2 * count,
    lambda _, __, estimate: mp.floor(estimate),
)


def laplace_density(scale: float) -> Density:
    """The density of Laplace noise."""
    return lambda z: mp.exp(-abs(z) / mpf(scale)) / (2 * mpf(scale))


def gaussian_density(scale: float) -> Density:
    """The density of Gaussian noise."""
    return lambda z: mp.exp(-((z / mpf(scale)) ** 2) / 2) / (mpf(scale) * mp.sqrt(2 * mp.pi))


def discrete(density: Density, reach: int) -> Density:
    """The law on the integers that is proportional to a density."""
    table = [density(mpf(z)) for z in range(reach + 1)]
    total = 2 * mp.fsum(table) - table[0]
    return lambda z: table[abs(int(z))] / total if abs(z) <= reach else mpf(0)


def convolved(first: Density, second: Density, reach: int) -> Density:
    """The law of the sum of two discrete noises."""
    return discrete(lambda z: mp.fsum(first(mpf(j)) * second(z - j) for j in range(-reach, reach + 1)), reach)


@dataclass(frozen=True)
class Oracle:
    """A count, the density of the noise, what is believed, and which estimate is meant."""

    truth: Law
    belief: Law
    density: Density
    by: str
    size: int

    def estimate(self, answer: mpf) -> mpf:
        """The estimate from an answer."""
        if self.by == "answer":
            return answer
        if self.by == "rounded":
            return min(max(mp.floor(answer + mpf(1) / 2), mpf(0)), mpf(self.size))
        pairs = zip(self.belief.counts, self.belief.weights, strict=True)
        weights = [weight * self.density(answer - count) for count, weight in pairs]
        told = Law(self.belief.first, weights)
        if self.by == "mean":
            return told.mean
        return mpf(told.quantile(0.5) if self.by == "median" else told.mode)

    def of_whole_answers(self, reach: int) -> tuple[mpf, mpf, mpf]:
        """The error, the improvement and the tie, summed over counts and whole answers."""
        error = improved = tied = mpf(0)
        for answer in range(self.truth.first - reach, self.truth.counts[-1] + reach + 1):
            estimate = self.estimate(mpf(answer))
            for count, weight in zip(self.truth.counts, self.truth.weights, strict=True):
                chance = weight * self.density(mpf(answer - count)) / self.truth.total
                away, raw = abs(count - estimate), mpf(abs(count - answer))
                error += chance * away
                if abs(away - raw) <= _SAME:
                    tied += chance
                elif away < raw:
                    improved += chance
        return error, improved, tied

    def of_real_answers(self, reach: float, step: float) -> tuple[mpf, mpf]:
        """The error and the improvement in 25 digits, by quadrature between the places of a bend.

        Those are the integers and where the estimate e passes a count, the answer y or the mirror image 2k − y, which
        are looked for at every step and then bisected.
        """
        with mp.workdps(25):
            low, high = self.truth.first - mpf(reach), self.truth.counts[-1] + mpf(reach)
            steps = int((high - low) / step)
            # not on any symmetry of the problem, so that no place is met exactly
            places = [low + (high - low) * (mpf(j) + mpf("0.37")) / steps for j in range(steps)]
            estimates = [self.estimate(place) for place in places]
            error = improved = mpf(0)
            for count, weight in zip(self.truth.counts, self.truth.weights, strict=True):
                cuts = {low, high} | {mpf(j) for j in range(int(low) + 1, int(high))}
                for side in _SIDES:
                    sides = [side(count, y, e) for y, e in zip(places, estimates, strict=True)]
                    for (a, before), (b, after) in pairwise(zip(places, sides, strict=True)):
                        if before != after:
                            cuts.add(self._bisected(count, side, (a, b), before))
                for a, b in pairwise(sorted(cuts)):
                    part, better = self._of_piece(count, a, b)
                    error += weight * part
                    improved += weight * better
            return error / self.truth.total, improved / self.truth.total

    def _of_piece(self, count: int, low: mpf, high: mpf) -> tuple[mpf, mpf]:
        """The integrals of the error and of the improvement over a piece without a bend."""
        if high - low < mpf(10) ** -15:
            return mpf(0), mpf(0)
        middle = (low + high) / 2
        estimate = self.estimate(middle)
        mass = mp.quad(lambda y: self.density(y - count), [low, high])
        better = mass if abs(count - estimate) < abs(count - middle) else mpf(0)
        if self.by == "mean":
            away = mp.quad(lambda y: self.density(y - count) * abs(count - self.estimate(y)), [low, high])
            return away, better
        return mass * abs(count - estimate), better

    def _bisected(self, count: int, side: Side, ends: tuple[mpf, mpf], before: object) -> mpf:
        """Return the point at which the side changes."""
        low, high = ends
        for _ in range(50):
            middle = (low + high) / 2
            if side(count, middle, self.estimate(middle)) == before:
                low = middle
            else:
                high = middle
        return (low + high) / 2
