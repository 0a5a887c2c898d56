"""P[|Z| >= x] of sums of noises in 60 digits, by closed forms."""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from operator import mul

from flint import arb
from mpmath import mp, mpf

from tests.oracles.balls import ball, certified, dot

__all__ = ["Tail", "equal_laplace", "gaussian", "laplace_and_gaussian", "unequal_laplace"]

Tail = Callable[[mpf], mpf]

mp.dps = 60


def equal_laplace(count: int, scale: float) -> Tail:
    """A mixture of gamma laws: 2·Σ C(n+j−1, j)/2^(n+j)·Q(n−j, x/b) over j < n."""

    def tail(error: mpf) -> mpf:
        reach = ball(error) / ball(scale)
        terms = accumulate(range(1, count), lambda term, k: term * reach / k, initial=arb(1))
        tails = [*accumulate(terms)]
        return certified(2 * (-reach).exp() * dot(_shares(count), tails[::-1]))

    return tail


@cache
def _shares(count: int) -> list[arb]:
    """C(n+j−1, j)/2^(n+j) for j < n."""
    ratios = (arb(count + order) / (2 * (order + 1)) for order in range(count - 1))
    return [*accumulate(ratios, mul, initial=arb(2) ** -count)]


def unequal_laplace(scales: Sequence[float], digits: int = 300) -> Tail:
    """Partial fractions: Σ w_i·e^(−x/b_i) with w_i = Π b_i²/(b_i² − b_j²), all scales distinct."""

    def tail(error: mpf) -> mpf:
        with mp.workdps(digits):
            squares = [mpf(scale) ** 2 for scale in scales]
            parts = (
                mp.fprod(one / (one - other) for other in squares if other != one) * mp.exp(-error / mp.sqrt(one))
                for one in squares
            )
            return mp.fsum(parts)

    return tail


def gaussian(variance: float) -> Tail:
    """The complementary error function."""
    return lambda error: mp.erfc(error / mp.sqrt(2 * mpf(variance)))


def laplace_and_gaussian(scale: float, deviation: float) -> Tail:
    """Q(x/s) and two exponentially tilted normal tails."""
    b, s = mpf(scale), mpf(deviation)

    def tail(error: mpf) -> mpf:
        with mp.workdps(400 if s < b / 50 or s > 50 * b else 120):
            lift, near, far = (s / b) ** 2 / 2, error / s - s / b, error / s + s / b
            plain = mp.erfc(error / s / mp.sqrt(2)) / 2
            above = mp.exp(lift - error / b) * mp.erfc(-near / mp.sqrt(2)) / 4
            below = mp.exp(lift + error / b) * mp.erfc(far / mp.sqrt(2)) / 4
            return 2 * (plain + above - below)

    return tail
