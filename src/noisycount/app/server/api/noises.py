"""The members of a request that say which noise an answer has."""

from typing import Annotated

from pydantic import Field

from noisycount.app.options.population import NOISE_OPTIONS, as_scale, noise_of_options
from noisycount.app.server.spending.values import said
from noisycount.errors import NoisyCountError
from noisycount.model.noises.additive import AdditiveNoise

__all__ = ["KINDS", "Noise", "Scale", "additive_noise"]

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
