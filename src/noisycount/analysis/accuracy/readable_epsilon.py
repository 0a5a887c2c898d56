"""The ε of the discrete noise that is drawn, in two digits, for a share of a public guess."""

from fractions import Fraction

from noisycount.analysis.accuracy.relative_error import epsilon_for_relative_error
from noisycount.model.drawing.scales import as_written
from noisycount.model.half_width import readable_epsilon_within

__all__ = ["readable_epsilon"]


def readable_epsilon(count: float, within: float, confidence: float) -> Fraction:
    """The ε of `epsilon_for_relative_error`, raised until discrete noise keeps the promise too.

    It is `readable_epsilon_within` of within·count records, multiplied exactly.

    Args:
        count: A public guess of the count, in records; never the true count.
        within: The relative half-width of the interval, positive.
        confidence: The probability of an answer inside it, in (0, 1).

    Raises:
        ValueError: As for `epsilon_for_relative_error`.

    Source: Naldi and D'Acquisto (2015), eq. (7) and (10).
    Numerical error: as for `readable_epsilon_within`.

    Example:
        >>> import noisycount as nc
        >>> nc.readable_epsilon(100, 0.2, 0.95)
        Fraction(3, 20)
    """
    epsilon_for_relative_error(count, within, confidence)  # refuses by the names of this function
    return readable_epsilon_within(
        as_written(within, "within") * as_written(count, "count"), confidence
    )
