"""The members of a request that say which noise an answer has."""

from typing import Annotated

from pydantic import Field

from noisycount.app.options.common import as_epsilon
from noisycount.app.options.population import NOISE_OPTIONS, as_scale, noise_of_options
from noisycount.app.server.spending.values import said
from noisycount.errors import NoisyCountError
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.discrete_laplace import DiscreteLaplace

__all__ = ["KINDS", "Noise", "Scale", "additive_noise", "stated_noise"]

KINDS = ", ".join(NOISE_OPTIONS)

Noise = Annotated[str | None, Field(max_length=100, description=f"Or: a kind of noise, {KINDS},")]
"""The kind."""

Scale = Annotated[
    str | None, Field(max_length=100, description="and its scale in records: 10 or 20/3.")
]
"""The scale."""


def additive_noise(noise: str, scale: str) -> AdditiveNoise:
    """The noise of a kind and a scale.

    Raises:
        NoisyCountError: There is no such noise.

    Example:
        >>> additive_noise("gaussian", "10").name
        'Gaussian'
    """
    if noise not in NOISE_OPTIONS:
        raise NoisyCountError(f"noise must be one of {KINDS}, got {noise[:40]!r}")
    return noise_of_options(noise, said("scale", as_scale, scale))


def stated_noise(
    member: str, price: str | None, noise: str | None, scale: str | None
) -> AdditiveNoise | None:
    """The noise of a price, or of a kind and a scale; None: neither is stated, or more than one.

    Args:
        member: What the price is called in the request.
        price: The ε of an answer of `count`.
        noise: The kind.
        scale: In records.

    Raises:
        NoisyCountError: There is no such noise.

    Example:
        >>> stated_noise("price", "0.5", None, None).name
        'discrete Laplace'
    """
    if price is not None and noise is None and scale is None:
        return DiscreteLaplace.for_epsilon(said(member, as_epsilon, price))
    if price is None and noise is not None and scale is not None:
        return additive_noise(noise, scale)
    return None
