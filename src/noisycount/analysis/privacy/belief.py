"""How much can one answer move what somebody believes?"""

import math
from fractions import Fraction

from noisycount.model.validation import fraction_of_one, positive_number

__all__ = ["belief_bounds"]


def belief_bounds(epsilon: float | Fraction, prior: float = 0.5) -> tuple[float, float]:
    """The least and the greatest belief in a fact about one person after an ε-private answer.

    Bayes' rule with a likelihood ratio between e^−ε and e^ε: the belief π becomes at most
    π/(π + (1 − π)·e^−ε) and at least π/(π + (1 − π)·e^ε). So it is for whoever knows all other
    records; where records depend on each other, who knows fewer may learn more.

    Args:
        epsilon: The privacy loss ε of the answer, positive.
        prior: The belief π before it, in (0, 1).

    Raises:
        ValueError: If ε is not positive and finite, or the prior is not in (0, 1).

    Source: the definition of ε-differential privacy; Naldi and D'Acquisto (2015), eq. (2).
    Numerical error: that of a closed form in doubles, some units in the last place.

    Example:
        >>> import noisycount as nc
        >>> low, high = nc.belief_bounds(0.15)
        >>> round(low, 4), round(high, 4)
        (0.4626, 0.5374)
    """
    before = fraction_of_one(prior, "prior")
    shrink = math.exp(-positive_number(epsilon, "epsilon"))
    low = before * shrink / (before * shrink + (1 - before))
    return low, before / (before + (1 - before) * shrink)
