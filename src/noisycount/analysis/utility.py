"""What does an answer lose against the count, and which noise loses no more than is allowed?"""

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
    """The mean squared error of an answer, as a fraction of the records.

    E[(Y/n − K/n)²], and E[(Y/m − K/n)²] where the answer is about m of n records. Noise of variance v adds v/n², or
    v/m²; a sample adds (1/m − 1/n)·E[K(n − K)]/(n(n − 1)), which for `Binomial` records of rate π is π(1 − π)(1/m −
    1/n). Every answer is right on average, so the loss is also what the mechanism adds to the mean squared error of the
    answer as an estimate of E[K]/n, the statistical utility loss, whatever the population.

    Args:
        mechanism: What makes an answer of the count; scales in records.
        population: The law of the count. Additive noise asks for its size only. `Known` leaves the
            last record open, or all of them: the loss is that of the worst count.

    Returns:
        A fraction squared; its square root is the standard error as a fraction of the database.

    Raises:
        ValueError: If there are no records, or fewer than the sample needs, or the mechanism is
            neither additive noise, nor a sample, nor `Exact`.

    Source: Breutigam and Reischuk, Definitions 7 and 8, Lemmas 7 to 9.
    Numerical error: 1e-14 relative from 1e-300 on; 1e-12 for `Tabulated`.

    Example:
        >>> import noisycount as nc
        >>> round(nc.utility_loss(nc.Subsample(100), nc.Binomial(1000, 0.1)), 9)
        0.00081
    """
    require_instance(population, Population, "population")
    size = asked = whole_number(population.size, "the size of the population", smallest=1)
    if isinstance(mechanism, Subsample):
        if mechanism.sample_size > size:
            raise ValueError(f"sample_size must be at most the {size} records there are, got {mechanism.sample_size}")
        asked, mechanism = mechanism.sample_size, mechanism.noise or Exact()
    loss = _variance(mechanism) / asked**2
    if asked < size:
        pairs = population.moments.discordant / size / (size - 1)
        loss += (size - asked) / (size * asked) * pairs
    return loss


def scale_for_utility_loss(noise: NoiseClass, loss: float, size: int = 1) -> float:
    """The largest scale of noise whose variance is at most `loss`·size².

    For Laplace noise it is size·√(loss/2), for Gaussian noise size·√loss. Discrete noise of a small scale is 0 but with
    probability about 2e^(−1/scale) or 2e^(−1/(2·scale²)), so that its scale falls with the logarithm of the loss only.

    Args:
        noise: `Laplace`, `Gaussian`, `DiscreteLaplace` or `DiscreteGaussian`: the class itself.
        loss: The variance that is allowed, in records²; a fraction squared, as `utility_loss`
            gives it, if the size is given.
        size: The number of records of which the loss is a fraction; 1 for a loss in records².

    Returns:
        The scale in records.

    Raises:
        ValueError: If the noise is another class, the loss is not positive and finite or such as no
            scale of that noise has, or the size is not a positive whole number.

    Source: Breutigam and Reischuk, section 4.4, with ψ = scale / size.
    Numerical error: from a loss of 1e-300 records² on, the variance is at most 1e-12 relative below
    what is allowed. It is never above as `utility_loss` computes it: 1e-15 relative at most.

    Example:
        >>> import noisycount as nc
        >>> nc.scale_for_utility_loss(nc.Laplace, 18.0)
        3.0
    """
    kind = noise_class(noise)
    allowed, records = positive_number(loss, "loss"), whole_number(size, "size", smallest=1)

    def keeps(scale: float) -> bool:
        made = kind(scale)
        return made.variance / records**2 <= allowed * (1 - made.variance_rounding)

    smallest, largest = kind.scales
    if not keeps(smallest) or keeps(largest):
        ends = [kind(scale).variance / records**2 for scale in (smallest, largest)]
        raise ValueError(
            f"loss must be at least {ends[0]:.3g} and below {ends[1]:.3g}, which are the losses of "
            f"{kind.__name__} noise of the scales {smallest:.3g} and {largest:.3g}, got {loss!r}"
        )
    found = root(lambda scale: -math.inf if keeps(scale) else math.inf, Bracket(smallest, largest), precise=0)
    return found.low


def _variance(mechanism: Mechanism) -> float:
    """The variance of what is added to the count, in records²."""
    if isinstance(mechanism, SymmetricNoise):
        return mechanism.variance
    if isinstance(mechanism, Exact):
        return 0.0
    raise ValueError(
        f"mechanism must be Exact, Subsample, NoiseSum or noise that is added to the count, got {mechanism!r}"
    )
