"""The noise of a published table, from its name and its scale."""

from fractions import Fraction

from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.catalogue import NOISES

__all__ = ["noise_named"]

_KINDS = {str(kind.name).lower(): kind for kind in NOISES}


def noise_named(name: str, scale: str) -> AdditiveNoise:
    """The noise of a name such as "discrete Laplace".

    Args:
        name: As `noisycount count` tells it.
        scale: In records, exact.

    Raises:
        ValueError: There is no such noise.

    Example:
        >>> noise_named("discrete Laplace", "20/3")
        DiscreteLaplace(scale=Fraction(20, 3))
    """
    kind = _KINDS.get(name.lower())
    if kind is None:
        raise ValueError(f"mechanism must be one of {', '.join(_KINDS)}, got {name!r}")
    return kind(Fraction(scale))
