"""Curves compared with the definition."""

from collections.abc import Iterator, Sequence

from mpmath import mp, mpf

import noisycount as nc
from tests.oracles.pairs import Pair
from tests.oracles.privacy import directions


def assert_exact(curve: nc.PrivacyCurve, pairs: Sequence[Pair], epsilons: Sequence[float]) -> None:
    """Directions within 1e-9 down to 1e-50; brackets true and narrow everywhere."""
    faults = []
    for epsilon in epsilons:
        exact = directions(curve.mechanism, pairs, epsilon)
        faults += [f"{curve.mechanism} at {epsilon!r}: {f}" for f in faults_of(curve, epsilon, exact)]
    assert not faults, "\n".join(faults)


def faults_of(curve: nc.PrivacyCurve, epsilon: float, exact: tuple[mpf, mpf]) -> Iterator[str]:
    """Yield the differences between a curve and its definition at an ε."""
    found, value, (lower, upper) = (curve.directions(epsilon), curve.delta(epsilon), curve.bracket(epsilon))
    for name, side, goal in zip(("plus", "minus"), found, exact, strict=True):
        allowed = mpf("1e-9") * goal if goal >= mpf("1e-50") else mpf("1e-50")
        if not abs(side - goal) <= allowed:
            yield f"{name} {side!r}, exactly {mp.nstr(goal, 17)}"
    true = max(exact)
    if not lower <= true <= upper:
        yield f"bracket {lower!r} .. {upper!r}, exactly {mp.nstr(true, 17)}"
    if not upper - lower <= mpf("1e-8") * true + mpf("1e-300"):
        yield f"width of {lower!r} .. {upper!r} for {mp.nstr(true, 17)}"
    if not lower <= value <= upper or value != max(found):
        yield f"delta {value!r} of {found} in {lower!r} .. {upper!r}"
