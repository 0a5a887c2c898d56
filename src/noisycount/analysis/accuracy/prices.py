"""What do several answers cost together, and how many does a budget pay for?"""

import math
from fractions import Fraction

from noisycount.analysis.accuracy.epsilon_for_accuracy import epsilon_for_accuracy
from noisycount.model.drawing.scales import as_written, price_as_written
from noisycount.model.noises.kernels.laplace import LaplaceKernel
from noisycount.model.noises.laplace import Laplace
from noisycount.model.search import bracketed, first_whole
from noisycount.model.sensitivity import l1_sensitivity
from noisycount.model.validation import LARGEST_WHOLE, whole_number
from noisycount.model.written import Exactly

__all__ = ["affordable_answers", "epsilon_of_group"]


def epsilon_of_group(
    epsilon: Exactly,
    answers: int,
    *,
    disjoint: bool = False,
    replaced: bool = False,
) -> Fraction:
    """What several answers at one ε cost together.

    It is answers·ε. Of answers about disjoint parts, one record that is added or removed moves one
    answer only, so together they cost ε. Where the number of records is public, neighbours differ
    by one record that is *replaced*: it leaves one part for another, two answers move, and together
    they cost 2ε.

    Args:
        epsilon: The privacy loss ε of each answer, positive; a float is read as written.
        answers: How many there are, at least 1.
        disjoint: Whether no record is counted in two of them.
        replaced: Whether neighbouring data sets differ by a replaced record.

    Raises:
        ValueError: If ε is not positive and finite, or answers is not a positive whole number.

    Source: blog *Analyzing Utility of Private Mechanisms*, whose total of two parts costs ε; that
    is for added or removed records.

    Example:
        >>> import noisycount as nc
        >>> nc.epsilon_of_group(0.1, 12), nc.epsilon_of_group(0.1, 12, disjoint=True)
        (Fraction(6, 5), Fraction(1, 10))
        >>> nc.epsilon_of_group(0.1, 12, disjoint=True, replaced=True)
        Fraction(1, 5)
    """
    number = whole_number(answers, "answers", smallest=1)
    moved = l1_sensitivity(number, 1 if disjoint else number, replaced=replaced)
    return moved * price_as_written(epsilon, "epsilon")


def affordable_answers(
    budget: Exactly,
    alpha: float,
    beta: float,
    noise: type[LaplaceKernel] = Laplace,
    *,
    together: bool = False,
) -> int:
    """How many answers of an accuracy a budget pays.

    The largest k with k·ε <= budget. ε is that of one answer which fails with probability beta, or
    that of each of k answers of which any fails with probability beta.

    Args:
        budget: What is left to spend, in ε, positive; a float is read as written.
        alpha: The error that is too large, in records, positive.
        beta: The probability of failure, in (0, 1).
        noise: `Laplace` or `DiscreteLaplace`.
        together: Whether beta is that of any of the answers, not that of each.

    Returns:
        The number of answers; 0 if the budget does not pay for one.

    Raises:
        ValueError: As for `epsilon_for_accuracy`, or if the budget is not positive and finite.

    Source: `epsilon_for_accuracy`, and the addition of ε.

    Example:
        >>> import noisycount as nc
        >>> nc.affordable_answers(2, 20, 0.05), nc.affordable_answers(2, 20, 0.05, together=True)
        (13, 7)
    """
    whole = price_as_written(budget, "budget")

    def price(answers: int) -> Fraction:
        """ε of each of so many answers."""
        return as_written(epsilon_for_accuracy(alpha, beta, answers, noise), "epsilon")

    if not together:
        return whole // price(1)

    def is_too_dear(answers: float) -> float:
        """Infinite where so many answers cost more than the budget, negative where they do not."""
        return math.inf if int(answers) * price(int(answers)) > whole else -math.inf

    bracket = bracketed(is_too_dear, 1, 1, (1, LARGEST_WHOLE))
    return int(min(first_whole(is_too_dear, bracket).high - 1, LARGEST_WHOLE))
