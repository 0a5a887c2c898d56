"""Utility loss: the mean squared error that a mechanism adds, and the largest scale of noise within a given loss."""

import math

from noisycount.model.exact import Exact
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.noises.catalogue import NoiseClass, noise_class
from noisycount.model.populations.population import Population
from noisycount.model.searches import Bracket, root
from noisycount.model.subsampling import Subsample
from noisycount.validation import positive_number, require_instance, whole_number


def utility_loss(mechanism: Mechanism, population: Population) -> float:
    """Return the mean squared error of an answer, as a fraction of the records.

    E[(Y/n − K/n)²], or E[(Y/m − K/n)²] if the answer is about a sample of m of n records. Noise of variance v adds
    v/n², or v/m². A sample adds (1/m − 1/n)·E[K(n − K)]/(n(n − 1)), which is π(1 − π)(1/m − 1/n) for `Binomial` records
    of rate π. Answers are unbiased. So the loss is also the increase of the mean squared error when E[K]/n is estimated
    (the statistical utility loss), for every population.

    Args:
        mechanism: Additive noise, `Subsample` or `Exact`; scales in records.
        population: The distribution of the count. Additive noise needs its size only. For `Known` the
            loss is the largest over the counts that it allows.

    Returns:
        A squared fraction. Its square root is the standard error as a fraction of the records.

    Raises:
        ValueError: If there are no records, or fewer than the sample size, or the mechanism is
            neither additive noise, nor `Subsample`, nor `Exact`.

    Source: Breutigam and Reischuk, Definitions 7 and 8, Lemmas 7 to 9.
    Numerical error: 1e-14 relative from 1e-300 on; 1e-12 for `Tabulated`.

    Example:
        >>> import noisycount as nc
        >>> round(nc.utility_loss(nc.Subsample(100), nc.Binomial(1000, 0.1)), 9)
        0.00081
    """
    require_instance(population, Population, "population")
    size = sample_size = whole_number(population.size, "the size of the population", smallest=1)
    if isinstance(mechanism, Subsample):
        if mechanism.sample_size > size:
            raise ValueError(f"sample_size must be at most the {size} records there are, got {mechanism.sample_size}")
        sample_size, mechanism = mechanism.sample_size, mechanism.noise or Exact()
    loss = _variance(mechanism) / sample_size**2
    if sample_size < size:
        pairs = population.moments.discordant / size / (size - 1)
        loss += (size - sample_size) / (size * sample_size) * pairs
    return loss


def scale_for_utility_loss(noise: NoiseClass, loss: float, size: int = 1) -> float:
    """Return the largest scale of noise whose variance is at most `loss`·size².

    For Laplace noise it is size·√(loss/2), for Gaussian noise size·√loss. Discrete noise of a small scale differs from
    0 with probability about 2e^(−1/scale) or 2e^(−1/(2·scale²)). So its scale falls only with the logarithm of the
    loss.

    Args:
        noise: `Laplace`, `Gaussian`, `DiscreteLaplace` or `DiscreteGaussian`: the class itself.
        loss: The largest variance, in records². If the size is given, a squared fraction of the
            records, as `utility_loss` returns it.
        size: The number of records of which the loss is a fraction; 1 for a loss in records².

    Returns:
        The scale in records.

    Raises:
        ValueError: If the noise is another class, the loss is not positive and finite, no scale of
            that noise has the loss, or the size is not a positive whole number.

    Source: Breutigam and Reischuk, section 4.4, with ψ = scale / size.
    Numerical error: from a loss of 1e-300 records² on, the variance is at most 1e-12 relative below
    the loss. As computed by `utility_loss`, it is never above; exactly, by at most 1e-15 relative.

    Example:
        >>> import noisycount as nc
        >>> nc.scale_for_utility_loss(nc.Laplace, 18.0)
        3.0
    """
    kind = noise_class(noise)
    allowed, records = positive_number(loss, "loss"), whole_number(size, "size", smallest=1)

    def is_allowed(scale: float) -> bool:
        law = kind(scale)
        return law.variance / records**2 <= allowed * (1 - law.variance_rounding)

    smallest, largest = kind.scales
    if not is_allowed(smallest) or is_allowed(largest):
        ends = [kind(scale).variance / records**2 for scale in (smallest, largest)]
        raise ValueError(
            f"loss must be at least {ends[0]:.3g} and below {ends[1]:.3g}, which are the losses of "
            f"{kind.__name__} noise of the scales {smallest:.3g} and {largest:.3g}, got {loss!r}"
        )
    bracket = Bracket(smallest, largest)
    return root(lambda scale: -math.inf if is_allowed(scale) else math.inf, bracket, precise=0).low


def _variance(mechanism: Mechanism) -> float:
    """Return the variance of the noise that the mechanism adds, in records²."""
    if isinstance(mechanism, SymmetricNoise):
        return mechanism.variance
    if isinstance(mechanism, Exact):
        return 0.0
    raise ValueError(
        f"mechanism must be Exact, Subsample, NoiseSum or noise that is added to the count, got {mechanism!r}"
    )
