"""The averages of estimates by their definitions, in 50 digits."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from mpmath import mp, mpf

from tests.brute_force import Law

_SAME = mpf(10) ** -25

Density = Callable[[mpf], mpf]


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
    return discrete(
        lambda z: mp.fsum(first(mpf(j)) * second(z - j) for j in range(-reach, reach + 1)), reach
    )


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
        """The error and the improvement, by quadrature between the places where either bends.

        Those are the integers and their halves, and where K − estimate or the difference of the two
        distances changes its sign, which is looked for at every step and then bisected.
        """
        low, high = self.truth.first - mpf(reach), self.truth.counts[-1] + mpf(reach)
        steps = int((high - low) / step)
        # offset from any symmetry of the problem, so that no place is met exactly
        places = [low + (high - low) * (mpf(j) + mpf("0.37")) / steps for j in range(steps)]
        estimates = [self.estimate(place) for place in places]
        error = improved = mpf(0)
        for count, weight in zip(self.truth.counts, self.truth.weights, strict=True):
            if not weight:
                continue
            cuts = {low, high} | {mp.mpf(j) / 2 for j in range(int(2 * low), int(2 * high))}
            for sign in (self._side(count), self._gain(count)):
                signs = [sign(y, e) for y, e in zip(places, estimates, strict=True)]
                for (a, before), (b, after) in pairwise(zip(places, signs, strict=True)):
                    if before != after:
                        cuts.add(self._bisected(sign, a, b, before))
            for a, b in pairwise(sorted(cuts)):
                if b - a < mpf(10) ** -25:
                    continue
                middle = (a + b) / 2
                mass = mp.quad(lambda y, k=count: self.density(y - k), [a, b])
                if self._gain(count)(middle, self.estimate(middle)):
                    improved += weight * mass
                if self.by in ("answer", "mean"):
                    error += weight * mp.quad(
                        lambda y, k=count: self.density(y - k) * abs(k - self.estimate(y)), [a, b]
                    )
                else:
                    error += weight * mass * abs(count - self.estimate(middle))
        return error / self.truth.total, improved / self.truth.total

    def _side(self, count: int) -> Callable[[mpf, mpf], object]:
        """Which side of the count the estimate is; for a whole one, which it is."""
        whole = self.by not in ("answer", "mean")
        return lambda _, estimate: estimate if whole else estimate > count

    def _gain(self, count: int) -> Callable[[mpf, mpf], object]:
        """Whether the estimate is nearer."""
        return lambda answer, estimate: abs(count - estimate) < abs(count - answer)

    def _bisected(
        self, sign: Callable[[mpf, mpf], object], low: mpf, high: mpf, before: object
    ) -> mpf:
        """Where the sign stops to be what it was."""
        for _ in range(60):
            middle = (low + high) / 2
            if sign(middle, self.estimate(middle)) == before:
                low = middle
            else:
                high = middle
        return (low + high) / 2
