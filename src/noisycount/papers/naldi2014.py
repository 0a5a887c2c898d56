"""Naldi and D'Acquisto (2014): Fig. 1 to 8 and what is stated beside them."""

import math

from noisycount.analysis.accuracy import out_of_range_bounds
from noisycount.model.noises.laplace import Laplace
from noisycount.papers import naldi2014_errors as errors
from noisycount.papers import naldi2014_improvements as improvements
from noisycount.papers.figure import Claim, Paper, Verdict, number
from noisycount.papers.naldi2014_errors import EPSILON, RATE, error
from noisycount.papers.naldi2014_improvements import EVEN

PRINTED_WIDTHS = (91.6, 28.2)


def numbers() -> tuple[Claim, ...]:
    """Theorem 1, the two widths of section 3.2, and eq. (14)."""
    smallest, largest = out_of_range_bounds(100, Laplace.for_epsilon(EPSILON))
    bounds = {
        size: (_printed_minimum(size), out_of_range_bounds(size, Laplace.for_epsilon(EPSILON))[0]) for size in (99, 100)
    }
    count, noise = 2 * math.sqrt(10000 * RATE * (1 - RATE)), 2 * math.sqrt(2) / EPSILON
    raw = {epsilon: error("answer", 100, RATE, epsilon) for epsilon in (1.0, EPSILON)}
    return (
        Claim(
            "Theorem 1",
            "The probability of an answer out of range is at most (1 + e^(−εn))/2, which may be even larger than 50 %.",
            f"{number(largest, 7)} for n = 100 and ε = {EPSILON}, where the count is 0 or n.",
            Verdict.of(math.isclose(largest, (1 + math.exp(-EPSILON * 100)) / 2), largest > EVEN),
        ),
        Claim(
            "eq. (6)",
            "The smallest is (e^(−ε(n−1)/2) + e^(−ε(n+1)/2))/2, for the count (n − 1)/2.",
            f"for n = 100 and ε = {EPSILON} it is e^(−εn/2) = {number(smallest, 6)}, for the count "
            f"50; printed {number(bounds[100][0], 6)}. For odd n both agree.",
            Verdict.of(*(math.isclose(printed, exact) for printed, exact in bounds.values())),
        ),
        Claim(
            "section 3.2",
            "With 10,000 records and p = 0.3 the 1σ interval has a width of 91.6, and 28.2 that of "
            "the noise at ε = 0.1.",
            f"{number(count, 5)} and {number(noise, 5)}, cut off rather than rounded in print.",
            Verdict.of(
                *(
                    math.floor(10 * exact) / 10 == said
                    for exact, said in zip((count, noise), PRINTED_WIDTHS, strict=True)
                )
            ),
        ),
        Claim(
            "eq. (14)",
            "The average error of the answer is 1/ε.",
            ", ".join(f"{number(each, 6)} at ε = {epsilon:g}" for epsilon, each in raw.items()) + ".",
            Verdict.of(*(math.isclose(each * epsilon, 1) for epsilon, each in raw.items())),
        ),
    )


def _printed_minimum(size: int) -> float:
    """Eq. (6), the probability of an answer out of range if the count is (n − 1)/2."""
    return (math.exp(-EPSILON * (size - 1) / 2) + math.exp(-EPSILON * (size + 1) / 2)) / 2


# The paper with its figures.
PAPER = Paper(
    key="naldi2014",
    name="Naldi and D'Acquisto (2014)",
    reference="Differential privacy for counting queries: can Bayes estimation help uncover the "
    "true value?, arXiv:1407.0116",
    figures=errors.FIGURES | improvements.FIGURES,
    claims=numbers,
)
