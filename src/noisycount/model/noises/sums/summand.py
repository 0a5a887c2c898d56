"""What a noise brings to a sum of noises."""

from dataclasses import dataclass

__all__ = ["Summand"]


@dataclass(frozen=True, slots=True)
class Summand:
    """A noise whose transform E[e^(s·Z)] is that of Laplace or that of Gaussian noise.

    Attributes:
        laplace: The scale of Laplace noise, in records; 0 if it is Gaussian.
        gaussian: The scale of Gaussian noise, in records; 0 if it is Laplace.
    """

    laplace: float = 0.0
    gaussian: float = 0.0
