"""Several noisy answers about one count in fewer answers that tell as much."""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from noisycount.model.laws.expansion import DIGITS, decimal_ratio
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.noises.gaussian import Gaussian
from noisycount.model.noises.noise_sum import NoiseSum

__all__ = ["gaussian_variance", "merged"]


def merged(noises: Iterable[SymmetricNoise]) -> list[SymmetricNoise]:
    """Noises whose answers tell of a count what those of the given ones tell.

    Of Gaussian noises the mean of the answers, weighted by 1/scale², is sufficient: its noise is
    Gaussian with scale 1/√(Σ 1/scale²), rounded once.

    Example:
        >>> merged([Gaussian(3), Gaussian(3), Gaussian(3), Gaussian(3)])
        [Gaussian(scale=1.5)]
    """
    others, variances = [], []
    for noise in map(_single, noises):
        variance = gaussian_variance(noise)
        if variance is None:
            others.append(noise)
        else:
            variances.append(variance)
    return [*_mean(variances), *others]


def gaussian_variance(noise: SymmetricNoise) -> Fraction | None:
    """The variance of Gaussian noise; None of other noise."""
    if isinstance(noise, Gaussian):
        return noise.exact_scale**2
    if isinstance(noise, NoiseSum) and all(isinstance(one, Gaussian) for one in noise.noises):
        return sum((one.exact_scale**2 for one in noise.noises), Fraction(0))
    return None


def _single(noise: SymmetricNoise) -> SymmetricNoise:
    """A noise, or the only one of a sum."""
    return noise.noises[0] if isinstance(noise, NoiseSum) and len(noise.noises) == 1 else noise


def _mean(variances: Sequence[Fraction]) -> list[SymmetricNoise]:
    """The noise of the mean of Gaussian answers of these variances; none of none."""
    if not variances:
        return []
    precision = sum((1 / variance for variance in variances), Fraction(0))
    return [Gaussian(float(DIGITS.sqrt(decimal_ratio(1 / precision))))]
